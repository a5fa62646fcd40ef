-- New articles and their marks, as the hook writes them.

-- name: submit
-- Store an article with its mark if it is new and shares nothing with others, or only what was told before; else what
-- it shares with which. What its place in canonical order depends on is given too.
SELECT * FROM dedup.submit_new(
    %(rules)s::text[], %(most)s::integer, %(source_id)s::text, %(text)s::text, %(title)s::text, %(url)s::text,
    %(publication)s::text, %(published_at)s::timestamptz, %(added_at)s::timestamptz, %(language)s::text, %(byline)s::text,
    %(kept)s::jsonb, %(version)s::bigint, %(content_hash)s::bigint, %(sentence_hashes)s::bigint[], %(signature)s::bytea,
    %(buckets)s::bigint[], %(word_count)s::integer, %(shingle_count)s::integer, %(policy)s::text,
    %(earliest)s::timestamptz, %(told)s::bigint, %(original)s::bigint, %(score)s::double precision, %(reason)s::text,
    %(others)s::bigint[], %(other_rules)s::text[], %(scores)s::double precision[], %(sentences)s::double precision[],
    %(signatures)s::double precision[], %(containments)s::double precision[])

-- name: mark_provisionally
-- A mark, unique or similar, of an article that is to be settled again.
UPDATE dedup.article_mark
SET status = %(status)s, stale = true, duplicate_of = NULL, score = %(score)s, reason = %(reason)s, marked_at = now()
WHERE id = %(id)s
