-- Runs and workers: who is at work, a hint that something waits, and what became of all the work.

CREATE TABLE dedup.run (
    id bigint GENERATED ALWAYS AS IDENTITY,
    what text NOT NULL,
    host text NOT NULL,
    process_id integer NOT NULL,
    backend_pid integer,
    backend_start timestamptz,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    progress_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    stage text NOT NULL DEFAULT 'starting',
    done bigint NOT NULL DEFAULT 0,
    total bigint NOT NULL DEFAULT 0,
    ended_at timestamptz,
    outcome text,
    error text,
    fingerprinted bigint NOT NULL DEFAULT 0,
    settled bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    seconds jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT run_pkey PRIMARY KEY (id),
    CONSTRAINT run_ended_check CHECK ((ended_at IS NULL) = (outcome IS NULL)),
    CONSTRAINT run_outcome_check CHECK (outcome IN ('done', 'stopped', 'failed', 'taken over'))
);
-- One at a time of each kind.
CREATE UNIQUE INDEX run_alive ON dedup.run (what) WHERE ended_at IS NULL;
COMMENT ON TABLE dedup.run IS 'Who is, and was, at work: one row per backfill, the last 1,000 of them. A row without an end is alive while its heartbeat is.';
COMMENT ON COLUMN dedup.run.id IS 'Number of the run.';
COMMENT ON COLUMN dedup.run.what IS 'What runs: backfill, worker or import.';
COMMENT ON COLUMN dedup.run.host IS 'Name of the machine it runs on.';
COMMENT ON COLUMN dedup.run.process_id IS 'Its process there.';
COMMENT ON COLUMN dedup.run.backend_pid IS 'The server process of its heartbeat; null where a pooler hides it.';
COMMENT ON COLUMN dedup.run.backend_start IS 'When that server process began, as pg_stat_activity has it.';
COMMENT ON COLUMN dedup.run.started_at IS 'When it began.';
COMMENT ON COLUMN dedup.run.heartbeat_at IS 'When it last said that it lives and works.';
COMMENT ON COLUMN dedup.run.progress_at IS 'When it last came further.';
COMMENT ON COLUMN dedup.run.stage IS 'What it does.';
COMMENT ON COLUMN dedup.run.done IS 'How much of this stage is done.';
COMMENT ON COLUMN dedup.run.total IS 'Of how much, as far as known.';
COMMENT ON COLUMN dedup.run.ended_at IS 'When it ended, or null.';
COMMENT ON COLUMN dedup.run.outcome IS 'How: done, stopped (as asked), failed, or taken over (by the next one, since it was gone).';
COMMENT ON COLUMN dedup.run.error IS 'The kind of error that ended it, or null.';
COMMENT ON COLUMN dedup.run.fingerprinted IS 'Texts that got a fingerprint.';
COMMENT ON COLUMN dedup.run.settled IS 'Marks written, an article counted again if it was settled again.';
COMMENT ON COLUMN dedup.run.failed IS 'Texts that cannot have a fingerprint.';
COMMENT ON COLUMN dedup.run.seconds IS 'Stage to how long it took.';

CREATE TABLE dedup.run_total (
    name text COLLATE "C" NOT NULL,
    stage text COLLATE "C" NOT NULL DEFAULT '',
    value double precision NOT NULL,
    CONSTRAINT run_total_pkey PRIMARY KEY (name, stage)
);
COMMENT ON TABLE dedup.run_total IS 'What all runs together did, those included whose rows are gone; for counters that only rise.';
COMMENT ON COLUMN dedup.run_total.name IS 'As the column of dedup.run: fingerprinted, settled, failed or seconds; or the outcome of runs, as runs done.';
COMMENT ON COLUMN dedup.run_total.stage IS 'Of seconds: the stage; else empty.';
COMMENT ON COLUMN dedup.run_total.value IS 'The sum.';

-- A worker says which session of the server is its own: when that is gone, so is the worker, whatever it said
-- last.
CREATE TABLE dedup.worker (
    id bigint GENERATED ALWAYS AS IDENTITY,
    host text NOT NULL,
    process_id integer NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    idle_at timestamptz,
    backend_pid integer,
    backend_start timestamptz,
    CONSTRAINT worker_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE dedup.worker IS
    'The workers there are, `dedup worker`. One that ends takes its row with it; the row of one that was killed stays until another worker removes it, and is not heeded after an hour in which nothing waits.';
COMMENT ON COLUMN dedup.worker.id IS 'Number of the worker.';
COMMENT ON COLUMN dedup.worker.host IS 'Name of the machine it runs on.';
COMMENT ON COLUMN dedup.worker.process_id IS 'Its process there.';
COMMENT ON COLUMN dedup.worker.started_at IS 'When it began.';
COMMENT ON COLUMN dedup.worker.seen_at IS 'When it last said that it lives; not while it settles, when its row of dedup.run says so.';
COMMENT ON COLUMN dedup.worker.idle_at IS 'When it last found nothing to do, to the half minute; null: not yet.';
COMMENT ON COLUMN dedup.worker.backend_pid IS 'The server process that its session has; null where a pooler hides it, or it has none now.';
COMMENT ON COLUMN dedup.worker.backend_start IS 'When that server process began, as pg_stat_activity has it.';

-- A hint for workers, without a payload and once per statement: polling is what they rely on. Not while
-- settling: a hook settles what it stores. Not without a worker: all commits that notify wait for one
-- another. Not where transactions may be prepared: PREPARE TRANSACTION refuses one that has notified.
CREATE FUNCTION dedup.article_waits() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF current_setting('dedup.settling', true) IS DISTINCT FROM 'on'
       AND current_setting('max_prepared_transactions') = '0' AND EXISTS (SELECT FROM worker) THEN
        NOTIFY dedup;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER article_waits
    AFTER INSERT OR DELETE OR UPDATE OF source_id, title, text, language, published_at, added_at ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_waits();

CREATE VIEW dedup.run_history AS
SELECT id, what, host, started_at, ended_at,
       extract(epoch FROM coalesce(ended_at, clock_timestamp()) - started_at)::double precision AS seconds,
       coalesce(outcome, 'running') AS outcome, error, stage, fingerprinted, settled, failed,
       seconds AS stage_seconds
FROM dedup.run;
COMMENT ON VIEW dedup.run_history IS 'Every run that is kept, one row each: when, for how long, how many, outcome.';
COMMENT ON COLUMN dedup.run_history.id IS 'Number of the run.';
COMMENT ON COLUMN dedup.run_history.what IS 'What runs: backfill, worker or import.';
COMMENT ON COLUMN dedup.run_history.host IS 'Name of the machine.';
COMMENT ON COLUMN dedup.run_history.started_at IS 'When it began.';
COMMENT ON COLUMN dedup.run_history.ended_at IS 'When it ended, or null.';
COMMENT ON COLUMN dedup.run_history.seconds IS 'How long it took, or has taken so far.';
COMMENT ON COLUMN dedup.run_history.outcome IS 'running, done, stopped (as asked), failed, or taken over (by the next one, since it was gone).';
COMMENT ON COLUMN dedup.run_history.error IS 'The kind of error that ended it, or null.';
COMMENT ON COLUMN dedup.run_history.stage IS 'What it does, or did last.';
COMMENT ON COLUMN dedup.run_history.fingerprinted IS 'Texts that got a fingerprint.';
COMMENT ON COLUMN dedup.run_history.settled IS 'Marks written.';
COMMENT ON COLUMN dedup.run_history.failed IS 'Texts that cannot have a fingerprint.';
COMMENT ON COLUMN dedup.run_history.stage_seconds IS 'Stage to how long it took.';
