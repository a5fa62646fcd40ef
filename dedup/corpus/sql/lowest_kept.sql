-- How many similar pairs articles have with earlier ones, and the score of the last of the best of them.
SELECT given.id, kept.pairs, kept.lowest
FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (
    SELECT count(*), coalesce((array_agg(m.score ORDER BY m.score DESC))[%(pairs)s], 0)
    FROM (SELECT score FROM dedup.match WHERE article_id = given.id AND relation = 'similar' OFFSET 0) AS m
) AS kept (pairs, lowest)
