-- Fingerprinted articles that share a sentence, a bucket or, among short texts, the content hash: those that
-- take part and are canonical, those that take part and are duplicates, or those that take no part yet.
SELECT ${row}
FROM (
    SELECT article_id FROM dedup.sharing(true, %(sentences)s, %(buckets)s, %(contents)s)
    WHERE %(among)s <> 'duplicate'
    UNION ALL
    SELECT article_id FROM dedup.sharing(false, %(sentences)s, %(buckets)s, %(contents)s)
    WHERE %(among)s <> 'canonical'
) AS hit
-- OFFSET 0: each hit looks its article up. Statistics from before most articles took part would have the planner
-- begin with those that do, and read them all. By name: who asks needs no right to the texts.
CROSS JOIN LATERAL (
    SELECT id, source_id, published_at, added_at, status, stale, takes_part, score, reason
    FROM dedup.article WHERE id = hit.article_id OFFSET 0) AS a
CROSS JOIN LATERAL (SELECT * FROM dedup.fingerprint WHERE article_id = hit.article_id OFFSET 0) AS f
WHERE a.takes_part = (%(among)s <> 'waiting')
  AND (%(after)s::timestamptz IS NULL
       OR dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s) >= %(after)s)
LIMIT %(limit)s
