-- Grafana: originals and duplicates by the hour; time series. A date without an hour is in no hour.
SELECT $__timeGroupAlias(appeared_at, '1h'),
       count(*) FILTER (WHERE s.id IS NULL OR s.was_first) AS "originals",
       count(*) FILTER (WHERE s.was_first IS FALSE) AS "duplicates",
       count(*) FILTER (WHERE s.id IS NOT NULL AND s.was_first IS NULL) AS "shared, first unknown"
FROM dedup.story_article a LEFT JOIN dedup.shared_article s ON s.id = a.id
WHERE $__timeFilter(appeared_at) AND status IN ('unique', 'similar', 'duplicate')
  AND appeared_at <> date_trunc('day', appeared_at, 'UTC')
GROUP BY 1
ORDER BY 1
