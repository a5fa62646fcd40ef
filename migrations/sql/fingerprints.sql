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

-- No plan asks what is in these, and to count the values of arrays takes a second after a load.
ALTER TABLE dedup.fingerprint ALTER sentence_hashes SET STATISTICS 0, ALTER signature SET STATISTICS 0,
    ALTER buckets SET STATISTICS 0;
ALTER TABLE dedup.fingerprint_bulk ALTER sentence_hashes SET STATISTICS 0, ALTER signature SET STATISTICS 0,
    ALTER buckets SET STATISTICS 0;

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

-- What articles are found by. An entry is one number: the upper 31 bits of a key, and below them the article's id in
-- 32 bits. So all entries of a key are neighbours, and one search finds them. Articles whose keys share those bits and
-- nothing else are told apart by the whole keys in their fingerprints.
--
-- Entries of new fingerprints are in recent_key. A backfill moves them on into segments: sorted runs that are written
-- once, a block of entries a row, and merged with others now and then (dedup/settling/segments.py). Entries may be there
-- of what was edited, deleted or is no longer canonical: every look-up asks the fingerprint. None may be missing.
CREATE FUNCTION dedup.keys(sentence_hashes bigint[], buckets bigint[], content_hash bigint) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN buckets = '{}' THEN sentence_hashes || content_hash ELSE sentence_hashes || buckets END;
COMMENT ON FUNCTION dedup.keys(bigint[], bigint[], bigint) IS 'What an article is found by: its sentences, and its buckets or, of a short text, its content.';

CREATE FUNCTION dedup.entry(key bigint, article_id bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (key >> 33 << 32) + article_id;
COMMENT ON FUNCTION dedup.entry(bigint, bigint) IS 'A key and an article in one number; of article 0 the one before all entries of the key.';

-- An entry may be there twice, as after a restore of data alone: triggers write those of restored fingerprints, too.
CREATE TABLE dedup.recent_key (
    canonical boolean NOT NULL,
    entry bigint NOT NULL
);
CREATE INDEX recent_key_entry ON dedup.recent_key (canonical, entry);
ALTER TABLE dedup.recent_key REPLICA IDENTITY FULL;
COMMENT ON TABLE dedup.recent_key IS 'Keys of the latest fingerprints, that are in no segment yet.';
COMMENT ON COLUMN dedup.recent_key.canonical IS 'As of the fingerprint.';
COMMENT ON COLUMN dedup.recent_key.entry IS 'Key and article: dedup.entry.';

CREATE TABLE dedup.key_segment (
    id bigint NOT NULL,
    canonical boolean NOT NULL,
    entries bigint NOT NULL,
    blocks bigint NOT NULL,
    CONSTRAINT key_segment_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE dedup.key_segment IS 'Sorted runs of keys. What has no row here is not in use.';
COMMENT ON COLUMN dedup.key_segment.id IS 'Number of the segment.';
COMMENT ON COLUMN dedup.key_segment.canonical IS 'Whether its keys are of canonical articles, or of duplicates.';
COMMENT ON COLUMN dedup.key_segment.entries IS 'How many it has.';
COMMENT ON COLUMN dedup.key_segment.blocks IS 'Into how many blocks the range of keys is divided.';

CREATE TABLE dedup.key_block (
    segment bigint NOT NULL,
    number integer NOT NULL,
    entries bigint[] NOT NULL,
    CONSTRAINT key_block_pkey PRIMARY KEY (segment, number)
);
ALTER TABLE dedup.key_block ALTER entries SET STATISTICS 0, ALTER entries SET STORAGE EXTERNAL;
-- A key that many have makes a long block; it stays in its row while that fits a page.
ALTER TABLE dedup.key_block SET (toast_tuple_target = 8160);
COMMENT ON TABLE dedup.key_block IS 'The entries of segments in ascending order, a hundred or so a row.';
COMMENT ON COLUMN dedup.key_block.segment IS 'key_segment.id.';
COMMENT ON COLUMN dedup.key_block.number IS 'Which part of the range of keys: dedup.block. Of a part without entries there is no row.';
COMMENT ON COLUMN dedup.key_block.entries IS 'Keys and articles: dedup.entry.';

-- Keys are hashes and spread evenly. So a key's own bits say in which block it is, and a look-up reads one row of the
-- index. Searched by their last entries, half a page of it would be read.
CREATE FUNCTION dedup.block(key bigint, blocks bigint) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (((key >> 33) + 1073741824) * blocks >> 31)::integer;
COMMENT ON FUNCTION dedup.block(bigint, bigint) IS 'The block of a key in a segment of so many.';

-- Part of the statements that call it, so that who wants few of them reads few. Of a block in which a key has no entry,
-- nothing is made.
CREATE FUNCTION dedup.holding(among boolean[], hashes bigint[])
    RETURNS TABLE (hash bigint, place bigint, article_id bigint)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT k.hash, k.place, e.entry & 4294967295
FROM dedup.key_segment AS s
CROSS JOIN unnest(hashes) WITH ORDINALITY AS k (hash, place)
CROSS JOIN LATERAL (
    SELECT b.entries FROM dedup.key_block AS b
    WHERE b.segment = s.id AND b.number = dedup.block(k.hash, s.blocks) OFFSET 0) AS b
CROSS JOIN LATERAL unnest(b.entries[
    width_bucket(dedup.entry(k.hash, 0) - 1, b.entries) + 1 :
    width_bucket(dedup.entry(k.hash, 4294967295), b.entries)]) AS e (entry)
WHERE s.canonical = ANY (among)
  AND b.entries[width_bucket(dedup.entry(k.hash, 0) - 1, b.entries) + 1] <= dedup.entry(k.hash, 4294967295)
UNION ALL
SELECT k.hash, k.place, e.entry & 4294967295
FROM unnest(hashes) WITH ORDINALITY AS k (hash, place)
CROSS JOIN LATERAL (
    SELECT r.entry FROM dedup.recent_key AS r
    WHERE r.canonical = ANY (among)
      AND r.entry BETWEEN dedup.entry(k.hash, 0) AND dedup.entry(k.hash, 4294967295) OFFSET 0) AS e;
END;
COMMENT ON FUNCTION dedup.holding(boolean[], bigint[]) IS
    'Articles that may have some keys, with the place of the key in the array, among canonical ones, duplicates, or both; those that have are among them.';

-- With the rights of the schema's owner: who runs a backfill need not own the tables. It takes no settle lock: whoever
-- edits an article holds its table, and then waits for that lock.
CREATE FUNCTION dedup.compact_index(index_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp
    SET lock_timeout = '1s' AS $$
BEGIN
    IF index_name IS NULL OR index_name NOT IN (
        'article_unsettled', 'article_mark_pkey', 'fingerprint_pkey', 'fingerprint_bulk_pkey'
    ) THEN
        RAISE EXCEPTION 'no index to be made again' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format('REINDEX INDEX dedup.%I', index_name);
END $$;
COMMENT ON FUNCTION dedup.compact_index(text) IS 'Make an index again that a large load has left half empty; nobody writes to its table meanwhile.';

-- The table takes the place of the one in use, in a moment, and with it the segments of its keys. Needs the settle lock.
CREATE FUNCTION dedup.publish_bulk() RETURNS void
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
    ALTER TABLE fingerprint RENAME TO fingerprint_swapped;
    ALTER TABLE fingerprint_swapped RENAME CONSTRAINT fingerprint_pkey TO fingerprint_swapped_pkey;
    ALTER TABLE fingerprint_bulk RENAME TO fingerprint;
    ALTER TABLE fingerprint RENAME CONSTRAINT fingerprint_bulk_pkey TO fingerprint_pkey;
    ALTER TABLE fingerprint_swapped RENAME TO fingerprint_bulk;
    ALTER TABLE fingerprint_bulk RENAME CONSTRAINT fingerprint_swapped_pkey TO fingerprint_bulk_pkey;
END $$;
COMMENT ON FUNCTION dedup.publish_bulk() IS 'Put the fingerprints of dedup.fingerprint_bulk in use, with those that came meanwhile.';

-- The look-ups of settling. Their plans must not depend on statistics: right after a bulk load these say that
-- tables are empty. So each key and each fingerprint is looked up on its own (OFFSET 0). One plan for all calls: to
-- make one takes as long as the look-up.
CREATE FUNCTION dedup.sharing(
    among boolean[], sentences bigint[], bucket_keys bigint[], contents bigint[]
) RETURNS TABLE (article_id bigint, canonical boolean)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
    SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    SELECT DISTINCT hit.article_id, hit.canonical
    FROM holding(among, sentences || bucket_keys || contents) AS key CROSS JOIN LATERAL (
        SELECT f.article_id, f.canonical FROM fingerprint f
        WHERE f.article_id = key.article_id AND f.canonical = ANY (among)
          AND CASE WHEN key.place <= cardinality(sentences) THEN key.hash = ANY (f.sentence_hashes)
                   WHEN key.place <= cardinality(sentences) + cardinality(bucket_keys) THEN key.hash = ANY (f.buckets)
                   ELSE key.hash = f.content_hash AND f.buckets = '{}' END OFFSET 0) AS hit;
END $$;
COMMENT ON FUNCTION dedup.sharing(boolean[], bigint[], bigint[], bigint[]) IS
    'Fingerprinted articles, canonical ones, duplicates, or both, that have one of these sentences, buckets or content hashes.';

CREATE FUNCTION dedup.carrier(sentences bigint[])
    RETURNS TABLE (sentence_hash bigint, article_id bigint, buckets bigint[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
    SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    SELECT key.hash, hit.article_id, hit.buckets
    FROM (SELECT DISTINCT h.hash, h.article_id FROM holding('{true,false}', sentences) AS h) AS key
    CROSS JOIN LATERAL (
        SELECT f.article_id, f.buckets FROM fingerprint f
        WHERE f.article_id = key.article_id AND key.hash = ANY (f.sentence_hashes) OFFSET 0) AS hit;
END $$;
COMMENT ON FUNCTION dedup.carrier(bigint[]) IS 'The articles that carry these sentences, with their buckets, one row per sentence and article.';

CREATE FUNCTION dedup.holder(bucket_keys bigint[])
    RETURNS TABLE (bucket bigint, sentence_hashes bigint[], buckets bigint[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
    SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    SELECT key.hash, hit.sentence_hashes, hit.buckets
    FROM (SELECT DISTINCT h.hash, h.article_id FROM holding('{true,false}', bucket_keys) AS h) AS key
    CROSS JOIN LATERAL (
        SELECT f.sentence_hashes, f.buckets FROM fingerprint f
        WHERE f.article_id = key.article_id AND key.hash = ANY (f.buckets) OFFSET 0) AS hit;
END $$;
COMMENT ON FUNCTION dedup.holder(bigint[]) IS 'The fingerprints that have these bucket keys, one row per key and article.';

-- Every fingerprint that comes or goes is counted again and found by its keys, whoever wrote it. Both tables of fingerprints have
-- the triggers, since one takes the place of the other; they act on the one in use. What is in the other is
-- counted as a whole.
CREATE FUNCTION dedup.fingerprint_came() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'fingerprint' THEN
        INSERT INTO sentence_change (article_id) SELECT article_id FROM came;
        INSERT INTO recent_key (canonical, entry)
        SELECT DISTINCT c.canonical, entry(k.key, c.article_id)
        FROM came AS c CROSS JOIN LATERAL unnest(keys(c.sentence_hashes, c.buckets, c.content_hash)) AS k (key);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER fingerprint_came AFTER INSERT ON dedup.fingerprint
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_came();
CREATE TRIGGER fingerprint_came AFTER INSERT ON dedup.fingerprint_bulk
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_came();

-- What becomes a duplicate, or canonical again, is found among those. Entries that a merge is just taking are left to it.
CREATE FUNCTION dedup.fingerprint_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    IF TG_TABLE_NAME = 'fingerprint' THEN
        DELETE FROM recent_key WHERE ctid = ANY (ARRAY(
            SELECT r.ctid FROM was AS w
            CROSS JOIN LATERAL unnest(keys(w.sentence_hashes, w.buckets, w.content_hash)) AS k (key)
            CROSS JOIN LATERAL (
                SELECT ctid FROM recent_key
                WHERE canonical = w.canonical AND entry = entry(k.key, w.article_id) FOR UPDATE SKIP LOCKED) AS r));
        INSERT INTO recent_key (canonical, entry)
        SELECT DISTINCT n.canonical, entry(k.key, n.article_id)
        FROM is_now AS n CROSS JOIN LATERAL unnest(keys(n.sentence_hashes, n.buckets, n.content_hash)) AS k (key);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER fingerprint_changed AFTER UPDATE ON dedup.fingerprint
    REFERENCING OLD TABLE AS was NEW TABLE AS is_now FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_changed();
CREATE TRIGGER fingerprint_changed AFTER UPDATE ON dedup.fingerprint_bulk
    REFERENCING OLD TABLE AS was NEW TABLE AS is_now FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_changed();

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
