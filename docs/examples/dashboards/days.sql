-- Superset, Metabase: what share of each day was original; lines over day.
SELECT day, articles, unique_articles + similar_articles AS originals, duplicates,
       round(duplicates::numeric / articles, 3) AS duplicate_share
FROM dedup.daily_mark
WHERE day >= (SELECT max(day) FROM dedup.daily_mark) - 30
ORDER BY day
