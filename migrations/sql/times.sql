-- Times as far as they are known (docs/semantics.md, section 7). A time of publication is known where it is present and
-- plausible; a time of 00:00:00 UTC is a date without an hour, so the article came at some time of that day. An article
-- was before another one if the last moment at which it can have come is before the first moment of the other one.

CREATE OR REPLACE VIEW dedup.marked_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, k.time, a.language, a.text,
       a.revision, a.attachment_id, a.text_hash, k.status, k.stale, k.takes_part, k.duplicate_of, k.score, k.reason,
       k.limit_fired, k.marked_at, k.archived, a.kept, a.byline,
       CASE WHEN a.published_at >= '1605-01-01 00:00:00+00' AND a.published_at - a.added_at <= interval '24 hours'
            THEN a.published_at END AS known_at
-- LEFT: a query without columns of the mark does not read the mark.
FROM dedup.article a LEFT JOIN dedup.article_mark k ON k.id = a.id;
COMMENT ON COLUMN dedup.marked_article.known_at IS 'When it was published; null where that is not known. 00:00:00 UTC: at some time of that day.';

CREATE OR REPLACE VIEW dedup.duplicate AS
SELECT a.id, a.source_id, a.title, a.publication, a.published_at,
       o.id AS original_id, o.source_id AS original_source_id, o.title AS original_title,
       o.publication AS original_publication, o.published_at AS original_published_at,
       a.stale, a.score, a.reason, m.sentence_jaccard, m.signature_jaccard, m.containment,
       t.delay, a.archived, t.delay IS NOT NULL AS times_known
FROM dedup.marked_article a
JOIN dedup.marked_article o ON o.id = a.duplicate_of
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.known_at <> date_trunc('day', a.known_at, 'UTC') AND o.known_at <> date_trunc('day', o.known_at, 'UTC')
                THEN nullif(a.known_at - o.known_at, interval '0')
                ELSE nullif(date_trunc('day', a.known_at, 'UTC') - date_trunc('day', o.known_at, 'UTC'), interval '0') END AS delay
) t
LEFT JOIN dedup.match m ON m.article_id = a.id AND m.other_id = o.id
WHERE a.status = 'duplicate';
COMMENT ON COLUMN dedup.duplicate.delay IS 'How long after the original it was published, in whole days if either has a date without an hour; null where times do not tell.';

CREATE OR REPLACE VIEW dedup.story AS
SELECT c.id, c.source_id, c.title, c.publication,
       c.known_at AS first_at, CASE WHEN coalesce(d.times_known, true) THEN greatest(c.known_at, d.last_at) END AS last_at,
       1 + d.copies AS articles,
       d.copies,
       coalesce(d.publications, '{}') AS copied_by,
       coalesce(d.source_ids, '{}') AS copy_source_ids,
       c.archived,
       coalesce(d.undated, '{}') AS also_in,
       coalesce(d.times_known, c.known_at IS NOT NULL) AS times_known
FROM dedup.marked_article c
CROSS JOIN LATERAL (
    SELECT count(*) AS copies,
           array_agg(DISTINCT publication ORDER BY publication)
               FILTER (WHERE publication IS NOT NULL AND t.delay > interval '0') AS publications,
           array_agg(DISTINCT publication ORDER BY publication)
               FILTER (WHERE publication IS NOT NULL AND (t.delay > interval '0') IS NOT TRUE) AS undated,
           array_agg(source_id ORDER BY a.known_at, source_id) AS source_ids,
           max(a.known_at) AS last_at, bool_and(t.delay IS NOT NULL) AS times_known
    FROM dedup.marked_article a
    CROSS JOIN LATERAL (
        SELECT CASE WHEN a.known_at <> date_trunc('day', a.known_at, 'UTC') AND c.known_at <> date_trunc('day', c.known_at, 'UTC')
                    THEN nullif(a.known_at - c.known_at, interval '0')
                    ELSE nullif(date_trunc('day', a.known_at, 'UTC') - date_trunc('day', c.known_at, 'UTC'), interval '0') END AS delay
    ) t
    WHERE a.duplicate_of = c.id
) d
WHERE c.status <> 'duplicate';
COMMENT ON COLUMN dedup.story.publication IS 'Who published it.';
COMMENT ON COLUMN dedup.story.copied_by IS 'Publications of the duplicates that are known to be later than the canonical article, each once.';
COMMENT ON COLUMN dedup.story.copy_source_ids IS 'The caller''s keys of the duplicates, earliest first; undated ones come last.';
COMMENT ON COLUMN dedup.story.also_in IS 'Publications of the other duplicates, each once.';

CREATE OR REPLACE VIEW dedup.story_article AS
SELECT a.id, a.source_id, c.id AS story_id, c.source_id AS story_source_id, a.status, a.stale, a.score,
       a.reason, a.title, a.publication, a.known_at AS appeared_at,
       CASE WHEN a.id = c.id AND a.known_at IS NOT NULL THEN interval '0' ELSE t.delay END AS delay, a.archived,
       t.delay IS NOT NULL OR (a.id = c.id AND a.known_at IS NOT NULL) AS times_known, a.byline
FROM dedup.marked_article a JOIN dedup.marked_article c ON c.id = coalesce(a.duplicate_of, a.id)
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.known_at <> date_trunc('day', a.known_at, 'UTC') AND c.known_at <> date_trunc('day', c.known_at, 'UTC')
                THEN nullif(a.known_at - c.known_at, interval '0')
                ELSE nullif(date_trunc('day', a.known_at, 'UTC') - date_trunc('day', c.known_at, 'UTC'), interval '0') END AS delay
) t;
COMMENT ON COLUMN dedup.story_article.appeared_at IS 'When it was published; null where that is not known. 00:00:00 UTC: at some time of that day.';
COMMENT ON COLUMN dedup.story_article.delay IS 'How long after the canonical article, in whole days if either has a date without an hour; null where times do not tell.';

-- The first article of a story is the only one that no other article of the story was before. If several articles
-- remain, times do not tell which of them was first. An article that is in no row shares its story with nobody.
CREATE VIEW dedup.shared_article AS
SELECT p.id, p.story_id, p.publication,
       CASE WHEN p.later THEN false
            WHEN count(*) FILTER (WHERE p.later IS NOT TRUE) OVER (PARTITION BY p.story_id) = 1 THEN true
       END AS was_first
FROM (
    SELECT a.id, m.story_id, a.publication,
           a.known_at > min(CASE WHEN a.known_at <> date_trunc('day', a.known_at, 'UTC') THEN a.known_at
                                 ELSE a.known_at + interval '24 hours' - interval '1 microsecond' END)
                        OVER (PARTITION BY m.story_id) AS later
    FROM (
        SELECT duplicate_of AS story_id, id FROM dedup.article_mark WHERE duplicate_of IS NOT NULL
        UNION ALL
        SELECT DISTINCT duplicate_of, duplicate_of FROM dedup.article_mark WHERE duplicate_of IS NOT NULL
    ) m
    -- OFFSET 0 forces one look-up by key for each row. In a join the planner may expect too few rows.
    CROSS JOIN LATERAL (SELECT id, publication, known_at FROM dedup.marked_article WHERE id = m.id OFFSET 0) AS a
) p;
COMMENT ON VIEW dedup.shared_article IS 'Every article of a story with several articles, and whether it was the first in this corpus.';
COMMENT ON COLUMN dedup.shared_article.id IS 'article.id.';
COMMENT ON COLUMN dedup.shared_article.story_id IS 'article.id of the canonical article of its story.';
COMMENT ON COLUMN dedup.shared_article.publication IS 'Who published it.';
COMMENT ON COLUMN dedup.shared_article.was_first IS 'Whether it was before all other articles of its story; null where times do not tell.';

-- Without known times a row has no direction: it counts the stories of which either publication may have been first.
CREATE OR REPLACE VIEW dedup.publication_overlap AS
SELECT CASE WHEN later THEN copier ELSE original END AS publication,
       CASE WHEN later THEN original ELSE copier END AS original_publication,
       count(*) AS duplicates, avg(score) AS mean_score,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY abs(extract(epoch FROM delay))) * interval '1 second' AS median_delay,
       true AS times_known
FROM (
    SELECT coalesce(publication, '') AS copier, coalesce(original_publication, '') AS original, score, delay,
           delay > interval '0' AS later
    FROM dedup.duplicate WHERE times_known
) p
GROUP BY 1, 2
UNION ALL
SELECT a.publication, b.publication, count(*), NULL, NULL, false
FROM (SELECT DISTINCT story_id, coalesce(publication, '') AS publication
      FROM dedup.shared_article WHERE was_first IS NULL) a
JOIN (SELECT DISTINCT story_id, coalesce(publication, '') AS publication
      FROM dedup.shared_article WHERE was_first IS NULL) b ON b.story_id = a.story_id AND b.publication > a.publication
GROUP BY 1, 2;
COMMENT ON VIEW dedup.publication_overlap IS 'Who reprints whom, by pair of publications; and the stories of two publications whose first one is unknown.';
COMMENT ON COLUMN dedup.publication_overlap.publication IS 'Who published the duplicates; empty where unknown. Without known times the first of both in the alphabet.';
COMMENT ON COLUMN dedup.publication_overlap.duplicates IS 'How many duplicates. Without known times: how many stories, of which either publication may have been first.';
COMMENT ON COLUMN dedup.publication_overlap.mean_score IS 'Mean score; null without known times.';

CREATE OR REPLACE VIEW dedup.daily_mark AS
SELECT (a.known_at AT TIME ZONE 'UTC')::date AS day,
       count(*) AS articles,
       count(*) FILTER (WHERE a.status = 'unique') AS unique_articles,
       count(*) FILTER (WHERE a.status = 'similar') AS similar_articles,
       count(*) FILTER (WHERE a.status = 'duplicate') AS duplicates,
       count(*) FILTER (WHERE a.status = 'pending') AS pending,
       count(*) FILTER (WHERE a.status = 'failed') AS failed,
       count(*) FILTER (WHERE a.stale) AS stale,
       count(*) FILTER (WHERE a.archived) AS archived,
       count(*) FILTER (WHERE s.id IS NOT NULL AND s.was_first IS NULL) AS first_unknown
FROM dedup.marked_article a LEFT JOIN dedup.shared_article s ON s.id = a.id GROUP BY 1;
COMMENT ON VIEW dedup.daily_mark IS 'Marks per day of publication, in UTC; articles without a known day have a row of their own.';
COMMENT ON COLUMN dedup.daily_mark.day IS 'Day of publication; null where that is not known.';
COMMENT ON COLUMN dedup.daily_mark.first_unknown IS 'Articles that share their story, and of which times do not tell whether they were first; also counted by their marks.';

CREATE OR REPLACE VIEW dedup.story_version AS
SELECT v.id, a.source_id, c.id AS story_id, o.source_id AS story_source_id, v.version,
       v.before_id, b.source_id AS before_source_id, a.title, a.publication,
       a.known_at AS appeared_at, c.archived,
       CASE WHEN a.known_at <> date_trunc('day', a.known_at, 'UTC') AND b.known_at <> date_trunc('day', b.known_at, 'UTC')
            THEN nullif(a.known_at - b.known_at, interval '0')
            ELSE nullif(date_trunc('day', a.known_at, 'UTC') - date_trunc('day', b.known_at, 'UTC'), interval '0') END IS NOT NULL AS times_known
FROM dedup.article_mark c
CROSS JOIN LATERAL (
    SELECT c.id, 1::bigint AS version, CASE WHEN c.status = 'similar' THEN (
        SELECT m.other_id FROM dedup.match m
        JOIN dedup.article_mark e ON e.id = m.other_id
        JOIN dedup.article s ON s.id = m.other_id
        WHERE m.article_id = c.id AND m.relation = 'similar'
        ORDER BY m.score DESC, e.time, s.source_id LIMIT 1) END AS before_id
    UNION ALL
    SELECT k.id, 1 + row_number() OVER w, lag(k.id, 1, c.id) OVER w
    FROM dedup.article_mark k CROSS JOIN LATERAL (SELECT * FROM dedup.marked_article s WHERE s.id = k.id OFFSET 0) AS s
    WHERE k.duplicate_of = c.id
    WINDOW w AS (ORDER BY s.known_at, s.source_id)
) v
JOIN dedup.article o ON o.id = c.id
-- OFFSET 0 forces one look-up by key for each row. In a join the planner expects too few rows.
CROSS JOIN LATERAL (SELECT * FROM dedup.marked_article a WHERE a.id = v.id OFFSET 0) AS a
LEFT JOIN LATERAL (SELECT source_id, known_at FROM dedup.marked_article b WHERE b.id = v.before_id OFFSET 0) AS b ON true
WHERE c.status <> 'duplicate';
COMMENT ON VIEW dedup.story_version IS 'Every article as a version of its story, with the version before it: the original, then its duplicates by time, undated ones last. Before an original is the earlier story that it is most like.';
COMMENT ON COLUMN dedup.story_version.times_known IS 'Whether times tell which of it and the version before it was first.';

CREATE OR REPLACE VIEW dedup.alteration AS
SELECT v.id, v.source_id, v.story_source_id, v.version, v.before_source_id, v.publication, v.appeared_at,
       p.position::integer AS position,
       CASE WHEN p.earlier IS NULL THEN 'added' WHEN p.later IS NULL THEN 'removed' ELSE 'changed' END AS kind,
       p.earlier, p.later,
       EXISTS (SELECT FROM dedup.common_sentence s
               WHERE s.sentence_hash = p.earlier_hash OR s.sentence_hash = p.later_hash) AS common,
       v.times_known
FROM dedup.story_version v
CROSS JOIN LATERAL (
    SELECT * FROM dedup.compared_version c WHERE c.article_id = v.id AND c.before_id = v.before_id OFFSET 0) AS c
CROSS JOIN LATERAL (
    SELECT FROM dedup.article a WHERE a.id = c.article_id AND a.revision = c.revision OFFSET 0) AS a
CROSS JOIN LATERAL (
    SELECT FROM dedup.article b WHERE b.id = c.before_id AND b.revision = c.before_revision OFFSET 0) AS b
CROSS JOIN LATERAL unnest(c.earlier, c.later, c.earlier_hashes, c.later_hashes)
    WITH ORDINALITY AS p (earlier, later, earlier_hash, later_hash, position);
COMMENT ON COLUMN dedup.alteration.times_known IS 'Whether times tell which version was first. Where not, an added sentence may have been removed.';

ALTER TABLE dedup.quoted_sentence ADD COLUMN first_known boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN dedup.quoted_sentence.article_id IS 'The article with it (article.id) whose words these are: the earliest one, if first_known.';
COMMENT ON COLUMN dedup.quoted_sentence.first_known IS 'Whether that article was before all others with the sentence.';
CREATE OR REPLACE VIEW dedup.quote AS
SELECT q.sentence_hash, q.words, q.outlets, q.stories, q.articles,
       c.sentence_hash IS NOT NULL AS common,
       q.words ~ '["«»„“”「」『』]' AS speech,
       a.source_id, CASE WHEN q.first_known THEN a.publication END AS publication,
       CASE WHEN q.first_known THEN a.known_at END AS appeared_at, q.counted_at, q.first_known
FROM dedup.quoted_sentence q
JOIN dedup.marked_article a ON a.id = q.article_id AND a.revision = q.revision
LEFT JOIN dedup.common_sentence c ON c.sentence_hash = q.sentence_hash;
COMMENT ON COLUMN dedup.quote.words IS 'The sentence as one article prints it; its first 500 characters.';
COMMENT ON COLUMN dedup.quote.source_id IS 'The caller''s key of that article: the earliest one with the sentence, if first_known.';
COMMENT ON COLUMN dedup.quote.publication IS 'Who had it first in this corpus; null without first_known.';
COMMENT ON COLUMN dedup.quote.appeared_at IS 'When; null without first_known.';
COMMENT ON COLUMN dedup.quote.first_known IS 'Whether times tell which article had it first in this corpus.';
