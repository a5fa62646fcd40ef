-- New articles and their marks, for hooks.

-- name: submit
-- Store a new article with its mark if it shares nothing with stored articles; else return the articles that share
-- something. If `checksum` (of an earlier result) is given, store the article if the result has not changed since.
SELECT * FROM dedup.submit_new(
    ROW(%(source_id)s, %(text)s, %(title)s, %(url)s, %(publication)s, %(published_at)s, %(added_at)s, %(language)s,
        %(byline)s, %(kept)s::jsonb, %(version)s, %(content_hash)s, %(sentence_hashes)s, %(signature)s, %(buckets)s,
        %(word_count)s, %(shingle_count)s, %(scope)s)::dedup.submission,
    %(rules)s, %(policy)s, %(earliest)s, %(most)s, %(pairs_kept)s, %(checksum)s, %(mark)s::jsonb)

-- name: mark_provisionally
-- Write a provisional mark, unique or similar. The mark is stale, so that a backfill settles the article again.
UPDATE dedup.article_mark
SET status = %(status)s, stale = true, duplicate_of = NULL, score = %(score)s, reason = %(reason)s, marked_at = now()
WHERE id = %(id)s
