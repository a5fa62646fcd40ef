-- The counts of one sentence from all its carriers.
WITH carrier AS MATERIALIZED (
    SELECT article_id, buckets FROM dedup.carrier(ARRAY[%(sentence)s::bigint])
)
SELECT (SELECT count(*)::integer FROM carrier),
       coalesce((SELECT sum(copies * (copies - 1))::bigint FROM (
           SELECT count(*) AS copies FROM carrier c
           CROSS JOIN unnest(c.buckets) WITH ORDINALITY AS b (bucket, band)
           GROUP BY b.band, b.bucket) AS equal), 0),
       (SELECT min(article_id) FROM carrier)
