-- Back to the schema of 0003. Fingerprints that wait are made again.

CREATE OR REPLACE VIEW dedup.article_sentence AS
SELECT a.id AS article_id, a.source_id, s.position::integer AS position, s.sentence_hash,
       c.sentence_hash IS NOT NULL AS common
FROM dedup.article a
JOIN dedup.fingerprint f ON f.article_id = a.id
CROSS JOIN LATERAL unnest(f.sentence_hashes) WITH ORDINALITY AS s (sentence_hash, position)
LEFT JOIN dedup.common_sentence c ON c.sentence_hash = s.sentence_hash;

CREATE OR REPLACE FUNCTION dedup.article_edited() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF NEW.revision <> OLD.revision THEN
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
    DELETE FROM fingerprint WHERE article_id = OLD.id;
    -- A mark cannot point to an article that is gone.
    UPDATE article
    SET status = 'pending', stale = false, duplicate_of = NULL, score = NULL, reason = NULL, marked_at = NULL
    WHERE duplicate_of = OLD.id;
    PERFORM remove_pairs(ARRAY[OLD.id]);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION dedup.pair_pin_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM make_stale(ARRAY(SELECT id FROM article
                                 WHERE source_id IN (OLD.source_id, OLD.other_source_id)));
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM make_stale(ARRAY(SELECT id FROM article
                                 WHERE source_id IN (NEW.source_id, NEW.other_source_id)));
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION dedup.fingerprint_came() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    INSERT INTO sentence_change (article_id) SELECT article_id FROM came;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION dedup.fingerprint_went() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    INSERT INTO sentence_change (article_id, sentence_hashes, buckets)
    SELECT article_id, sentence_hashes, buckets FROM went;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION dedup.emptied() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    UPDATE corpus_state SET recount_all = true WHERE NOT recount_all;
    IF TG_TABLE_NAME IN ('fingerprint', 'match', 'pair_pin') THEN
        UPDATE article SET takes_part = false, stale = status IN ('unique', 'similar', 'duplicate')
        WHERE takes_part OR NOT stale AND status IN ('unique', 'similar', 'duplicate');
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION dedup.withdraw(ids bigint[]) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp SET enable_seqscan = off AS $$
BEGIN
    -- OFFSET 0: looked up one by one, whatever the statistics say.
    PERFORM make_stale(ids || ARRAY(
        SELECT later.article_id FROM unnest(ids) AS given (id)
        CROSS JOIN LATERAL (SELECT m.article_id FROM match m WHERE m.other_id = given.id OFFSET 0) AS later));
    UPDATE article a SET takes_part = false WHERE a.id = ANY (ids) AND a.takes_part;
END $$;

DROP TABLE dedup.fingerprint_bulk, dedup.bulk_change;
DROP FUNCTION dedup.note_bulk_change(bigint[]), dedup.waiting_went(bigint, integer);
DROP FUNCTION dedup.index_bulk(integer, text), dedup.publish_bulk(integer);
ALTER TABLE dedup.fingerprint ADD CONSTRAINT fingerprint_article_id_fkey
    FOREIGN KEY (article_id) REFERENCES dedup.article (id) ON DELETE CASCADE;
