-- Takes back 0006_attachments.sql, and what was made for each attached table but the columns of marks in it.

DO $$
DECLARE
    made regprocedure;
BEGIN
    FOR made IN SELECT oid FROM pg_proc
                WHERE pronamespace = 'dedup'::regnamespace AND proname ~ '^attached_[0-9]+_' LOOP
        EXECUTE format('DROP FUNCTION %s CASCADE', made); -- with the triggers on the attached table
    END LOOP;
END $$;

DROP TRIGGER article_attached_insert ON dedup.article;
DROP TRIGGER article_attached_update ON dedup.article;
DROP TRIGGER article_attached_delete ON dedup.article;
DROP TRIGGER attached_emptied ON dedup.article;
DROP FUNCTION dedup.article_attached(), dedup.attached_emptied();

DROP TRIGGER article_lock ON dedup.article;
CREATE TRIGGER article_lock
    BEFORE DELETE OR UPDATE OF source_id, title, text, language, published_at, added_at ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_lock();

DROP TRIGGER article_edit ON dedup.article;
CREATE OR REPLACE FUNCTION dedup.article_edit() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    rewritten boolean := (NEW.text, NEW.language) IS DISTINCT FROM (OLD.text, OLD.language)
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
CREATE TRIGGER article_edit
    BEFORE UPDATE OF source_id, title, text, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN ((OLD.source_id, OLD.title, OLD.text, OLD.language, OLD.published_at, OLD.added_at)
        IS DISTINCT FROM (NEW.source_id, NEW.title, NEW.text, NEW.language, NEW.published_at, NEW.added_at))
    EXECUTE FUNCTION dedup.article_edit();

DROP TRIGGER "0_article_edited" ON dedup.article;
CREATE TRIGGER "0_article_edited"
    AFTER UPDATE OF source_id, title, text, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN ((OLD.source_id, OLD.revision, OLD.published_at, OLD.added_at)
        IS DISTINCT FROM (NEW.source_id, NEW.revision, NEW.published_at, NEW.added_at))
    EXECUTE FUNCTION dedup.article_edited();

CREATE OR REPLACE VIEW dedup.canonical_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language, a.text,
       a.status, a.stale, a.score, a.reason, a.marked_at
FROM dedup.article a
WHERE a.status <> 'duplicate';
DROP VIEW dedup.article_text;
DO $$
DECLARE
    attached record;
BEGIN
    FOR attached IN SELECT id, name FROM dedup.attachment LOOP
        EXECUTE format('DROP VIEW IF EXISTS dedup.%I, dedup.%I', attached.name || '_marks', 'attached_' || attached.id);
    END LOOP;
END $$;
DELETE FROM dedup.article WHERE attachment_id IS NOT NULL;
ALTER TABLE dedup.article DROP COLUMN attachment_id, DROP COLUMN text_hash, ALTER COLUMN text SET NOT NULL;
COMMENT ON COLUMN dedup.article.text IS 'The body as given, without NUL and lone surrogates.';
DROP TABLE dedup.attachment, dedup.outbox, dedup.mark_change;
SELECT dedup.fire_always();
