-- Recent keys: a row per fingerprint with an index over its keys, in place of a row per key. And new texts of articles
-- that are unique or duplicates are stored by `submit_new`, too.

ALTER TABLE dedup.recent_key RENAME TO recent_entry;
CREATE TABLE dedup.recent_key (
    article_id bigint NOT NULL,
    keys bigint[] NOT NULL
);
-- Hashes cannot be compressed. There is no other index, which a plan made for an empty table would prefer.
ALTER TABLE dedup.recent_key ALTER keys SET STORAGE EXTERNAL;
CREATE INDEX recent_key_keys ON dedup.recent_key USING gin (keys) WITH (fastupdate = off);
ALTER TABLE dedup.recent_key REPLICA IDENTITY FULL;
COMMENT ON TABLE dedup.recent_key IS 'Keys of the latest fingerprints, which are in no segment yet.';
COMMENT ON COLUMN dedup.recent_key.article_id IS 'The article. Several rows are possible, also with keys that it no longer has.';
COMMENT ON COLUMN dedup.recent_key.keys IS 'What the article is found by: dedup.keys.';
INSERT INTO dedup.recent_key (article_id, keys)
SELECT f.article_id, dedup.keys(f.sentence_hashes, f.buckets, f.content_hash)
FROM dedup.fingerprint f WHERE f.article_id IN (SELECT entry & 4294967295 FROM dedup.recent_entry);

-- A page with free space for updates only: new rows go to the end of the table. In holes of old pages, each would cost a
-- copy of a whole page in the WAL.
ALTER TABLE dedup.fingerprint SET (fillfactor = 85);

-- Recent keys are not divided by `among`, because the caller checks the fingerprint anyway. Few keys are looked up in the
-- index. For the many keys of a batch it is faster to read all recent keys once; CASE keeps the planner from making a join
-- of the subquery, which is a hash table this way.
DROP FUNCTION dedup.sharing(boolean[], bigint[], bigint[], bigint[]);
DROP FUNCTION dedup.holding(boolean[], bigint[]);
CREATE FUNCTION dedup.holding(among boolean[], hashes bigint[]) RETURNS TABLE (hash bigint, article_id bigint)
    LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
SELECT k.hash, e.entry & 4294967295
FROM dedup.key_segment AS s
CROSS JOIN unnest(hashes) AS k (hash)
CROSS JOIN LATERAL (
    SELECT b.entries FROM dedup.key_block AS b
    WHERE b.segment = s.id AND b.number = dedup.block(k.hash, s.blocks) OFFSET 0) AS b
CROSS JOIN LATERAL unnest(b.entries[
    width_bucket(dedup.entry(k.hash, 0) - 1, b.entries) + 1 :
    width_bucket(dedup.entry(k.hash, 4294967295), b.entries)]) AS e (entry)
WHERE s.canonical = ANY (among)
  AND b.entries[width_bucket(dedup.entry(k.hash, 0) - 1, b.entries) + 1] <= dedup.entry(k.hash, 4294967295)
UNION ALL
SELECT k.key, r.article_id FROM dedup.recent_key AS r CROSS JOIN LATERAL unnest(r.keys) AS k (key)
WHERE cardinality(hashes) <= 2000 AND r.keys && hashes AND k.key = ANY (hashes)
UNION ALL
SELECT k.key, r.article_id FROM dedup.recent_key AS r CROSS JOIN LATERAL unnest(r.keys) AS k (key)
WHERE cardinality(hashes) > 2000 AND CASE WHEN k.key IN (SELECT unnest(hashes)) THEN true END;
END;
COMMENT ON FUNCTION dedup.holding(boolean[], bigint[]) IS
    'Articles that may have some keys, among canonical ones, duplicates, or both; their fingerprints tell whether they have.';

CREATE FUNCTION dedup.sharing(among boolean[], hashes bigint[]) RETURNS TABLE (article_id bigint, canonical boolean)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = on
    SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    SELECT hit.article_id, hit.canonical
    FROM (SELECT h.article_id, array_agg(h.hash) AS hashes FROM holding(among, hashes) AS h GROUP BY 1) AS found
    CROSS JOIN LATERAL (
        SELECT f.article_id, f.canonical FROM fingerprint f
        WHERE f.article_id = found.article_id AND f.canonical = ANY (among)
          AND found.hashes && keys(f.sentence_hashes, f.buckets, f.content_hash) OFFSET 0) AS hit;
END $$;
COMMENT ON FUNCTION dedup.sharing(boolean[], bigint[]) IS
    'Fingerprinted articles, canonical ones, duplicates, or both, that have one of these keys.';

-- An index of arrays can be read by bitmap scans only.
ALTER FUNCTION dedup.carrier(bigint[]) SET enable_bitmapscan = on;
ALTER FUNCTION dedup.holder(bigint[]) SET enable_bitmapscan = on;

CREATE OR REPLACE FUNCTION dedup.publish_bulk() RETURNS void
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
    ALTER TABLE fingerprint SET (fillfactor = 85);
    ALTER TABLE fingerprint_bulk RESET (fillfactor);
END $$;

-- An article is found by the keys of all its rows, so rows are only added: a merge may be deleting the others.
CREATE OR REPLACE FUNCTION dedup.fingerprint_came() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'fingerprint' THEN
        INSERT INTO sentence_change (article_id) SELECT article_id FROM came;
        INSERT INTO recent_key (article_id, keys)
        SELECT article_id, keys(sentence_hashes, buckets, content_hash) FROM came;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION dedup.fingerprint_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'fingerprint' THEN
        INSERT INTO recent_key (article_id, keys)
        SELECT article_id, keys(sentence_hashes, buckets, content_hash) FROM is_now;
    END IF;
    RETURN NULL;
END $$;

DROP TABLE dedup.recent_entry;

-- Most calls of `submit` bring a new article, or a new text of an article that is unique or a duplicate, and share keys
-- only with settled originals before it. A first call stores an article that shares nothing. Otherwise it returns the originals
-- that share something, so that the program decides the mark, and in the last row a checksum of them. The second call
-- brings the checksum and the mark; it stores both if the checksum is still the same, because nothing is locked between
-- the calls. In all other cases the outcome is 'not plain'.
CREATE OR REPLACE FUNCTION dedup.submit_new(
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
    before article;  -- the stored article, if this is an edit
    own bigint[];
    contents bigint[] := CASE WHEN given.buckets = '{}' THEN ARRAY[given.content_hash] ELSE '{}' END;
    place timestamptz;
    latest boolean;
    found_ids bigint[];
    plain boolean;
    gained bigint[];
    outdone bigint[];
    outdone_others bigint[];
    text_revision integer;
    originals bigint[];
BEGIN
    -- In this order: the lock itself is waited for as long as the transaction may wait, a row 0.1 s.
    PERFORM settle_lock();
    PERFORM set_config('lock_timeout', '100ms', true), set_config('dedup.settling', 'on', true),
            set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
            set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true);
    SELECT * INTO state FROM corpus_state;
    SELECT * INTO before FROM article a WHERE a.source_id = given.source_id;
    given.published_at := coalesce(given.published_at, before.published_at);
    added := coalesce(given.added_at, before.added_at, now());
    place := canonical_time(given.published_at, added, policy, earliest);
    IF rules IS DISTINCT FROM ARRAY[state.fingerprint_digest, state.rule_digest, state.algorithm_revision::text,
                                    state.unicode_version] THEN
        outcome := 'rules';
    ELSIF state.bulk_run IS NOT NULL OR state.settled_through IS NULL OR place < state.horizon
          OR before.id IS NOT NULL AND (
              before.attachment_id IS NOT NULL OR before.text IS NOT DISTINCT FROM given.body
              -- The fingerprint was made with the given title and language.
              OR before.title IS NOT NULL AND given.title IS NULL
              OR before.language IS NOT NULL AND given.language IS NULL
              OR NOT EXISTS (
                  SELECT FROM article_mark k WHERE k.id = before.id AND k.status IN ('unique', 'duplicate')
                  AND k.takes_part AND NOT k.stale AND NOT k.archived)
              -- Without a copy, its originals keep their marks. Copies of the article itself would be compared again.
              OR EXISTS (SELECT FROM match m WHERE m.other_id = before.id)
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
    -- In the order of the index of unsettled articles, so that no other one can be chosen.
    SELECT count(*) INTO unsettled
    FROM (SELECT FROM article_mark k WHERE k.status = 'pending' OR k.stale ORDER BY k.time, k.id LIMIT 1000) AS u;
    latest := place > state.settled_through;
    own := ARRAY(SELECT s.hash FROM unnest(given.sentence_hashes) AS s (hash)
                 WHERE NOT EXISTS (SELECT FROM common_sentence c WHERE c.sentence_hash = s.hash OFFSET 0));
    -- Duplicates matter where they may be later, or may be unsettled.
    SELECT coalesce(array_agg(s.article_id) FILTER (WHERE s.canonical), '{}'),
           count(*) <= most
           AND coalesce(bool_and(k.takes_part AND k.status <> 'pending' AND NOT k.stale AND (s.canonical OR latest)), true)
    INTO found_ids, plain
    FROM (SELECT * FROM sharing(CASE WHEN latest AND unsettled = 0 THEN '{true}' ELSE '{true,false}' END::boolean[],
                                own || given.buckets || contents) AS s
          WHERE s.article_id IS DISTINCT FROM before.id LIMIT most + 1) AS s
    CROSS JOIN LATERAL (SELECT * FROM article_mark WHERE id = s.article_id OFFSET 0) AS k;
    IF NOT plain THEN
        outcome := 'not plain';
        RETURN NEXT;
        RETURN;
    END IF;
    IF found_ids <> '{}' THEN
        told := hash_array_extended(own, coalesce(before.id, 0));
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
    IF told IS DISTINCT FROM told_before THEN
        outcome := CASE WHEN told_before IS NULL THEN 'shares' ELSE 'not plain' END;
        other_sentences := own;
        other_time := place;
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
    INSERT INTO credit_unread (article_id) VALUES (article_id) ON CONFLICT DO NOTHING;
    UPDATE corpus_state SET settled_through = place WHERE settled_through < place;
    outcome := 'stored';
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION dedup.submit_new IS
    'Take the settle lock, and store an article and its mark if the article shares nothing, or only what the call before returned; otherwise return what it shares, and with which articles.';
