-- Owners of attached tables. Code of an owner (a function of a view, a trigger, an index expression, row security)
-- runs in no session but the owner's own, unless the owner could do all that the owner of the corpus can do.

CREATE FUNCTION dedup.owner_is_trusted(relation oid) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    -- From PostgreSQL 16 on a membership may lend nothing: what counts is whether the role can be taken.
    SELECT coalesce(bool_and(pg_has_role(c.relowner, n.nspowner,
        CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END)), false)
    FROM pg_namespace n, pg_class c
    WHERE n.oid = 'dedup'::regnamespace
      AND (c.oid = relation OR c.oid IN (SELECT p.relid FROM pg_partition_tree(relation) AS p))
$$;
COMMENT ON FUNCTION dedup.owner_is_trusted(oid) IS 'Whether the owner of a table or view, and of each partition, could do all that the owner of the corpus can do.';

ALTER TABLE dedup.attachment ADD COLUMN copied boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN dedup.attachment.copied IS 'Whether its rows are copied in a session of its owner, who is not trusted with other rights; see docs/attach.md.';

CREATE TABLE dedup.attached_copy (
    attachment_id integer NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    text text NOT NULL,
    title text COLLATE "C",
    url text COLLATE "C",
    publication text COLLATE "C",
    language text COLLATE "C",
    published_at timestamptz,
    byline text COLLATE "C",
    status text,
    original text COLLATE "C",
    score double precision,
    kept jsonb,
    changed_at timestamptz,
    CONSTRAINT attached_copy_pkey PRIMARY KEY (attachment_id, source_id)
);
COMMENT ON TABLE dedup.attached_copy IS 'Rows of attached tables whose owners are not trusted, as a session of the owner read them.';
COMMENT ON COLUMN dedup.attached_copy.attachment_id IS 'attachment.id.';
COMMENT ON COLUMN dedup.attached_copy.source_id IS 'The article of the row.';
COMMENT ON COLUMN dedup.attached_copy.text IS 'The body.';
COMMENT ON COLUMN dedup.attached_copy.title IS 'The headline.';
COMMENT ON COLUMN dedup.attached_copy.url IS 'The address.';
COMMENT ON COLUMN dedup.attached_copy.publication IS 'The outlet.';
COMMENT ON COLUMN dedup.attached_copy.language IS 'The language.';
COMMENT ON COLUMN dedup.attached_copy.published_at IS 'The publication time.';
COMMENT ON COLUMN dedup.attached_copy.byline IS 'The byline.';
COMMENT ON COLUMN dedup.attached_copy.status IS 'The status in the column of marks.';
COMMENT ON COLUMN dedup.attached_copy.original IS 'The original in the column of marks, by its source_id.';
COMMENT ON COLUMN dedup.attached_copy.score IS 'The score in the column of marks.';
COMMENT ON COLUMN dedup.attached_copy.kept IS 'Columns that the article keeps.';
COMMENT ON COLUMN dedup.attached_copy.changed_at IS 'The time of the last change, by the column that says so.';

CREATE OR REPLACE FUNCTION dedup.attached_text(attachment_id integer, source_id text) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    found text;
    place attachment;
BEGIN
    SELECT a.* INTO place FROM attachment a WHERE a.id = attached_text.attachment_id;
    IF place.copied THEN
        RETURN (SELECT c.text FROM attached_copy c
                WHERE c.attachment_id = place.id AND c.source_id = attached_text.source_id COLLATE "C");
    END IF;
    -- The function belongs to the owner of the table, who may have altered it.
    IF NOT EXISTS (
        SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = place.schema_name AND c.relname = place.table_name AND dedup.owner_is_trusted(c.oid)) THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT dedup.%I($1)', format('attached_%s_text', attachment_id)) INTO found USING source_id;
    RETURN found;
EXCEPTION WHEN syntax_error_or_access_rule_violation OR data_exception OR cardinality_violation THEN
    RETURN NULL;
END $$;

-- An owner of an attached table may insert notes, since its triggers do: only of its own tables, and small ones, which
-- are read as a whole while others wait for the settle lock.
CREATE FUNCTION dedup.outbox_checked() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF has_table_privilege('dedup.outbox', 'DELETE') THEN
        RETURN NEW;
    END IF;
    IF NOT EXISTS (
        SELECT FROM pg_proc p
        WHERE p.pronamespace = 'dedup'::regnamespace AND p.proname = format('attached_%s_changed', NEW.attachment_id)
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
COMMENT ON FUNCTION dedup.outbox_checked() IS 'Trigger: an owner of an attached table notes changes of its own tables only, in small notes.';
CREATE TRIGGER outbox_checked BEFORE INSERT ON dedup.outbox
    FOR EACH ROW EXECUTE FUNCTION dedup.outbox_checked();
