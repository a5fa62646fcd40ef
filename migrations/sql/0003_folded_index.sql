-- The index of fingerprints, with its keys folded to few bits, and what says that a bulk engine is at work.
--
-- Nearly every sentence and bucket key belongs to one article, and an index entry of its own costs 28 bytes on
-- pages that are half empty. Folded keys share their entries: the index is a quarter as large. Each key is folded
-- twice, by its lowest bits and by those above them, and an article is found by both: so hardly one comes along
-- that shares the folded keys only, and the whole keys in its row tell it apart.

DROP INDEX dedup.fingerprint_canonical, dedup.fingerprint_duplicate, dedup.fingerprint_content;

CREATE FUNCTION dedup.keys(sentence_hashes bigint[], buckets bigint[], content_hash bigint) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN buckets = '{}' THEN sentence_hashes || content_hash ELSE sentence_hashes || buckets END;
COMMENT ON FUNCTION dedup.keys(bigint[], bigint[], bigint) IS
    'What an article is found by: its sentences, and its buckets or, of a short text, its content.';

-- Made anew by dedup.refold. Inlined into look-ups, so that their condition is the one of the indexes.
CREATE FUNCTION dedup.folded(keys bigint[]) RETURNS integer[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (keys::bit(1)[])::integer[] || (keys::bit(2)[]::bit(1)[])::integer[];
COMMENT ON FUNCTION dedup.folded(bigint[]) IS
    'Keys as the index of canonical articles has them: their lowest bits, and the bits above those.';
CREATE FUNCTION dedup.folded_duplicate(keys bigint[]) RETURNS integer[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (keys::bit(1)[])::integer[] || (keys::bit(2)[]::bit(1)[])::integer[];
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
COMMENT ON FUNCTION dedup.make_indexes(regclass, integer) IS
    'Build the indexes of a table of fingerprints under new names, with keys of so many bits.';

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
-- is looked up on its own (OFFSET 0), and the GIN indexes are the only way left to do it. One plan for all calls:
-- to make one takes as long as the look-up.
CREATE OR REPLACE FUNCTION dedup.sharing(
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

CREATE OR REPLACE FUNCTION dedup.carrier(sentences bigint[])
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

CREATE OR REPLACE FUNCTION dedup.holder(bucket_keys bigint[])
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

-- An article may come with its mark where a settler brings it: see dedup.store_new. Anyone else's claims count for
-- nothing; as with dedup.article_marks, the right to the settle lock says who is a settler.
CREATE OR REPLACE FUNCTION dedup.article_new() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF current_setting('dedup.settling', true) = 'on' AND has_table_privilege('dedup.settle_turn', 'UPDATE') THEN
        RETURN NEW;
    END IF;
    NEW.revision := 0;
    NEW.status := 'pending';
    NEW.stale := false;
    NEW.takes_part := false;
    NEW.duplicate_of := NULL;
    NEW.score := NULL;
    NEW.reason := NULL;
    NEW.limit_fired := NULL;
    NEW.marked_at := NULL;
    RETURN NEW;
END $$;

-- Store an article that is new, with its fingerprint and its mark. Needs the settle lock.
CREATE FUNCTION dedup.store_new(
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
COMMENT ON FUNCTION dedup.store_new IS
    'Store a new article with its mark: a duplicate of an original, or unique; null where it is known already.';

-- Most articles are new. Here that takes one call where nothing shares anything with them: they are stored as
-- unique. Otherwise this returns what shares something, for the program to compare, under the lock that it has
-- taken; or why the article is not so plain.
CREATE FUNCTION dedup.submit_new(
    rules text[], most integer,
    source_id text, body text, title text, url text, publication text, published_at timestamptz,
    added_at timestamptz, language text,
    version bigint, content_hash bigint, sentence_hashes bigint[], signature bytea, buckets bigint[],
    word_count integer, shingle_count integer,
    policy text, earliest timestamptz
) RETURNS TABLE (
    outcome text, article_id bigint, other_time timestamptz, other_source_id text, other_content_hash bigint,
    other_sentences bigint[], other_signature bytea, other_buckets bigint[], other_shingle_count integer
)
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_variable
DECLARE
    state corpus_state;
    own bigint[];
    contents bigint[] := CASE WHEN buckets = '{}' THEN ARRAY[content_hash] ELSE '{}' END;
    place timestamptz := canonical_time(published_at, coalesce(added_at, now()), policy, earliest);
    found_ids bigint[];
BEGIN
    -- In this order: the lock itself is waited for as long as the transaction may wait, a row 0.1 s.
    PERFORM settle_lock();
    PERFORM set_config('lock_timeout', '100ms', true), set_config('dedup.settling', 'on', true),
            set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
            set_config('enable_mergejoin', 'off', true);
    SELECT * INTO state FROM corpus_state;
    IF rules IS DISTINCT FROM ARRAY[state.fingerprint_digest, state.rule_digest, state.algorithm_revision::text,
                                    state.unicode_version] THEN
        outcome := 'rules';
    ELSIF EXISTS (SELECT FROM article a WHERE a.source_id = submit_new.source_id)
          OR EXISTS (SELECT FROM arrival w WHERE w.source_id = submit_new.source_id) THEN
        outcome := 'known';
    -- In the order of the index of unsettled articles, so that no other one can be chosen.
    ELSIF state.bulk_run IS NOT NULL OR state.settled_through IS NULL OR EXISTS (
              SELECT FROM article a WHERE a.status = 'pending' OR a.stale
              ORDER BY coalesce(a.published_at, a.added_at), a.source_id LIMIT 1)
          OR EXISTS (SELECT FROM pair_pin p WHERE p.source_id = submit_new.source_id)
          OR EXISTS (SELECT FROM pair_pin p WHERE p.other_source_id = submit_new.source_id) THEN
        outcome := 'not plain';
    END IF;
    IF outcome IS NOT NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;
    own := ARRAY(SELECT s.hash FROM unnest(sentence_hashes) AS s (hash)
                 WHERE NOT EXISTS (SELECT FROM common_sentence c WHERE c.sentence_hash = s.hash OFFSET 0));
    found_ids := ARRAY(SELECT s.article_id FROM sharing(true, own, buckets, contents) AS s LIMIT most + 1);
    -- Duplicates matter where they may be later.
    IF cardinality(found_ids) > most
       OR place <= state.settled_through AND EXISTS (SELECT FROM sharing(false, own, buckets, contents)) THEN
        outcome := 'new';
        RETURN NEXT;
    ELSIF found_ids = '{}' THEN
        outcome := CASE WHEN store_new(
            source_id, body, title, url, publication, published_at, added_at, language,
            version, content_hash, sentence_hashes, signature, buckets, word_count, shingle_count,
            policy, earliest, NULL, NULL, NULL) IS NULL THEN 'known' ELSE 'stored' END;
        RETURN NEXT;
    ELSE
        outcome := 'shares';
        other_sentences := own;
        other_time := place;
        RETURN NEXT;
        RETURN QUERY
        SELECT 'shared'::text, a.id, canonical_time(a.published_at, a.added_at, policy, earliest), a.source_id,
               f.content_hash,
               ARRAY(SELECT s.hash FROM unnest(f.sentence_hashes) AS s (hash)
                     WHERE NOT EXISTS (SELECT FROM common_sentence c WHERE c.sentence_hash = s.hash OFFSET 0)),
               f.signature, f.buckets, f.shingle_count
        FROM unnest(found_ids) AS found (id)
        CROSS JOIN LATERAL (SELECT * FROM article WHERE id = found.id OFFSET 0) AS a
        CROSS JOIN LATERAL (SELECT * FROM fingerprint WHERE fingerprint.article_id = found.id OFFSET 0) AS f
        WHERE a.takes_part;
    END IF;
END $$;
COMMENT ON FUNCTION dedup.submit_new IS
    'Take the settle lock; store and mark an article that is new and shares nothing, or say what it shares with which.';

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dedup FROM PUBLIC;
