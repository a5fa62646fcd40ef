-- Of some articles those to be settled: pending or stale, with a fingerprint of their present text, and not before the
-- horizon.
SELECT ${row}
FROM dedup.article a
CROSS JOIN LATERAL (
    SELECT * FROM dedup.fingerprint WHERE article_id = a.id AND revision = a.revision OFFSET 0) AS f
WHERE a.id = ANY (%(ids)s) AND (a.status = 'pending' OR a.stale)
  AND (dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s)
       < (SELECT horizon FROM dedup.corpus_state)) IS NOT TRUE
