-- Takes back 0010_edits.sql.

CREATE FUNCTION dedup.waiting_went(id bigint, revision integer) RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, dedup, pg_temp AS $$
    INSERT INTO sentence_change (article_id, sentence_hashes, buckets)
    SELECT w.article_id, w.sentence_hashes, w.buckets FROM fingerprint_bulk w
    WHERE w.article_id = id AND w.revision = waiting_went.revision
      AND NOT EXISTS (SELECT FROM fingerprint f WHERE f.article_id = w.article_id)
$$;
COMMENT ON FUNCTION dedup.waiting_went(bigint, integer) IS
    'Note that the waiting fingerprint of an article, of this revision of its text, no longer counts.';

CREATE OR REPLACE FUNCTION dedup.article_edited() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    PERFORM note_bulk_change(ARRAY[OLD.id]);
    IF NEW.revision <> OLD.revision THEN
        PERFORM waiting_went(OLD.id, OLD.revision);
        DELETE FROM fingerprint WHERE article_id = OLD.id;
        PERFORM remove_pairs(ARRAY[OLD.id]);
    ELSE
        PERFORM withdraw(ARRAY[OLD.id]);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION dedup.article_deleted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    PERFORM note_bulk_change(ARRAY[OLD.id]);
    PERFORM waiting_went(OLD.id, OLD.revision);
    DELETE FROM fingerprint WHERE article_id = OLD.id;
    -- A mark cannot point to an article that is gone.
    UPDATE article
    SET status = 'pending', stale = false, duplicate_of = NULL, score = NULL, reason = NULL, marked_at = NULL
    WHERE duplicate_of = OLD.id;
    PERFORM remove_pairs(ARRAY[OLD.id]);
    RETURN NULL;
END $$;

DROP FUNCTION dedup.articles_edited(bigint[], integer[], integer[]), dedup.waiting_went(bigint[], integer[]);

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dedup FROM PUBLIC;
