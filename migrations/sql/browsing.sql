-- What people read: views of articles, stories, pairs, sentences and outlets. They show the caller's
-- source_id beside every id.

CREATE VIEW dedup.canonical_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       coalesce(a.text, (SELECT t.text FROM dedup.article_text t WHERE t.article_id = a.id)
           COLLATE "default") AS text,
       a.status, a.stale, a.score, a.reason, a.marked_at, a.archived
FROM dedup.marked_article a
WHERE a.status <> 'duplicate';
COMMENT ON VIEW dedup.canonical_article IS 'Every article that is no duplicate, pending and failed ones included. Use it instead of article to read without duplicates.';
COMMENT ON COLUMN dedup.canonical_article.id IS 'article.id.';
COMMENT ON COLUMN dedup.canonical_article.source_id IS 'The caller''s own key.';
COMMENT ON COLUMN dedup.canonical_article.url IS 'Where it was published.';
COMMENT ON COLUMN dedup.canonical_article.title IS 'Headline.';
COMMENT ON COLUMN dedup.canonical_article.publication IS 'Who published it.';
COMMENT ON COLUMN dedup.canonical_article.published_at IS 'When it was published.';
COMMENT ON COLUMN dedup.canonical_article.added_at IS 'When the corpus first stored it.';
COMMENT ON COLUMN dedup.canonical_article.language IS 'ISO 639 code, or null.';
COMMENT ON COLUMN dedup.canonical_article.text IS 'The body.';
COMMENT ON COLUMN dedup.canonical_article.status IS 'unique, similar, pending or failed.';
COMMENT ON COLUMN dedup.canonical_article.stale IS 'The mark is the last one and must be settled again.';
COMMENT ON COLUMN dedup.canonical_article.score IS 'Highest score with a similar article, or null.';
COMMENT ON COLUMN dedup.canonical_article.reason IS 'The rule that made it similar, or why it failed; null if unique.';
COMMENT ON COLUMN dedup.canonical_article.marked_at IS 'When the mark was written.';
COMMENT ON COLUMN dedup.canonical_article.archived IS 'Before the horizon: compared with nothing any more.';

-- What is said of times. A time of publication is known where there is one that is not implausible: here,
-- from 1605 on and at most 24 hours after the article was stored. One of 00:00:00 UTC is known to the day.
-- Two articles have a delay, and with it a direction, where both times are known, and are of two days or both
-- known to more than the day.
CREATE VIEW dedup.duplicate AS
SELECT a.id, a.source_id, a.title, a.publication, a.published_at,
       o.id AS original_id, o.source_id AS original_source_id, o.title AS original_title,
       o.publication AS original_publication, o.published_at AS original_published_at,
       a.stale, a.score, a.reason, m.sentence_jaccard, m.signature_jaccard, m.containment,
       t.delay, a.archived, t.delay IS NOT NULL AS times_known
FROM dedup.marked_article a
JOIN dedup.article o ON o.id = a.duplicate_of
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.published_at >= '1605-01-01 00:00:00+00' AND a.published_at - a.added_at <= interval '24 hours'
                 THEN a.published_at END AS at,
           CASE WHEN o.published_at >= '1605-01-01 00:00:00+00' AND o.published_at - o.added_at <= interval '24 hours'
                 THEN o.published_at END AS original_at
) k
CROSS JOIN LATERAL (
    SELECT CASE WHEN (k.at AT TIME ZONE 'UTC')::date <> (k.original_at AT TIME ZONE 'UTC')::date
                     OR (k.at <> date_trunc('day', k.at, 'UTC') AND k.original_at <> date_trunc('day', k.original_at, 'UTC'))
                THEN k.at - k.original_at END AS delay
) t
LEFT JOIN dedup.match m ON m.article_id = a.id AND m.other_id = o.id
WHERE a.status = 'duplicate';
COMMENT ON VIEW dedup.duplicate IS 'Every duplicate beside its original.';
COMMENT ON COLUMN dedup.duplicate.id IS 'article.id of the duplicate.';
COMMENT ON COLUMN dedup.duplicate.source_id IS 'The caller''s key of the duplicate.';
COMMENT ON COLUMN dedup.duplicate.title IS 'Headline of the duplicate.';
COMMENT ON COLUMN dedup.duplicate.publication IS 'Who published the duplicate.';
COMMENT ON COLUMN dedup.duplicate.published_at IS 'When the duplicate was published.';
COMMENT ON COLUMN dedup.duplicate.original_id IS 'article.id of the canonical article: the first in this corpus, if times_known.';
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
COMMENT ON COLUMN dedup.duplicate.delay IS 'How long after the original it was published; null where the times do not tell.';
COMMENT ON COLUMN dedup.duplicate.archived IS 'The duplicate is before the horizon: compared with nothing any more.';
COMMENT ON COLUMN dedup.duplicate.times_known IS 'Whether both times are known well enough to tell which was first in this corpus.';

-- The copies are looked up story by story: one story, or those of a day, cost what they hold, and not what
-- all the others do.
CREATE VIEW dedup.story AS
SELECT c.id, c.source_id, c.title, c.publication,
       f.first_at, CASE WHEN coalesce(d.times_known, true) THEN greatest(f.first_at, d.last_at) END AS last_at,
       1 + d.copies AS articles,
       d.copies,
       coalesce(d.publications, '{}') AS copied_by,
       coalesce(d.source_ids, '{}') AS copy_source_ids,
       c.archived,
       coalesce(d.undated, '{}') AS also_in,
       coalesce(d.times_known, f.first_at IS NOT NULL) AS times_known
FROM dedup.marked_article c
CROSS JOIN LATERAL (
    SELECT CASE WHEN c.published_at >= '1605-01-01 00:00:00+00' AND c.published_at - c.added_at <= interval '24 hours'
                 THEN c.published_at END AS first_at
) f
CROSS JOIN LATERAL (
    SELECT count(*) AS copies,
           array_agg(DISTINCT publication ORDER BY publication)
               FILTER (WHERE publication IS NOT NULL AND t.delay IS NOT NULL) AS publications,
           array_agg(DISTINCT publication ORDER BY publication)
               FILTER (WHERE publication IS NOT NULL AND t.delay IS NULL) AS undated,
           array_agg(source_id ORDER BY coalesce(published_at, added_at), source_id) AS source_ids,
           max(k.at) AS last_at, bool_and(t.delay IS NOT NULL) AS times_known
    FROM dedup.marked_article a
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
    ) t
    WHERE a.duplicate_of = c.id
) d
WHERE c.status <> 'duplicate';
COMMENT ON VIEW dedup.story IS 'A canonical article with its duplicates, one row per story.';
COMMENT ON COLUMN dedup.story.id IS 'article.id of the canonical article.';
COMMENT ON COLUMN dedup.story.source_id IS 'The caller''s key of the canonical article.';
COMMENT ON COLUMN dedup.story.title IS 'Its headline.';
COMMENT ON COLUMN dedup.story.publication IS 'Who published it first.';
COMMENT ON COLUMN dedup.story.first_at IS 'When the canonical article was published; null where that is not known.';
COMMENT ON COLUMN dedup.story.last_at IS 'When the last of its articles was published; null without times_known.';
COMMENT ON COLUMN dedup.story.articles IS 'Articles in the story, the canonical one included.';
COMMENT ON COLUMN dedup.story.copies IS 'Duplicates in the story.';
COMMENT ON COLUMN dedup.story.copied_by IS 'Publications of the duplicates that are known to be later or earlier than the canonical article, each once.';
COMMENT ON COLUMN dedup.story.copy_source_ids IS 'The caller''s keys of the duplicates, earliest first.';
COMMENT ON COLUMN dedup.story.archived IS 'The canonical article is before the horizon: its later copies are in another story.';
COMMENT ON COLUMN dedup.story.also_in IS 'Publications of the duplicates of which nobody knows whether they were first, each once.';
COMMENT ON COLUMN dedup.story.times_known IS 'Whether times tell of all its articles which was first in this corpus.';

CREATE VIEW dedup.story_article AS
SELECT a.id, a.source_id, c.id AS story_id, c.source_id AS story_source_id, a.status, a.stale, a.score,
       a.reason, a.title, a.publication, k.at AS appeared_at,
       CASE WHEN a.id = c.id AND k.at IS NOT NULL THEN interval '0' ELSE t.delay END AS delay, a.archived,
       t.delay IS NOT NULL OR (a.id = c.id AND k.at IS NOT NULL) AS times_known
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
COMMENT ON COLUMN dedup.story_article.appeared_at IS 'When it was published; null where that is not known.';
COMMENT ON COLUMN dedup.story_article.delay IS 'How long after the canonical article; null where the times do not tell.';
COMMENT ON COLUMN dedup.story_article.archived IS 'Before the horizon: compared with nothing any more.';
COMMENT ON COLUMN dedup.story_article.times_known IS 'Whether times tell which of it and the canonical article was first in this corpus.';

CREATE VIEW dedup.similar_pair AS
SELECT p.article_id, a.source_id, p.other_id, o.source_id AS other_source_id,
       a.title, o.title AS other_title, a.publication, o.publication AS other_publication,
       p.rule, p.score, p.sentence_jaccard, p.signature_jaccard, p.containment
FROM (
    SELECT article_id, other_id, rule, score, sentence_jaccard, signature_jaccard, containment
    FROM dedup.match WHERE relation = 'similar'
    UNION ALL
    SELECT other_id, article_id, rule, score, sentence_jaccard, signature_jaccard, containment
    FROM dedup.match WHERE relation = 'similar'
) p
JOIN dedup.article a ON a.id = p.article_id
JOIN dedup.article o ON o.id = p.other_id;
COMMENT ON VIEW dedup.similar_pair IS 'Similar canonical articles, each pair in both directions.';
COMMENT ON COLUMN dedup.similar_pair.article_id IS 'article.id of one article.';
COMMENT ON COLUMN dedup.similar_pair.source_id IS 'The caller''s key of the one.';
COMMENT ON COLUMN dedup.similar_pair.other_id IS 'article.id of the other.';
COMMENT ON COLUMN dedup.similar_pair.other_source_id IS 'The caller''s key of the other.';
COMMENT ON COLUMN dedup.similar_pair.title IS 'Headline of the one.';
COMMENT ON COLUMN dedup.similar_pair.other_title IS 'Headline of the other.';
COMMENT ON COLUMN dedup.similar_pair.publication IS 'Who published the one.';
COMMENT ON COLUMN dedup.similar_pair.other_publication IS 'Who published the other.';
COMMENT ON COLUMN dedup.similar_pair.rule IS 'What decided: pinned, sentences, signature or containment.';
COMMENT ON COLUMN dedup.similar_pair.sentence_jaccard IS 'Shared sentences over all sentences of both.';
COMMENT ON COLUMN dedup.similar_pair.signature_jaccard IS 'Estimated Jaccard of the shingles of both.';
COMMENT ON COLUMN dedup.similar_pair.containment IS 'How much of the shorter article is in the longer one.';
COMMENT ON COLUMN dedup.similar_pair.score IS 'The larger of the two Jaccards.';

-- Either table of fingerprints may be the one in use: a view keeps to a table, and not to its name.
CREATE VIEW dedup.article_sentence AS
SELECT a.id AS article_id, a.source_id, s.position::integer AS position, s.sentence_hash,
       c.sentence_hash IS NOT NULL AS common
FROM dedup.article a
JOIN (
    SELECT article_id, revision, sentence_hashes FROM dedup.fingerprint
    UNION ALL
    SELECT article_id, revision, sentence_hashes FROM dedup.fingerprint_bulk
) AS f ON f.article_id = a.id AND f.revision = a.revision
CROSS JOIN LATERAL unnest(f.sentence_hashes) WITH ORDINALITY AS s (sentence_hash, position)
LEFT JOIN dedup.common_sentence c ON c.sentence_hash = s.sentence_hash;
COMMENT ON VIEW dedup.article_sentence IS 'One row per article and distinct sentence that counts.';
COMMENT ON COLUMN dedup.article_sentence.article_id IS 'article.id.';
COMMENT ON COLUMN dedup.article_sentence.source_id IS 'The caller''s own key.';
COMMENT ON COLUMN dedup.article_sentence.position IS 'Order of appearance, from 1.';
COMMENT ON COLUMN dedup.article_sentence.sentence_hash IS 'Hash of the normalised sentence.';
COMMENT ON COLUMN dedup.article_sentence.common IS 'Whether the sentence is ignored as common.';

CREATE VIEW dedup.publication_overlap AS
SELECT CASE WHEN p.times_known THEN p.copier ELSE least(p.copier, p.original) END AS publication,
       CASE WHEN p.times_known THEN p.original ELSE greatest(p.copier, p.original) END AS original_publication,
       count(*) AS duplicates, avg(p.score) AS mean_score,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM p.delay)) * interval '1 second' AS median_delay,
       p.times_known
FROM (
    SELECT coalesce(publication, '') AS copier, coalesce(original_publication, '') AS original, score, delay, times_known
    FROM dedup.duplicate
) p
GROUP BY 1, 2, 6;
COMMENT ON VIEW dedup.publication_overlap IS 'Who reprints whom: duplicates per pair of publications, with known times and without.';
COMMENT ON COLUMN dedup.publication_overlap.publication IS 'Who published the duplicates; empty where unknown. Without known times the first of both in the alphabet.';
COMMENT ON COLUMN dedup.publication_overlap.original_publication IS 'Who published the originals, which were first in this corpus. Without known times the other one.';
COMMENT ON COLUMN dedup.publication_overlap.duplicates IS 'How many.';
COMMENT ON COLUMN dedup.publication_overlap.mean_score IS 'Mean score.';
COMMENT ON COLUMN dedup.publication_overlap.median_delay IS 'Median time from original to duplicate; null without known times.';
COMMENT ON COLUMN dedup.publication_overlap.times_known IS 'Whether times tell who was first in this corpus; where not, the row has no direction.';

CREATE VIEW dedup.daily_mark AS
SELECT (coalesce(published_at, added_at) AT TIME ZONE 'UTC')::date AS day,
       count(*) AS articles,
       count(*) FILTER (WHERE status = 'unique') AS unique_articles,
       count(*) FILTER (WHERE status = 'similar') AS similar_articles,
       count(*) FILTER (WHERE status = 'duplicate') AS duplicates,
       count(*) FILTER (WHERE status = 'pending') AS pending,
       count(*) FILTER (WHERE status = 'failed') AS failed,
       count(*) FILTER (WHERE stale) AS stale,
       count(*) FILTER (WHERE archived) AS archived
FROM dedup.marked_article GROUP BY 1;
COMMENT ON VIEW dedup.daily_mark IS 'Marks per day of publication, in UTC.';
COMMENT ON COLUMN dedup.daily_mark.day IS 'Day of publication, or of storing where that is unknown.';
COMMENT ON COLUMN dedup.daily_mark.articles IS 'All articles of the day.';
COMMENT ON COLUMN dedup.daily_mark.unique_articles IS 'Marked unique.';
COMMENT ON COLUMN dedup.daily_mark.similar_articles IS 'Marked similar.';
COMMENT ON COLUMN dedup.daily_mark.duplicates IS 'Marked duplicate.';
COMMENT ON COLUMN dedup.daily_mark.pending IS 'Never settled.';
COMMENT ON COLUMN dedup.daily_mark.failed IS 'Could not be read.';
COMMENT ON COLUMN dedup.daily_mark.stale IS 'With a mark that must be settled again.';
COMMENT ON COLUMN dedup.daily_mark.archived IS 'Before the horizon, whatever their mark.';
