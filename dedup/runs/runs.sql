-- Runs and workers of a corpus.

-- name: run_served
-- True if the session of the run `r` still exists or is unknown. pg_stat_activity may hide `backend_start`.
(r.backend_pid IS NULL OR EXISTS (
    SELECT FROM pg_stat_activity s
    WHERE s.pid = r.backend_pid AND (s.backend_start IS NULL OR s.backend_start = r.backend_start)))

-- name: run_gone
-- True if the run `r` is gone: its heartbeat is older than the lease, or its session ended.
(r.heartbeat_at < clock_timestamp() - make_interval(secs => %(lease)s) OR NOT ${run_served})

-- name: worker_served
-- True if the session of the worker `w` still exists or is unknown.
(w.backend_pid IS NULL OR EXISTS (
    SELECT FROM pg_stat_activity s
    WHERE s.pid = w.backend_pid AND (s.backend_start IS NULL OR s.backend_start = w.backend_start)))

-- name: worker_alive
-- True if the worker `w` is alive: the worker was seen within the lease, or its process has a live run.
(w.seen_at > clock_timestamp() - make_interval(secs => %(lease)s) AND ${worker_served}
 OR EXISTS (
    SELECT FROM dedup.run r
    WHERE r.ended_at IS NULL AND (r.host, r.process_id) = (w.host, w.process_id)
      AND r.heartbeat_at > clock_timestamp() - make_interval(secs => %(lease)s) AND ${run_served}))

-- name: add
-- Add counts and times to a run.
UPDATE dedup.run
SET fingerprinted = fingerprinted + %(fingerprinted)s, settled = settled + %(settled)s,
    failed = failed + %(failed)s,
    seconds = seconds || coalesce((
        SELECT jsonb_object_agg(key, coalesce((seconds ->> key)::numeric, 0) + value::numeric)
        FROM jsonb_each_text(%(stages)s)), '{}')
WHERE id = %(run)s

-- name: add_totals
-- Add counts and times to the totals of all runs.
INSERT INTO dedup.run_total AS t (name, stage, value)
SELECT * FROM unnest(%(names)s::text[], %(stages)s::text[], %(values)s::double precision[])
ON CONFLICT (name, stage) DO UPDATE SET value = t.value + excluded.value

-- name: beat
-- Store a heartbeat and the progress of a run, unless the run has ended.
UPDATE dedup.run
SET heartbeat_at = clock_timestamp(), progress_at = clock_timestamp() - make_interval(secs => %(still)s),
    stage = %(stage)s, done = %(done)s, total = %(total)s, backend_pid = %(backend_pid)s,
    backend_start = %(backend_start)s
WHERE id = %(run)s AND ended_at IS NULL

-- name: begin
-- Add the row of a new run, and return its id.
INSERT INTO dedup.run (what, host, process_id, backend_pid, backend_start)
VALUES (%(what)s, %(host)s, %(process_id)s, %(backend_pid)s, %(backend_start)s) RETURNING id

-- name: begin_worker
-- Add the row of a new worker, and return its id.
INSERT INTO dedup.worker (host, process_id) VALUES (%(host)s, %(process_id)s) RETURNING id

-- name: current
-- Return the run of the given kinds whose row has no end, whether the run is alive or gone.
SELECT id, host, process_id, started_at, stage, done, total,
       extract(epoch FROM clock_timestamp() - heartbeat_at)::double precision,
       extract(epoch FROM clock_timestamp() - progress_at)::double precision,
       ${run_gone}, what
FROM dedup.run r WHERE what = ANY (%(kinds)s) AND ended_at IS NULL

-- name: delete_gone_workers
-- Delete the rows of workers that are gone and silent for some seconds, but not the row of the calling worker.
DELETE FROM dedup.worker w WHERE w.id IS DISTINCT FROM %(besides)s AND NOT ${worker_alive}
    AND w.seen_at <= clock_timestamp() - make_interval(secs => %(silent)s)

-- name: delete_old
-- Delete old runs that have ended; keep the newest runs.
DELETE FROM dedup.run
WHERE ended_at IS NOT NULL AND id <= (SELECT id FROM dedup.run ORDER BY id DESC OFFSET %(kept)s LIMIT 1)

-- name: end
-- Store the end of a run, unless its row already has an end; return its id.
UPDATE dedup.run SET ended_at = clock_timestamp(), outcome = %(outcome)s, error = %(error)s
WHERE id = %(run)s AND ended_at IS NULL RETURNING id

-- name: end_worker
-- Delete the row of a worker that ends.
DELETE FROM dedup.worker WHERE id = %(worker)s

-- name: find
-- Look up whether a run has a row.
SELECT FROM dedup.run WHERE id = %(run)s

-- name: history
-- Return the newest runs.
SELECT id, what, host, started_at, ended_at, seconds, outcome, error,
       fingerprinted, settled, failed, stage_seconds
FROM dedup.run_history ORDER BY id DESC LIMIT %(limit)s

-- name: lost
-- Return the runs whose rows have no end, but which are gone.
SELECT id FROM dedup.run r WHERE ended_at IS NULL AND ${run_gone}

-- name: may_see_sessions
-- Return whether the role of this session may read the table of runs.
SELECT has_table_privilege('dedup.run', 'SELECT')

-- name: see_worker
-- Store that a worker is alive.
UPDATE dedup.worker
SET seen_at = clock_timestamp(), backend_pid = %(backend_pid)s, backend_start = %(backend_start)s,
    idle_at = CASE WHEN %(idle)s THEN clock_timestamp() ELSE idle_at END
WHERE id = %(worker)s

-- name: session
-- Return the session of this connection: the id of its server process, and the start of the process if visible.
SELECT pg_backend_pid(), (SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid())

-- name: totals
-- Return the totals of all runs.
SELECT name, stage, value FROM dedup.run_total ORDER BY name, stage

-- name: workers
-- Return every worker, and whether the worker is alive.
SELECT host, process_id, started_at, seen_at, idle_at, ${worker_alive} FROM dedup.worker w ORDER BY id
