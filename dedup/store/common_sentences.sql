-- Common sentences and their counts.

-- name: drop_taken_changes
-- Drop the temporary tables of an earlier count in this transaction.
DROP TABLE IF EXISTS pg_temp.taken_change, pg_temp.net_change, pg_temp.touched_sentence

-- name: taken_changes
-- Copy the ids of the changes that are not counted yet. The next statements count these changes.
CREATE TEMPORARY TABLE taken_change ON COMMIT DROP AS SELECT id FROM dedup.sentence_change

-- name: analyze_taken_changes
-- Update the statistics of this temporary table, so that the planner knows its size.
ANALYZE pg_temp.taken_change

-- name: net_changes
-- Reduce the taken changes to at most two rows per article: the fingerprint that was counted before, with the sign -1,
-- and the present fingerprint, with the sign +1. Only the first and the last change of an article are read, because
-- fingerprints that came and went in between were never counted.
CREATE TEMPORARY TABLE net_change ON COMMIT DROP AS
WITH edge AS (
    SELECT c.article_id, min(c.id) AS first, max(c.id) AS last
    FROM pg_temp.taken_change t JOIN dedup.sentence_change c USING (id)
    WHERE c.article_id IS NOT NULL GROUP BY c.article_id
)
SELECT e.article_id, -1 AS sign, c.sentence_hashes, c.buckets
FROM edge e JOIN dedup.sentence_change c ON c.id = e.first AND c.sentence_hashes IS NOT NULL
UNION ALL
SELECT e.article_id, 1, f.sentence_hashes, f.buckets
FROM edge e JOIN dedup.sentence_change c ON c.id = e.last AND c.sentence_hashes IS NULL
JOIN dedup.fingerprint f ON f.article_id = e.article_id

-- name: analyze_net_changes
-- Update the statistics of this temporary table, so that the planner knows its size.
ANALYZE pg_temp.net_change

-- name: touched_sentences
-- Collect the sentences that the changes affect. For each sentence: the change in the number of carriers, an article
-- that carries the sentence now, and the stored counts, if any.
CREATE TEMPORARY TABLE touched_sentence ON COMMIT DROP AS
SELECT sentence_hash, sum(sign)::integer AS change, max(carrier) AS carrier,
       min(c.carriers) AS carriers, min(c.pairs) AS pairs
FROM (
    SELECT s.sentence_hash, n.sign, CASE WHEN n.sign > 0 THEN n.article_id END AS carrier
    FROM pg_temp.net_change n CROSS JOIN unnest(n.sentence_hashes) AS s (sentence_hash)
    UNION ALL
    SELECT s.sentence_hash, 0, NULL
    FROM pg_temp.taken_change t JOIN dedup.sentence_change c USING (id)
    CROSS JOIN unnest(c.sentence_hashes) AS s (sentence_hash)
    WHERE c.article_id IS NULL
) AS touched LEFT JOIN dedup.sentence_count c USING (sentence_hash)
GROUP BY sentence_hash

-- name: index_touched_sentences
-- Index the affected sentences, because the next statements join by sentence.
CREATE INDEX ON pg_temp.touched_sentence (sentence_hash)

-- name: analyze_touched_sentences
-- Update the statistics of this temporary table, so that the planner knows its size.
ANALYZE pg_temp.touched_sentence

-- name: prefer_hash_joins
-- Allow hash joins and full scans again, which `prefer_indexes` forbade: the next statements join small tables of known
-- size. The functions `dedup.carrier` and `dedup.holder` have planner settings of their own, and still use indexes.
SELECT set_config('enable_hashjoin', 'on', true), set_config('enable_seqscan', 'on', true)

-- name: count_kept_sentences
-- Add the changes to the stored counts, because a sentence may have 100,000 carriers, too many to read again. Read only
-- carriers with a bucket key of a changed article. N carriers with the same key form N (N - 1) ordered pairs. If the
-- changes added d of these carriers, the carriers formed (N - d) (N - d - 1) pairs before.
WITH moved AS MATERIALIZED (
    SELECT s.sentence_hash, b.band, b.bucket, sum(n.sign) AS d
    FROM pg_temp.net_change n CROSS JOIN unnest(n.sentence_hashes) AS s (sentence_hash)
    JOIN pg_temp.touched_sentence t ON t.sentence_hash = s.sentence_hash AND t.carriers IS NOT NULL
    CROSS JOIN unnest(n.buckets) WITH ORDINALITY AS b (bucket, band)
    GROUP BY s.sentence_hash, b.band, b.bucket HAVING sum(n.sign) <> 0
), holder AS MATERIALIZED (
    SELECT h.bucket, h.sentence_hashes, h.buckets
    FROM dedup.holder(ARRAY(SELECT DISTINCT bucket FROM moved)) AS h
), holding AS (
    SELECT s.sentence_hash, b.band, h.bucket, count(*) AS n
    FROM holder h CROSS JOIN unnest(h.buckets) WITH ORDINALITY AS b (bucket, band)
    CROSS JOIN unnest(h.sentence_hashes) AS s (sentence_hash)
    WHERE b.bucket = h.bucket
    GROUP BY s.sentence_hash, b.band, h.bucket
), difference AS (
    SELECT m.sentence_hash,
           sum(coalesce(h.n, 0) * (coalesce(h.n, 0) - 1)
               - (coalesce(h.n, 0) - m.d) * (coalesce(h.n, 0) - m.d - 1)) AS pairs
    FROM moved m LEFT JOIN holding h USING (sentence_hash, band, bucket)
    GROUP BY m.sentence_hash
)
SELECT t.sentence_hash, t.carriers + t.change, (t.pairs + coalesce(d.pairs, 0))::bigint, t.carrier
FROM pg_temp.touched_sentence t LEFT JOIN difference d USING (sentence_hash)
WHERE t.carriers IS NOT NULL

-- name: count_other_sentences
-- Count the affected sentences that have no stored counts. Until now few articles carried them, so read all carriers.
-- Return the sentences that more than `limit` articles carry now, or that are common or pinned.
WITH carrier AS MATERIALIZED (
    SELECT * FROM dedup.carrier(ARRAY(
        SELECT sentence_hash FROM pg_temp.touched_sentence WHERE carriers IS NULL))
), carried AS (
    SELECT t.sentence_hash, count(c.article_id)::integer AS carriers, min(c.article_id) AS carrier
    FROM pg_temp.touched_sentence t LEFT JOIN carrier c USING (sentence_hash)
    WHERE t.carriers IS NULL
    GROUP BY t.sentence_hash
    HAVING count(c.article_id) > %(limit)s
        OR EXISTS (SELECT FROM dedup.common_sentence s WHERE s.sentence_hash = t.sentence_hash)
        OR EXISTS (SELECT FROM dedup.sentence_pin p WHERE p.sentence_hash = t.sentence_hash)
), agreeing AS (
    SELECT sentence_hash, sum(copies * (copies - 1))::bigint AS pairs
    FROM (
        SELECT c.sentence_hash, count(*) AS copies
        FROM carrier c JOIN carried USING (sentence_hash)
        CROSS JOIN unnest(c.buckets) WITH ORDINALITY AS b (bucket, band)
        GROUP BY c.sentence_hash, b.band, b.bucket HAVING count(*) > 1
    ) AS equal GROUP BY sentence_hash
)
SELECT sentence_hash, carriers, coalesce(pairs, 0), carrier FROM carried LEFT JOIN agreeing USING (sentence_hash)

-- name: count_every_sentence
-- Count every sentence that more than `limit` articles carry, and the sentences of `watched`. Return for each sentence
-- the number of carriers, the number of ordered pairs of carriers, and one carrier. A pair counts once for each band
-- (position in `buckets`) in which both carriers have the same bucket key.
WITH carried AS MATERIALIZED (
    SELECT sentence_hash, count(*)::integer AS carriers, min(article_id) AS carrier
    FROM ${fingerprints} f CROSS JOIN unnest(f.sentence_hashes) AS s (sentence_hash)
    GROUP BY sentence_hash HAVING count(*) > %(limit)s OR sentence_hash = ANY (%(watched)s::bigint[])
), agreeing AS (
    SELECT sentence_hash, sum(copies * (copies - 1))::bigint AS pairs
    FROM (
        SELECT s.sentence_hash, count(*) AS copies
        FROM ${fingerprints} f CROSS JOIN unnest(f.sentence_hashes) AS s (sentence_hash)
        JOIN carried USING (sentence_hash)
        CROSS JOIN unnest(f.buckets) WITH ORDINALITY AS b (bucket, band)
        GROUP BY s.sentence_hash, b.band, b.bucket HAVING count(*) > 1
    ) AS equal GROUP BY sentence_hash
)
SELECT sentence_hash, carriers, coalesce(pairs, 0), carrier FROM carried LEFT JOIN agreeing USING (sentence_hash)

-- name: count_one_sentence
-- Count one sentence from all its carriers.
WITH carrier AS MATERIALIZED (
    SELECT article_id, buckets FROM dedup.carrier(ARRAY[%(sentence)s::bigint])
)
SELECT (SELECT count(*)::integer FROM carrier),
       coalesce((SELECT sum(copies * (copies - 1))::bigint FROM (
           SELECT count(*) AS copies FROM carrier c
           CROSS JOIN unnest(c.buckets) WITH ORDINALITY AS b (bucket, band)
           GROUP BY b.band, b.bucket) AS equal), 0),
       (SELECT min(article_id) FROM carrier)

-- name: anything_to_count
-- Return whether any sentence may have become common, or stopped being common, since the last count.
SELECT recount_all OR EXISTS (SELECT FROM dedup.sentence_change) FROM dedup.corpus_state

-- name: carriers
-- Return the articles that carry one of these sentences.
SELECT DISTINCT article_id FROM dedup.carrier(%(sentences)s)

-- name: count_again
-- Make the next backfill count every sentence again.
UPDATE dedup.corpus_state SET recount_all = true

-- name: delete_all_counts
-- Delete all counts, so that new counts can be written.
DELETE FROM dedup.sentence_count

-- name: delete_changes
-- Delete the changes that were counted.
DELETE FROM dedup.sentence_change WHERE id = ANY (%(taken)s)

-- name: delete_common
-- Delete sentences that stop being common.
DELETE FROM dedup.common_sentence WHERE sentence_hash = ANY (%(sentences)s::bigint[])

-- name: delete_counts
-- Delete the counts of sentences that few articles carry.
DELETE FROM dedup.sentence_count WHERE sentence_hash = ANY (%(sentences)s::bigint[])

-- name: note_counted
-- Record that every sentence was counted.
UPDATE dedup.corpus_state SET recount_all = false WHERE recount_all

-- name: pins
-- Return the pinned sentences.
SELECT sentence_hash, common FROM dedup.sentence_pin

-- name: stored
-- Return all common sentences, or only the common sentences in `keys`.
SELECT sentence_hash, carriers, effective_stories FROM dedup.common_sentence
WHERE %(keys)s::bigint[] IS NULL OR sentence_hash = ANY (%(keys)s::bigint[])

-- name: waiting_changes
-- Return whether every sentence must be counted, the ids of uncounted changes, and an estimate of the fingerprints.
SELECT s.recount_all, coalesce((SELECT array_agg(id) FROM dedup.sentence_change), '{}'),
       (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'dedup.fingerprint'::regclass)
FROM dedup.corpus_state s

-- name: write_common
-- Insert common sentences. If a sentence is stored already, update its counts, and keep its stored example text.
INSERT INTO dedup.common_sentence (sentence_hash, carriers, effective_stories, example)
SELECT * FROM unnest(%(sentences)s::bigint[], %(carriers)s::integer[], %(stories)s::double precision[],
                     %(examples)s::text[])
ON CONFLICT (sentence_hash) DO UPDATE
    SET carriers = excluded.carriers, effective_stories = excluded.effective_stories

-- name: write_counts
-- Insert or update the counts of sentences.
INSERT INTO dedup.sentence_count (sentence_hash, carriers, pairs)
SELECT * FROM unnest(%(sentences)s::bigint[], %(carriers)s::integer[], %(pairs)s::bigint[])
ON CONFLICT (sentence_hash) DO UPDATE SET carriers = excluded.carriers, pairs = excluded.pairs
