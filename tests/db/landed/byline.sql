-- The byline of an article: who wrote it, as it was given. It is shown and not compared.

ALTER TABLE dedup.article ADD COLUMN byline text;
COMMENT ON COLUMN dedup.article.byline IS 'Who wrote it, as it was given; not compared.';
ALTER TABLE dedup.deferred_article ADD COLUMN byline text;
COMMENT ON COLUMN dedup.deferred_article.byline IS 'Null keeps what is stored.';
-- In an attached table it is changed there.
DROP TRIGGER article_attached_update ON dedup.article;
CREATE TRIGGER article_attached_update
    BEFORE UPDATE OF source_id, url, title, publication, published_at, added_at, language, byline, text, attachment_id,
                     text_hash, kept ON dedup.article
    FOR EACH ROW WHEN (OLD.attachment_id IS NOT NULL OR NEW.attachment_id IS NOT NULL)
    EXECUTE FUNCTION dedup.article_attached();
ALTER TABLE dedup.article ENABLE ALWAYS TRIGGER article_attached_update;

-- The views of articles show it too.
CREATE OR REPLACE VIEW dedup.marked_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, k.time, a.language, a.text,
       a.revision, a.attachment_id, a.text_hash, k.status, k.stale, k.takes_part, k.duplicate_of, k.score, k.reason,
       k.limit_fired, k.marked_at, k.archived, a.kept, a.byline
-- LEFT: who asks for no column of the mark does not pay for it.
FROM dedup.article a LEFT JOIN dedup.article_mark k ON k.id = a.id;
COMMENT ON COLUMN dedup.marked_article.byline IS 'Who wrote it, as it was given.';

CREATE OR REPLACE VIEW dedup.mark AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       a.status, a.stale, a.duplicate_of, o.source_id AS original_source_id, a.score, a.reason, a.limit_fired,
       a.marked_at, a.archived, a.kept, a.byline
FROM dedup.marked_article a LEFT JOIN dedup.article o ON o.id = a.duplicate_of;
COMMENT ON COLUMN dedup.mark.byline IS 'Who wrote it, as it was given.';

CREATE OR REPLACE VIEW dedup.canonical_article AS
SELECT a.id, a.source_id, a.url, a.title, a.publication, a.published_at, a.added_at, a.language,
       coalesce(a.text, (SELECT t.text FROM dedup.article_text t WHERE t.article_id = a.id)
           COLLATE "default") AS text,
       a.status, a.stale, a.score, a.reason, a.marked_at, a.archived, a.kept, a.byline
FROM dedup.marked_article a
WHERE a.status <> 'duplicate';
COMMENT ON COLUMN dedup.canonical_article.byline IS 'Who wrote it, as it was given.';

CREATE OR REPLACE VIEW dedup.story_article AS
SELECT a.id, a.source_id, c.id AS story_id, c.source_id AS story_source_id, a.status, a.stale, a.score,
       a.reason, a.title, a.publication, k.at AS appeared_at,
       CASE WHEN a.id = c.id AND k.at IS NOT NULL THEN interval '0' ELSE t.delay END AS delay, a.archived,
       t.delay IS NOT NULL OR (a.id = c.id AND k.at IS NOT NULL) AS times_known, a.byline
FROM dedup.marked_article a JOIN dedup.article c ON c.id = coalesce(a.duplicate_of, a.id)
CROSS JOIN LATERAL (
    SELECT CASE WHEN a.published_at >= '1605-01-01 00:00:00+00' AND a.published_at - a.added_at <= interval '24 hours'
                 THEN a.published_at END AS at,
           CASE WHEN c.published_at >= '1605-01-01 00:00:00+00' AND c.published_at - c.added_at <= interval '24 hours'
                 THEN c.published_at END AS original_at
) k
CROSS JOIN LATERAL (
    SELECT CASE WHEN (k.at AT TIME ZONE 'UTC')::date <> (k.original_at AT TIME ZONE 'UTC')::date
                     OR (k.at <> date_trunc('day', k.at, 'UTC') AND k.original_at <> date_trunc('day', k.original_at, 'UTC'))
                THEN k.at - k.original_at END AS delay
) t;
COMMENT ON COLUMN dedup.story_article.byline IS 'Who wrote it, as it was given.';

-- A hook brings it. These take the place of those in settling.sql, which says what they do.
DROP FUNCTION dedup.store_new;
DROP FUNCTION dedup.submit_new;

CREATE FUNCTION dedup.store_new(
    source_id text, body text, title text, url text, publication text, published_at timestamptz,
    added_at timestamptz, language text, byline text,
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
    INSERT INTO article (source_id, url, title, publication, published_at, added_at, language, byline, text)
    VALUES (source_id, url, title, publication, published_at, coalesce(added_at, now()), language, byline, body)
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
    UPDATE corpus_state SET settled_through = place WHERE settled_through < place;
    RETURN true;
END $$;
COMMENT ON FUNCTION dedup.store_new IS 'Store a new article with its mark: a duplicate of an original, or unique; false where it is known already.';

CREATE FUNCTION dedup.submit_new(
    rules text[], most integer,
    source_id text, body text, title text, url text, publication text, published_at timestamptz,
    added_at timestamptz, language text, byline text,
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
        source_id, body, title, url, publication, published_at, added_at, language, byline,
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
