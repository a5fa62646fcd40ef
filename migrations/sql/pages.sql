-- A look-up reads fewer pages, and a submitted article writes fewer.

-- Keys of a new article go to a list of up to 256 kB, about 350 articles, which look-ups read as a whole. In the tree of
-- the index each key has its own page, which after a checkpoint would be copied to the WAL. An INSERT
-- moves a full list into the tree.
ALTER INDEX dedup.recent_key_keys SET (fastupdate = on, gin_pending_list_limit = 256);

-- With the merged keys, the index gives up its pages: a look-up would go through the empty ones, and so would writes.
CREATE OR REPLACE FUNCTION dedup.compact_index(index_name text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp
    SET lock_timeout = '1s' AS $$
BEGIN
    IF index_name IS NULL OR index_name NOT IN (
        'article_unsettled', 'article_mark_pkey', 'fingerprint_pkey', 'fingerprint_bulk_pkey', 'recent_key_keys'
    ) THEN
        RAISE EXCEPTION 'no index to be made again' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    EXECUTE format('REINDEX INDEX dedup.%I', index_name);
END $$;

CREATE FUNCTION dedup.uncommon(hashes bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    common bigint[] := ARRAY(SELECT c.sentence_hash FROM common_sentence c WHERE c.sentence_hash = ANY (hashes));
BEGIN
    RETURN CASE WHEN common = '{}' THEN hashes ELSE ARRAY(SELECT h FROM unnest(hashes) AS h WHERE h <> ALL (common)) END;
END $$;
COMMENT ON FUNCTION dedup.uncommon(bigint[]) IS 'Sentences, in the given order, without common sentences.';

-- Most calls of `submit` bring a new article, or a new text of an article, and change the marks of few others. A first
-- call stores an article that shares nothing. Otherwise it returns the settled articles that share something, so that the
-- program decides the marks. Of an edited article it also returns its copies, and the originals that share something with
-- the originals similar to it (`partners`). The last row has a checksum of them, the partners as buckets, and as the
-- article the number of the transaction. The second call brings these and the mark; it stores both if no other transaction was at
-- work during or between the calls, or if the checksum is still the same, because nothing is locked between the calls. In
-- all other cases the outcome is 'not plain'. The rules need `published_at` and the number of sentences of the others, too.
DROP FUNCTION dedup.submit_new;
CREATE FUNCTION dedup.submit_new(
    given dedup.submission, rules text[], policy text, earliest timestamptz, most integer, pairs_kept integer,
    told_before bigint, mark jsonb
) RETURNS TABLE (
    outcome text, article_id bigint, other_time timestamptz, other_source_id text, other_content_hash bigint,
    other_sentences bigint[], other_signature bytea, other_buckets bigint[], other_shingle_count integer,
    other_score double precision, other_reason text, other_published timestamptz, other_sentence_count integer,
    told bigint, added timestamptz, unsettled bigint
)
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_variable
DECLARE
    state corpus_state;
    before article;  -- the stored article, if this is an edit
    own bigint[];
    contents bigint[] := CASE WHEN given.buckets = '{}' THEN ARRAY[given.content_hash] ELSE '{}' END;
    place timestamptz;
    latest boolean;
    found_ids bigint[];
    copies bigint[];  -- of the article before the edit
    partners bigint[];  -- similar to the article before the edit
    near bigint[] := '{}';  -- originals that share something with partners, and these themselves
    plain boolean;
    is_original boolean;
    gained bigint[];
    outdone bigint[];
    outdone_others bigint[];
    text_revision integer;
    originals bigint[];
    seen pg_snapshot;
    turn bigint;  -- the number of this transaction if no other one is at work, or worked since it began
BEGIN
    -- In this order: the lock itself is waited for as long as the transaction may wait, a row 0.1 s.
    PERFORM settle_lock();
    PERFORM set_config('lock_timeout', '100ms', true), set_config('dedup.settling', 'on', true),
            set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
            set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
    -- The lock has given this transaction its number. The snapshot begins and ends with that number unless an earlier
    -- transaction is at work, or a later one has ended.
    seen := pg_current_snapshot();
    turn := pg_current_xact_id()::text::bigint;
    IF pg_snapshot_xmin(seen)::text::bigint <> turn OR pg_snapshot_xmax(seen)::text::bigint <> turn THEN
        turn := NULL;
    END IF;
    SELECT * INTO state FROM corpus_state;
    SELECT * INTO before FROM article a WHERE a.source_id = given.source_id;
    given.published_at := coalesce(given.published_at, before.published_at);
    added := coalesce(given.added_at, before.added_at, now());
    place := canonical_time(given.published_at, added, policy, earliest);
    partners := ARRAY(
        SELECT m.other_id FROM match m WHERE m.article_id = before.id AND m.relation = 'similar'
        UNION ALL
        SELECT m.article_id FROM match m WHERE m.other_id = before.id AND m.relation = 'similar' ORDER BY 1);
    IF turn = (mark->>'after')::bigint + 1 THEN
        told := told_before;  -- nothing has changed since the first call
    ELSIF rules IS DISTINCT FROM ARRAY[state.fingerprint_digest, state.rule_digest, state.algorithm_revision::text,
                                    state.unicode_version] THEN
        outcome := 'rules';
    ELSIF state.bulk_run IS NOT NULL OR state.settled_through IS NULL OR place < state.horizon
          OR before.id IS NOT NULL AND (
              before.attachment_id IS NOT NULL OR before.text IS NOT DISTINCT FROM given.body
              -- The fingerprint was made with the given title and language.
              OR before.title IS NOT NULL AND given.title IS NULL
              OR before.language IS NOT NULL AND given.language IS NULL
              OR NOT EXISTS (
                  SELECT FROM article_mark k WHERE k.id = before.id AND k.status IN ('unique', 'similar', 'duplicate')
                  AND k.takes_part AND NOT k.stale AND NOT k.archived)
              -- Copies without another original are compared with the new text, and similar articles without another pair.
              -- Of others, all pairs would be needed.
              OR EXISTS (
                  SELECT FROM match m CROSS JOIN LATERAL (SELECT * FROM article_mark WHERE id = m.article_id OFFSET 0) AS k
                  WHERE m.other_id = before.id AND (
                      k.stale OR NOT k.takes_part OR pairs_kept = 1
                      OR EXISTS (SELECT FROM match o WHERE o.article_id = m.article_id AND o.other_id <> before.id OFFSET 0)))
              OR EXISTS (
                  SELECT FROM unnest(partners) AS p (id)
                  WHERE EXISTS (SELECT FROM match o WHERE o.article_id = p.id AND o.other_id <> before.id OFFSET 0)
                     OR EXISTS (
                         SELECT FROM match o
                         WHERE o.other_id = p.id AND o.relation = 'similar' AND o.article_id <> before.id OFFSET 0))
              OR EXISTS (
                  SELECT FROM match m CROSS JOIN LATERAL (SELECT * FROM article_mark WHERE id = m.other_id OFFSET 0) AS k
                  WHERE m.article_id = before.id AND (k.stale OR NOT k.takes_part)))
          OR EXISTS (SELECT FROM deferred_article w WHERE w.source_id = given.source_id)
          OR EXISTS (SELECT FROM pair_pin p WHERE p.source_id = given.source_id)
          OR EXISTS (SELECT FROM pair_pin p WHERE p.other_source_id = given.source_id) THEN
        outcome := 'not plain';
    END IF;
    IF outcome IS NOT NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;
    IF told IS NULL THEN
        -- In the order of the index of unsettled articles, so that no other one can be chosen.
        SELECT count(*) INTO unsettled
        FROM (SELECT FROM article_mark k WHERE k.status = 'pending' OR k.stale ORDER BY k.time, k.id LIMIT 1000) AS u;
        latest := place > state.settled_through;
        own := uncommon(given.sentence_hashes);
        copies := ARRAY(SELECT m.article_id FROM match m WHERE m.other_id = before.id AND m.relation = 'duplicate' ORDER BY 1);
        -- Duplicates matter where they may be later, or may be unsettled.
        SELECT coalesce(array_agg(s.article_id) FILTER (WHERE s.canonical OR NOT latest OR copies <> '{}'), '{}'),
               count(*) <= most
               AND coalesce(bool_and(k.takes_part AND k.status <> 'pending' AND NOT k.stale), true)
               AND copies <@ coalesce(array_agg(s.article_id), '{}')
        INTO found_ids, plain
        FROM (SELECT * FROM sharing(CASE WHEN latest AND unsettled = 0 AND copies = '{}' THEN '{true}' ELSE '{true,false}' END::boolean[],
                                    own || given.buckets || contents) AS s
              WHERE s.article_id IS DISTINCT FROM before.id LIMIT most + 1) AS s
        CROSS JOIN LATERAL (SELECT * FROM article_mark WHERE id = s.article_id OFFSET 0) AS k;
        IF plain AND partners <> '{}' THEN
            SELECT array_agg(DISTINCT s.article_id), bool_and(k.takes_part AND k.status <> 'pending' AND NOT k.stale)
            INTO near, plain
            FROM unnest(partners) AS p (id)
            CROSS JOIN LATERAL (SELECT * FROM fingerprint f WHERE f.article_id = p.id OFFSET 0) AS f
            CROSS JOIN LATERAL (
                SELECT * FROM sharing('{true}', keys(uncommon(f.sentence_hashes), f.buckets, f.content_hash))
                LIMIT most + 1) AS s
            CROSS JOIN LATERAL (SELECT * FROM article_mark WHERE id = s.article_id OFFSET 0) AS k
            WHERE s.article_id <> before.id;
            plain := plain AND partners <@ near AND cardinality(near) <= most;
        END IF;
        IF plain IS NOT TRUE THEN
            outcome := 'not plain';
            RETURN NEXT;
            RETURN;
        END IF;
        IF found_ids || near <> '{}' THEN
            told := hash_array_extended(own || copies || partners, coalesce(before.id, 0));
            FOR article_id, other_time, other_source_id, other_content_hash, other_sentences, other_signature,
                other_buckets, other_shingle_count, other_score, other_reason, other_published, other_sentence_count,
                is_original IN
                SELECT a.id, canonical_time(a.published_at, a.added_at, policy, earliest), a.source_id, f.content_hash,
                       uncommon(f.sentence_hashes),
                       f.signature, f.buckets, f.shingle_count, k.score, k.reason, a.published_at,
                       cardinality(f.sentence_hashes), f.canonical
                FROM unnest(ARRAY(SELECT DISTINCT unnest(found_ids || near) ORDER BY 1)) AS found (id)
                CROSS JOIN LATERAL (SELECT * FROM article WHERE id = found.id OFFSET 0) AS a
                CROSS JOIN LATERAL (SELECT * FROM article_mark WHERE id = found.id OFFSET 0) AS k
                CROSS JOIN LATERAL (SELECT * FROM fingerprint WHERE fingerprint.article_id = found.id OFFSET 0) AS f
            LOOP
                told := hash_record_extended(
                    ROW(told, article_id, other_time, other_source_id, other_content_hash, other_sentences, other_signature,
                        other_buckets, other_shingle_count, other_score, other_reason, other_published,
                        other_sentence_count, is_original), 0);
                IF told_before IS NULL THEN
                    outcome := CASE WHEN article_id <> ALL (found_ids) THEN 'near' WHEN is_original THEN 'original'
                                    WHEN article_id = ANY (copies) THEN 'copy' ELSE 'duplicate' END;
                    RETURN NEXT;
                END IF;
            END LOOP;
        END IF;
    END IF;
    IF told IS DISTINCT FROM told_before THEN
        outcome := CASE WHEN told_before IS NULL THEN 'shares' ELSE 'not plain' END;
        other_sentences := own;
        other_time := place;
        other_published := given.published_at;
        other_buckets := partners;
        article_id := turn;
        RETURN NEXT;
        RETURN;
    END IF;
    gained := ARRAY(SELECT (p->>'other_id')::bigint FROM jsonb_array_elements(mark->'pairs') AS p
                    WHERE (p->>'best_match')::boolean);
    IF before.id IS NULL THEN
        PERFORM set_config('dedup.storing', 'on', true);  -- it brings its mark
        INSERT INTO article (source_id, url, title, publication, published_at, added_at, language, byline, kept, text)
        VALUES (given.source_id, given.url, given.title, given.publication, given.published_at, added, given.language,
                given.byline, given.kept, given.body)
        ON CONFLICT ON CONSTRAINT article_source_id_key DO NOTHING RETURNING article.id, article.revision INTO article_id, text_revision;
        PERFORM set_config('dedup.storing', 'off', true);
        IF NOT FOUND THEN
            outcome := 'not plain';
            RETURN NEXT;
            RETURN;
        END IF;
        INSERT INTO article_mark (id, time, status, takes_part, duplicate_of, score, reason, marked_at)
        VALUES (article_id, coalesce(given.published_at, added), coalesce(mark->>'status', 'unique'), true,
                (mark->>'duplicate_of')::bigint, (mark->>'score')::double precision, mark->>'reason', now());
    ELSE
        originals := ARRAY(SELECT m.other_id FROM match m WHERE m.article_id = before.id);
        -- Triggers remove the old fingerprint and the pairs; they make the mark pending, and marks of partners stale.
        UPDATE article a
        SET text = given.body, title = given.title, url = coalesce(given.url, a.url),
            publication = coalesce(given.publication, a.publication), published_at = given.published_at,
            added_at = added, language = given.language, byline = coalesce(given.byline, a.byline),
            kept = coalesce(given.kept, a.kept)
        WHERE a.id = before.id RETURNING a.id, a.revision INTO article_id, text_revision;
        UPDATE article_mark
        SET status = coalesce(mark->>'status', 'unique'), takes_part = true,
            duplicate_of = (mark->>'duplicate_of')::bigint, score = (mark->>'score')::double precision,
            reason = mark->>'reason', limit_fired = NULL, marked_at = now()
        WHERE id = article_id;
        UPDATE article_mark SET stale = false WHERE id = ANY (originals);
    END IF;
    INSERT INTO fingerprint (article_id, version, revision, content_hash, sentence_hashes, signature, buckets,
                             word_count, shingle_count, canonical)
    VALUES (article_id, given.version, text_revision, given.content_hash, given.sentence_hashes, given.signature,
            given.buckets, given.word_count, given.shingle_count, mark->>'duplicate_of' IS NULL);
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
    IF mark->'later' <> '[]' THEN
        INSERT INTO match (article_id, other_id, relation, rule, score, sentence_jaccard, signature_jaccard, containment,
                           best_match)
        SELECT p.article_id, article_id, p.relation, p.rule, p.score, p.sentence_jaccard, p.signature_jaccard,
               p.containment, p.best_match
        FROM jsonb_to_recordset(mark->'later') AS p (
            article_id bigint, relation text, rule text, score double precision, sentence_jaccard double precision,
            signature_jaccard double precision, containment double precision, best_match boolean);
    END IF;
    IF mark->'marks' <> '[]' THEN
        UPDATE article_mark k
        SET stale = false, status = m.status, score = m.score, reason = m.reason, limit_fired = NULL, marked_at = now()
        FROM (SELECT * FROM jsonb_to_recordset(mark->'marks') AS m (
                  id bigint, status text, score double precision, reason text) OFFSET 0) AS m
        WHERE k.id = m.id;
    END IF;
    INSERT INTO credit_unread (article_id) VALUES (article_id) ON CONFLICT DO NOTHING;
    UPDATE corpus_state SET settled_through = place WHERE settled_through < place;
    outcome := 'stored';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION dedup.submit_new IS
    'Take the settle lock, and store an article and its mark if the article shares nothing, or only what the call before returned; otherwise return what it shares, and with which articles.';
