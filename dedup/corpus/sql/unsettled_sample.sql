-- What waits to be settled, by a look at the first of it: the time, how many articles and index rows the planner
-- believes there are, how many were looked at, how many of them are pending, the oldest, and limits that fired.
WITH looked_at AS MATERIALIZED (
    SELECT status, added_at, limit_fired FROM dedup.article
    WHERE status = 'pending' OR stale
    ORDER BY coalesce(published_at, added_at), source_id LIMIT %(sample)s + 1
)
SELECT clock_timestamp(),
       (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'dedup.article'::regclass),
       (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'dedup.article_unsettled'::regclass),
       (SELECT count(*) FROM looked_at),
       (SELECT count(*) FROM looked_at WHERE status = 'pending'),
       (SELECT min(added_at) FROM looked_at),
       (SELECT coalesce(jsonb_object_agg(limit_fired, articles), '{}') FROM (
            SELECT limit_fired, count(*) AS articles FROM looked_at WHERE limit_fired IS NOT NULL GROUP BY 1) AS fired)
