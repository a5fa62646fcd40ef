-- Attached tables: tables of others whose rows are articles of the corpus. Which, what has changed in them,
-- and where texts are.
--
-- Nothing of the corpus rests on a table of others, so its owner may change it at will. What is made for a
-- table are functions, whose bodies Postgres does not hold to the columns they name.

CREATE TABLE dedup.attachment (
    id integer NOT NULL,
    name text COLLATE "C" NOT NULL,
    schema_name text COLLATE "C" NOT NULL,
    table_name text COLLATE "C" NOT NULL,
    key_columns text[] NOT NULL,
    key_types text[] NOT NULL,
    columns jsonb NOT NULL,
    where_clause text,
    mark_columns boolean NOT NULL DEFAULT false,
    triggers boolean NOT NULL DEFAULT true,
    leaving boolean NOT NULL DEFAULT false,
    attached_at timestamptz NOT NULL DEFAULT now(),
    seen jsonb NOT NULL DEFAULT '{}',
    CONSTRAINT attachment_pkey PRIMARY KEY (id),
    CONSTRAINT attachment_name_key UNIQUE (name)
);
COMMENT ON TABLE dedup.attachment IS 'Tables of others that are attached to this corpus.';
COMMENT ON COLUMN dedup.attachment.id IS 'Number, as in the names of what was made for it: dedup.attached_1.';
COMMENT ON COLUMN dedup.attachment.name IS 'What the source_ids of its articles begin with, before a slash.';
COMMENT ON COLUMN dedup.attachment.schema_name IS 'Schema of the table.';
COMMENT ON COLUMN dedup.attachment.table_name IS 'The table.';
COMMENT ON COLUMN dedup.attachment.key_columns IS 'Columns that tell its rows apart.';
COMMENT ON COLUMN dedup.attachment.key_types IS 'Types of the key columns.';
COMMENT ON COLUMN dedup.attachment.columns IS 'Field of an article to column: text, and others that are mapped.';
COMMENT ON COLUMN dedup.attachment.where_clause IS 'Only rows for which this holds are articles; null: all.';
COMMENT ON COLUMN dedup.attachment.mark_columns IS 'Whether marks are written into the table too.';
COMMENT ON COLUMN dedup.attachment.triggers IS 'Whether triggers note its changes; if not, `dedup sync` finds them.';
COMMENT ON COLUMN dedup.attachment.leaving IS 'It is being detached, and its articles are going.';
COMMENT ON COLUMN dedup.attachment.attached_at IS 'When it was attached.';
COMMENT ON COLUMN dedup.attachment.seen IS 'The table when it was last compared: its number, its columns, and what tells that it was swapped, rewritten or refilled.';

-- No key but the number, and no foreign key: whoever writes to an attached table must never wait here. Many
-- rows in one note: a row for each would make a large INSERT of the owner a third slower.
CREATE TABLE dedup.outbox (
    id bigint GENERATED ALWAYS AS IDENTITY,
    attachment_id integer NOT NULL,
    amount integer NOT NULL DEFAULT 1,
    source_ids text[] COLLATE "C",
    noted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT outbox_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE dedup.outbox IS 'Rows of attached tables that have changed, noted by the transactions that changed them; the next backfill reads what they are now.';
COMMENT ON COLUMN dedup.outbox.id IS 'Number of the note; of two transactions at once the later may have the lower.';
COMMENT ON COLUMN dedup.outbox.attachment_id IS 'attachment.id.';
COMMENT ON COLUMN dedup.outbox.amount IS 'How many rows it is about.';
COMMENT ON COLUMN dedup.outbox.source_ids IS 'The articles of the rows; null: compare the whole table, as after TRUNCATE.';
COMMENT ON COLUMN dedup.outbox.noted_at IS 'When the transaction began that changed them.';

CREATE TABLE dedup.mark_change (
    id bigint GENERATED ALWAYS AS IDENTITY,
    attachment_id integer NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    failed text,
    CONSTRAINT mark_change_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE dedup.mark_change IS 'Articles whose marks are to be written into their attached tables, at the end of the next backfill.';
COMMENT ON COLUMN dedup.mark_change.id IS 'Number of the note.';
COMMENT ON COLUMN dedup.mark_change.attachment_id IS 'attachment.id.';
COMMENT ON COLUMN dedup.mark_change.source_id IS 'The article, which may be gone.';
COMMENT ON COLUMN dedup.mark_change.failed IS 'SQLSTATE of why the row took no marks when that was tried: a trigger or a constraint of its table.';

CREATE TABLE dedup.refused_row (
    attachment_id integer NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    CONSTRAINT refused_row_pkey PRIMARY KEY (attachment_id, source_id)
);
COMMENT ON TABLE dedup.refused_row IS
    'Rows of attached tables that cannot be articles: the key is too long, or another article has the source_id. They are looked at again once it is free.';
COMMENT ON COLUMN dedup.refused_row.attachment_id IS 'attachment.id.';
COMMENT ON COLUMN dedup.refused_row.source_id IS 'What the article would be called.';

-- The text of an article that is a row of an attached table. What was made for the table may not fit it any
-- more: then there is no text, and `dedup status --check` says why.
CREATE FUNCTION dedup.attached_text(attachment_id integer, source_id text) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    found text;
BEGIN
    EXECUTE format('SELECT dedup.%I($1)', format('attached_%s_text', attachment_id)) INTO found USING source_id;
    RETURN found;
EXCEPTION WHEN syntax_error_or_access_rule_violation OR data_exception THEN
    RETURN NULL;
END $$;
COMMENT ON FUNCTION dedup.attached_text(integer, text) IS 'The present text of a row of an attached table, by the source_id of its article; null where it cannot be read.';

-- An attached article follows its row. Who changed it here would see the change undone, so it is refused.
CREATE FUNCTION dedup.article_attached() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF NOT has_table_privilege('dedup.outbox', 'DELETE')
       OR TG_OP <> 'INSERT' AND current_setting('dedup.syncing', true) IS DISTINCT FROM 'on' THEN
        RAISE EXCEPTION 'the article is a row of an attached table, and is changed there'
            USING ERRCODE = 'object_not_in_prerequisite_state', HINT = '`dedup attachments` lists the tables.';
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END $$;
CREATE TRIGGER article_attached_insert BEFORE INSERT ON dedup.article
    FOR EACH ROW WHEN (NEW.attachment_id IS NOT NULL) EXECUTE FUNCTION dedup.article_attached();
CREATE TRIGGER article_attached_update
    BEFORE UPDATE OF source_id, url, title, publication, published_at, added_at, language, text, attachment_id,
                     text_hash ON dedup.article
    FOR EACH ROW WHEN (OLD.attachment_id IS NOT NULL OR NEW.attachment_id IS NOT NULL)
    EXECUTE FUNCTION dedup.article_attached();
CREATE TRIGGER article_attached_delete BEFORE DELETE ON dedup.article
    FOR EACH ROW WHEN (OLD.attachment_id IS NOT NULL) EXECUTE FUNCTION dedup.article_attached();

-- What TRUNCATE took away comes back from the attached tables.
CREATE FUNCTION dedup.attached_emptied() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    INSERT INTO outbox (attachment_id) SELECT id FROM attachment WHERE NOT leaving;
    RETURN NULL;
END $$;
CREATE TRIGGER attached_emptied AFTER TRUNCATE ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.attached_emptied();

CREATE VIEW dedup.article_text AS
SELECT id AS article_id, text COLLATE "C" AS text FROM dedup.article WHERE attachment_id IS NULL
UNION ALL
SELECT id, dedup.attached_text(attachment_id, source_id) COLLATE "C" FROM dedup.article WHERE attachment_id IS NOT NULL;
COMMENT ON VIEW dedup.article_text IS 'The present text of every article, wherever it is stored.';
COMMENT ON COLUMN dedup.article_text.article_id IS 'article.id.';
COMMENT ON COLUMN dedup.article_text.text IS 'The body.';
