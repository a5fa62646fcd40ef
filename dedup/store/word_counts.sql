-- Counts of words.

-- name: estimate
-- Return an estimate of the number of articles. After many deletions it is too high, which does no harm.
SELECT coalesce(max(id) - min(id) + 1, 0) FROM dedup.article_mark

-- name: sample
-- Return title and text of a random sample of articles. The sample has whole pages, so that few pages are read.
SELECT left(title, %(title)s), left(text, %(text)s)
FROM dedup.article TABLESAMPLE SYSTEM (%(percent)s) LIMIT %(most)s

-- name: forget
-- Delete all counts.
DELETE FROM dedup.word_count

-- name: store
-- Store counts of words.
INSERT INTO dedup.word_count (word, articles) SELECT * FROM unnest(%(words)s::text[], %(counts)s::integer[])

-- name: counts
-- Return the counts of words, and of the sample; words that are not counted are left out. The words are one text,
-- separated by spaces, because psycopg takes long for thousands of strings.
SELECT word, articles FROM dedup.word_count WHERE word = ANY (string_to_array(%(words)s, ' ') COLLATE "C") OR word = ''
