-- The index of fingerprints, with its keys folded to few bits, and what says that a bulk engine is at work.
--
-- Nearly every sentence and bucket key belongs to one article, and an index entry of its own costs 28 bytes on
-- pages that are half empty. Folded keys share their entries: the index is a quarter as large. A look-up finds
-- some articles that share a folded key only; the whole keys in their rows tell them apart.

DROP INDEX dedup.fingerprint_canonical, dedup.fingerprint_duplicate, dedup.fingerprint_content;

CREATE FUNCTION dedup.keys(sentence_hashes bigint[], buckets bigint[], content_hash bigint) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN buckets = '{}' THEN sentence_hashes || content_hash ELSE sentence_hashes || buckets END;
COMMENT ON FUNCTION dedup.keys(bigint[], bigint[], bigint) IS
    'What an article is found by: its sentences, and its buckets or, of a short text, its content.';

-- Made anew by dedup.refold. Inlined into look-ups, so that their condition is the one of the indexes.
CREATE FUNCTION dedup.folded(keys bigint[]) RETURNS integer[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (keys::bit(1)[])::integer[];
COMMENT ON FUNCTION dedup.folded(bigint[]) IS
    'Keys as the index of canonical articles has them: their lowest bits.';
CREATE FUNCTION dedup.folded_duplicate(keys bigint[]) RETURNS integer[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (keys::bit(1)[])::integer[];
COMMENT ON FUNCTION dedup.folded_duplicate(bigint[]) IS
    'Keys as the index of duplicates has them, which are fewer: two bits less.';

-- Two partial indexes for the two kinds of look-up: among canonical articles (every settle), among duplicates
-- (only when a canonical article appears before articles already settled). An article that is not settled yet
-- is in the first, where nearly all of them stay: a row is written once, and not again by being settled.
-- fastupdate = off: a probe would scan the whole pending list of the index.
--
-- What is built is named anew, and takes the place of the old at the end, so that look-ups wait for a moment
-- only. The indexes hold the expression itself, for the functions that it is made of come later in a dump.
CREATE FUNCTION dedup.make_indexes(owner regclass, bits integer) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    kind text;
BEGIN
    IF bits IS NULL OR bits NOT BETWEEN 10 AND 31 THEN
        RAISE EXCEPTION 'between 10 and 31 bits, not %', bits USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOREACH kind IN ARRAY ARRAY['canonical', 'duplicate'] LOOP
        EXECUTE format('DROP INDEX IF EXISTS %I', 'fingerprint_new_' || kind);
        EXECUTE format(
            'CREATE INDEX %I ON %s USING gin (((CASE WHEN buckets = ''{}'' THEN sentence_hashes'
            ' || content_hash ELSE sentence_hashes || buckets END::bit(%s)[])::integer[]))'
            ' WITH (fastupdate = off) WHERE %s',
            'fingerprint_new_' || kind, owner, CASE kind WHEN 'canonical' THEN bits ELSE bits - 2 END,
            CASE kind WHEN 'canonical' THEN '' ELSE 'NOT ' END || 'canonical');
    END LOOP;
END $$;
COMMENT ON FUNCTION dedup.make_indexes(regclass, integer) IS
    'Build the indexes of a table of fingerprints under new names, with keys of so many bits.';

CREATE FUNCTION dedup.use_indexes(bits integer) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    kind text;
BEGIN
    FOREACH kind IN ARRAY ARRAY['canonical', 'duplicate'] LOOP
        EXECUTE format('DROP INDEX IF EXISTS %I', 'fingerprint_' || kind);
        EXECUTE format('ALTER INDEX %I RENAME TO %I', 'fingerprint_new_' || kind, 'fingerprint_' || kind);
        EXECUTE format(
            'CREATE OR REPLACE FUNCTION dedup.%I(keys bigint[]) RETURNS integer[]'
            ' LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (keys::bit(%s)[])::integer[]',
            CASE kind WHEN 'canonical' THEN 'folded' ELSE 'folded_duplicate' END,
            CASE kind WHEN 'canonical' THEN bits ELSE bits - 2 END);
    END LOOP;
END $$;
COMMENT ON FUNCTION dedup.use_indexes(integer) IS
    'Put the indexes that make_indexes has built in the place of those in use.';

-- Little memory and one process: built from one sorted run, every page of an index would be left half empty.
CREATE FUNCTION dedup.refold(bits integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp
    SET maintenance_work_mem = '16MB' SET max_parallel_maintenance_workers = 0 AS $$
BEGIN
    PERFORM settle_lock();
    PERFORM make_indexes('dedup.fingerprint', bits);
    PERFORM use_indexes(bits);
END $$;
COMMENT ON FUNCTION dedup.refold(integer) IS
    'Make the indexes of fingerprints anew, with keys of so many bits; dedup/corpus/folding.py says how many.';

-- The look-ups of settling. Their plans must not depend on statistics: right after a bulk load these say
-- that hardly anything is canonical, and the planner would rather scan it all, once per key. So each key
-- is looked up on its own (OFFSET 0), and the GIN indexes are the only way left to do it.
CREATE OR REPLACE FUNCTION dedup.sharing(
    among_canonical boolean, sentences bigint[], bucket_keys bigint[], contents bigint[]
) RETURNS TABLE (article_id bigint)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
BEGIN
    IF among_canonical THEN
        RETURN QUERY
        SELECT hit.article_id FROM unnest(sentences) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE folded(keys(f.sentence_hashes, f.buckets, f.content_hash)) && folded(ARRAY[key.hash])
              AND key.hash = ANY (f.sentence_hashes) AND f.canonical OFFSET 0) AS hit
        UNION
        SELECT hit.article_id FROM unnest(bucket_keys) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE folded(keys(f.sentence_hashes, f.buckets, f.content_hash)) && folded(ARRAY[key.hash])
              AND key.hash = ANY (f.buckets) AND f.canonical OFFSET 0) AS hit
        UNION
        SELECT hit.article_id FROM unnest(contents) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE folded(keys(f.sentence_hashes, f.buckets, f.content_hash)) && folded(ARRAY[key.hash])
              AND f.content_hash = key.hash AND f.buckets = '{}' AND f.canonical OFFSET 0) AS hit;
    ELSE
        RETURN QUERY
        SELECT hit.article_id FROM unnest(sentences) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE folded_duplicate(keys(f.sentence_hashes, f.buckets, f.content_hash))
                  && folded_duplicate(ARRAY[key.hash])
              AND key.hash = ANY (f.sentence_hashes) AND NOT f.canonical OFFSET 0) AS hit
        UNION
        SELECT hit.article_id FROM unnest(bucket_keys) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE folded_duplicate(keys(f.sentence_hashes, f.buckets, f.content_hash))
                  && folded_duplicate(ARRAY[key.hash])
              AND key.hash = ANY (f.buckets) AND NOT f.canonical OFFSET 0) AS hit
        UNION
        SELECT hit.article_id FROM unnest(contents) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE folded_duplicate(keys(f.sentence_hashes, f.buckets, f.content_hash))
                  && folded_duplicate(ARRAY[key.hash])
              AND f.content_hash = key.hash AND f.buckets = '{}' AND NOT f.canonical OFFSET 0) AS hit;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION dedup.carrier(sentences bigint[])
    RETURNS TABLE (sentence_hash bigint, article_id bigint, buckets bigint[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
BEGIN
    RETURN QUERY
    SELECT key.hash, hit.article_id, hit.buckets FROM unnest(sentences) AS key (hash) CROSS JOIN LATERAL (
        SELECT f.article_id, f.buckets FROM fingerprint f
        WHERE folded(keys(f.sentence_hashes, f.buckets, f.content_hash)) && folded(ARRAY[key.hash])
          AND key.hash = ANY (f.sentence_hashes) AND f.canonical OFFSET 0) AS hit
    UNION ALL
    SELECT key.hash, hit.article_id, hit.buckets FROM unnest(sentences) AS key (hash) CROSS JOIN LATERAL (
        SELECT f.article_id, f.buckets FROM fingerprint f
        WHERE folded_duplicate(keys(f.sentence_hashes, f.buckets, f.content_hash))
                  && folded_duplicate(ARRAY[key.hash])
          AND key.hash = ANY (f.sentence_hashes) AND NOT f.canonical OFFSET 0) AS hit;
END $$;

CREATE OR REPLACE FUNCTION dedup.holder(bucket_keys bigint[])
    RETURNS TABLE (bucket bigint, sentence_hashes bigint[], buckets bigint[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
BEGIN
    RETURN QUERY
    SELECT key.hash, hit.sentence_hashes, hit.buckets FROM unnest(bucket_keys) AS key (hash) CROSS JOIN LATERAL (
        SELECT f.sentence_hashes, f.buckets FROM fingerprint f
        WHERE folded(keys(f.sentence_hashes, f.buckets, f.content_hash)) && folded(ARRAY[key.hash])
          AND key.hash = ANY (f.buckets) AND f.canonical OFFSET 0) AS hit
    UNION ALL
    SELECT key.hash, hit.sentence_hashes, hit.buckets FROM unnest(bucket_keys) AS key (hash) CROSS JOIN LATERAL (
        SELECT f.sentence_hashes, f.buckets FROM fingerprint f
        WHERE folded_duplicate(keys(f.sentence_hashes, f.buckets, f.content_hash))
                  && folded_duplicate(ARRAY[key.hash])
          AND key.hash = ANY (f.buckets) AND NOT f.canonical OFFSET 0) AS hit;
END $$;

ALTER TABLE dedup.corpus_state ADD COLUMN bulk_run bigint;
COMMENT ON COLUMN dedup.corpus_state.bulk_run IS
    'The run that settles the whole corpus at once: until it ends hooks settle nothing. Null: there is none.';

CREATE OR REPLACE FUNCTION dedup.state_came() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    NEW.recount_all := true;
    NEW.settled_through := NULL;
    NEW.bulk_run := NULL;
    RETURN NEW;
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dedup FROM PUBLIC;
