-- Attached tables: nothing of the corpus rests on a table of others any more, so its owner may change it at will.
-- What is made for a table are functions, whose bodies Postgres does not hold to the columns they name.

ALTER TABLE dedup.attachment ADD COLUMN seen jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN dedup.attachment.seen IS
    'The table when it was last compared: its number, its columns, and what tells that it was swapped, rewritten or refilled.';

ALTER TABLE dedup.outbox ADD COLUMN noted_at timestamptz NOT NULL DEFAULT now();
COMMENT ON COLUMN dedup.outbox.noted_at IS 'When the transaction began that changed them.';

ALTER TABLE dedup.mark_change ADD COLUMN failed text;
COMMENT ON COLUMN dedup.mark_change.failed IS
    'SQLSTATE of why the row took no marks when that was tried: a trigger or a constraint of its table.';

CREATE TABLE dedup.refused_row (
    attachment_id integer NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    CONSTRAINT refused_row_pkey PRIMARY KEY (attachment_id, source_id)
);
COMMENT ON TABLE dedup.refused_row IS
    'Rows of attached tables that cannot be articles: the key is too long, or another article has the source_id. They are looked at again once it is free.';
COMMENT ON COLUMN dedup.refused_row.attachment_id IS 'attachment.id.';
COMMENT ON COLUMN dedup.refused_row.source_id IS 'What the article would be called.';

-- The text of an article that is a row of an attached table. What was made for the table may not fit it any more:
-- then there is no text, and `dedup status --check` says why.
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
COMMENT ON FUNCTION dedup.attached_text(integer, text) IS
    'The present text of a row of an attached table, by the source_id of its article; null where it cannot be read.';

CREATE OR REPLACE VIEW dedup.article_text AS
SELECT id AS article_id, text COLLATE "C" AS text FROM dedup.article WHERE attachment_id IS NULL
UNION ALL
SELECT id, dedup.attached_text(attachment_id, source_id) COLLATE "C" FROM dedup.article WHERE attachment_id IS NOT NULL;

-- What earlier editions made for attached tables; `dedup remap` makes it again.
DO $$
DECLARE
    attached record;
BEGIN
    FOR attached IN SELECT id, name FROM dedup.attachment LOOP
        EXECUTE format('DROP VIEW IF EXISTS dedup.%I, dedup.%I', attached.name || '_marks', 'attached_' || attached.id);
    END LOOP;
END $$;

-- The hash by which a changed text is told: one that nobody can find two texts for. A column that triggers name
-- cannot change its type, so they go and come back.
DO $$
DECLARE
    dropped text[];
    made text[];
    one text;
BEGIN
    SELECT array_agg(format('DROP TRIGGER %I ON dedup.article', t.tgname)), array_agg(pg_get_triggerdef(t.oid))
    INTO dropped, made
    FROM pg_trigger t WHERE t.tgrelid = 'dedup.article'::regclass AND NOT t.tgisinternal
        AND pg_get_triggerdef(t.oid) LIKE '%text_hash%';
    FOREACH one IN ARRAY dropped LOOP EXECUTE one; END LOOP;
    ALTER TABLE dedup.article ALTER COLUMN text_hash TYPE bytea
        USING CASE WHEN text_hash IS NOT NULL THEN '\x'::bytea END;
    FOREACH one IN ARRAY made LOOP EXECUTE one; END LOOP;
END $$;
COMMENT ON COLUMN dedup.article.text_hash IS
    'SHA-256 of the text in the attached table when it was last looked at.';

SELECT dedup.fire_always();
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dedup FROM PUBLIC;
