-- What `dedup status` and `common` report.

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

-- name: common_sentences
-- The common and the pinned sentences, those of most effective stories first.
SELECT sentence_hash, carriers, effective_stories, common, pin, example, since
FROM dedup.sentence ORDER BY effective_stories DESC NULLS LAST, sentence_hash LIMIT %(limit)s

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
