-- Columns of one's own that stay readable beside the marks: they are shown, and not compared.

ALTER TABLE dedup.article ADD COLUMN kept jsonb;
COMMENT ON COLUMN dedup.article.kept IS 'Columns of one''s own by their names, such as a topic; null where there are none. Shown, not compared.';
ALTER TABLE dedup.attachment ADD COLUMN kept_columns text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN dedup.attachment.kept_columns IS 'Columns of the table that its articles keep.';

DROP TRIGGER article_attached_update ON dedup.article;
CREATE TRIGGER article_attached_update
    BEFORE UPDATE OF source_id, url, title, publication, published_at, added_at, language, text, attachment_id,
                     text_hash, kept ON dedup.article
    FOR EACH ROW WHEN (OLD.attachment_id IS NOT NULL OR NEW.attachment_id IS NOT NULL)
    EXECUTE FUNCTION dedup.article_attached();
ALTER TABLE dedup.article ENABLE ALWAYS TRIGGER article_attached_update;

CREATE OR REPLACE VIEW dedup.marked_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, k.time, a.language, a.text,
       a.revision, a.attachment_id, a.text_hash, k.status, k.stale, k.takes_part, k.duplicate_of, k.score, k.reason,
       k.limit_fired, k.marked_at, k.archived, a.kept
-- LEFT: who asks for no column of the mark does not pay for it.
FROM dedup.article a LEFT JOIN dedup.article_mark k ON k.id = a.id;
COMMENT ON COLUMN dedup.marked_article.kept IS 'Columns of one''s own by their names, or null.';

CREATE OR REPLACE VIEW dedup.mark AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       a.status, a.stale, a.duplicate_of, o.source_id AS original_source_id, a.score, a.reason, a.limit_fired,
       a.marked_at, a.archived, a.kept
FROM dedup.marked_article a LEFT JOIN dedup.article o ON o.id = a.duplicate_of;
COMMENT ON COLUMN dedup.mark.kept IS 'Columns of one''s own by their names, or null.';

CREATE OR REPLACE VIEW dedup.canonical_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       coalesce(a.text, (SELECT t.text FROM dedup.article_text t WHERE t.article_id = a.id)
           COLLATE "default") AS text,
       a.status, a.stale, a.score, a.reason, a.marked_at, a.archived, a.kept
FROM dedup.marked_article a
WHERE a.status <> 'duplicate';
COMMENT ON COLUMN dedup.canonical_article.kept IS 'Columns of one''s own by their names, or null.';
