-- Attached tables whose bodies are HTML. They stay as they are in their tables; the program that reads one takes
-- the article out of it.

ALTER TABLE dedup.attachment ADD COLUMN html boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN dedup.attachment.html IS 'Whether its bodies are HTML, of which only the text of the article is compared.';

CREATE OR REPLACE VIEW dedup.article_text AS
SELECT id AS article_id, text COLLATE "C" AS text, false AS html FROM dedup.article WHERE attachment_id IS NULL
UNION ALL
SELECT a.id, dedup.attached_text(a.attachment_id, a.source_id) COLLATE "C",
       coalesce((SELECT t.html FROM dedup.attachment t WHERE t.id = a.attachment_id), false)
FROM dedup.article a WHERE a.attachment_id IS NOT NULL;
COMMENT ON COLUMN dedup.article_text.text IS 'The body; HTML as it stands in its table where html says so.';
COMMENT ON COLUMN dedup.article_text.html IS 'Whether the program takes the article out of the HTML of this body before it compares it.';
