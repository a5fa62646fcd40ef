-- A call of `submit` stores most articles with their mark at once.

DROP FUNCTION dedup.submit_new;
DROP FUNCTION dedup.store_new;

CREATE TYPE dedup.submission AS (
    source_id text, body text, title text, url text, publication text, published_at timestamptz, added_at timestamptz,
    language text, byline text, kept jsonb,
    version bigint, content_hash bigint, sentence_hashes bigint[], signature bytea, buckets bigint[],
    word_count integer, shingle_count integer
);
COMMENT ON TYPE dedup.submission IS 'An article to be stored, with its fingerprint.';

CREATE FUNCTION dedup.clear_best_match(ids bigint[]) RETURNS TABLE (article_id bigint, other_id bigint)
    LANGUAGE sql SET search_path = pg_catalog, dedup, pg_temp AS $$
    UPDATE match m SET best_match = false
    WHERE m.ctid = ANY (ARRAY(
        SELECT found.ctid FROM unnest(ids) AS given (id) CROSS JOIN LATERAL (
            SELECT p.ctid FROM match p WHERE p.other_id = given.id AND p.best_match OFFSET 0) AS found))
    RETURNING m.article_id, m.other_id
$$;
COMMENT ON FUNCTION dedup.clear_best_match IS
    'Take the flag from the pairs whose later article was most like one of these, and return the pairs.';

CREATE FUNCTION dedup.drop_pairs(articles bigint[], others bigint[], pairs integer, policy text, earliest timestamptz)
    RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, dedup, pg_temp AS $$
    DELETE FROM match WHERE ctid = ANY (ARRAY(
        SELECT kept.place_on_disk
        FROM unnest(articles, others) AS given (article_id, other_id)
        CROSS JOIN LATERAL (
            SELECT m.ctid, m.other_id, m.best_match, m.rule,
                   row_number() OVER (ORDER BY m.score DESC, m.rule COLLATE "C", o.time, o.source_id)
            FROM (SELECT p.ctid, p.* FROM match p
                  WHERE p.article_id = given.article_id AND p.relation = 'similar' OFFSET 0) AS m
            CROSS JOIN LATERAL (
                SELECT canonical_time(a.published_at, a.added_at, policy, earliest), a.source_id
                FROM article a WHERE a.id = m.other_id OFFSET 0) AS o (time, source_id)
            OFFSET 0
        ) AS kept (place_on_disk, other_id, best_match, rule, rank)
        WHERE kept.other_id = given.other_id AND NOT kept.best_match AND kept.rule <> 'pinned' AND kept.rank > pairs))
$$;
COMMENT ON FUNCTION dedup.drop_pairs IS
    'Drop those of some similar pairs that were kept only because the later article was most like the earlier one. The rank is that of `kept_similar` in dedup/rules/marks.py.';

-- Most articles are new, and what they share they share with settled canonical articles before them. A first call stores
-- what shares nothing. Of the others it returns what shares something, for the program to decide, and in the last row a
-- number for what was told. A second call brings that number and the mark, which is stored if the same would be told
-- again: nothing is locked meanwhile. All else is 'not plain'.
CREATE FUNCTION dedup.submit_new(
    given dedup.submission, rules text[], policy text, earliest timestamptz, most integer, pairs_kept integer,
    told_before bigint, mark jsonb
) RETURNS TABLE (
    outcome text, article_id bigint, other_time timestamptz, other_source_id text, other_content_hash bigint,
    other_sentences bigint[], other_signature bytea, other_buckets bigint[], other_shingle_count integer,
    other_score double precision, other_reason text, told bigint, added timestamptz, unsettled bigint
)
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_variable
DECLARE
    state corpus_state;
    own bigint[];
    contents bigint[] := CASE WHEN given.buckets = '{}' THEN ARRAY[given.content_hash] ELSE '{}' END;
    place timestamptz := canonical_time(given.published_at, coalesce(given.added_at, now()), policy, earliest);
    latest boolean;
    found_ids bigint[];
    plain boolean;
    gained bigint[];
    outdone bigint[];
    outdone_others bigint[];
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
    ELSIF state.bulk_run IS NOT NULL OR state.settled_through IS NULL OR place < state.horizon
          OR EXISTS (SELECT FROM article a WHERE a.source_id = given.source_id)
          OR EXISTS (SELECT FROM deferred_article w WHERE w.source_id = given.source_id)
          OR EXISTS (SELECT FROM pair_pin p WHERE p.source_id = given.source_id)
          OR EXISTS (SELECT FROM pair_pin p WHERE p.other_source_id = given.source_id) THEN
        outcome := 'not plain';
    END IF;
    IF outcome IS NOT NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;
    -- In the order of the index of unsettled articles, so that no other one can be chosen.
    SELECT count(*) INTO unsettled
    FROM (SELECT FROM article_mark k WHERE k.status = 'pending' OR k.stale ORDER BY k.time, k.id LIMIT 10000) AS u;
    latest := place > state.settled_through;
    own := ARRAY(SELECT s.hash FROM unnest(given.sentence_hashes) AS s (hash)
                 WHERE NOT EXISTS (SELECT FROM common_sentence c WHERE c.sentence_hash = s.hash OFFSET 0));
    -- Duplicates matter where they may be later, or may be unsettled.
    SELECT coalesce(array_agg(s.article_id) FILTER (WHERE s.canonical), '{}'),
           count(*) <= most
           AND coalesce(bool_and(k.takes_part AND k.status <> 'pending' AND NOT k.stale AND (s.canonical OR latest)), true)
    INTO found_ids, plain
    FROM (SELECT * FROM sharing(CASE WHEN latest AND unsettled = 0 THEN '{true}' ELSE '{true,false}' END::boolean[],
                                own, given.buckets, contents) LIMIT most + 1) AS s
    CROSS JOIN LATERAL (SELECT * FROM article_mark WHERE id = s.article_id OFFSET 0) AS k;
    IF NOT plain THEN
        outcome := 'not plain';
        RETURN NEXT;
        RETURN;
    END IF;
    IF found_ids <> '{}' THEN
        told := hash_array_extended(own, 0);
        FOR article_id, other_time, other_source_id, other_content_hash, other_sentences, other_signature,
            other_buckets, other_shingle_count, other_score, other_reason IN
            SELECT a.id, canonical_time(a.published_at, a.added_at, policy, earliest), a.source_id, f.content_hash,
                   ARRAY(SELECT s.hash FROM unnest(f.sentence_hashes) AS s (hash)
                         WHERE NOT EXISTS (SELECT FROM common_sentence c WHERE c.sentence_hash = s.hash OFFSET 0)),
                   f.signature, f.buckets, f.shingle_count, k.score, k.reason
            FROM unnest(found_ids) AS found (id)
            CROSS JOIN LATERAL (SELECT * FROM article WHERE id = found.id OFFSET 0) AS a
            CROSS JOIN LATERAL (SELECT * FROM article_mark WHERE id = found.id OFFSET 0) AS k
            CROSS JOIN LATERAL (SELECT * FROM fingerprint WHERE fingerprint.article_id = found.id OFFSET 0) AS f
        LOOP
            told := hash_record_extended(
                ROW(told, article_id, other_time, other_source_id, other_content_hash, other_sentences, other_signature,
                    other_buckets, other_shingle_count, other_score, other_reason), 0);
            IF told_before IS NULL THEN
                outcome := 'shared';
                RETURN NEXT;
            END IF;
        END LOOP;
    END IF;
    added := coalesce(given.added_at, now());
    IF told IS DISTINCT FROM told_before THEN
        outcome := CASE WHEN told_before IS NULL THEN 'shares' ELSE 'not plain' END;
        other_sentences := own;
        other_time := place;
        RETURN NEXT;
        RETURN;
    END IF;
    gained := ARRAY(SELECT (p->>'other_id')::bigint FROM jsonb_array_elements(mark->'pairs') AS p
                    WHERE (p->>'best_match')::boolean);
    PERFORM set_config('dedup.storing', 'on', true);  -- it brings its mark
    INSERT INTO article (source_id, url, title, publication, published_at, added_at, language, byline, kept, text)
    VALUES (given.source_id, given.url, given.title, given.publication, given.published_at, added, given.language,
            given.byline, given.kept, given.body)
    ON CONFLICT ON CONSTRAINT article_source_id_key DO NOTHING RETURNING id INTO article_id;
    PERFORM set_config('dedup.storing', 'off', true);
    IF NOT FOUND THEN
        outcome := 'not plain';
        RETURN NEXT;
        RETURN;
    END IF;
    INSERT INTO article_mark (id, time, status, takes_part, duplicate_of, score, reason, marked_at)
    VALUES (article_id, coalesce(given.published_at, added), coalesce(mark->>'status', 'unique'), true,
            (mark->>'duplicate_of')::bigint, (mark->>'score')::double precision, mark->>'reason', now());
    INSERT INTO fingerprint (article_id, version, revision, content_hash, sentence_hashes, signature, buckets,
                             word_count, shingle_count, canonical)
    VALUES (article_id, given.version, 0, given.content_hash, given.sentence_hashes, given.signature, given.buckets,
            given.word_count, given.shingle_count, mark->>'duplicate_of' IS NULL);
    IF mark IS NOT NULL THEN
        SELECT array_agg(c.article_id), array_agg(c.other_id) INTO outdone, outdone_others FROM clear_best_match(gained) AS c;
        INSERT INTO match (article_id, other_id, relation, rule, score, sentence_jaccard, signature_jaccard, containment,
                           best_match)
        SELECT article_id, p.other_id, mark->>'status', p.rule, p.score, p.sentence_jaccard, p.signature_jaccard,
               p.containment, p.best_match
        FROM jsonb_to_recordset(mark->'pairs') AS p (
            other_id bigint, rule text, score double precision, sentence_jaccard double precision,
            signature_jaccard double precision, containment double precision, best_match boolean);
        UPDATE article_mark k
        SET status = 'similar', score = m.score, reason = m.rule, limit_fired = NULL, marked_at = now()
        FROM unnest(gained) AS earlier (id) CROSS JOIN LATERAL (
            SELECT p.score, p.rule FROM match p WHERE p.article_id = article_id AND p.other_id = earlier.id OFFSET 0) AS m
        WHERE k.id = earlier.id;
        IF outdone IS NOT NULL THEN
            PERFORM drop_pairs(outdone, outdone_others, pairs_kept, policy, earliest);
        END IF;
    END IF;
    INSERT INTO credit_unread (article_id) VALUES (article_id) ON CONFLICT DO NOTHING;
    UPDATE corpus_state SET settled_through = place WHERE settled_through < place;
    outcome := 'stored';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION dedup.submit_new IS
    'Take the settle lock; store and mark an article that is new and shares nothing, or just what was told before; else say what it shares with which.';
