-- Articles are compared within a scope: the fingerprints of different scopes share no hash (docs/semantics.md, section 4).

ALTER TABLE dedup.article ADD COLUMN scope text;
COMMENT ON COLUMN dedup.article.scope IS 'The article is compared with articles of the same scope; null is a scope of its own.';
ALTER TABLE dedup.deferred_article ADD COLUMN scope text;
COMMENT ON COLUMN dedup.deferred_article.scope IS 'Null keeps what is stored.';
ALTER TABLE dedup.attached_copy ADD COLUMN scope text COLLATE "C";
COMMENT ON COLUMN dedup.attached_copy.scope IS 'The scope.';
ALTER TABLE dedup.sentence_pin ADD COLUMN scope text;
COMMENT ON COLUMN dedup.sentence_pin.scope IS 'The scope of the articles with the sentence, for which its hash was made.';
ALTER TYPE dedup.submission ADD ATTRIBUTE scope text;

-- Three statements of submit_new change; migrations/schema.sql has the whole function. A stored scope that is not given
-- again makes the outcome 'not plain', because the fingerprint was made without it. Both writes of an article write its scope.
DO $$
DECLARE
    body text := pg_get_functiondef('dedup.submit_new'::regproc);
    change text[];
BEGIN
    FOREACH change SLICE 1 IN ARRAY ARRAY[
        ['OR before.language IS NOT NULL AND given.language IS NULL',
         'OR before.language IS NOT NULL AND given.language IS NULL
              OR before.scope IS NOT NULL AND given.scope IS NULL'],
        ['language, byline, kept, text)', 'language, byline, kept, scope, text)'],
        ['given.byline, given.kept, given.body)', 'given.byline, given.kept, given.scope, given.body)'],
        ['added_at = added, language = given.language,', 'added_at = added, language = given.language, scope = given.scope,']
    ] LOOP
        IF length(body) - length(replace(body, change[1], '')) <> length(change[1]) THEN
            RAISE EXCEPTION 'submit_new must have once: %', change[1];
        END IF;
        body := replace(body, change[1], change[2]);
    END LOOP;
    EXECUTE body;
END $$;

-- Another scope is an edit, like another language: the article gets another fingerprint.
CREATE OR REPLACE FUNCTION dedup.article_edit() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF (NEW.text, NEW.text_hash, NEW.language, NEW.scope) IS DISTINCT FROM (OLD.text, OLD.text_hash, OLD.language, OLD.scope)
       OR NEW.title IS DISTINCT FROM OLD.title
          AND NOT EXISTS (
              SELECT FROM fingerprint f
              WHERE f.article_id = OLD.id AND f.revision = OLD.revision AND f.buckets <> '{}')
          AND NOT EXISTS (SELECT FROM article_mark k WHERE k.id = OLD.id AND k.archived) THEN
        NEW.revision := OLD.revision + 1;
    END IF;
    RETURN NEW;
END $$;

DROP TRIGGER article_lock ON dedup.article;
CREATE TRIGGER article_lock
    BEFORE DELETE OR UPDATE OF source_id, title, text, text_hash, language, published_at, added_at, scope ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_lock();
DROP TRIGGER article_edit ON dedup.article;
CREATE TRIGGER article_edit
    BEFORE UPDATE OF source_id, title, text, text_hash, language, published_at, added_at, scope ON dedup.article
    FOR EACH ROW WHEN ((OLD.title, OLD.text, OLD.text_hash, OLD.language, OLD.scope)
        IS DISTINCT FROM (NEW.title, NEW.text, NEW.text_hash, NEW.language, NEW.scope))
    EXECUTE FUNCTION dedup.article_edit();
DROP TRIGGER article_edited ON dedup.article;
CREATE TRIGGER article_edited
    AFTER UPDATE OF source_id, title, text, text_hash, language, published_at, added_at, scope ON dedup.article
    FOR EACH ROW WHEN ((OLD.source_id, OLD.revision, OLD.published_at, OLD.added_at)
        IS DISTINCT FROM (NEW.source_id, NEW.revision, NEW.published_at, NEW.added_at))
    EXECUTE FUNCTION dedup.article_edited();
DROP TRIGGER sentences_edited ON dedup.article;
CREATE TRIGGER sentences_edited AFTER UPDATE OF title, text, text_hash, language, scope ON dedup.article
    FOR EACH ROW WHEN (OLD.revision <> NEW.revision) EXECUTE FUNCTION dedup.sentences_went();
DROP TRIGGER article_attached_update ON dedup.article;
CREATE TRIGGER article_attached_update
    BEFORE UPDATE OF source_id, url, title, publication, published_at, added_at, language, byline, text, attachment_id,
                     text_hash, kept, scope ON dedup.article
    FOR EACH ROW WHEN (OLD.attachment_id IS NOT NULL OR NEW.attachment_id IS NOT NULL)
    EXECUTE FUNCTION dedup.article_attached();
DROP TRIGGER article_waits ON dedup.article;
CREATE TRIGGER article_waits
    AFTER INSERT OR DELETE OR UPDATE OF source_id, title, text, language, published_at, added_at, scope ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_waits();

CREATE OR REPLACE VIEW dedup.marked_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, k.time, a.language, a.text,
       a.revision, a.attachment_id, a.text_hash, k.status, k.stale, k.takes_part, k.duplicate_of, k.score, k.reason,
       k.limit_fired, k.marked_at, k.archived, a.kept, a.byline,
       CASE WHEN a.published_at >= '1605-01-01 00:00:00+00' AND a.published_at - a.added_at <= interval '24 hours'
            THEN a.published_at END AS known_at,
       (SELECT c.phrase FROM dedup.correction c WHERE c.article_id = a.id) AS correction, a.scope
FROM dedup.article a LEFT JOIN dedup.article_mark k ON k.id = a.id;
COMMENT ON COLUMN dedup.marked_article.scope IS 'It is compared with articles of the same scope.';

CREATE OR REPLACE VIEW dedup.mark AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       a.status, a.stale, a.duplicate_of, o.source_id AS original_source_id, a.score, a.reason, a.limit_fired,
       a.marked_at, a.archived, a.kept, a.byline, a.correction, a.scope
FROM dedup.marked_article a LEFT JOIN dedup.article o ON o.id = a.duplicate_of;
COMMENT ON COLUMN dedup.mark.scope IS 'It is compared with articles of the same scope.';
