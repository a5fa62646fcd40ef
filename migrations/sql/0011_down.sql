-- Takes back 0011_browsing.sql.

CREATE OR REPLACE VIEW dedup.story AS
SELECT c.id, c.source_id, c.title, c.publication,
       coalesce(c.published_at, c.added_at) AS first_at,
       coalesce(d.last_at, coalesce(c.published_at, c.added_at)) AS last_at,
       1 + coalesce(d.copies, 0) AS articles,
       coalesce(d.copies, 0) AS copies,
       coalesce(d.publications, '{}') AS copied_by,
       coalesce(d.source_ids, '{}') AS copy_source_ids,
       c.archived
FROM dedup.article c
LEFT JOIN (
    SELECT duplicate_of, count(*) AS copies,
           array_agg(DISTINCT publication ORDER BY publication) FILTER (WHERE publication IS NOT NULL) AS publications,
           array_agg(source_id ORDER BY coalesce(published_at, added_at), source_id) AS source_ids,
           max(coalesce(published_at, added_at)) AS last_at
    FROM dedup.article WHERE status = 'duplicate' GROUP BY duplicate_of
) d ON d.duplicate_of = c.id
WHERE c.status <> 'duplicate';

DROP INDEX dedup.article_time, dedup.article_outlet, dedup.article_url, dedup.article_duplicate_of,
    dedup.match_other, dedup.match_score, dedup.match_containment, dedup.common_sentence_carriers,
    dedup.common_sentence_stories, dedup.sentence_pin_pinned_at, dedup.pair_pin_pinned_at, dedup.judgement_other,
    dedup.review_pair_place;
DROP INDEX IF EXISTS dedup.article_words;
CREATE INDEX article_duplicate_of ON dedup.article (duplicate_of) WHERE duplicate_of IS NOT NULL;
CREATE INDEX match_other ON dedup.match (other_id);
