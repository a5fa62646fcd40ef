-- Remove the pairs of some articles before the horizon with articles that are not before it. What is returned is
-- inside and has lost something: a pair, or its original. OFFSET 0: looked up one by one, whatever the statistics say.
WITH crossing AS (
    SELECT pair.place, pair.inside
    FROM unnest(%(ids)s::bigint[]) AS given (id)
    CROSS JOIN LATERAL (
        SELECT * FROM (SELECT e.ctid, e.other_id FROM dedup.match e WHERE e.article_id = given.id OFFSET 0) AS earlier
        UNION ALL
        SELECT * FROM (SELECT l.ctid, l.article_id FROM dedup.match l WHERE l.other_id = given.id OFFSET 0) AS later
    ) AS pair (place, inside)
    CROSS JOIN LATERAL (SELECT * FROM dedup.article WHERE id = pair.inside OFFSET 0) AS a
    WHERE (dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s)
           < (SELECT horizon FROM dedup.corpus_state)) IS NOT TRUE
), gone AS (
    DELETE FROM dedup.match WHERE ctid = ANY (ARRAY(SELECT place FROM crossing))
)
SELECT inside FROM crossing
UNION
SELECT copy.id
FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (SELECT * FROM dedup.article WHERE duplicate_of = given.id OFFSET 0) AS copy
WHERE (dedup.canonical_time(copy.published_at, copy.added_at, %(policy)s, %(earliest)s)
       < (SELECT horizon FROM dedup.corpus_state)) IS NOT TRUE
