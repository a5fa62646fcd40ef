-- What status and metrics tell.

-- name: overview
-- The state of a corpus in one row, for `dedup status`.
SELECT (SELECT count(*) FROM dedup.marked_article a WHERE (a.status = 'pending' OR a.stale) AND NOT EXISTS (
            SELECT FROM dedup.fingerprint f WHERE f.article_id = a.id AND f.revision = a.revision)),
       (SELECT count(*) FROM dedup.article_mark WHERE stale),
       (SELECT count(DISTINCT duplicate_of) FROM dedup.article_mark WHERE duplicate_of IS NOT NULL),
       (SELECT count(*) FROM dedup.match WHERE relation = 'similar'),
       (SELECT count(*) FROM dedup.common_sentence),
       (SELECT count(*) FROM dedup.sentence_pin),
       (SELECT count(*) FROM dedup.pair_pin),
       (SELECT horizon FROM dedup.corpus_state),
       (SELECT count(*) FROM dedup.article_mark WHERE archived),
       (SELECT recount_all OR EXISTS (SELECT FROM dedup.sentence_change) FROM dedup.corpus_state),
       (SELECT max(marked_at) FROM dedup.article_mark),
       pg_database_size(current_database()),
       -- As they are stored: compressed, without the pages around them.
       (SELECT coalesce(sum(pg_column_size(text)), 0)::bigint FROM dedup.article)

-- name: unsettled_sample
-- What waits to be settled, by a look at the first of it: the time, how many articles and index rows the planner
-- believes there are, how many were looked at, how many of them are pending, the oldest, and limits that fired.
WITH looked_at AS MATERIALIZED (
    SELECT k.status, a.added_at, k.limit_fired FROM dedup.article_mark k
    CROSS JOIN LATERAL (SELECT added_at FROM dedup.article WHERE id = k.id OFFSET 0) AS a
    WHERE k.status = 'pending' OR k.stale
    ORDER BY k.time, k.id LIMIT %(sample)s + 1
)
SELECT clock_timestamp(),
       (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'dedup.article'::regclass),
       (SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'dedup.article_unsettled'::regclass),
       (SELECT count(*) FROM looked_at),
       (SELECT count(*) FROM looked_at WHERE status = 'pending'),
       (SELECT min(added_at) FROM looked_at),
       (SELECT coalesce(jsonb_object_agg(limit_fired, articles), '{}') FROM (
            SELECT limit_fired, count(*) AS articles FROM looked_at WHERE limit_fired IS NOT NULL GROUP BY 1) AS fired)

-- name: bounded_count
-- How many rows a table has; counting stops at the limit.
SELECT count(*) FROM (SELECT FROM ${table} LIMIT %(limit)s) AS looked_at

-- name: changes
-- How many changes of attached tables were not read yet, and for how many seconds the first has waited.
SELECT coalesce(sum(amount), 0)::bigint, extract(epoch FROM clock_timestamp() - min(noted_at))::double precision
FROM (SELECT amount, noted_at FROM dedup.outbox ORDER BY id LIMIT %(limit)s) AS looked_at

-- name: common_sentences
-- The common and the pinned sentences, those of most effective stories first.
SELECT sentence_hash, carriers, effective_stories, common, pin, example, since
FROM dedup.sentence ORDER BY effective_stories DESC NULLS LAST, sentence_hash LIMIT %(limit)s

-- name: failed
-- How many of the newest articles that failed did so for which reason, and how many lately.
SELECT split_part(reason, ':', 1), count(*),
       count(*) FILTER (WHERE marked_at > clock_timestamp() - make_interval(secs => %(lately)s))
FROM (SELECT reason, marked_at FROM dedup.article_mark WHERE status = 'failed' ORDER BY id DESC LIMIT %(sample)s) AS f
GROUP BY 1 ORDER BY 1

-- name: failures
-- How many articles failed for which reason.
SELECT split_part(reason, ':', 1), count(*) FROM dedup.article_mark WHERE status = 'failed' GROUP BY 1

-- name: holder
-- The session that holds the settle lock. Who waits for the row holds the same lock of its table; what tells them
-- apart is the waiting.
SELECT a.pid, a.application_name, a.state, extract(epoch FROM clock_timestamp() - a.xact_start)::double precision
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.relation = 'dedup.settle_turn'::regclass AND l.mode = 'RowShareLock' AND l.granted
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND a.wait_event_type IS DISTINCT FROM 'Lock' AND a.pid <> pg_backend_pid()
ORDER BY a.xact_start LIMIT 1

-- name: last_done
-- When a run last ended well.
SELECT max(ended_at) FROM dedup.run WHERE outcome = 'done'

-- name: limits
-- How many articles that wait were left by which limit.
SELECT limit_fired, count(*) FROM dedup.article_mark
WHERE (status = 'pending' OR stale) AND limit_fired IS NOT NULL GROUP BY limit_fired

-- name: sizes
-- The bytes of each table with its indexes and out-of-line values.
SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c
WHERE c.relnamespace = 'dedup'::regnamespace AND c.relkind = 'r' ORDER BY 2 DESC, 1

-- name: statuses
-- How many articles have which status.
SELECT status, count(*) FROM dedup.article_mark GROUP BY status
