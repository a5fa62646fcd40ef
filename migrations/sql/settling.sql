-- Settling: scored pairs, common sentences, the state of the corpus, and the functions that decide and undo.

CREATE TABLE dedup.match (
    article_id bigint NOT NULL,
    other_id bigint NOT NULL,
    relation text NOT NULL,
    rule text NOT NULL,
    score double precision NOT NULL,
    sentence_jaccard double precision NOT NULL,
    signature_jaccard double precision NOT NULL,
    containment double precision NOT NULL,
    best_match boolean NOT NULL DEFAULT false,
    -- No foreign keys to the articles, as of marks and fingerprints: to check both takes five times as long as to
    -- write the pair, and locks rows of articles.
    CONSTRAINT match_pkey PRIMARY KEY (article_id, other_id),
    CONSTRAINT match_relation_check CHECK (relation IN ('duplicate', 'similar')),
    CONSTRAINT match_rule_check CHECK (rule IN ('pinned', 'content', 'sentences', 'signature', 'containment'))
);
CREATE UNIQUE INDEX match_best_match ON dedup.match (other_id) WHERE best_match;
-- What is like an article, by how much: an item of a template is like thousands.
CREATE INDEX match_other ON dedup.match (other_id, score);
-- The pairs near a threshold.
CREATE INDEX match_score ON dedup.match (score) WHERE rule IN ('sentences', 'signature');
CREATE INDEX match_containment ON dedup.match (containment) WHERE rule = 'containment';
COMMENT ON TABLE dedup.match IS
    'Scored pairs: a duplicate with the best of the canonical articles it duplicates; a canonical article with the best of the earlier canonical ones it is similar to, and with the one it is most like of all.';
COMMENT ON COLUMN dedup.match.article_id IS 'The later article of the pair.';
COMMENT ON COLUMN dedup.match.other_id IS 'The earlier one, always canonical.';
COMMENT ON COLUMN dedup.match.relation IS 'duplicate or similar.';
COMMENT ON COLUMN dedup.match.rule IS 'What decided: pinned, content, sentences, signature or containment.';
COMMENT ON COLUMN dedup.match.score IS 'The larger of the two Jaccards; 1 for equal content.';
COMMENT ON COLUMN dedup.match.sentence_jaccard IS 'Shared sentences over all sentences of both, common sentences left out.';
COMMENT ON COLUMN dedup.match.signature_jaccard IS 'Estimated Jaccard of the shingles of both; 0 where one has none.';
COMMENT ON COLUMN dedup.match.containment IS 'How much of the shorter article is in the longer one.';
COMMENT ON COLUMN dedup.match.best_match IS 'Of all articles, earlier and later, the later one of the pair is the one most like the earlier one.';

CREATE TABLE dedup.common_sentence (
    sentence_hash bigint NOT NULL,
    carriers integer NOT NULL,
    effective_stories double precision NOT NULL,
    example text,
    since timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT common_sentence_pkey PRIMARY KEY (sentence_hash)
);
-- What pages of common sentences ask, with the bits of the hash turned over: an index that holds the hash
-- itself is read from end to end by some versions of Postgres where a few hashes are to be looked up.
CREATE INDEX common_sentence_carriers ON dedup.common_sentence (carriers, (~sentence_hash));
CREATE INDEX common_sentence_stories ON dedup.common_sentence (effective_stories, (~sentence_hash));
COMMENT ON TABLE dedup.common_sentence IS 'Sentences that too many different stories carry: they find no candidates and count in no score. Brought up to date by the backfill.';
COMMENT ON COLUMN dedup.common_sentence.sentence_hash IS 'Hash of the normalised sentence.';
COMMENT ON COLUMN dedup.common_sentence.carriers IS 'Articles that carry it.';
COMMENT ON COLUMN dedup.common_sentence.effective_stories IS 'How many equally large stories these articles amount to.';
COMMENT ON COLUMN dedup.common_sentence.example IS 'The sentence as one of its articles prints it.';
COMMENT ON COLUMN dedup.common_sentence.since IS 'When it became common.';

CREATE TABLE dedup.sentence_count (
    sentence_hash bigint NOT NULL,
    carriers integer NOT NULL,
    pairs bigint NOT NULL,
    CONSTRAINT sentence_count_pkey PRIMARY KEY (sentence_hash)
);
COMMENT ON TABLE dedup.sentence_count IS
    'What decides whether a sentence is common, of every sentence that enough articles carry; changed by difference, never counted again each night.';
COMMENT ON COLUMN dedup.sentence_count.sentence_hash IS 'Hash of the normalised sentence.';
COMMENT ON COLUMN dedup.sentence_count.carriers IS 'Articles that carry it; more than the setting common_stories.';
COMMENT ON COLUMN dedup.sentence_count.pairs IS 'Ordered pairs of carriers with an equal bucket key, summed over the bands.';

CREATE TABLE dedup.sentence_change (
    id bigint GENERATED ALWAYS AS IDENTITY,
    article_id bigint,
    sentence_hashes bigint[],
    buckets bigint[],
    CONSTRAINT sentence_change_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE dedup.sentence_change IS 'Fingerprints that came or went, and pins that changed, since the common sentences were last counted.';
COMMENT ON COLUMN dedup.sentence_change.id IS 'Number of the change.';
COMMENT ON COLUMN dedup.sentence_change.article_id IS 'The article whose fingerprint came or went; null for a pin.';
COMMENT ON COLUMN dedup.sentence_change.sentence_hashes IS 'The sentences of a fingerprint that went, or the one of a pin; null: the fingerprint came.';
COMMENT ON COLUMN dedup.sentence_change.buckets IS 'The buckets of a fingerprint that went.';

CREATE TABLE dedup.corpus_state (
    only_row boolean NOT NULL DEFAULT true,
    fingerprint_digest text,
    algorithm_revision integer NOT NULL DEFAULT 0,
    unicode_version text,
    rule_digest text,
    settled_through timestamptz,
    recount_all boolean NOT NULL DEFAULT true,
    bulk_run bigint,
    horizon timestamptz,
    horizon_wanted timestamptz,
    divided text DEFAULT 'no horizon',
    CONSTRAINT corpus_state_pkey PRIMARY KEY (only_row),
    CONSTRAINT corpus_state_only_row_check CHECK (only_row)
);
INSERT INTO dedup.corpus_state DEFAULT VALUES;
COMMENT ON TABLE dedup.corpus_state IS 'One row: what the stored results were made with.';
COMMENT ON COLUMN dedup.corpus_state.only_row IS 'Always true: there is one row.';
COMMENT ON COLUMN dedup.corpus_state.fingerprint_digest IS 'Settings and sentence parameters of the fingerprints.';
COMMENT ON COLUMN dedup.corpus_state.algorithm_revision IS 'Revision of the fingerprint algorithm.';
COMMENT ON COLUMN dedup.corpus_state.unicode_version IS 'Version of the Unicode tables that the fingerprints were made with.';
COMMENT ON COLUMN dedup.corpus_state.rule_digest IS 'Settings of the marks.';
COMMENT ON COLUMN dedup.corpus_state.settled_through IS 'No settled article is later than this in canonical order.';
COMMENT ON COLUMN dedup.corpus_state.recount_all IS 'The next backfill counts every sentence again.';
COMMENT ON COLUMN dedup.corpus_state.bulk_run IS 'The run that settles the whole corpus at once: until it ends hooks settle nothing. Null: there is none.';
COMMENT ON COLUMN dedup.corpus_state.horizon IS 'Articles before this time in canonical order are archived; null: none is.';
COMMENT ON COLUMN dedup.corpus_state.horizon_wanted IS 'The horizon that `dedup prune` asked for: the next backfill moves it there when all is settled.';
COMMENT ON COLUMN dedup.corpus_state.divided IS
    'The horizon, and the settings of canonical order, by which all articles were last divided; null, or others than those in force: the next backfill divides them again.';

CREATE TABLE dedup.settle_turn (
    only_row boolean NOT NULL DEFAULT true,
    CONSTRAINT settle_turn_pkey PRIMARY KEY (only_row),
    CONSTRAINT settle_turn_only_row_check CHECK (only_row)
);
INSERT INTO dedup.settle_turn DEFAULT VALUES;
COMMENT ON TABLE dedup.settle_turn IS 'One row: who locks it settles. Nothing is ever written to it.';
COMMENT ON COLUMN dedup.settle_turn.only_row IS 'Always true: there is one row.';

CREATE TABLE dedup.bulk_change (
    id bigint GENERATED ALWAYS AS IDENTITY,
    article_id bigint NOT NULL,
    CONSTRAINT bulk_change_pkey PRIMARY KEY (id)
);
COMMENT ON TABLE dedup.bulk_change IS 'Articles that were edited, deleted or pinned while the bulk engine is at work: what it decided about them does not count.';
COMMENT ON COLUMN dedup.bulk_change.id IS 'Order of the changes.';
COMMENT ON COLUMN dedup.bulk_change.article_id IS 'The article, which may be gone.';

-- The settle lock: one settler per corpus. It is the lock of a row, so that only roles that may write the
-- bookkeeping can take it, and those that edit articles, for as long as their transaction.
CREATE FUNCTION dedup.settle_lock() RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    PERFORM FROM settle_turn FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'dedup.settle_turn has lost its row' USING HINT = 'Run `dedup verify --repair`.';
    END IF;
END $$;
COMMENT ON FUNCTION dedup.settle_lock() IS 'Wait for the settle lock and hold it to the end of the transaction.';

-- The time of an article in canonical order; SQL's twin of `order_key` in dedup/rules/marks.py.
CREATE FUNCTION dedup.canonical_time(
    published_at timestamptz, added_at timestamptz, policy text, earliest timestamptz
) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN policy = 'published' AND published_at >= earliest
                     AND published_at - added_at <= interval '24 hours'
                THEN published_at ELSE added_at END;
COMMENT ON FUNCTION dedup.canonical_time(timestamptz, timestamptz, text, timestamptz) IS
    'The time of an article in canonical order, under the setting canonical_order and the start of earliest_year.';

-- Articles to be settled again. They keep their last mark until then. One whose original is just being deleted
-- is left to the trigger of that deletion. Archived ones are not settled again.
CREATE FUNCTION dedup.make_stale(ids bigint[]) RETURNS SETOF bigint
    LANGUAGE sql SET search_path = pg_catalog, dedup, pg_temp SET enable_seqscan = off AS $$
    UPDATE article_mark a SET stale = true
    WHERE a.id = ANY (ids) AND NOT a.stale AND a.status IN ('unique', 'similar', 'duplicate') AND NOT a.archived
      -- OFFSET 0: looked up one by one, and not by reading all articles once.
      AND (a.duplicate_of IS NULL OR (SELECT true FROM article o WHERE o.id = a.duplicate_of OFFSET 0))
    RETURNING a.id
$$;
COMMENT ON FUNCTION dedup.make_stale(bigint[]) IS 'Have articles settled again; returns those that were settled.';

-- Articles whose place or scores change: they take no part until they are settled again, and what was
-- decided by them is decided again. Their pairs stay visible until those that replace them are written: each
-- pair is written again when its later article is settled, and that article is stale. Each row is written once.
-- Needs the settle lock.
CREATE FUNCTION dedup.withdraw(ids bigint[]) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp SET enable_seqscan = off AS $$
BEGIN
    -- OFFSET 0: looked up one by one, whatever the statistics say.
    PERFORM make_stale(ARRAY(
        SELECT later.article_id FROM unnest(ids) AS given (id)
        CROSS JOIN LATERAL (SELECT m.article_id FROM match m WHERE m.other_id = given.id OFFSET 0) AS later
        EXCEPT SELECT unnest(ids)));
    UPDATE article_mark a
    SET takes_part = false,
        stale = a.stale OR a.status IN ('unique', 'similar', 'duplicate')
            AND (a.duplicate_of IS NULL OR (SELECT true FROM article o WHERE o.id = a.duplicate_of OFFSET 0)) IS TRUE
    WHERE a.id = ANY (ids) AND NOT a.archived
      AND (a.takes_part OR NOT a.stale AND a.status IN ('unique', 'similar', 'duplicate'));
END $$;
COMMENT ON FUNCTION dedup.withdraw(bigint[]) IS 'Let articles take no part until they are settled again, and have settled again what they decided.';

-- Articles whose text is gone or another one: their pairs go at once, and both sides of them are settled again.
CREATE FUNCTION dedup.remove_pairs(ids bigint[]) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp SET enable_seqscan = off AS $$
DECLARE
    partners bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM match m WHERE m.ctid = ANY (ARRAY(
            SELECT pair.place FROM unnest(ids) AS given (id) CROSS JOIN LATERAL (
                SELECT * FROM (SELECT e.ctid FROM match e WHERE e.article_id = given.id OFFSET 0) AS earlier
                UNION ALL
                SELECT * FROM (SELECT l.ctid FROM match l WHERE l.other_id = given.id OFFSET 0) AS later
            ) AS pair (place)))
        RETURNING m.article_id, m.other_id
    )
    SELECT array_agg(id) INTO partners
    FROM (
        SELECT article_id FROM gone UNION SELECT other_id FROM gone EXCEPT SELECT unnest(ids)
    ) AS partner (id);
    PERFORM make_stale(partners);
END $$;
COMMENT ON FUNCTION dedup.remove_pairs(bigint[]) IS 'Remove the pairs of articles, and have their partners settled again.';

CREATE FUNCTION dedup.note_bulk_change(ids bigint[]) RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, dedup, pg_temp AS $$
    INSERT INTO bulk_change (article_id)
    SELECT given.id FROM unnest(ids) AS given (id), corpus_state s WHERE s.bulk_run IS NOT NULL
$$;
COMMENT ON FUNCTION dedup.note_bulk_change(bigint[]) IS 'Note that articles changed, if the bulk engine is at work.';

-- A waiting fingerprint is counted with the others, and stays where it is when its text changes, since its
-- table may be busy. That it counts no more is noted as for those in use.
CREATE FUNCTION dedup.waiting_went(ids bigint[], revisions integer[]) RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, dedup, pg_temp SET enable_seqscan = off AS $$
    INSERT INTO sentence_change (article_id, sentence_hashes, buckets)
    SELECT w.article_id, w.sentence_hashes, w.buckets
    FROM unnest(ids, revisions) AS given (id, revision)
    CROSS JOIN LATERAL (
        SELECT * FROM fingerprint_bulk b WHERE b.article_id = given.id AND b.revision = given.revision OFFSET 0) AS w
    WHERE NOT EXISTS (SELECT FROM fingerprint f WHERE f.article_id = w.article_id)
$$;
COMMENT ON FUNCTION dedup.waiting_went(bigint[], integer[]) IS 'Note that the waiting fingerprints of articles, of these revisions of their texts, no longer count.';

-- What an edit touches is settled again for many articles at once: who follows an attached table changes
-- thousands. With the rights of the schema's owner, as the triggers: who settles need not be able to write
-- these notes.
CREATE FUNCTION dedup.articles_edited(ids bigint[], before integer[], after integer[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp SET enable_seqscan = off AS $$
DECLARE
    rewritten bigint[];
    revisions integer[];
    moved bigint[];
    came_back bigint[];
BEGIN
    SELECT array_agg(g.id) FILTER (WHERE g.was <> g.is_now), array_agg(g.was) FILTER (WHERE g.was <> g.is_now),
           array_agg(g.id) FILTER (WHERE g.was = g.is_now)
    INTO rewritten, revisions, moved
    FROM unnest(ids, before, after) AS g (id, was, is_now);
    PERFORM note_bulk_change(ids);
    UPDATE article_mark k SET time = coalesce(a.published_at, a.added_at)
    FROM article a WHERE k.id = ANY (ids) AND a.id = k.id AND k.time <> coalesce(a.published_at, a.added_at);
    -- One that was archived may be inside now. Its pairs with those that stay archived go: they would count as pairs of
    -- an article inside.
    WITH back AS (
        UPDATE article_mark
        SET archived = false, stale = status <> 'failed', marked_at = CASE WHEN status <> 'failed' THEN marked_at END,
            reason = CASE WHEN status <> 'failed' THEN reason END,
            status = CASE WHEN status = 'failed' THEN 'pending' ELSE status END
        WHERE id = ANY (ids) AND archived RETURNING id)
    SELECT array_agg(id) INTO came_back FROM back;
    IF came_back IS NOT NULL THEN
        PERFORM remove_pairs(came_back);
    END IF;
    IF rewritten IS NOT NULL THEN
        PERFORM waiting_went(rewritten, revisions);
        DELETE FROM fingerprint WHERE article_id = ANY (rewritten);
        UPDATE article_mark
        SET status = 'pending', stale = false, takes_part = false, duplicate_of = NULL, score = NULL, reason = NULL,
            marked_at = NULL
        WHERE id = ANY (rewritten);
        PERFORM remove_pairs(rewritten);
    END IF;
    IF moved IS NOT NULL THEN
        PERFORM withdraw(moved);
    END IF;
END $$;
COMMENT ON FUNCTION dedup.articles_edited(bigint[], integer[], integer[]) IS
    'Have settled again what edits of articles touch, given their revisions before and after. Needs the settle lock.';

-- What TRUNCATE takes away no trigger sees row by row. What was made from it is made again by the next
-- backfill.
CREATE FUNCTION dedup.emptied() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF current_setting('dedup.publishing', true) = 'on' THEN
        RETURN NULL;  -- what was in it is in the table that takes its place
    END IF;
    -- Whatever the bulk engine decided rests on what is gone.
    UPDATE corpus_state SET recount_all = true, bulk_run = NULL WHERE NOT recount_all OR bulk_run IS NOT NULL;
    IF TG_TABLE_NAME = 'article_mark' THEN
        INSERT INTO article_mark (id, time, attachment_id)
        SELECT id, coalesce(published_at, added_at), attachment_id FROM article;
    END IF;
    IF TG_TABLE_NAME = 'article' THEN
        TRUNCATE article_mark;
        IF EXISTS (SELECT FROM match) THEN
            TRUNCATE match;
        END IF;
        IF EXISTS (SELECT FROM fingerprint) THEN
            TRUNCATE fingerprint;
        END IF;
        IF EXISTS (SELECT FROM fingerprint_bulk) THEN
            TRUNCATE fingerprint_bulk;
        END IF;
    END IF;
    IF TG_TABLE_NAME = 'fingerprint' THEN
        TRUNCATE recent_key, key_segment, key_block;
    END IF;
    IF TG_TABLE_NAME IN ('fingerprint', 'match', 'pair_pin') THEN
        UPDATE article_mark SET takes_part = false, stale = status IN ('unique', 'similar', 'duplicate')
        WHERE NOT archived
          AND (takes_part OR NOT stale AND status IN ('unique', 'similar', 'duplicate'));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER article_emptied AFTER TRUNCATE ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER article_mark_emptied AFTER TRUNCATE ON dedup.article_mark
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER fingerprint_emptied AFTER TRUNCATE ON dedup.fingerprint
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER fingerprint_emptied AFTER TRUNCATE ON dedup.fingerprint_bulk
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER match_emptied AFTER TRUNCATE ON dedup.match
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER common_sentence_emptied AFTER TRUNCATE ON dedup.common_sentence
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER sentence_count_emptied AFTER TRUNCATE ON dedup.sentence_count
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER sentence_change_emptied AFTER TRUNCATE ON dedup.sentence_change
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();

-- Rows of the bookkeeping that come from elsewhere, as in a restore of data alone: what they count may not be
-- what is there. So the next backfill counts everything again, and a place in time is not believed. A state
-- row from elsewhere keeps its horizon; which articles are archived may be another matter.
CREATE FUNCTION dedup.state_came() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    NEW.recount_all := true;
    NEW.settled_through := NULL;
    NEW.bulk_run := NULL;
    NEW.divided := NULL;
    RETURN NEW;
END $$;
CREATE TRIGGER corpus_state_came BEFORE INSERT ON dedup.corpus_state
    FOR EACH ROW EXECUTE FUNCTION dedup.state_came();
CREATE FUNCTION dedup.counts_came() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF current_setting('dedup.settling', true) IS DISTINCT FROM 'on' THEN
        UPDATE corpus_state SET recount_all = true WHERE NOT recount_all;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER sentence_count_came BEFORE INSERT OR UPDATE OR DELETE ON dedup.sentence_count
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.counts_came();
CREATE TRIGGER common_sentence_came BEFORE INSERT OR UPDATE OR DELETE ON dedup.common_sentence
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.counts_came();

-- The rows that there are one of.
CREATE FUNCTION dedup.only_row_stays() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'dedup.% has one row, which stays', TG_TABLE_NAME
        USING HINT = 'To empty a corpus: TRUNCATE dedup.article CASCADE.';
END $$;
CREATE TRIGGER corpus_state_stays BEFORE DELETE OR TRUNCATE ON dedup.corpus_state
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.only_row_stays();
CREATE TRIGGER settle_turn_stays BEFORE DELETE OR TRUNCATE ON dedup.settle_turn
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.only_row_stays();
