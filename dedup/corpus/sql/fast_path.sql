-- New articles and their marks, as the hook writes them.

-- name: given
-- An article and its fingerprint; and what its place in canonical order depends on.
%(source_id)s::text, %(text)s::text, %(title)s::text, %(url)s::text, %(publication)s::text,
%(published_at)s::timestamptz, %(added_at)s::timestamptz, %(language)s::text, %(version)s::bigint,
%(content_hash)s::bigint, %(sentence_hashes)s::bigint[], %(signature)s::bytea, %(buckets)s::bigint[],
%(word_count)s::integer, %(shingle_count)s::integer, %(policy)s::text, %(earliest)s::timestamptz

-- name: submit
-- Store an article with its mark if it is new and shares nothing with others; else what it shares with which.
SELECT * FROM dedup.submit_new(%(rules)s::text[], %(most)s::integer, ${given})

-- name: store
-- Store a new article as unique, or as a duplicate; null where someone has just stored it.
SELECT dedup.store_new(${given}, %(original)s::bigint, %(score)s::double precision, %(reason)s::text)

-- name: mark_provisionally
-- A mark, unique or similar, of an article that is to be settled again.
UPDATE dedup.article
SET status = %(status)s, stale = true, duplicate_of = NULL, score = %(score)s, reason = %(reason)s, marked_at = now()
WHERE id = %(id)s
