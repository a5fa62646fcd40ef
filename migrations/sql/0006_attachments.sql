-- Tables of others whose rows are articles of the corpus: which, what has changed in them, and where texts are.

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

-- No key but the number, and no foreign key: whoever writes to an attached table must never wait here. Many rows
-- in one note: a row for each would make a large INSERT of the owner a third slower.
CREATE TABLE dedup.outbox (
    id bigint GENERATED ALWAYS AS IDENTITY,
    attachment_id integer NOT NULL,
    amount integer NOT NULL DEFAULT 1,
    source_ids text[] COLLATE "C",
    CONSTRAINT outbox_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE dedup.outbox IS
    'Rows of attached tables that have changed, noted by the transactions that changed them; the next backfill reads what they are now.';
COMMENT ON COLUMN dedup.outbox.id IS 'Number of the note; of two transactions at once the later may have the lower.';
COMMENT ON COLUMN dedup.outbox.attachment_id IS 'attachment.id.';
COMMENT ON COLUMN dedup.outbox.amount IS 'How many rows it is about.';
COMMENT ON COLUMN dedup.outbox.source_ids IS 'The articles of the rows; null: compare the whole table, as after TRUNCATE.';

CREATE TABLE dedup.mark_change (
    id bigint GENERATED ALWAYS AS IDENTITY,
    attachment_id integer NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    CONSTRAINT mark_change_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE dedup.mark_change IS
    'Articles whose marks are to be written into their attached tables, at the end of the next backfill.';
COMMENT ON COLUMN dedup.mark_change.id IS 'Number of the note.';
COMMENT ON COLUMN dedup.mark_change.attachment_id IS 'attachment.id.';
COMMENT ON COLUMN dedup.mark_change.source_id IS 'The article, which may be gone.';

-- The text of an attached article stays in its table. The hash says which text the marks are about.
ALTER TABLE dedup.article
    ADD COLUMN attachment_id integer,
    ADD COLUMN text_hash bigint,
    ALTER COLUMN text DROP NOT NULL,
    ADD CONSTRAINT article_text_check CHECK ((attachment_id IS NULL) = (text IS NOT NULL)),
    ADD CONSTRAINT article_text_hash_check CHECK ((attachment_id IS NULL) = (text_hash IS NULL));
COMMENT ON COLUMN dedup.article.text IS
    'The body as given, without NUL and lone surrogates; null where it is in an attached table: see article_text.';
COMMENT ON COLUMN dedup.article.attachment_id IS 'The attached table it is a row of (attachment.id), or null.';
COMMENT ON COLUMN dedup.article.text_hash IS 'Hash of the text in the attached table when it was last looked at.';

-- Attaching a table adds a branch, and detaching it takes that away.
CREATE VIEW dedup.article_text AS
SELECT id AS article_id, text COLLATE "C" AS text FROM dedup.article WHERE attachment_id IS NULL;
COMMENT ON VIEW dedup.article_text IS 'The present text of every article, wherever it is stored.';
COMMENT ON COLUMN dedup.article_text.article_id IS 'article.id.';
COMMENT ON COLUMN dedup.article_text.text IS 'The body.';

CREATE OR REPLACE VIEW dedup.canonical_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       coalesce(a.text, (SELECT t.text FROM dedup.article_text t WHERE t.article_id = a.id)
           COLLATE "default") AS text,
       a.status, a.stale, a.score, a.reason, a.marked_at
FROM dedup.article a
WHERE a.status <> 'duplicate';

-- An attached article follows its row. Who changed it here would see the change undone, so it is refused.
CREATE FUNCTION dedup.article_attached() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF NOT has_table_privilege('dedup.outbox', 'DELETE')
       OR TG_OP <> 'INSERT' AND current_setting('dedup.following', true) IS DISTINCT FROM 'on' THEN
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

-- As before, but the hash of a text elsewhere counts as the text.
CREATE OR REPLACE FUNCTION dedup.article_edit() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    rewritten boolean :=
        (NEW.text, NEW.text_hash, NEW.language) IS DISTINCT FROM (OLD.text, OLD.text_hash, OLD.language)
        OR NEW.title IS DISTINCT FROM OLD.title AND NOT EXISTS (
            SELECT FROM fingerprint f
            WHERE f.article_id = OLD.id AND f.revision = OLD.revision AND f.buckets <> '{}');
BEGIN
    IF rewritten THEN
        NEW.revision := OLD.revision + 1;
        NEW.status := 'pending';
        NEW.stale := false;
        NEW.takes_part := false;
        NEW.duplicate_of := NULL;
        NEW.score := NULL;
        NEW.reason := NULL;
        NEW.marked_at := NULL;
    END IF;
    RETURN NEW;
END $$;

DROP TRIGGER article_lock ON dedup.article;
CREATE TRIGGER article_lock
    BEFORE DELETE OR UPDATE OF source_id, title, text, text_hash, language, published_at, added_at ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_lock();

DROP TRIGGER article_edit ON dedup.article;
CREATE TRIGGER article_edit
    BEFORE UPDATE OF source_id, title, text, text_hash, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN (
        (OLD.source_id, OLD.title, OLD.text, OLD.text_hash, OLD.language, OLD.published_at, OLD.added_at)
        IS DISTINCT FROM
        (NEW.source_id, NEW.title, NEW.text, NEW.text_hash, NEW.language, NEW.published_at, NEW.added_at))
    EXECUTE FUNCTION dedup.article_edit();

DROP TRIGGER "0_article_edited" ON dedup.article;
CREATE TRIGGER "0_article_edited"
    AFTER UPDATE OF source_id, title, text, text_hash, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN ((OLD.source_id, OLD.revision, OLD.published_at, OLD.added_at)
        IS DISTINCT FROM (NEW.source_id, NEW.revision, NEW.published_at, NEW.added_at))
    EXECUTE FUNCTION dedup.article_edited();

SELECT dedup.fire_always();
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dedup FROM PUBLIC;
