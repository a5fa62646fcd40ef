-- The next articles to settle: pending or stale ones whose present text has a fingerprint. The index gives them
-- near enough in canonical order; see its comment.
SELECT ${row}
FROM dedup.article a
CROSS JOIN LATERAL (
    SELECT * FROM dedup.fingerprint WHERE article_id = a.id AND revision = a.revision OFFSET 0) AS f
WHERE a.status = 'pending' OR a.stale
ORDER BY coalesce(a.published_at, a.added_at), a.source_id
LIMIT %(limit)s
