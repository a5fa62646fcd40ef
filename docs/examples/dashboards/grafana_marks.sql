-- Grafana: originals and duplicates by the hour; time series.
SELECT $__timeGroupAlias(appeared_at, '1h'),
       count(*) FILTER (WHERE status IN ('unique', 'similar')) AS "originals",
       count(*) FILTER (WHERE status = 'duplicate') AS "duplicates"
FROM dedup.story_article
WHERE $__timeFilter(appeared_at)
GROUP BY 1
ORDER BY 1
