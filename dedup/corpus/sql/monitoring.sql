-- What status and metrics tell.

-- name: overview
-- The state of a corpus in one row, for `dedup status`.
SELECT (SELECT count(*) FROM dedup.article a WHERE (a.status = 'pending' OR a.stale) AND NOT EXISTS (
            SELECT FROM dedup.fingerprint f WHERE f.article_id = a.id AND f.revision = a.revision)),
       (SELECT count(*) FROM dedup.article WHERE stale),
       (SELECT count(DISTINCT duplicate_of) FROM dedup.article WHERE duplicate_of IS NOT NULL),
       (SELECT count(*) FROM dedup.match WHERE relation = 'similar'),
       (SELECT count(*) FROM dedup.common_sentence),
       (SELECT count(*) FROM dedup.sentence_pin),
       (SELECT count(*) FROM dedup.pair_pin),
       (SELECT horizon FROM dedup.corpus_state),
       (SELECT count(*) FROM dedup.article WHERE archived),
       (SELECT recount_all OR EXISTS (SELECT FROM dedup.sentence_change) FROM dedup.corpus_state),
       (SELECT max(marked_at) FROM dedup.article),
       pg_database_size(current_database()),
       -- As they are stored: compressed, without the pages around them.
       (SELECT coalesce(sum(pg_column_size(text)), 0)::bigint FROM dedup.article)

-- name: unsettled_sample
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
