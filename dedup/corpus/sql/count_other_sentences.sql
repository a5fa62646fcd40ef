-- Sentences whose counts are not kept: few articles carried them, so all their carriers are read. Only those
-- matter that many carry now, or that are common or pinned.
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
