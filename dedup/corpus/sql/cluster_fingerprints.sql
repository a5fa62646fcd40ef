-- What a cluster is told of each article inside: its times, the digest of its text, and its fingerprint if that is of
-- the version wanted for its language. One that failed has its reason; `known` says whether there is either.
SELECT a.source_id, ${published_at}, ${added_at}, b.digest, v.version, f.content_hash, f.sentence_hashes,
       f.signature, f.buckets, f.word_count, f.shingle_count, k.reason, k.known AND b.same AS known
FROM dedup.article a
JOIN unnest(%(languages)s::text[], %(versions)s::bigint[]) AS v (language, version)
    ON v.language = coalesce(a.language, '')
LEFT JOIN dedup.fingerprint f
    ON f.article_id = a.id AND f.revision = a.revision AND f.version = v.version AND a.status <> 'failed'
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.status = 'failed' AND %(failures)s THEN a.reason END AS reason,
           f.article_id IS NOT NULL OR a.status = 'failed' AND %(failures)s AS known) AS k
-- Of an attached table the row may have changed, and the article not yet.
LEFT JOIN LATERAL (
    SELECT ${digest} AS digest,
           a.text_hash IS NULL OR a.text_hash = sha256(convert_to(t.text, 'UTF8')) AS same
    FROM (SELECT ${text} AS text OFFSET 0) AS t) AS b ON k.known
WHERE NOT a.archived AND (%(horizon)s::timestamptz IS NULL OR
    dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s) >= %(horizon)s)
