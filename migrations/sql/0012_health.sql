-- A worker says which session of the server is its own: when that is gone, so is the worker, whatever it said last.

ALTER TABLE dedup.worker ADD COLUMN backend_pid integer, ADD COLUMN backend_start timestamptz;
COMMENT ON TABLE dedup.worker IS
    'The workers there are, `dedup worker`. One that ends takes its row with it; the row of one that was killed stays until another worker removes it, and is not heeded after an hour in which nothing waits.';
COMMENT ON COLUMN dedup.worker.backend_pid IS 'The server process that its session has; null where a pooler hides it, or it has none now.';
COMMENT ON COLUMN dedup.worker.backend_start IS 'When that server process began, as pg_stat_activity has it.';

COMMENT ON COLUMN dedup.run.what IS 'What runs: backfill, worker or import.';
COMMENT ON COLUMN dedup.run.heartbeat_at IS 'When it last said that it lives and works.';
COMMENT ON COLUMN dedup.run_history.what IS 'What runs: backfill, worker or import.';
