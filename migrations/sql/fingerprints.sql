-- Fingerprints: what is kept of a text, what they are made with, and the index that finds the articles that
-- share something.

CREATE TABLE dedup.fingerprint (
    article_id bigint NOT NULL,
    version bigint NOT NULL,
    revision integer NOT NULL,
    content_hash bigint NOT NULL,
    sentence_hashes bigint[] NOT NULL,
    signature bytea NOT NULL,
    buckets bigint[] NOT NULL,
    word_count integer NOT NULL,
    shingle_count integer NOT NULL,
    canonical boolean NOT NULL DEFAULT true,
    -- No foreign key to the article: its check of every fingerprint locks the article and takes as long as
    -- writing it, and a delete would wait while indexes are built. The triggers of the article do what it
    -- would.
    CONSTRAINT fingerprint_pkey PRIMARY KEY (article_id)
);
COMMENT ON TABLE dedup.fingerprint IS 'What is kept of a text: hashes, never words.';
COMMENT ON COLUMN dedup.fingerprint.article_id IS 'article.id.';
COMMENT ON COLUMN dedup.fingerprint.version IS 'Algorithm, settings and sentence parameters that made it, as one number.';
COMMENT ON COLUMN dedup.fingerprint.revision IS 'The article.revision it was made from.';
COMMENT ON COLUMN dedup.fingerprint.content_hash IS 'Hash of all normalised words in order; of a short text, of its title and text.';
COMMENT ON COLUMN dedup.fingerprint.sentence_hashes IS 'Distinct hashes of its sentences, in order of appearance.';
COMMENT ON COLUMN dedup.fingerprint.signature IS 'The lowest byte of each MinHash value of its shingles; empty where there is none.';
COMMENT ON COLUMN dedup.fingerprint.buckets IS 'One key per LSH band; the content hash where there is no shingle; empty of a short text.';
COMMENT ON COLUMN dedup.fingerprint.word_count IS 'Normalised words in the text.';
COMMENT ON COLUMN dedup.fingerprint.shingle_count IS 'Distinct shingles in the text.';
COMMENT ON COLUMN dedup.fingerprint.canonical IS 'false: a duplicate. It counts only where article.takes_part.';

-- Where fingerprints of a large backfill wait without an index, until the table takes the place of the one in
-- use.
CREATE TABLE dedup.fingerprint_bulk (LIKE dedup.fingerprint INCLUDING DEFAULTS INCLUDING COMMENTS);
ALTER TABLE dedup.fingerprint_bulk ADD CONSTRAINT fingerprint_bulk_pkey PRIMARY KEY (article_id);
COMMENT ON TABLE dedup.fingerprint_bulk IS
    'Fingerprints that a large backfill has made and not yet put in use: without indexes, so that they are written quickly. Empty at other times.';

CREATE TABLE dedup.setting (
    name text NOT NULL,
    value text,
    adopted text,
    changed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT setting_pkey PRIMARY KEY (name),
    CONSTRAINT setting_differs_check CHECK (value IS NOT NULL OR adopted IS NOT NULL)
);
COMMENT ON TABLE dedup.setting IS 'Settings of this corpus that differ from the program''s defaults, or will.';
COMMENT ON COLUMN dedup.setting.name IS 'Name, as `dedup settings` lists it.';
COMMENT ON COLUMN dedup.setting.value IS 'Value as text, in force from the next backfill on; null: the default.';
COMMENT ON COLUMN dedup.setting.adopted IS 'Value in force; null: the default.';
COMMENT ON COLUMN dedup.setting.changed_at IS 'When it was set.';

CREATE TABLE dedup.sentence_model (
    language text NOT NULL,
    adopted boolean NOT NULL DEFAULT false,
    abbrev_types text NOT NULL,
    collocations text NOT NULL,
    sent_starters text NOT NULL,
    ortho_context text NOT NULL,
    checksum text NOT NULL,
    articles bigint NOT NULL,
    trained_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT sentence_model_pkey PRIMARY KEY (language, adopted)
);
COMMENT ON TABLE dedup.sentence_model IS 'Punkt sentence parameters trained from this corpus'' own texts, in NLTK''s tab format.';
COMMENT ON COLUMN dedup.sentence_model.language IS 'ISO 639 code.';
COMMENT ON COLUMN dedup.sentence_model.adopted IS 'true: in force; false: from the next backfill on.';
COMMENT ON COLUMN dedup.sentence_model.abbrev_types IS 'File abbrev_types.txt.';
COMMENT ON COLUMN dedup.sentence_model.collocations IS 'File collocations.tab.';
COMMENT ON COLUMN dedup.sentence_model.sent_starters IS 'File sent_starters.txt.';
COMMENT ON COLUMN dedup.sentence_model.ortho_context IS 'File ortho_context.tab.';
COMMENT ON COLUMN dedup.sentence_model.checksum IS 'SHA-256 of the four files; part of the fingerprint version.';
COMMENT ON COLUMN dedup.sentence_model.articles IS 'How many articles it was trained on.';
COMMENT ON COLUMN dedup.sentence_model.trained_at IS 'When.';

-- The index of fingerprints has its keys folded to few bits. Nearly every sentence and bucket key belongs to
-- one article, and an index entry of its own costs 28 bytes on pages that are half empty. Folded keys share
-- their entries: the index is a quarter as large. Each key is folded twice, by its lowest bits and by those
-- above them, and an article is found by both: so hardly one comes along that shares the folded keys only,
-- and the whole keys in its row tell it apart.
CREATE FUNCTION dedup.keys(sentence_hashes bigint[], buckets bigint[], content_hash bigint) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN buckets = '{}' THEN sentence_hashes || content_hash ELSE sentence_hashes || buckets END;
COMMENT ON FUNCTION dedup.keys(bigint[], bigint[], bigint) IS 'What an article is found by: its sentences, and its buckets or, of a short text, its content.';

-- Made again by dedup.use_indexes with the bits of the indexes. Inlined into look-ups, so that their
-- condition is the one of the indexes.
CREATE FUNCTION dedup.folded(keys bigint[]) RETURNS integer[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (keys::bit(16)[])::integer[] || (keys::bit(32)[]::bit(16)[])::integer[];
COMMENT ON FUNCTION dedup.folded(bigint[]) IS 'Keys as the index of canonical articles has them: their lowest bits, and the bits above those.';
CREATE FUNCTION dedup.folded_duplicate(keys bigint[]) RETURNS integer[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (keys::bit(14)[])::integer[] || (keys::bit(28)[]::bit(14)[])::integer[];
COMMENT ON FUNCTION dedup.folded_duplicate(bigint[]) IS 'Keys as the index of duplicates has them, which are fewer: two bits less.';

-- Two partial indexes for the two kinds of look-up: among canonical articles (every settle), among duplicates
-- (only when a canonical article appears before articles already settled). An article that is not settled yet
-- is in the first, where nearly all of them stay: a row is written once, and not again by being settled.
-- fastupdate = off: a probe would scan the whole pending list of the index.
--
-- What is built is named again, and takes the place of the old at the end, so that look-ups wait for a moment
-- only. The indexes hold the expression itself, for the functions that it is made of come later in a dump.
CREATE FUNCTION dedup.make_indexes(owner regclass, bits integer) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    kind text;
    own_bits integer;
BEGIN
    IF bits IS NULL OR bits NOT BETWEEN 10 AND 31 THEN
        RAISE EXCEPTION 'between 10 and 31 bits, not %', bits USING ERRCODE = 'invalid_parameter_value';
    END IF;
    FOREACH kind IN ARRAY ARRAY['canonical', 'duplicate'] LOOP
        own_bits := CASE kind WHEN 'canonical' THEN bits ELSE bits - 2 END;
        EXECUTE format('DROP INDEX IF EXISTS %I', 'fingerprint_new_' || kind);
        EXECUTE format(
            'CREATE INDEX %1$I ON %2$s USING gin (('
            ' (CASE WHEN buckets = ''{}'' THEN sentence_hashes || content_hash'
            '  ELSE sentence_hashes || buckets END::bit(%3$s)[])::integer[]'
            ' || (CASE WHEN buckets = ''{}'' THEN sentence_hashes || content_hash'
            '  ELSE sentence_hashes || buckets END::bit(%4$s)[]::bit(%3$s)[])::integer[]))'
            ' WITH (fastupdate = off) WHERE %5$s',
            'fingerprint_new_' || kind, owner, own_bits, 2 * own_bits,
            CASE kind WHEN 'canonical' THEN '' ELSE 'NOT ' END || 'canonical');
    END LOOP;
END $$;
COMMENT ON FUNCTION dedup.make_indexes(regclass, integer) IS 'Build the indexes of a table of fingerprints under new names, with keys of so many bits.';

CREATE FUNCTION dedup.use_indexes(bits integer) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    kind text;
    own_bits integer;
BEGIN
    FOREACH kind IN ARRAY ARRAY['canonical', 'duplicate'] LOOP
        own_bits := CASE kind WHEN 'canonical' THEN bits ELSE bits - 2 END;
        EXECUTE format('DROP INDEX IF EXISTS %I', 'fingerprint_' || kind);
        EXECUTE format('ALTER INDEX %I RENAME TO %I', 'fingerprint_new_' || kind, 'fingerprint_' || kind);
        EXECUTE format(
            'CREATE OR REPLACE FUNCTION dedup.%1$I(keys bigint[]) RETURNS integer[]'
            ' LANGUAGE sql IMMUTABLE PARALLEL SAFE'
            ' RETURN (keys::bit(%2$s)[])::integer[] || (keys::bit(%3$s)[]::bit(%2$s)[])::integer[]',
            CASE kind WHEN 'canonical' THEN 'folded' ELSE 'folded_duplicate' END, own_bits, 2 * own_bits);
    END LOOP;
END $$;
COMMENT ON FUNCTION dedup.use_indexes(integer) IS 'Put the indexes that make_indexes has built in the place of those in use.';

-- Of an empty corpus: FEWEST_BITS of dedup/corpus/folding.py.
SELECT dedup.make_indexes('dedup.fingerprint', 16);
SELECT dedup.use_indexes(16);

-- Little memory and one process: built from one sorted run, every page of an index would be left half empty.
CREATE FUNCTION dedup.refold(bits integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp
    SET maintenance_work_mem = '16MB' SET max_parallel_maintenance_workers = 0 AS $$
BEGIN
    PERFORM settle_lock();
    PERFORM make_indexes('dedup.fingerprint', bits);
    PERFORM use_indexes(bits);
END $$;
COMMENT ON FUNCTION dedup.refold(integer) IS 'Make the indexes of fingerprints again, with keys of so many bits; dedup/corpus/folding.py says how many.';

-- With the rights of the schema's owner, as for the indexes of fingerprints. It takes no settle lock: whoever
-- edits an article holds its table, and then waits for that lock.
CREATE FUNCTION dedup.compact_index(index_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp
    SET lock_timeout = '1s' AS $$
BEGIN
    IF index_name IS NULL OR index_name NOT IN (
        'article_unsettled', 'article_pkey', 'article_source_id_key', 'fingerprint_pkey'
    ) THEN
        RAISE EXCEPTION 'no index to be made again' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format('REINDEX INDEX dedup.%I', index_name);
END $$;
COMMENT ON FUNCTION dedup.compact_index(text) IS 'Make an index again that a large load has left half empty; nobody writes to its table meanwhile.';

-- With the rights of the schema's owner: who runs a backfill need not own the tables. Much memory, and several
-- processes where the server has them: it is to be quick, and its pages fill up again as articles come.
CREATE FUNCTION dedup.index_bulk(bits integer, memory text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    INSERT INTO fingerprint_bulk SELECT * FROM fingerprint ON CONFLICT (article_id) DO NOTHING;
    PERFORM set_config('maintenance_work_mem', memory, true);
    PERFORM make_indexes('dedup.fingerprint_bulk', bits);
END $$;
COMMENT ON FUNCTION dedup.index_bulk(integer, text) IS 'Add the fingerprints in use to dedup.fingerprint_bulk, and build its indexes, with keys of so many bits.';

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
COMMENT ON FUNCTION dedup.publish_bulk(integer) IS 'Put the fingerprints of dedup.fingerprint_bulk in use, with those that came meanwhile.';

-- The look-ups of settling. Their plans must not depend on statistics: right after a bulk load these say that
-- hardly anything is canonical, and the planner would rather scan it all, once per key. So each key is looked
-- up on its own (OFFSET 0), and the GIN indexes are the only way left to do it. One plan for all calls: to
-- make one takes as long as the look-up.
CREATE FUNCTION dedup.sharing(
    among_canonical boolean, sentences bigint[], bucket_keys bigint[], contents bigint[]
) RETURNS TABLE (article_id bigint)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
    SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    IF among_canonical THEN
        RETURN QUERY
        SELECT hit.article_id FROM unnest(sentences) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE folded(keys(f.sentence_hashes, f.buckets, f.content_hash)) @> folded(ARRAY[key.hash])
              AND key.hash = ANY (f.sentence_hashes) AND f.canonical OFFSET 0) AS hit
        UNION
        SELECT hit.article_id FROM unnest(bucket_keys) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE folded(keys(f.sentence_hashes, f.buckets, f.content_hash)) @> folded(ARRAY[key.hash])
              AND key.hash = ANY (f.buckets) AND f.canonical OFFSET 0) AS hit
        UNION
        SELECT hit.article_id FROM unnest(contents) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE folded(keys(f.sentence_hashes, f.buckets, f.content_hash)) @> folded(ARRAY[key.hash])
              AND f.content_hash = key.hash AND f.buckets = '{}' AND f.canonical OFFSET 0) AS hit;
    ELSE
        RETURN QUERY
        SELECT hit.article_id FROM unnest(sentences) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE folded_duplicate(keys(f.sentence_hashes, f.buckets, f.content_hash))
                  @> folded_duplicate(ARRAY[key.hash])
              AND key.hash = ANY (f.sentence_hashes) AND NOT f.canonical OFFSET 0) AS hit
        UNION
        SELECT hit.article_id FROM unnest(bucket_keys) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE folded_duplicate(keys(f.sentence_hashes, f.buckets, f.content_hash))
                  @> folded_duplicate(ARRAY[key.hash])
              AND key.hash = ANY (f.buckets) AND NOT f.canonical OFFSET 0) AS hit
        UNION
        SELECT hit.article_id FROM unnest(contents) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE folded_duplicate(keys(f.sentence_hashes, f.buckets, f.content_hash))
                  @> folded_duplicate(ARRAY[key.hash])
              AND f.content_hash = key.hash AND f.buckets = '{}' AND NOT f.canonical OFFSET 0) AS hit;
    END IF;
END $$;
COMMENT ON FUNCTION dedup.sharing(boolean, bigint[], bigint[], bigint[]) IS
    'Fingerprinted articles, duplicates or all others, that have one of these sentences, buckets or content hashes.';

CREATE FUNCTION dedup.carrier(sentences bigint[])
    RETURNS TABLE (sentence_hash bigint, article_id bigint, buckets bigint[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
    SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    SELECT key.hash, hit.article_id, hit.buckets FROM unnest(sentences) AS key (hash) CROSS JOIN LATERAL (
        SELECT f.article_id, f.buckets FROM fingerprint f
        WHERE folded(keys(f.sentence_hashes, f.buckets, f.content_hash)) @> folded(ARRAY[key.hash])
          AND key.hash = ANY (f.sentence_hashes) AND f.canonical OFFSET 0) AS hit
    UNION ALL
    SELECT key.hash, hit.article_id, hit.buckets FROM unnest(sentences) AS key (hash) CROSS JOIN LATERAL (
        SELECT f.article_id, f.buckets FROM fingerprint f
        WHERE folded_duplicate(keys(f.sentence_hashes, f.buckets, f.content_hash))
                  @> folded_duplicate(ARRAY[key.hash])
          AND key.hash = ANY (f.sentence_hashes) AND NOT f.canonical OFFSET 0) AS hit;
END $$;
COMMENT ON FUNCTION dedup.carrier(bigint[]) IS 'The articles that carry these sentences, with their buckets, one row per sentence and article.';

CREATE FUNCTION dedup.holder(bucket_keys bigint[])
    RETURNS TABLE (bucket bigint, sentence_hashes bigint[], buckets bigint[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
    SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    SELECT key.hash, hit.sentence_hashes, hit.buckets FROM unnest(bucket_keys) AS key (hash) CROSS JOIN LATERAL (
        SELECT f.sentence_hashes, f.buckets FROM fingerprint f
        WHERE folded(keys(f.sentence_hashes, f.buckets, f.content_hash)) @> folded(ARRAY[key.hash])
          AND key.hash = ANY (f.buckets) AND f.canonical OFFSET 0) AS hit
    UNION ALL
    SELECT key.hash, hit.sentence_hashes, hit.buckets FROM unnest(bucket_keys) AS key (hash) CROSS JOIN LATERAL (
        SELECT f.sentence_hashes, f.buckets FROM fingerprint f
        WHERE folded_duplicate(keys(f.sentence_hashes, f.buckets, f.content_hash))
                  @> folded_duplicate(ARRAY[key.hash])
          AND key.hash = ANY (f.buckets) AND NOT f.canonical OFFSET 0) AS hit;
END $$;
COMMENT ON FUNCTION dedup.holder(bigint[]) IS 'The fingerprints that have these bucket keys, one row per key and article.';

-- Every fingerprint that comes or goes is counted again, whoever wrote it. Both tables of fingerprints have
-- the triggers, since one takes the place of the other; they act on the one in use. What is in the other is
-- counted as a whole.
CREATE FUNCTION dedup.fingerprint_came() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'fingerprint' THEN
        INSERT INTO sentence_change (article_id) SELECT article_id FROM came;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER fingerprint_came AFTER INSERT ON dedup.fingerprint
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_came();
CREATE TRIGGER fingerprint_came AFTER INSERT ON dedup.fingerprint_bulk
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_came();

CREATE FUNCTION dedup.fingerprint_went() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'fingerprint' THEN
        INSERT INTO sentence_change (article_id, sentence_hashes, buckets)
        SELECT article_id, sentence_hashes, buckets FROM went;
        PERFORM note_bulk_change(ARRAY(SELECT article_id FROM went));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER fingerprint_went AFTER DELETE ON dedup.fingerprint
    REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_went();
CREATE TRIGGER fingerprint_went AFTER DELETE ON dedup.fingerprint_bulk
    REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_went();
