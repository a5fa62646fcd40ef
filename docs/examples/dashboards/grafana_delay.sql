-- Grafana: minutes from the original to the copies of each outlet, by day; time series.
SELECT $__timeGroupAlias(appeared_at, '1d'), coalesce(publication, 'unknown') AS metric,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM delay) / 60) AS median_minutes
FROM dedup.story_article
WHERE $__timeFilter(appeared_at) AND status = 'duplicate' AND times_known
GROUP BY 1, 2
ORDER BY 1, 2
