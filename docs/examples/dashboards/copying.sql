-- Superset, Metabase: who copies whom; a heat map of publication and original_publication.
SELECT publication, original_publication, duplicates, round(mean_score::numeric, 3) AS mean_score,
       round(extract(epoch FROM median_delay) / 60) AS median_minutes
FROM dedup.publication_overlap
WHERE times_known
ORDER BY duplicates DESC
