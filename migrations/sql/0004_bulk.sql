-- What the bulk engine needs: a table where fingerprints wait without an index, the means to put it in the place
-- of the table in use, and a note of what people change meanwhile.

CREATE TABLE dedup.fingerprint_bulk (LIKE dedup.fingerprint INCLUDING DEFAULTS INCLUDING COMMENTS);
ALTER TABLE dedup.fingerprint_bulk ADD CONSTRAINT fingerprint_bulk_pkey PRIMARY KEY (article_id);
COMMENT ON TABLE dedup.fingerprint_bulk IS
    'Fingerprints that a large backfill has made and not yet put in use: without indexes, so that they are written quickly. Empty at other times.';

CREATE TABLE dedup.bulk_change (
    id bigint GENERATED ALWAYS AS IDENTITY,
    article_id bigint NOT NULL,
    CONSTRAINT bulk_change_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE dedup.bulk_change IS
    'Articles that were edited, deleted or pinned while the bulk engine is at work: what it decided about them does not count.';
COMMENT ON COLUMN dedup.bulk_change.id IS 'Order of the changes.';
COMMENT ON COLUMN dedup.bulk_change.article_id IS 'The article, which may be gone.';

-- The triggers do what the foreign key did. A check of every fingerprint locks its article and takes as long as
-- writing it; and a delete would wait while indexes are built.
ALTER TABLE dedup.fingerprint DROP CONSTRAINT fingerprint_article_id_fkey;

CREATE FUNCTION dedup.note_bulk_change(ids bigint[]) RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, dedup, pg_temp AS $$
    INSERT INTO bulk_change (article_id)
    SELECT given.id FROM unnest(ids) AS given (id), corpus_state s WHERE s.bulk_run IS NOT NULL
$$;
COMMENT ON FUNCTION dedup.note_bulk_change(bigint[]) IS 'Note that articles changed, if the bulk engine is at work.';

-- A waiting fingerprint is counted with the others, and stays where it is when its text changes, since its table
-- may be busy. That it counts no more is noted as for those in use.
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

-- As before, but each row is written once.
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

CREATE OR REPLACE FUNCTION dedup.pair_pin_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    touched bigint[] := '{}';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        touched := ARRAY(SELECT id FROM article WHERE source_id IN (OLD.source_id, OLD.other_source_id));
    END IF;
    IF TG_OP <> 'DELETE' THEN
        touched := touched || ARRAY(SELECT id FROM article WHERE source_id IN (NEW.source_id, NEW.other_source_id));
    END IF;
    PERFORM note_bulk_change(touched);
    PERFORM make_stale(touched);
    RETURN NULL;
END $$;

-- Both tables of fingerprints have the triggers, since one takes the place of the other; they act on the one in
-- use. What is in the other is counted as a whole.
CREATE OR REPLACE FUNCTION dedup.fingerprint_came() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'fingerprint' THEN
        INSERT INTO sentence_change (article_id) SELECT article_id FROM came;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION dedup.fingerprint_went() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'fingerprint' THEN
        INSERT INTO sentence_change (article_id, sentence_hashes, buckets)
        SELECT article_id, sentence_hashes, buckets FROM went;
        PERFORM note_bulk_change(ARRAY(SELECT article_id FROM went));
    END IF;
    RETURN NULL;
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

CREATE TRIGGER fingerprint_came AFTER INSERT ON dedup.fingerprint_bulk
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_came();
CREATE TRIGGER fingerprint_went AFTER DELETE ON dedup.fingerprint_bulk
    REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_went();
CREATE TRIGGER fingerprint_emptied AFTER TRUNCATE ON dedup.fingerprint_bulk
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();

-- Of the rights of the schema's owner: who runs a backfill need not own the tables. Much memory, and several
-- processes where the server has them: it is to be quick, and its pages fill up again as articles come.
CREATE FUNCTION dedup.index_bulk(bits integer, memory text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    INSERT INTO fingerprint_bulk SELECT * FROM fingerprint ON CONFLICT (article_id) DO NOTHING;
    PERFORM set_config('maintenance_work_mem', memory, true);
    PERFORM make_indexes('dedup.fingerprint_bulk', bits);
END $$;
COMMENT ON FUNCTION dedup.index_bulk(integer, text) IS
    'Add the fingerprints in use to dedup.fingerprint_bulk, and build its indexes, with keys of so many bits.';

-- The table with its new indexes takes the place of the one in use, in a moment. Needs the settle lock.
CREATE FUNCTION dedup.publish_bulk(bits integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    LOCK TABLE fingerprint, fingerprint_bulk IN ACCESS EXCLUSIVE MODE;
    DELETE FROM fingerprint_bulk f USING (SELECT DISTINCT article_id FROM bulk_change) AS c
    WHERE f.article_id = c.article_id
      AND NOT EXISTS (SELECT FROM article a WHERE a.id = f.article_id AND a.revision = f.revision);
    INSERT INTO fingerprint_bulk SELECT * FROM fingerprint ON CONFLICT (article_id) DO NOTHING;
    PERFORM set_config('dedup.publishing', 'on', true);
    TRUNCATE fingerprint;
    PERFORM set_config('dedup.publishing', 'off', true);
    PERFORM use_indexes(bits);
    ALTER TABLE fingerprint RENAME TO fingerprint_swapped;
    ALTER TABLE fingerprint_swapped RENAME CONSTRAINT fingerprint_pkey TO fingerprint_swapped_pkey;
    ALTER TABLE fingerprint_bulk RENAME TO fingerprint;
    ALTER TABLE fingerprint RENAME CONSTRAINT fingerprint_bulk_pkey TO fingerprint_pkey;
    ALTER TABLE fingerprint_swapped RENAME TO fingerprint_bulk;
    ALTER TABLE fingerprint_bulk RENAME CONSTRAINT fingerprint_swapped_pkey TO fingerprint_bulk_pkey;
END $$;
COMMENT ON FUNCTION dedup.publish_bulk(integer) IS
    'Put the fingerprints of dedup.fingerprint_bulk in use, with those that came meanwhile.';

-- Either table may be the one in use: a view keeps to a table, and not to its name.
CREATE OR REPLACE VIEW dedup.article_sentence AS
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

SELECT dedup.fire_always();
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dedup FROM PUBLIC;
