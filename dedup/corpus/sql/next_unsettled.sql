-- The next articles to settle: pending or stale ones whose present text has a fingerprint. The index gives them
-- near enough in canonical order; see its comment. Those before the horizon are not settled but archived.
SELECT ${row}
FROM dedup.article a
CROSS JOIN LATERAL (
    SELECT * FROM dedup.fingerprint WHERE article_id = a.id AND revision = a.revision OFFSET 0) AS f
WHERE (a.status = 'pending' OR a.stale)
  AND (dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s)
       < (SELECT horizon FROM dedup.corpus_state)) IS NOT TRUE
ORDER BY coalesce(a.published_at, a.added_at), a.source_id
LIMIT %(limit)s
