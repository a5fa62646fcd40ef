-- Grafana: how many minutes after the original the copies of each outlet came, by the day; time series.
SELECT $__timeGroupAlias(appeared_at, '1d'), coalesce(publication, 'unknown') AS metric,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM delay) / 60) AS median_minutes
FROM dedup.story_article
WHERE $__timeFilter(appeared_at) AND status = 'duplicate' AND times_known
GROUP BY 1, 2
ORDER BY 1, 2
