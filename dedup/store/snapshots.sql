-- The corpus for `dedup verify`: whole tables, without look-ups by hash.

-- name: choose
-- Return the articles that are not archived, or a random sample of them.
SELECT id FROM dedup.article_mark WHERE NOT archived
ORDER BY CASE WHEN %(sample)s::integer IS NULL THEN id ELSE random() END LIMIT %(sample)s

-- name: count_articles
-- Count all articles, and archived articles.
SELECT count(*), count(*) FILTER (WHERE archived) FROM dedup.article_mark

-- name: common_sentences
-- Return the common sentences.
SELECT sentence_hash, carriers, effective_stories FROM dedup.common_sentence

-- name: sentence_counts
-- Return the stored counts of sentences.
SELECT sentence_hash, carriers, pairs FROM dedup.sentence_count

-- name: count_sentences
-- Count the carriers of frequent and pinned sentences, and the pairs of carriers with an equal bucket key.
WITH carrier AS (
    SELECT s.sentence_hash, f.buckets
    FROM dedup.fingerprint f CROSS JOIN unnest(f.sentence_hashes) AS s (sentence_hash)
), counted AS (
    SELECT sentence_hash, count(*)::integer AS carriers FROM carrier GROUP BY sentence_hash
    HAVING count(*) > %(limit)s OR sentence_hash IN (SELECT sentence_hash FROM dedup.sentence_pin)
), bucket AS (
    SELECT c.sentence_hash, count(*) AS n
    FROM carrier c JOIN counted USING (sentence_hash)
    CROSS JOIN generate_series(1, %(bands)s) AS b (band)
    GROUP BY c.sentence_hash, b.band, c.buckets[b.band]
)
SELECT sentence_hash, k.carriers, sum(b.n * b.n - b.n)::bigint
FROM counted k JOIN bucket b USING (sentence_hash) GROUP BY sentence_hash, k.carriers

-- name: sentence_pins
-- Return the pins of sentences.
SELECT sentence_hash, common FROM dedup.sentence_pin

-- name: pair_pins
-- Return the pinned pairs of stored articles.
SELECT a.id, o.id, p.relation FROM dedup.pair_pin p
JOIN dedup.article a ON a.source_id = p.source_id
JOIN dedup.article o ON o.source_id = p.other_source_id

-- name: articles
-- Return articles with their marks, and the fingerprints of their present texts.
SELECT a.id, a.source_id, dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s), a.published_at,
       a.status, a.duplicate_of, a.score, a.reason, a.status <> 'pending' AND NOT a.stale,
       a.takes_part, f.canonical, f.version,
       f.content_hash, f.sentence_hashes, f.signature, f.buckets, f.word_count, f.shingle_count
FROM dedup.marked_article a LEFT JOIN dedup.fingerprint f ON f.article_id = a.id AND f.revision = a.revision
WHERE a.id = ANY (%(ids)s)

-- name: canonical
-- Return the originals.
SELECT f.article_id FROM dedup.fingerprint f JOIN dedup.article_mark a ON a.id = f.article_id
WHERE f.canonical AND a.takes_part

-- name: pair
-- Columns of a pair.
article_id, other_id, relation, rule, score, sentence_jaccard, signature_jaccard, containment

-- name: pairs
-- Return the pairs of these later articles. Skip pairs that only the earlier article needs, for its best match.
SELECT ${pair} FROM dedup.match WHERE article_id = ANY (%(ids)s) AND NOT best_match
UNION ALL
SELECT ${pair} FROM (
    SELECT m.*, row_number() OVER (
        PARTITION BY m.article_id ORDER BY m.score DESC, m.rule COLLATE "C", o.time, o.source_id
    ) AS rank
    FROM dedup.match m JOIN (
        SELECT id, source_id, dedup.canonical_time(published_at, added_at, %(policy)s, %(earliest)s) AS time
        FROM dedup.article
    ) AS o ON o.id = m.other_id
    WHERE m.article_id = ANY (%(ids)s)
) AS ranked WHERE best_match AND (rank <= %(pairs)s OR rule = 'pinned')

-- name: best_match_pairs
-- Return the pair of each article with its best match; no pair if the best match is an earlier article.
SELECT ${pair} FROM dedup.match WHERE other_id = ANY (%(ids)s) AND best_match
