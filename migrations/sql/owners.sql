-- Owners of attached tables. Code of an owner (a function of a view, a trigger, an index expression, row security)
-- runs in no session but the owner's own, unless the owner could do all that the owner of the corpus can do.

CREATE FUNCTION dedup.role_is_trusted(role oid) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    -- From PostgreSQL 16 on a membership may lend nothing: what counts is whether the role can be taken.
    SELECT pg_has_role(role_is_trusted.role, n.nspowner,
        CASE WHEN current_setting('server_version_num')::integer >= 160000 THEN 'SET' ELSE 'MEMBER' END)
    FROM pg_namespace n WHERE n.oid = 'dedup'::regnamespace
$$;
COMMENT ON FUNCTION dedup.role_is_trusted(oid) IS 'Whether a role could do all that the owner of the corpus can do.';

CREATE FUNCTION dedup.strangers(relation oid) RETURNS text[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Most are plain tables, and views of all texts ask for each row.
    IF EXISTS (SELECT FROM pg_class c WHERE c.oid = relation AND c.relkind IN ('r', 'm') AND NOT c.relhassubclass
                   AND dedup.role_is_trusted(c.relowner)) THEN
        RETURN '{}';
    END IF;
    RETURN (
        WITH RECURSIVE used (class, object) AS (
            SELECT 'pg_class'::regclass::oid, relation
            UNION
            SELECT more.class, more.object
            FROM used CROSS JOIN LATERAL (
                SELECT 'pg_class'::regclass::oid AS class, i.inhrelid AS object
                FROM pg_inherits i WHERE i.inhparent = used.object
                UNION ALL
                SELECT d.refclassid, d.refobjid
                FROM pg_class c
                JOIN pg_rewrite w ON w.ev_class = c.oid
                JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
                WHERE c.oid = used.object AND c.relkind = 'v'
                  AND d.refclassid IN ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_type'::regclass,
                                       'pg_operator'::regclass)) AS more
            WHERE used.class = 'pg_class'::regclass
        ), owners (role) AS (
            SELECT c.relowner FROM used JOIN pg_class c ON c.oid = used.object WHERE class = 'pg_class'::regclass
            UNION
            SELECT p.proowner FROM used JOIN pg_proc p ON p.oid = used.object WHERE class = 'pg_proc'::regclass
            UNION
            SELECT t.typowner FROM used JOIN pg_type t ON t.oid = used.object WHERE class = 'pg_type'::regclass
            UNION
            SELECT o.oprowner FROM used JOIN pg_operator o ON o.oid = used.object WHERE class = 'pg_operator'::regclass
        )
        SELECT coalesce(array_agg(pg_get_userbyid(role)::text ORDER BY pg_get_userbyid(role)), '{}')
        FROM owners WHERE NOT dedup.role_is_trusted(role));
END $$;
COMMENT ON FUNCTION dedup.strangers(oid) IS 'Roles that are not trusted and own a table, a part of it, or what a view reads and calls.';

-- The index of keys and the view of marks of a table that was attached before cast to the type of its key. Of a domain
-- that belongs to others they would run its checks.
DO $$
DECLARE made record;
BEGIN
    FOR made IN
        SELECT CASE c.relkind WHEN 'i' THEN 'INDEX' ELSE 'VIEW' END AS kind, c.relname AS name
        FROM pg_class c
        WHERE c.relnamespace = 'dedup'::regnamespace
          AND (c.relkind = 'i' AND c.relname ~ '^attached_[0-9]+_key$'
               OR c.relkind = 'v' AND c.relname IN (SELECT a.name || '_marks' FROM dedup.attachment a))
          AND EXISTS (
              SELECT FROM pg_depend d JOIN pg_type t ON d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid
              WHERE NOT dedup.role_is_trusted(t.typowner)
                AND (d.classid = 'pg_class'::regclass AND d.objid = c.oid
                     OR d.classid = 'pg_rewrite'::regclass
                        AND d.objid IN (SELECT w.oid FROM pg_rewrite w WHERE w.ev_class = c.oid)))
    LOOP
        EXECUTE format('DROP %s dedup.%I', made.kind, made.name);
    END LOOP;
END $$;

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
    -- Whose code the view uses, and who owns the function that reads it: its owner may have altered it.
    IF NOT EXISTS (
        SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = place.schema_name AND c.relname = place.table_name AND dedup.strangers(c.oid) = '{}')
       OR NOT coalesce((
        SELECT bool_and(dedup.role_is_trusted(p.proowner)) FROM pg_proc p
        WHERE p.pronamespace = 'dedup'::regnamespace AND p.proname = format('attached_%s_text', attachment_id)), false) THEN
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
