-- What a hook calls to store an article with its mark, in one call. Both functions read and write what later migrations
-- bring too, so each of these that changes them runs this file again.

DROP FUNCTION IF EXISTS dedup.submit_new;
DROP FUNCTION IF EXISTS dedup.store_new;

-- Store an article that is new, with its fingerprint, its mark and, if it is a duplicate, its pairs. One before the
-- horizon is none that can be stored with a mark. Needs the settle lock.
CREATE FUNCTION dedup.store_new(
    source_id text, body text, title text, url text, publication text, published_at timestamptz,
    added_at timestamptz, language text, byline text, kept jsonb,
    version bigint, content_hash bigint, sentence_hashes bigint[], signature bytea, buckets bigint[],
    word_count integer, shingle_count integer,
    policy text, earliest timestamptz,
    original bigint, score double precision, reason text,
    others bigint[], rules text[], scores double precision[], sentences double precision[],
    signatures double precision[], containments double precision[]
) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_variable
DECLARE
    given_id bigint;
    place timestamptz := canonical_time(published_at, coalesce(added_at, now()), policy, earliest);
BEGIN
    IF place < (SELECT horizon FROM corpus_state) THEN
        RETURN false;
    END IF;
    PERFORM set_config('dedup.storing', 'on', true);  -- it brings its mark
    INSERT INTO article (source_id, url, title, publication, published_at, added_at, language, byline, kept, text)
    VALUES (source_id, url, title, publication, published_at, coalesce(added_at, now()), language, byline, kept, body)
    ON CONFLICT ON CONSTRAINT article_source_id_key DO NOTHING RETURNING id INTO given_id;
    PERFORM set_config('dedup.storing', 'off', true);
    IF given_id IS NULL THEN
        RETURN false;
    END IF;
    INSERT INTO article_mark (id, time, status, takes_part, duplicate_of, score, reason, marked_at)
    VALUES (given_id, coalesce(published_at, added_at, now()), CASE WHEN original IS NULL THEN 'unique' ELSE 'duplicate' END,
            true, original, score, reason, now());
    INSERT INTO fingerprint (article_id, version, revision, content_hash, sentence_hashes, signature, buckets,
                             word_count, shingle_count, canonical)
    VALUES (given_id, version, 0, content_hash, sentence_hashes, signature, buckets, word_count, shingle_count,
            original IS NULL);
    IF others <> '{}' THEN
        INSERT INTO match (article_id, other_id, relation, rule, score, sentence_jaccard, signature_jaccard, containment)
        SELECT given_id, m.other_id, 'duplicate', m.rule, m.score, m.sentence_jaccard, m.signature_jaccard, m.containment
        FROM unnest(others, rules, scores, sentences, signatures, containments)
             AS m (other_id, rule, score, sentence_jaccard, signature_jaccard, containment);
    END IF;
    INSERT INTO credit_unread (article_id) VALUES (given_id) ON CONFLICT DO NOTHING;
    UPDATE corpus_state SET settled_through = place WHERE settled_through < place;
    RETURN true;
END $$;
COMMENT ON FUNCTION dedup.store_new IS 'Store a new article with its mark: a duplicate of an original, or unique; false where it is known already.';

-- Most articles are new. Here one call settles those that share nothing with others: they are stored as unique. Of
-- the others it returns what shares something, for the program to compare, and in the last row a number for what was
-- told. A second call brings that number and the mark, which is stored if the same would be told again: nothing is
-- locked meanwhile. Or it says why the article is not so plain.
CREATE FUNCTION dedup.submit_new(
    rules text[], most integer,
    source_id text, body text, title text, url text, publication text, published_at timestamptz,
    added_at timestamptz, language text, byline text, kept jsonb,
    version bigint, content_hash bigint, sentence_hashes bigint[], signature bytea, buckets bigint[],
    word_count integer, shingle_count integer,
    policy text, earliest timestamptz,
    told_before bigint, original bigint, score double precision, reason text,
    others bigint[], other_rules text[], scores double precision[], sentences double precision[],
    signatures double precision[], containments double precision[]
) RETURNS TABLE (
    outcome text, article_id bigint, other_time timestamptz, other_source_id text, other_content_hash bigint,
    other_sentences bigint[], other_signature bytea, other_buckets bigint[], other_shingle_count integer,
    told bigint, added timestamptz
)
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_variable
DECLARE
    state corpus_state;
    own bigint[];
    contents bigint[] := CASE WHEN buckets = '{}' THEN ARRAY[content_hash] ELSE '{}' END;
    place timestamptz := canonical_time(published_at, coalesce(added_at, now()), policy, earliest);
    found_ids bigint[];
    later boolean;
BEGIN
    -- In this order: the lock itself is waited for as long as the transaction may wait, a row 0.1 s.
    PERFORM settle_lock();
    PERFORM set_config('lock_timeout', '100ms', true), set_config('dedup.settling', 'on', true),
            set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
            set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
    SELECT * INTO state FROM corpus_state;
    IF rules IS DISTINCT FROM ARRAY[state.fingerprint_digest, state.rule_digest, state.algorithm_revision::text,
                                    state.unicode_version] THEN
        outcome := 'rules';
    -- In the order of the index of unsettled articles, so that no other one can be chosen.
    ELSIF state.bulk_run IS NOT NULL OR state.settled_through IS NULL
          OR EXISTS (SELECT FROM article a WHERE a.source_id = submit_new.source_id)
          OR EXISTS (SELECT FROM deferred_article w WHERE w.source_id = submit_new.source_id)
          OR EXISTS (
              SELECT FROM article_mark k WHERE k.status = 'pending' OR k.stale ORDER BY k.time, k.id LIMIT 1)
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
    -- Duplicates matter where they may be later.
    SELECT coalesce(array_agg(s.article_id), '{}'), coalesce(bool_or(NOT s.canonical), false) INTO found_ids, later
    FROM (SELECT * FROM sharing(CASE WHEN place <= state.settled_through THEN '{true,false}' ELSE '{true}' END::boolean[],
                                own, buckets, contents) LIMIT most + 1) AS s;
    IF cardinality(found_ids) > most OR later THEN
        outcome := 'not plain';
        RETURN NEXT;
        RETURN;
    END IF;
    IF found_ids <> '{}' THEN
        outcome := 'shared';
        told := hash_array_extended(own, 0);
        FOR article_id, other_time, other_source_id, other_content_hash, other_sentences, other_signature,
            other_buckets, other_shingle_count IN
            SELECT a.id, canonical_time(a.published_at, a.added_at, policy, earliest), a.source_id, f.content_hash,
                   ARRAY(SELECT s.hash FROM unnest(f.sentence_hashes) AS s (hash)
                         WHERE NOT EXISTS (SELECT FROM common_sentence c WHERE c.sentence_hash = s.hash OFFSET 0)),
                   f.signature, f.buckets, f.shingle_count
            FROM unnest(found_ids) AS found (id)
            CROSS JOIN LATERAL (SELECT * FROM article WHERE id = found.id OFFSET 0) AS a
            CROSS JOIN LATERAL (SELECT * FROM fingerprint WHERE fingerprint.article_id = found.id OFFSET 0) AS f
            WHERE (SELECT k.takes_part FROM article_mark k WHERE k.id = found.id OFFSET 0)
        LOOP
            told := hash_record_extended(
                ROW(told, article_id, other_time, other_source_id, other_content_hash, other_sentences, other_signature,
                    other_buckets, other_shingle_count), 0);
            IF told_before IS NULL THEN
                RETURN NEXT;
            END IF;
        END LOOP;
    END IF;
    IF told IS DISTINCT FROM told_before THEN
        outcome := CASE WHEN told_before IS NULL THEN 'shares' ELSE 'not plain' END;
        other_sentences := own;
        other_time := place;
        added := coalesce(added_at, now());
    ELSIF store_new(
        source_id, body, title, url, publication, published_at, added_at, language, byline, kept,
        version, content_hash, sentence_hashes, signature, buckets, word_count, shingle_count,
        policy, earliest, original, score, reason, others, other_rules, scores, sentences, signatures, containments) THEN
        outcome := 'stored';
    ELSE
        outcome := 'not plain';
    END IF;
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION dedup.submit_new IS
    'Take the settle lock; store and mark an article that is new and shares nothing, or just what was told before; else say what it shares with which.';
