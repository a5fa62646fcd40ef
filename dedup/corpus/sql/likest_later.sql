-- Of canonical articles those that a later article is most like, with the place of that one in canonical order.
SELECT m.other_id, dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s), a.source_id
FROM unnest(%(ids)s::bigint[]) AS given (id)
CROSS JOIN LATERAL (
    SELECT article_id, other_id FROM dedup.match WHERE other_id = given.id AND likest OFFSET 0) AS m
CROSS JOIN LATERAL (SELECT * FROM dedup.article WHERE id = m.article_id OFFSET 0) AS a
