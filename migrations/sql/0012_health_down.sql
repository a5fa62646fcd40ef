-- Takes back 0012_health.sql.

COMMENT ON COLUMN dedup.run_history.what IS 'What runs: backfill; that of a worker too.';
COMMENT ON COLUMN dedup.run.heartbeat_at IS 'When it last said that it lives.';
COMMENT ON COLUMN dedup.run.what IS 'What runs: backfill.';
COMMENT ON TABLE dedup.worker IS
    'The workers there are, `dedup worker`. One that ends takes its row with it; the row of one that was killed stays until another worker removes it.';
ALTER TABLE dedup.worker DROP COLUMN backend_pid, DROP COLUMN backend_start;
