-- Read quotes: sentences that several outlets share.

-- name: columns
-- The columns of a quote.
sentence_hash, words, outlets, stories, articles, common, speech, source_id, publication, appeared_at, counted_at

-- name: page
-- Read a page of quotes.
SELECT ${columns} FROM dedup.quote
WHERE (${order}, sentence_hash) < (%(place)s, %(hash)s) AND (speech OR NOT %(speech)s)
ORDER BY ${order} DESC, sentence_hash DESC LIMIT %(limit)s

-- name: one
-- Read a quote.
SELECT ${columns} FROM dedup.quote WHERE sentence_hash = %(hash)s

-- name: articles
-- Read a limited number of articles with a sentence, and return the earliest articles; undated articles come last. OFFSET 0
-- forces one index lookup per article, even if the statistics of Postgres are out of date.
SELECT k.id
FROM (SELECT DISTINCT h.article_id FROM dedup.holding('{true,false}', ARRAY[%(hash)s::bigint]) AS h
      LIMIT %(read)s) AS h
CROSS JOIN LATERAL (
    SELECT f.article_id FROM dedup.fingerprint f
    WHERE f.article_id = h.article_id AND %(hash)s = ANY (f.sentence_hashes) OFFSET 0) AS f
CROSS JOIN LATERAL (SELECT id, known_at, source_id FROM dedup.marked_article WHERE id = f.article_id OFFSET 0) AS k
ORDER BY k.known_at, k.source_id LIMIT %(limit)s
