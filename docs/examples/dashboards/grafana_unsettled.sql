-- Grafana: waiting and failed articles; stat, or an alert if the number stays above 0.
SELECT count(*) FILTER (WHERE status = 'pending') AS "pending", count(*) FILTER (WHERE stale) AS "stale",
       count(*) FILTER (WHERE status = 'failed') AS "failed"
FROM dedup.mark
