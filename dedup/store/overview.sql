-- Reports of `dedup status` and `dedup common`.

-- name: overview
-- Return the state of a corpus in one row, for `dedup status`.
SELECT (SELECT count(*) FROM dedup.article_mark WHERE stale) AS stale,
       (SELECT count(DISTINCT duplicate_of) FROM dedup.article_mark WHERE duplicate_of IS NOT NULL)
            AS stories_with_copies,
       (SELECT count(*) FROM dedup.match WHERE relation = 'similar') AS similar_pairs,
       (SELECT count(*) FROM dedup.common_sentence) AS common_sentences,
       (SELECT count(*) FROM dedup.sentence_pin) AS sentence_pins,
       (SELECT count(*) FROM dedup.pair_pin) AS pair_pins,
       (SELECT horizon FROM dedup.corpus_state) AS horizon,
       (SELECT count(*) FROM dedup.article_mark WHERE archived) AS archived,
       (SELECT recount_all OR EXISTS (SELECT FROM dedup.sentence_change) FROM dedup.corpus_state) AS uncounted,
       (SELECT max(marked_at) FROM dedup.article_mark) AS last_marked_at,
       (SELECT algorithm_revision FROM dedup.corpus_state) AS fingerprint_revision,
       (SELECT unicode_version FROM dedup.corpus_state) AS unicode_version,
       pg_database_size(current_database()) AS database_bytes,
       -- The bytes of the texts as stored: compressed, without the overhead of pages.
       (SELECT coalesce(sum(pg_column_size(text)), 0)::bigint FROM dedup.article) AS text_bytes

-- name: common_sentences
-- Return the common and the pinned sentences, in descending order of effective stories.
SELECT sentence_hash, carriers, effective_stories, common, pin, example, since
FROM dedup.sentence ORDER BY effective_stories DESC NULLS LAST, sentence_hash LIMIT %(limit)s

-- name: failures
-- Count failed articles by reason.
SELECT split_part(reason, ':', 1), count(*) FROM dedup.article_mark WHERE status = 'failed' GROUP BY 1

-- name: holder
-- Return the session that holds the settle lock. A session that waits for the settle lock has the same lock on the
-- table, and differs only in its wait event.
SELECT a.pid, a.application_name, a.state, extract(epoch FROM clock_timestamp() - a.xact_start)::double precision
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.relation = 'dedup.settle_turn'::regclass AND l.mode = 'RowShareLock' AND l.granted
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND a.wait_event_type IS DISTINCT FROM 'Lock' AND a.pid <> pg_backend_pid()
ORDER BY a.xact_start LIMIT 1

-- name: limits
-- Count unsettled articles by the safety limit that stopped their settling.
SELECT limit_fired, count(*) FROM dedup.article_mark
WHERE (status = 'pending' OR stale) AND limit_fired IS NOT NULL GROUP BY limit_fired

-- name: sizes
-- Return the bytes of each table with its indexes and out-of-line values.
SELECT c.relname, pg_total_relation_size(c.oid) FROM pg_class c
WHERE c.relnamespace = 'dedup'::regnamespace AND c.relkind = 'r' ORDER BY 2 DESC, 1

-- name: statuses
-- Count articles by status.
SELECT status, count(*) FROM dedup.article_mark GROUP BY status
