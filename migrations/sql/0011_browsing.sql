-- What pages ask (dedup/corpus/browsing/) is found by an index, whatever the size of the corpus.

-- Of a day, and of an outlet, the newest first. No more of a name than keeps a row of an index small: any name is
-- taken, however long.
CREATE INDEX article_time ON dedup.article ((coalesce(published_at, added_at)), id);
CREATE INDEX article_outlet ON dedup.article
    ((left(publication, 100) COLLATE "C"), (coalesce(published_at, added_at)), id) WHERE publication IS NOT NULL;
-- By their hashes: addresses have any length.
CREATE INDEX article_url ON dedup.article USING hash (url);
-- The copies of a story come by time, so that a page of them reads no more than that.
DROP INDEX dedup.article_duplicate_of;
CREATE INDEX article_duplicate_of ON dedup.article (duplicate_of, (coalesce(published_at, added_at)), id)
    WHERE duplicate_of IS NOT NULL;
-- And what is like an article, by how much: an item of a template is like thousands.
DROP INDEX dedup.match_other;
CREATE INDEX match_other ON dedup.match (other_id, score);
-- The pairs near a threshold.
CREATE INDEX match_score ON dedup.match (score) WHERE rule IN ('sentences', 'signature');
CREATE INDEX match_containment ON dedup.match (containment) WHERE rule = 'containment';
-- What people say, and what they leave out.
-- With the bits of the hash turned over: an index that holds the hash itself is read from end to end by some versions
-- of Postgres where a few hashes are to be looked up.
CREATE INDEX common_sentence_carriers ON dedup.common_sentence (carriers, (~sentence_hash));
CREATE INDEX common_sentence_stories ON dedup.common_sentence (effective_stories, (~sentence_hash));
CREATE INDEX sentence_pin_pinned_at ON dedup.sentence_pin (pinned_at);
CREATE INDEX pair_pin_pinned_at ON dedup.pair_pin (pinned_at);
CREATE INDEX judgement_other ON dedup.judgement (other_source_id);
CREATE INDEX review_pair_place ON dedup.review_pair (place);

-- As before, but the copies are looked up story by story: one story, or those of a day, cost what they hold, and not
-- what all the others do.
CREATE OR REPLACE VIEW dedup.story AS
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
