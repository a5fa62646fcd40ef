-- Superset, Metabase: the share of original articles of each day; lines over day.
SELECT day, articles, unique_articles + similar_articles AS originals, duplicates,
       round(duplicates::numeric / articles, 3) AS duplicate_share
FROM dedup.daily_mark
WHERE day >= (SELECT max(day) FROM dedup.daily_mark) - 30
ORDER BY day
