-- The next articles whose present text has no fingerprint, in the order of the index of unsettled ones, without
-- their texts: as arrays, which cost their reader nothing. Those that wait for another attempt are left out.
WITH page AS MATERIALIZED (
    SELECT a.id, a.revision, 
           coalesce(octet_length(a.text),
                    (SELECT octet_length(t.text) FROM dedup.article_text t WHERE t.article_id = a.id), 0) AS bytes,
           coalesce(a.published_at, a.added_at) AS time, a.source_id
    FROM dedup.article a
    WHERE (a.status = 'pending' OR a.stale)
      AND (%(time)s::timestamptz IS NULL
           OR (coalesce(a.published_at, a.added_at), a.source_id) > (%(time)s, %(source_id)s))
      AND ${unfingerprinted}
      AND NOT EXISTS (SELECT FROM dedup.attempt t
                      WHERE t.article_id = a.id AND t.revision = a.revision)
    ORDER BY coalesce(a.published_at, a.added_at), a.source_id LIMIT %(limit)s
)
SELECT given.ids, given.revisions, given.bytes, last.time, last.source_id
FROM (SELECT array_agg(id) AS ids, array_agg(revision::bigint) AS revisions, array_agg(bytes::bigint) AS bytes
      FROM page) AS given
CROSS JOIN (SELECT time, source_id FROM page ORDER BY time DESC, source_id DESC LIMIT 1) AS last
