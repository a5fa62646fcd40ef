-- The state of a corpus for status and metrics.

-- name: unsettled_sample
-- Return the server time, and the planner's estimates of the numbers of articles and of unsettled articles. If the
-- planner has no estimate of the articles yet, return the range of their ids instead.
-- For a sample of unsettled articles, return: number, number of pending articles, first time of waiting, limits.
WITH looked_at AS MATERIALIZED (
    SELECT k.status, coalesce(k.waits_since, a.added_at) AS since, k.limit_fired FROM dedup.article_mark k
    CROSS JOIN LATERAL (SELECT added_at FROM dedup.article WHERE id = k.id OFFSET 0) AS a
    WHERE k.status = 'pending' OR k.stale
    ORDER BY k.time, k.id LIMIT %(sample)s + 1
)
SELECT clock_timestamp(),
       (SELECT CASE WHEN reltuples > 0 THEN reltuples::bigint
                    ELSE (SELECT coalesce(max(id) - min(id) + 1, 0) FROM dedup.article) END
        FROM pg_class WHERE oid = 'dedup.article'::regclass),
       (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'dedup.article_unsettled'::regclass),
       (SELECT count(*) FROM looked_at),
       (SELECT count(*) FROM looked_at WHERE status = 'pending'),
       (SELECT min(since) FROM looked_at),
       (SELECT coalesce(jsonb_object_agg(limit_fired, articles), '{}') FROM (
            SELECT limit_fired, count(*) AS articles FROM looked_at WHERE limit_fired IS NOT NULL GROUP BY 1) AS fired)

-- name: queues
-- Return the number of unread changes of attached tables, the seconds for which the oldest change has waited,
-- and the numbers of deferred versions and of marks to be written. Read at most `limit` rows of each table.
SELECT coalesce(sum(amount), 0)::bigint, extract(epoch FROM clock_timestamp() - min(noted_at))::double precision,
       (SELECT count(*) FROM (SELECT FROM dedup.deferred_article LIMIT %(limit)s) AS looked_at),
       (SELECT count(*) FROM (SELECT FROM dedup.mark_change LIMIT %(limit)s) AS looked_at)
FROM (SELECT amount, noted_at FROM dedup.outbox ORDER BY id LIMIT %(limit)s) AS looked_at

-- name: failed
-- Count the newest failed articles by reason: in total, and in the last `lately` seconds.
SELECT split_part(reason, ':', 1), count(*),
       count(*) FILTER (WHERE marked_at > clock_timestamp() - make_interval(secs => %(lately)s))
FROM (SELECT reason, marked_at FROM dedup.article_mark WHERE status = 'failed' ORDER BY id DESC LIMIT %(sample)s) AS f
GROUP BY 1 ORDER BY 1

-- name: last_done
-- Return the end of the last successful run.
SELECT max(ended_at) FROM dedup.run WHERE outcome = 'done'

-- name: failing
-- Count the runs that failed since the last success, by kind of error. Runs of workers do not store the kind.
SELECT coalesce(error, 'see its log'), count(*) FROM dedup.run
WHERE outcome = 'failed' AND what = ANY(%(kinds)s)
    AND id > coalesce((SELECT max(id) FROM dedup.run WHERE outcome = 'done' AND what = ANY(%(kinds)s)), 0)
GROUP BY 1 ORDER BY 2 DESC, 1
