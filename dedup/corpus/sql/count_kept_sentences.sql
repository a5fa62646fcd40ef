-- Sentences whose counts are kept, changed by difference: the carriers of a sentence that 100,000 articles carry
-- are not read again. Only the bucket keys of the changed articles are looked at: of N carriers that have the
-- key now there were N - d before, so the ordered pairs change by N (N - 1) - (N - d) (N - d - 1).
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
