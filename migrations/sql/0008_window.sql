-- The window (docs/semantics.md, section 10): articles before the horizon are archived. They keep their marks, have
-- no fingerprint and no pair with an article inside, and nothing that looks for work finds them.

ALTER TABLE dedup.article ADD COLUMN archived boolean NOT NULL DEFAULT false;
-- Whoever looks for unsettled articles, or for those that others rest on, need not know of the window.
ALTER TABLE dedup.article ADD CONSTRAINT article_archived_check
    CHECK (NOT archived OR NOT (status = 'pending' OR stale OR takes_part));
COMMENT ON COLUMN dedup.article.archived IS
    'It is before the horizon: compared with nothing any more, with the mark that it had when it left.';

ALTER TABLE dedup.corpus_state
    ADD COLUMN horizon timestamptz,
    ADD COLUMN horizon_wanted timestamptz,
    ADD COLUMN divided text DEFAULT 'no horizon';
COMMENT ON COLUMN dedup.corpus_state.horizon IS
    'Articles before this time in canonical order are archived; null: none is.';
COMMENT ON COLUMN dedup.corpus_state.horizon_wanted IS
    'The horizon that `dedup prune` asked for: the next backfill moves it there when all is settled.';
COMMENT ON COLUMN dedup.corpus_state.divided IS
    'The horizon, and the settings of canonical order, by which all articles were last divided; null, or others than those in force: the next backfill divides them again.';

-- An article that was archived is looked at again when it is edited: it may be inside now. What its mark was made
-- from may be another text. Its title told something of short texts only, and its fingerprint, which would say whether
-- it is short, is gone: with another title it keeps its mark. Fires after article_edit, which has made it pending if
-- its text, or its title, is another one.
CREATE FUNCTION dedup.article_unarchived() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF (NEW.text, NEW.text_hash, NEW.language, NEW.source_id, NEW.published_at, NEW.added_at) IS NOT DISTINCT FROM
       (OLD.text, OLD.text_hash, OLD.language, OLD.source_id, OLD.published_at, OLD.added_at) THEN
        NEW.revision := OLD.revision;
        NEW.status := OLD.status;
        NEW.duplicate_of := OLD.duplicate_of;
        NEW.score := OLD.score;
        NEW.reason := OLD.reason;
        NEW.marked_at := OLD.marked_at;
        RETURN NEW;
    END IF;
    NEW.archived := false;
    IF NEW.status = 'failed' THEN
        NEW.status := 'pending';
        NEW.reason := NULL;
        NEW.marked_at := NULL;
    ELSE
        NEW.stale := NEW.status <> 'pending';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER article_unarchived
    BEFORE UPDATE OF source_id, title, text, text_hash, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN (OLD.archived
        AND (OLD.source_id, OLD.title, OLD.text, OLD.text_hash, OLD.language, OLD.published_at, OLD.added_at)
            IS DISTINCT FROM
            (NEW.source_id, NEW.title, NEW.text, NEW.text_hash, NEW.language, NEW.published_at, NEW.added_at))
    EXECUTE FUNCTION dedup.article_unarchived();

-- Its pairs with those that stay archived go: they would count as pairs of an article inside.
CREATE FUNCTION dedup.article_came_back() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    PERFORM remove_pairs(ARRAY[OLD.id]);
    RETURN NULL;
END $$;
CREATE TRIGGER "0_article_came_back"
    AFTER UPDATE OF source_id, title, text, text_hash, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN (OLD.archived AND NOT NEW.archived) EXECUTE FUNCTION dedup.article_came_back();

-- A mark cannot point to an article that is gone, and an archived one gets no other. Fires before
-- "0_article_deleted", which makes such articles pending.
CREATE FUNCTION dedup.archived_original_deleted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    UPDATE article
    SET status = 'failed', duplicate_of = NULL, score = NULL, marked_at = now(),
        reason = 'archived: its original was deleted'
    WHERE duplicate_of = OLD.id AND archived;
    RETURN NULL;
END $$;
CREATE TRIGGER "0_article_archived_original"
    AFTER DELETE ON dedup.article FOR EACH ROW EXECUTE FUNCTION dedup.archived_original_deleted();

-- As with marks: only settling says what is archived. An INSERT that brings it along begins as any other.
CREATE TRIGGER article_archived BEFORE UPDATE OF archived ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_marks();
CREATE FUNCTION dedup.article_new_archived() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    NEW.archived := false;
    RETURN NEW;
END $$;
CREATE TRIGGER article_new_archived BEFORE INSERT ON dedup.article FOR EACH ROW
    WHEN (NEW.archived) EXECUTE FUNCTION dedup.article_new_archived();

-- As before, but for archived articles, which are not settled again.
CREATE OR REPLACE FUNCTION dedup.make_stale(ids bigint[]) RETURNS SETOF bigint
    LANGUAGE sql SET search_path = pg_catalog, dedup, pg_temp SET enable_seqscan = off AS $$
    UPDATE article a SET stale = true
    WHERE a.id = ANY (ids) AND NOT a.stale AND a.status IN ('unique', 'similar', 'duplicate') AND NOT a.archived
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
    WHERE a.id = ANY (ids) AND NOT a.archived
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
        WHERE NOT archived
          AND (takes_part OR NOT stale AND status IN ('unique', 'similar', 'duplicate'));
    END IF;
    RETURN NULL;
END $$;

-- A state row from elsewhere keeps its horizon; which articles are archived may be another matter.
CREATE OR REPLACE FUNCTION dedup.state_came() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    NEW.recount_all := true;
    NEW.settled_through := NULL;
    NEW.bulk_run := NULL;
    NEW.divided := NULL;
    RETURN NEW;
END $$;

-- As before; an article before the horizon is none that can be stored with a mark.
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
    IF place < (SELECT horizon FROM corpus_state) THEN
        RETURN NULL;
    END IF;
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

-- Analysts see it in every view of articles, as the last column.
CREATE OR REPLACE VIEW dedup.canonical_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       coalesce(a.text, (SELECT t.text FROM dedup.article_text t WHERE t.article_id = a.id)
           COLLATE "default") AS text,
       a.status, a.stale, a.score, a.reason, a.marked_at, a.archived
FROM dedup.article a
WHERE a.status <> 'duplicate';
COMMENT ON COLUMN dedup.canonical_article.archived IS 'Before the horizon: compared with nothing any more.';

CREATE OR REPLACE VIEW dedup.duplicate AS
SELECT a.id, a.source_id, a.title, a.publication, a.published_at,
       o.id AS original_id, o.source_id AS original_source_id, o.title AS original_title,
       o.publication AS original_publication, o.published_at AS original_published_at,
       a.stale, a.score, a.reason, m.sentence_jaccard, m.signature_jaccard, m.containment,
       coalesce(a.published_at, a.added_at) - coalesce(o.published_at, o.added_at) AS delay, a.archived
FROM dedup.article a
JOIN dedup.article o ON o.id = a.duplicate_of
LEFT JOIN dedup.match m ON m.article_id = a.id AND m.other_id = o.id
WHERE a.status = 'duplicate';
COMMENT ON COLUMN dedup.duplicate.archived IS 'The duplicate is before the horizon: compared with nothing any more.';

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
COMMENT ON COLUMN dedup.story.archived IS 'The canonical article is before the horizon: its later copies are in another story.';

CREATE OR REPLACE VIEW dedup.story_article AS
SELECT a.id, a.source_id, c.id AS story_id, c.source_id AS story_source_id, a.status, a.stale, a.score,
       a.reason, a.title, a.publication, coalesce(a.published_at, a.added_at) AS appeared_at,
       coalesce(a.published_at, a.added_at) - coalesce(c.published_at, c.added_at) AS delay, a.archived
FROM dedup.article a JOIN dedup.article c ON c.id = coalesce(a.duplicate_of, a.id);
COMMENT ON COLUMN dedup.story_article.archived IS 'Before the horizon: compared with nothing any more.';

CREATE OR REPLACE VIEW dedup.daily_mark AS
SELECT (coalesce(published_at, added_at) AT TIME ZONE 'UTC')::date AS day,
       count(*) AS articles,
       count(*) FILTER (WHERE status = 'unique') AS unique_articles,
       count(*) FILTER (WHERE status = 'similar') AS similar_articles,
       count(*) FILTER (WHERE status = 'duplicate') AS duplicates,
       count(*) FILTER (WHERE status = 'pending') AS pending,
       count(*) FILTER (WHERE status = 'failed') AS failed,
       count(*) FILTER (WHERE stale) AS stale,
       count(*) FILTER (WHERE archived) AS archived
FROM dedup.article GROUP BY 1;
COMMENT ON COLUMN dedup.daily_mark.archived IS 'Before the horizon, whatever their mark.';

SELECT dedup.fire_always();
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dedup FROM PUBLIC;
