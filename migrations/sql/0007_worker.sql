-- What a worker needs: who works, a hint that something waits, and what became of all the work.

CREATE TABLE dedup.worker (
    id bigint GENERATED ALWAYS AS IDENTITY,
    host text NOT NULL,
    process_id integer NOT NULL,
    started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    idle_at timestamptz,
    CONSTRAINT worker_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE dedup.worker IS
    'The workers there are, `dedup worker`. One that ends takes its row with it; the row of one that was killed stays until another worker removes it.';
COMMENT ON COLUMN dedup.worker.id IS 'Number of the worker.';
COMMENT ON COLUMN dedup.worker.host IS 'Name of the machine it runs on.';
COMMENT ON COLUMN dedup.worker.process_id IS 'Its process there.';
COMMENT ON COLUMN dedup.worker.started_at IS 'When it began.';
COMMENT ON COLUMN dedup.worker.seen_at IS 'When it last said that it lives; not while it settles, when its row of dedup.run says so.';
COMMENT ON COLUMN dedup.worker.idle_at IS 'When it last found nothing to do, to the half minute; null: not yet.';

ALTER TABLE dedup.run
    ADD COLUMN fingerprinted bigint NOT NULL DEFAULT 0,
    ADD COLUMN settled bigint NOT NULL DEFAULT 0,
    ADD COLUMN failed bigint NOT NULL DEFAULT 0,
    ADD COLUMN lost bigint NOT NULL DEFAULT 0,
    ADD COLUMN seconds jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN dedup.run.fingerprinted IS 'Texts that got a fingerprint.';
COMMENT ON COLUMN dedup.run.settled IS 'Marks written, an article counted again if it was settled again.';
COMMENT ON COLUMN dedup.run.failed IS 'Texts that cannot have a fingerprint.';
COMMENT ON COLUMN dedup.run.lost IS 'Attempts to read a text that lost their process.';
COMMENT ON COLUMN dedup.run.seconds IS 'Stage to how long it took.';

CREATE TABLE dedup.run_total (
    name text COLLATE "C" NOT NULL,
    stage text COLLATE "C" NOT NULL DEFAULT '',
    value double precision NOT NULL,
    CONSTRAINT run_total_pkey PRIMARY KEY (name, stage)
);
COMMENT ON TABLE dedup.run_total IS
    'What all runs together did, those included whose rows are gone; for counters that only rise.';
COMMENT ON COLUMN dedup.run_total.name IS 'As the column of dedup.run: fingerprinted, settled, failed, lost or seconds; or the outcome of runs, as runs done.';
COMMENT ON COLUMN dedup.run_total.stage IS 'Of seconds: the stage; else empty.';
COMMENT ON COLUMN dedup.run_total.value IS 'The sum.';

CREATE VIEW dedup.run_history AS
SELECT id, what, host, started_at, ended_at,
       extract(epoch FROM coalesce(ended_at, clock_timestamp()) - started_at)::double precision AS seconds,
       coalesce(outcome, 'running') AS outcome, error, stage, fingerprinted, settled, failed, lost,
       seconds AS stage_seconds
FROM dedup.run;
COMMENT ON VIEW dedup.run_history IS 'Every run that is kept, one row each: when, for how long, how many, outcome.';
COMMENT ON COLUMN dedup.run_history.id IS 'Number of the run.';
COMMENT ON COLUMN dedup.run_history.what IS 'What runs: backfill; that of a worker too.';
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
COMMENT ON COLUMN dedup.run_history.lost IS 'Attempts to read a text that lost their process.';
COMMENT ON COLUMN dedup.run_history.stage_seconds IS 'Stage to how long it took.';

-- A hint for workers, without a payload and once per statement: polling is what they rely on. Not while settling:
-- a hook settles what it stores. Not without a worker: all commits that notify wait for one another. Not where
-- transactions may be prepared: PREPARE TRANSACTION refuses one that has notified.
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
CREATE TRIGGER pair_pin_waits AFTER INSERT OR UPDATE OR DELETE ON dedup.pair_pin
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_waits();

SELECT dedup.fire_always();
REVOKE ALL ON FUNCTION dedup.article_waits() FROM PUBLIC;
