-- Grafana: what waits to be settled, and what cannot be read; stat, or an alert where it stays above 0.
SELECT count(*) FILTER (WHERE status = 'pending') AS "pending", count(*) FILTER (WHERE stale) AS "stale",
       count(*) FILTER (WHERE status = 'failed') AS "failed"
FROM dedup.mark
