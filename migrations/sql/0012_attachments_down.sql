-- Takes back 0012_attachments.sql. The tables that are attached are let go: an earlier edition reads them in another way.

DO $$
DECLARE
    made regprocedure;
    attached record;
BEGIN
    FOR made IN SELECT oid FROM pg_proc
                WHERE pronamespace = 'dedup'::regnamespace AND proname ~ '^attached_[0-9]+_' LOOP
        EXECUTE format('DROP FUNCTION %s CASCADE', made); -- with the triggers on the attached table
    END LOOP;
    FOR attached IN SELECT id, name FROM dedup.attachment LOOP
        EXECUTE format('DROP VIEW IF EXISTS dedup.%I', attached.name || '_marks');
        EXECUTE format('DROP INDEX IF EXISTS dedup.%I', format('attached_%s_key', attached.id));
    END LOOP;
    PERFORM set_config('dedup.following', 'on', true);
END $$;
DELETE FROM dedup.article WHERE attachment_id IS NOT NULL;
TRUNCATE dedup.attachment, dedup.outbox, dedup.mark_change;

CREATE OR REPLACE VIEW dedup.article_text AS
SELECT id AS article_id, text COLLATE "C" AS text FROM dedup.article WHERE attachment_id IS NULL;
DROP FUNCTION dedup.attached_text(integer, text);
DROP TABLE dedup.refused_row;
ALTER TABLE dedup.outbox DROP COLUMN noted_at;
ALTER TABLE dedup.attachment DROP COLUMN seen;
ALTER TABLE dedup.mark_change DROP COLUMN failed;

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
    ALTER TABLE dedup.article ALTER COLUMN text_hash TYPE bigint USING NULL;
    FOREACH one IN ARRAY made LOOP EXECUTE one; END LOOP;
END $$;
COMMENT ON COLUMN dedup.article.text_hash IS 'Hash of the text in the attached table when it was last looked at.';

SELECT dedup.fire_always();
