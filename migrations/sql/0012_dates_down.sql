-- Takes back 0012_dates.sql.
DROP VIEW dedup.publication_overlap;
DROP VIEW dedup.duplicate;
DROP VIEW dedup.story;
DROP VIEW dedup.story_article;

CREATE VIEW dedup.duplicate AS
SELECT a.id, a.source_id, a.title, a.publication, a.published_at,
       o.id AS original_id, o.source_id AS original_source_id, o.title AS original_title,
       o.publication AS original_publication, o.published_at AS original_published_at,
       a.stale, a.score, a.reason, m.sentence_jaccard, m.signature_jaccard, m.containment,
       coalesce(a.published_at, a.added_at) - coalesce(o.published_at, o.added_at) AS delay, a.archived
FROM dedup.article a
JOIN dedup.article o ON o.id = a.duplicate_of
LEFT JOIN dedup.match m ON m.article_id = a.id AND m.other_id = o.id
WHERE a.status = 'duplicate';
COMMENT ON VIEW dedup.duplicate IS 'Every duplicate beside its original.';
COMMENT ON COLUMN dedup.duplicate.id IS 'article.id of the duplicate.';
COMMENT ON COLUMN dedup.duplicate.source_id IS 'The caller''s key of the duplicate.';
COMMENT ON COLUMN dedup.duplicate.title IS 'Headline of the duplicate.';
COMMENT ON COLUMN dedup.duplicate.publication IS 'Who published the duplicate.';
COMMENT ON COLUMN dedup.duplicate.published_at IS 'When the duplicate was published.';
COMMENT ON COLUMN dedup.duplicate.original_id IS 'article.id of the original.';
COMMENT ON COLUMN dedup.duplicate.original_source_id IS 'The caller''s key of the original.';
COMMENT ON COLUMN dedup.duplicate.original_title IS 'Headline of the original.';
COMMENT ON COLUMN dedup.duplicate.original_publication IS 'Who published the original.';
COMMENT ON COLUMN dedup.duplicate.original_published_at IS 'When the original was published.';
COMMENT ON COLUMN dedup.duplicate.stale IS 'The mark is the last one and must be settled again.';
COMMENT ON COLUMN dedup.duplicate.score IS 'The larger of the two Jaccards; 1 for the same words.';
COMMENT ON COLUMN dedup.duplicate.reason IS 'What decided: pinned, content, sentences or signature.';
COMMENT ON COLUMN dedup.duplicate.sentence_jaccard IS 'Shared sentences over all sentences of both.';
COMMENT ON COLUMN dedup.duplicate.signature_jaccard IS 'Estimated Jaccard of the shingles of both.';
COMMENT ON COLUMN dedup.duplicate.containment IS 'How much of the shorter article is in the longer one.';
COMMENT ON COLUMN dedup.duplicate.delay IS 'How long after the original it came.';
COMMENT ON COLUMN dedup.duplicate.archived IS 'The duplicate is before the horizon: compared with nothing any more.';

CREATE VIEW dedup.story AS
SELECT c.id, c.source_id, c.title, c.publication,
       coalesce(c.published_at, c.added_at) AS first_at,
       coalesce(d.last_at, coalesce(c.published_at, c.added_at)) AS last_at,
       1 + d.copies AS articles,
       d.copies,
       coalesce(d.publications, '{}') AS copied_by,
       coalesce(d.source_ids, '{}') AS copy_source_ids,
       c.archived
FROM dedup.article c
CROSS JOIN LATERAL (
    SELECT count(*) AS copies,
           array_agg(DISTINCT publication ORDER BY publication) FILTER (WHERE publication IS NOT NULL) AS publications,
           array_agg(source_id ORDER BY coalesce(published_at, added_at), source_id) AS source_ids,
           max(coalesce(published_at, added_at)) AS last_at
    FROM dedup.article WHERE duplicate_of = c.id
) d
WHERE c.status <> 'duplicate';
COMMENT ON VIEW dedup.story IS 'A canonical article with its duplicates, one row per story.';
COMMENT ON COLUMN dedup.story.id IS 'article.id of the canonical article.';
COMMENT ON COLUMN dedup.story.source_id IS 'The caller''s key of the canonical article.';
COMMENT ON COLUMN dedup.story.title IS 'Its headline.';
COMMENT ON COLUMN dedup.story.publication IS 'Who published it first.';
COMMENT ON COLUMN dedup.story.first_at IS 'When the canonical article appeared.';
COMMENT ON COLUMN dedup.story.last_at IS 'When the last copy appeared.';
COMMENT ON COLUMN dedup.story.articles IS 'Articles in the story, the canonical one included.';
COMMENT ON COLUMN dedup.story.copies IS 'Duplicates in the story.';
COMMENT ON COLUMN dedup.story.copied_by IS 'Publications of the duplicates, each once.';
COMMENT ON COLUMN dedup.story.copy_source_ids IS 'The caller''s keys of the duplicates, earliest first.';
COMMENT ON COLUMN dedup.story.archived IS 'The canonical article is before the horizon: its later copies are in another story.';

CREATE VIEW dedup.story_article AS
SELECT a.id, a.source_id, c.id AS story_id, c.source_id AS story_source_id, a.status, a.stale, a.score,
       a.reason, a.title, a.publication, coalesce(a.published_at, a.added_at) AS appeared_at,
       coalesce(a.published_at, a.added_at) - coalesce(c.published_at, c.added_at) AS delay, a.archived
FROM dedup.article a JOIN dedup.article c ON c.id = coalesce(a.duplicate_of, a.id);
COMMENT ON VIEW dedup.story_article IS 'Every article with its story.';
COMMENT ON COLUMN dedup.story_article.id IS 'article.id.';
COMMENT ON COLUMN dedup.story_article.source_id IS 'The caller''s own key.';
COMMENT ON COLUMN dedup.story_article.story_id IS 'article.id of the canonical article of its story; its own where it is no duplicate.';
COMMENT ON COLUMN dedup.story_article.story_source_id IS 'The caller''s key of that article.';
COMMENT ON COLUMN dedup.story_article.status IS 'Its mark.';
COMMENT ON COLUMN dedup.story_article.stale IS 'The mark is the last one and must be settled again.';
COMMENT ON COLUMN dedup.story_article.score IS 'Duplicate: its score with the canonical article. Similar: its highest score.';
COMMENT ON COLUMN dedup.story_article.reason IS 'The rule that decided, or why it failed.';
COMMENT ON COLUMN dedup.story_article.title IS 'Headline.';
COMMENT ON COLUMN dedup.story_article.publication IS 'Who published it.';
COMMENT ON COLUMN dedup.story_article.appeared_at IS 'When it was published, or stored where that is unknown.';
COMMENT ON COLUMN dedup.story_article.delay IS 'How long after the canonical article.';
COMMENT ON COLUMN dedup.story_article.archived IS 'Before the horizon: compared with nothing any more.';

CREATE VIEW dedup.publication_overlap AS
SELECT coalesce(a.publication, '') AS publication, coalesce(o.publication, '') AS original_publication,
       count(*) AS duplicates, avg(a.score) AS mean_score,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY
           extract(epoch FROM coalesce(a.published_at, a.added_at) - coalesce(o.published_at, o.added_at))
       ) * interval '1 second' AS median_delay
FROM dedup.article a JOIN dedup.article o ON o.id = a.duplicate_of
WHERE a.status = 'duplicate'
GROUP BY 1, 2;
COMMENT ON VIEW dedup.publication_overlap IS 'Who reprints whom: duplicates per pair of publications.';
COMMENT ON COLUMN dedup.publication_overlap.publication IS 'Who published the duplicates; empty where unknown.';
COMMENT ON COLUMN dedup.publication_overlap.original_publication IS 'Who published the originals.';
COMMENT ON COLUMN dedup.publication_overlap.duplicates IS 'How many.';
COMMENT ON COLUMN dedup.publication_overlap.mean_score IS 'Mean score.';
COMMENT ON COLUMN dedup.publication_overlap.median_delay IS 'Median time from original to duplicate.';
