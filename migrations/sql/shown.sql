-- What articles keep to be shown, and never compared: columns of one's own, and the byline.

ALTER TABLE dedup.article ADD COLUMN kept jsonb;
COMMENT ON COLUMN dedup.article.kept IS 'Columns of one''s own by their names, such as a topic; null where there are none. Shown, not compared.';
ALTER TABLE dedup.attachment ADD COLUMN kept_columns text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN dedup.attachment.kept_columns IS 'Columns of the table that its articles keep.';

ALTER TABLE dedup.article ADD COLUMN byline text;
COMMENT ON COLUMN dedup.article.byline IS 'Who wrote it, as it was given; not compared.';
ALTER TABLE dedup.deferred_article ADD COLUMN byline text;
COMMENT ON COLUMN dedup.deferred_article.byline IS 'Null keeps what is stored.';
ALTER TABLE dedup.deferred_article ADD COLUMN kept jsonb;
COMMENT ON COLUMN dedup.deferred_article.kept IS 'Null keeps what is stored.';

-- Of an attached article they are changed in its table.
DROP TRIGGER article_attached_update ON dedup.article;
CREATE TRIGGER article_attached_update
    BEFORE UPDATE OF source_id, url, title, publication, published_at, added_at, language, byline, text, attachment_id,
                     text_hash, kept ON dedup.article
    FOR EACH ROW WHEN (OLD.attachment_id IS NOT NULL OR NEW.attachment_id IS NOT NULL)
    EXECUTE FUNCTION dedup.article_attached();

-- The views of articles show them.
CREATE OR REPLACE VIEW dedup.marked_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, k.time, a.language, a.text,
       a.revision, a.attachment_id, a.text_hash, k.status, k.stale, k.takes_part, k.duplicate_of, k.score, k.reason,
       k.limit_fired, k.marked_at, k.archived, a.kept, a.byline
-- LEFT: who asks for no column of the mark does not pay for it.
FROM dedup.article a LEFT JOIN dedup.article_mark k ON k.id = a.id;
COMMENT ON COLUMN dedup.marked_article.kept IS 'Columns of one''s own by their names, or null.';
COMMENT ON COLUMN dedup.marked_article.byline IS 'Who wrote it, as it was given.';

CREATE OR REPLACE VIEW dedup.mark AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       a.status, a.stale, a.duplicate_of, o.source_id AS original_source_id, a.score, a.reason, a.limit_fired,
       a.marked_at, a.archived, a.kept, a.byline
FROM dedup.marked_article a LEFT JOIN dedup.article o ON o.id = a.duplicate_of;
COMMENT ON COLUMN dedup.mark.kept IS 'Columns of one''s own by their names, or null.';
COMMENT ON COLUMN dedup.mark.byline IS 'Who wrote it, as it was given.';

CREATE OR REPLACE VIEW dedup.canonical_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       coalesce(a.text, (SELECT t.text FROM dedup.article_text t WHERE t.article_id = a.id)
           COLLATE "default") AS text,
       a.status, a.stale, a.score, a.reason, a.marked_at, a.archived, a.kept, a.byline
FROM dedup.marked_article a
WHERE a.status <> 'duplicate';
COMMENT ON COLUMN dedup.canonical_article.kept IS 'Columns of one''s own by their names, or null.';
COMMENT ON COLUMN dedup.canonical_article.byline IS 'Who wrote it, as it was given.';

CREATE OR REPLACE VIEW dedup.story_article AS
SELECT a.id, a.source_id, c.id AS story_id, c.source_id AS story_source_id, a.status, a.stale, a.score,
       a.reason, a.title, a.publication, k.at AS appeared_at,
       CASE WHEN a.id = c.id AND k.at IS NOT NULL THEN interval '0' ELSE t.delay END AS delay, a.archived,
       t.delay IS NOT NULL OR (a.id = c.id AND k.at IS NOT NULL) AS times_known, a.byline
FROM dedup.marked_article a JOIN dedup.article c ON c.id = coalesce(a.duplicate_of, a.id)
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.published_at >= '1605-01-01 00:00:00+00' AND a.published_at - a.added_at <= interval '24 hours'
                 THEN a.published_at END AS at,
           CASE WHEN c.published_at >= '1605-01-01 00:00:00+00' AND c.published_at - c.added_at <= interval '24 hours'
                 THEN c.published_at END AS original_at
) k
CROSS JOIN LATERAL (
    SELECT CASE WHEN (k.at AT TIME ZONE 'UTC')::date <> (k.original_at AT TIME ZONE 'UTC')::date
                     OR (k.at <> date_trunc('day', k.at, 'UTC') AND k.original_at <> date_trunc('day', k.original_at, 'UTC'))
                THEN k.at - k.original_at END AS delay
) t;
COMMENT ON COLUMN dedup.story_article.byline IS 'Who wrote it, as it was given.';
