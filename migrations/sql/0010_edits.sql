-- What an edit touches is settled again for many articles at once: who follows an attached table changes thousands.

CREATE FUNCTION dedup.waiting_went(ids bigint[], revisions integer[]) RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, dedup, pg_temp SET enable_seqscan = off AS $$
    INSERT INTO sentence_change (article_id, sentence_hashes, buckets)
    SELECT w.article_id, w.sentence_hashes, w.buckets
    FROM unnest(ids, revisions) AS given (id, revision)
    CROSS JOIN LATERAL (
        SELECT * FROM fingerprint_bulk b WHERE b.article_id = given.id AND b.revision = given.revision OFFSET 0) AS w
    WHERE NOT EXISTS (SELECT FROM fingerprint f WHERE f.article_id = w.article_id)
$$;
COMMENT ON FUNCTION dedup.waiting_went(bigint[], integer[]) IS
    'Note that the waiting fingerprints of articles, of these revisions of their texts, no longer count.';

-- With the rights of the schema's owner, as the triggers: who settles need not be able to write these notes.
CREATE FUNCTION dedup.articles_edited(ids bigint[], before integer[], after integer[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp SET enable_seqscan = off AS $$
DECLARE
    rewritten bigint[];
    revisions integer[];
    moved bigint[];
BEGIN
    SELECT array_agg(g.id) FILTER (WHERE g.was <> g.is_now), array_agg(g.was) FILTER (WHERE g.was <> g.is_now),
           array_agg(g.id) FILTER (WHERE g.was = g.is_now)
    INTO rewritten, revisions, moved
    FROM unnest(ids, before, after) AS g (id, was, is_now);
    PERFORM note_bulk_change(ids);
    IF rewritten IS NOT NULL THEN
        PERFORM waiting_went(rewritten, revisions);
        DELETE FROM fingerprint WHERE article_id = ANY (rewritten);
        PERFORM remove_pairs(rewritten);
    END IF;
    IF moved IS NOT NULL THEN
        PERFORM withdraw(moved);
    END IF;
END $$;
COMMENT ON FUNCTION dedup.articles_edited(bigint[], integer[], integer[]) IS
    'Have settled again what edits of articles touch, given their revisions before and after. Needs the settle lock.';

CREATE OR REPLACE FUNCTION dedup.article_edited() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    -- Who follows attached tables calls it once for all that one statement has changed. That nobody else gets here
    -- with the parameter set is what "article_attached_update" is for.
    IF NEW.attachment_id IS NULL OR current_setting('dedup.following', true) IS DISTINCT FROM 'on' THEN
        PERFORM articles_edited(ARRAY[OLD.id], ARRAY[OLD.revision], ARRAY[NEW.revision]);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION dedup.article_deleted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    PERFORM note_bulk_change(ARRAY[OLD.id]);
    PERFORM waiting_went(ARRAY[OLD.id], ARRAY[OLD.revision]);
    DELETE FROM fingerprint WHERE article_id = OLD.id;
    -- A mark cannot point to an article that is gone.
    UPDATE article
    SET status = 'pending', stale = false, duplicate_of = NULL, score = NULL, reason = NULL, marked_at = NULL
    WHERE duplicate_of = OLD.id;
    PERFORM remove_pairs(ARRAY[OLD.id]);
    RETURN NULL;
END $$;

DROP FUNCTION dedup.waiting_went(bigint, integer);

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dedup FROM PUBLIC;
