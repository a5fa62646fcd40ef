-- Every sentence that more than `limit` articles carry, and those that are watched: how many, how many ordered pairs
-- of them agree in the bucket key of a band, summed over the bands, and one of them. One pass over all fingerprints
-- finds which sentences these are, a second one reads the buckets of their carriers.
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
