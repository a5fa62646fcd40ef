-- The articles that have a fingerprint of their present text, in use or waiting, in canonical order; and the time of the last.
SELECT coalesce(array_agg(a.id ORDER BY
           dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s), a.source_id), '{}'),
       max(dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s))
FROM dedup.article a
JOIN (
    SELECT article_id, revision FROM dedup.fingerprint
    UNION
    SELECT article_id, revision FROM dedup.fingerprint_bulk
) AS f ON f.article_id = a.id AND f.revision = a.revision
