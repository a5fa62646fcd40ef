-- Back to the schema of 0005. What was archived is compared again: it is fingerprinted and settled by the next backfill.

DROP VIEW dedup.canonical_article, dedup.duplicate, dedup.story, dedup.story_article, dedup.daily_mark;

SELECT set_config('dedup.settling', 'on', true);
DROP TRIGGER "0_article_came_back" ON dedup.article;
DROP TRIGGER "0_article_archived_original" ON dedup.article;
DROP TRIGGER article_unarchived ON dedup.article;
DROP TRIGGER article_archived ON dedup.article;
DROP TRIGGER article_new_archived ON dedup.article;
DROP FUNCTION dedup.article_came_back(), dedup.archived_original_deleted(), dedup.article_unarchived(),
    dedup.article_new_archived();
UPDATE dedup.article
SET archived = false, stale = status IN ('unique', 'similar', 'duplicate'),
    status = CASE WHEN status = 'failed' THEN 'pending' ELSE status END,
    reason = CASE WHEN status = 'failed' THEN NULL ELSE reason END
WHERE archived;
ALTER TABLE dedup.article DROP COLUMN archived;
ALTER TABLE dedup.corpus_state DROP COLUMN horizon, DROP COLUMN horizon_wanted, DROP COLUMN divided;
DELETE FROM dedup.setting WHERE name = 'keep_window';

CREATE OR REPLACE FUNCTION dedup.make_stale(ids bigint[]) RETURNS SETOF bigint
    LANGUAGE sql SET search_path = pg_catalog, dedup, pg_temp SET enable_seqscan = off AS $$
    UPDATE article a SET stale = true
    WHERE a.id = ANY (ids) AND NOT a.stale AND a.status IN ('unique', 'similar', 'duplicate')
      -- OFFSET 0: looked up one by one, and not by reading all articles once.
      AND (a.duplicate_of IS NULL OR (SELECT true FROM article o WHERE o.id = a.duplicate_of OFFSET 0))
    RETURNING a.id
$$;

CREATE OR REPLACE FUNCTION dedup.withdraw(ids bigint[]) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp SET enable_seqscan = off AS $$
BEGIN
    -- OFFSET 0: looked up one by one, whatever the statistics say.
    PERFORM make_stale(ARRAY(
        SELECT later.article_id FROM unnest(ids) AS given (id)
        CROSS JOIN LATERAL (SELECT m.article_id FROM match m WHERE m.other_id = given.id OFFSET 0) AS later
        EXCEPT SELECT unnest(ids)));
    UPDATE article a
    SET takes_part = false,
        stale = a.stale OR a.status IN ('unique', 'similar', 'duplicate')
            AND (a.duplicate_of IS NULL OR (SELECT true FROM article o WHERE o.id = a.duplicate_of OFFSET 0)) IS TRUE
    WHERE a.id = ANY (ids)
      AND (a.takes_part OR NOT a.stale AND a.status IN ('unique', 'similar', 'duplicate'));
END $$;

CREATE OR REPLACE FUNCTION dedup.emptied() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF current_setting('dedup.publishing', true) = 'on' THEN
        RETURN NULL;  -- what was in it is in the table that takes its place
    END IF;
    -- Whatever the bulk engine decided rests on what is gone.
    UPDATE corpus_state SET recount_all = true, bulk_run = NULL WHERE NOT recount_all OR bulk_run IS NOT NULL;
    IF TG_TABLE_NAME = 'article' THEN
        IF EXISTS (SELECT FROM fingerprint) THEN
            TRUNCATE fingerprint;
        END IF;
        IF EXISTS (SELECT FROM fingerprint_bulk) THEN
            TRUNCATE fingerprint_bulk;
        END IF;
    END IF;
    IF TG_TABLE_NAME IN ('fingerprint', 'match', 'pair_pin') THEN
        UPDATE article SET takes_part = false, stale = status IN ('unique', 'similar', 'duplicate')
        WHERE takes_part OR NOT stale AND status IN ('unique', 'similar', 'duplicate');
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION dedup.state_came() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    NEW.recount_all := true;
    NEW.settled_through := NULL;
    NEW.bulk_run := NULL;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION dedup.store_new(
    source_id text, body text, title text, url text, publication text, published_at timestamptz,
    added_at timestamptz, language text,
    version bigint, content_hash bigint, sentence_hashes bigint[], signature bytea, buckets bigint[],
    word_count integer, shingle_count integer,
    policy text, earliest timestamptz,
    original bigint, score double precision, reason text
) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_variable
DECLARE
    given_id bigint;
    place timestamptz := canonical_time(published_at, coalesce(added_at, now()), policy, earliest);
BEGIN
    INSERT INTO article (source_id, url, title, publication, published_at, added_at, language, text,
                         status, takes_part, duplicate_of, score, reason, marked_at)
    VALUES (source_id, url, title, publication, published_at, coalesce(added_at, now()), language, body,
            CASE WHEN original IS NULL THEN 'unique' ELSE 'duplicate' END, true, original, score, reason, now())
    ON CONFLICT ON CONSTRAINT article_source_id_key DO NOTHING RETURNING id INTO given_id;
    IF given_id IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO fingerprint (article_id, version, revision, content_hash, sentence_hashes, signature, buckets,
                             word_count, shingle_count, canonical)
    VALUES (given_id, version, 0, content_hash, sentence_hashes, signature, buckets, word_count, shingle_count,
            original IS NULL);
    UPDATE corpus_state SET settled_through = place WHERE settled_through < place;
    RETURN given_id;
END $$;

CREATE VIEW dedup.canonical_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       coalesce(a.text, (SELECT t.text FROM dedup.article_text t WHERE t.article_id = a.id)
           COLLATE "default") AS text,
       a.status, a.stale, a.score, a.reason, a.marked_at
FROM dedup.article a
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

CREATE VIEW dedup.duplicate AS
SELECT a.id, a.source_id, a.title, a.publication, a.published_at,
       o.id AS original_id, o.source_id AS original_source_id, o.title AS original_title,
       o.publication AS original_publication, o.published_at AS original_published_at,
       a.stale, a.score, a.reason, m.sentence_jaccard, m.signature_jaccard, m.containment,
       coalesce(a.published_at, a.added_at) - coalesce(o.published_at, o.added_at) AS delay
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

CREATE VIEW dedup.story AS
SELECT c.id, c.source_id, c.title, c.publication,
       coalesce(c.published_at, c.added_at) AS first_at,
       coalesce(d.last_at, coalesce(c.published_at, c.added_at)) AS last_at,
       1 + coalesce(d.copies, 0) AS articles,
       coalesce(d.copies, 0) AS copies,
       coalesce(d.publications, '{}') AS copied_by,
       coalesce(d.source_ids, '{}') AS copy_source_ids
FROM dedup.article c
LEFT JOIN (
    SELECT duplicate_of, count(*) AS copies,
           array_agg(DISTINCT publication ORDER BY publication) FILTER (WHERE publication IS NOT NULL) AS publications,
           array_agg(source_id ORDER BY coalesce(published_at, added_at), source_id) AS source_ids,
           max(coalesce(published_at, added_at)) AS last_at
    FROM dedup.article WHERE status = 'duplicate' GROUP BY duplicate_of
) d ON d.duplicate_of = c.id
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

CREATE VIEW dedup.story_article AS
SELECT a.id, a.source_id, c.id AS story_id, c.source_id AS story_source_id, a.status, a.stale, a.score,
       a.reason, a.title, a.publication, coalesce(a.published_at, a.added_at) AS appeared_at,
       coalesce(a.published_at, a.added_at) - coalesce(c.published_at, c.added_at) AS delay
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

CREATE VIEW dedup.daily_mark AS
SELECT (coalesce(published_at, added_at) AT TIME ZONE 'UTC')::date AS day,
       count(*) AS articles,
       count(*) FILTER (WHERE status = 'unique') AS unique_articles,
       count(*) FILTER (WHERE status = 'similar') AS similar_articles,
       count(*) FILTER (WHERE status = 'duplicate') AS duplicates,
       count(*) FILTER (WHERE status = 'pending') AS pending,
       count(*) FILTER (WHERE status = 'failed') AS failed,
       count(*) FILTER (WHERE stale) AS stale
FROM dedup.article GROUP BY 1;
COMMENT ON VIEW dedup.daily_mark IS 'Marks per day of publication, in UTC.';
COMMENT ON COLUMN dedup.daily_mark.day IS 'Day of publication, or of storing where that is unknown.';
COMMENT ON COLUMN dedup.daily_mark.articles IS 'All articles of the day.';
COMMENT ON COLUMN dedup.daily_mark.unique_articles IS 'Marked unique.';
COMMENT ON COLUMN dedup.daily_mark.similar_articles IS 'Marked similar.';
COMMENT ON COLUMN dedup.daily_mark.duplicates IS 'Marked duplicate.';
COMMENT ON COLUMN dedup.daily_mark.pending IS 'Never settled.';
COMMENT ON COLUMN dedup.daily_mark.failed IS 'Could not be read.';
COMMENT ON COLUMN dedup.daily_mark.stale IS 'With a mark that must be settled again.';

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dedup FROM PUBLIC;
