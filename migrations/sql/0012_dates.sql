-- What is said of times. A time of publication is known where there is one that is not implausible: here, from 1605 on and
-- at most 24 hours after the article was stored. One of 00:00:00 UTC is known to the day. Two articles have a delay, and
-- with it a direction, where both times are known, and are of two days or both known to more than the day.
CREATE OR REPLACE VIEW dedup.duplicate AS
SELECT a.id, a.source_id, a.title, a.publication, a.published_at,
       o.id AS original_id, o.source_id AS original_source_id, o.title AS original_title,
       o.publication AS original_publication, o.published_at AS original_published_at,
       a.stale, a.score, a.reason, m.sentence_jaccard, m.signature_jaccard, m.containment,
       t.delay, a.archived, t.delay IS NOT NULL AS times_known
FROM dedup.article a
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
COMMENT ON COLUMN dedup.duplicate.original_id IS 'article.id of the canonical article: the first in this corpus, if times_known.';
COMMENT ON COLUMN dedup.duplicate.delay IS 'How long after the original it was published; null where the times do not tell.';
COMMENT ON COLUMN dedup.duplicate.times_known IS 'Whether both times are known well enough to tell which was first in this corpus.';

CREATE OR REPLACE VIEW dedup.story AS
SELECT c.id, c.source_id, c.title, c.publication,
       f.first_at, CASE WHEN coalesce(d.times_known, true) THEN greatest(f.first_at, d.last_at) END AS last_at,
       1 + d.copies AS articles,
       d.copies,
       coalesce(d.publications, '{}') AS copied_by,
       coalesce(d.source_ids, '{}') AS copy_source_ids,
       c.archived,
       coalesce(d.undated, '{}') AS also_in,
       coalesce(d.times_known, f.first_at IS NOT NULL) AS times_known
FROM dedup.article c
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
    FROM dedup.article a
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
COMMENT ON COLUMN dedup.story.first_at IS 'When the canonical article was published; null where that is not known.';
COMMENT ON COLUMN dedup.story.last_at IS 'When the last of its articles was published; null without times_known.';
COMMENT ON COLUMN dedup.story.copied_by IS 'Publications of the duplicates that are known to be later or earlier than the canonical article, each once.';
COMMENT ON COLUMN dedup.story.also_in IS 'Publications of the duplicates of which nobody knows whether they were first, each once.';
COMMENT ON COLUMN dedup.story.times_known IS 'Whether times tell of all its articles which was first in this corpus.';

CREATE OR REPLACE VIEW dedup.story_article AS
SELECT a.id, a.source_id, c.id AS story_id, c.source_id AS story_source_id, a.status, a.stale, a.score,
       a.reason, a.title, a.publication, k.at AS appeared_at,
       CASE WHEN a.id = c.id AND k.at IS NOT NULL THEN interval '0' ELSE t.delay END AS delay, a.archived,
       t.delay IS NOT NULL OR (a.id = c.id AND k.at IS NOT NULL) AS times_known
FROM dedup.article a JOIN dedup.article c ON c.id = coalesce(a.duplicate_of, a.id)
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
COMMENT ON COLUMN dedup.story_article.appeared_at IS 'When it was published; null where that is not known.';
COMMENT ON COLUMN dedup.story_article.delay IS 'How long after the canonical article; null where the times do not tell.';
COMMENT ON COLUMN dedup.story_article.times_known IS 'Whether times tell which of it and the canonical article was first in this corpus.';

CREATE OR REPLACE VIEW dedup.publication_overlap AS
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
COMMENT ON COLUMN dedup.publication_overlap.median_delay IS 'Median time from original to duplicate; null without known times.';
COMMENT ON COLUMN dedup.publication_overlap.times_known IS 'Whether times tell who was first in this corpus; where not, the row has no direction.';
