-- Base tables of attached tables: a table that gives names by a key, and tables that an attached view reads. Triggers on
-- a base table note its changed rows in the outbox.

ALTER TABLE dedup.attachment
    ADD COLUMN bases jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN rests_until timestamptz;
COMMENT ON COLUMN dedup.attachment.bases IS 'Tables that give it names by a key, or that it reads as a view; triggers note changes of their rows.';
COMMENT ON COLUMN dedup.attachment.rests_until IS 'Until this time, changes of base tables that name no rows do not have it compared again; null: it was never compared for them.';

ALTER TABLE dedup.outbox ADD COLUMN base integer;
COMMENT ON COLUMN dedup.outbox.base IS 'Number of the base table whose keys source_ids has, in place of articles; 0: the rows are not known, so compare all rows soon; null: source_ids names articles.';

-- An attached view may have triggers on its base tables and none of its own: then the function of the first base table
-- tells the owner.
CREATE OR REPLACE FUNCTION dedup.outbox_checked() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF has_table_privilege('dedup.outbox', 'DELETE') THEN
        RETURN NEW;
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_proc p
        WHERE p.pronamespace = 'dedup'::regnamespace
          AND p.proname IN (format('attached_%s_changed', NEW.attachment_id), format('attached_%s_base_1', NEW.attachment_id))
          AND p.proowner = (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user)) THEN
        RAISE EXCEPTION 'attachment % is of another owner', NEW.attachment_id USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF cardinality(NEW.source_ids) > 1000 OR pg_column_size(NEW.source_ids) > 4000000 THEN
        NEW.source_ids := '{}';  -- compare the whole table, and delete no more than a comparison may
    END IF;
    NEW.amount := greatest(cardinality(NEW.source_ids), 1);  -- of a whole table too: a note of nothing is not read
    NEW.noted_at := now();
    RETURN NEW;
END $$;
