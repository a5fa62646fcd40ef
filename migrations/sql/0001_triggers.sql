-- Whoever changes an article, by this program or by plain SQL, the marks stay right: the triggers have settled
-- again what the change touches. They take the settle lock first. A transaction that has locked rows before (by
-- another edit, or SELECT FOR UPDATE) can still meet a settler in a deadlock; who is chosen to lose it gets the
-- error 40P01, and this program tries again.
--
-- The functions of triggers run with the rights of the schema's owner: who may edit an article need not be able
-- to write fingerprints, pairs and marks. No function may be called by everyone (see the end).

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
-- is left to the trigger of that deletion.
CREATE FUNCTION dedup.make_stale(ids bigint[]) RETURNS SETOF bigint
    LANGUAGE sql SET search_path = pg_catalog, dedup, pg_temp SET enable_seqscan = off AS $$
    UPDATE article a SET stale = true
    WHERE a.id = ANY (ids) AND NOT a.stale AND a.status IN ('unique', 'similar', 'duplicate')
      -- OFFSET 0: looked up one by one, and not by reading all articles once.
      AND (a.duplicate_of IS NULL OR (SELECT true FROM article o WHERE o.id = a.duplicate_of OFFSET 0))
    RETURNING a.id
$$;
COMMENT ON FUNCTION dedup.make_stale(bigint[]) IS 'Have articles settled again; returns those that were settled.';

-- Articles whose place or scores change: they take no part until they are settled again, and what was
-- decided by them is decided again. Their pairs stay visible until those that replace them are written: each
-- pair is written anew when its later article is settled, and that article is stale. Needs the settle lock.
CREATE FUNCTION dedup.withdraw(ids bigint[]) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp SET enable_seqscan = off AS $$
BEGIN
    -- OFFSET 0: looked up one by one, whatever the statistics say.
    PERFORM make_stale(ids || ARRAY(
        SELECT later.article_id FROM unnest(ids) AS given (id)
        CROSS JOIN LATERAL (SELECT m.article_id FROM match m WHERE m.other_id = given.id OFFSET 0) AS later));
    UPDATE article a SET takes_part = false WHERE a.id = ANY (ids) AND a.takes_part;
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

-- The look-ups of settling. Their plans must not depend on statistics: right after a bulk load these say
-- that hardly anything is canonical, and the planner would rather scan it all, once per key. So each key
-- is looked up on its own (OFFSET 0), and the GIN indexes are the only way left to do it.
CREATE FUNCTION dedup.sharing(
    among_canonical boolean, sentences bigint[], bucket_keys bigint[], contents bigint[]
) RETURNS TABLE (article_id bigint)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
BEGIN
    IF among_canonical THEN
        RETURN QUERY
        SELECT hit.article_id FROM unnest(sentences) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE f.sentence_hashes @> ARRAY[key.hash] AND f.canonical OFFSET 0) AS hit
        UNION
        SELECT hit.article_id FROM unnest(bucket_keys) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE f.buckets @> ARRAY[key.hash] AND f.canonical OFFSET 0) AS hit
        UNION
        SELECT f.article_id FROM fingerprint f
        WHERE f.content_hash = ANY (contents) AND f.buckets = '{}' AND f.canonical;
    ELSE
        RETURN QUERY
        SELECT hit.article_id FROM unnest(sentences) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE f.sentence_hashes @> ARRAY[key.hash] AND NOT f.canonical OFFSET 0) AS hit
        UNION
        SELECT hit.article_id FROM unnest(bucket_keys) AS key (hash) CROSS JOIN LATERAL (
            SELECT f.article_id FROM fingerprint f
            WHERE f.buckets @> ARRAY[key.hash] AND NOT f.canonical OFFSET 0) AS hit
        UNION
        SELECT f.article_id FROM fingerprint f
        WHERE f.content_hash = ANY (contents) AND f.buckets = '{}' AND NOT f.canonical;
    END IF;
END $$;
COMMENT ON FUNCTION dedup.sharing(boolean, bigint[], bigint[], bigint[]) IS
    'Fingerprinted articles, duplicates or all others, that have one of these sentences, buckets or content hashes.';

CREATE FUNCTION dedup.carrier(sentences bigint[])
    RETURNS TABLE (sentence_hash bigint, article_id bigint, buckets bigint[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
BEGIN
    RETURN QUERY
    SELECT key.hash, hit.article_id, hit.buckets FROM unnest(sentences) AS key (hash) CROSS JOIN LATERAL (
        SELECT f.article_id, f.buckets FROM fingerprint f
        WHERE f.sentence_hashes @> ARRAY[key.hash] AND f.canonical OFFSET 0) AS hit
    UNION ALL
    SELECT key.hash, hit.article_id, hit.buckets FROM unnest(sentences) AS key (hash) CROSS JOIN LATERAL (
        SELECT f.article_id, f.buckets FROM fingerprint f
        WHERE f.sentence_hashes @> ARRAY[key.hash] AND NOT f.canonical OFFSET 0) AS hit;
END $$;
COMMENT ON FUNCTION dedup.carrier(bigint[]) IS 'The articles that carry these sentences, with their buckets, one row per sentence and article.';

CREATE FUNCTION dedup.holder(bucket_keys bigint[])
    RETURNS TABLE (bucket bigint, sentence_hashes bigint[], buckets bigint[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
BEGIN
    RETURN QUERY
    SELECT key.hash, hit.sentence_hashes, hit.buckets FROM unnest(bucket_keys) AS key (hash) CROSS JOIN LATERAL (
        SELECT f.sentence_hashes, f.buckets FROM fingerprint f
        WHERE f.buckets @> ARRAY[key.hash] AND f.canonical OFFSET 0) AS hit
    UNION ALL
    SELECT key.hash, hit.sentence_hashes, hit.buckets FROM unnest(bucket_keys) AS key (hash) CROSS JOIN LATERAL (
        SELECT f.sentence_hashes, f.buckets FROM fingerprint f
        WHERE f.buckets @> ARRAY[key.hash] AND NOT f.canonical OFFSET 0) AS hit;
END $$;
COMMENT ON FUNCTION dedup.holder(bigint[]) IS 'The fingerprints that have these bucket keys, one row per key and article.';

-- What only settling may say: an article always begins as a pending one, whatever an INSERT claims. A restore of
-- the whole schema makes its triggers after its rows, and keeps the marks.
CREATE FUNCTION dedup.article_new() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
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
CREATE TRIGGER article_new BEFORE INSERT ON dedup.article FOR EACH ROW
    WHEN (NEW.revision <> 0 OR NEW.status <> 'pending' OR NEW.stale OR NEW.takes_part
          OR NOT (NEW.duplicate_of, NEW.score, NEW.reason, NEW.limit_fired, NEW.marked_at) IS NULL)
    EXECUTE FUNCTION dedup.article_new();

-- An UPDATE of marks is an error, save by this program and by the triggers here. The parameter guards against
-- accidents, since everyone may set it; the right to the lock guards against roles that may update all columns.
CREATE FUNCTION dedup.article_marks() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF pg_trigger_depth() = 1 AND (
        current_setting('dedup.settling', true) IS DISTINCT FROM 'on'
        OR NOT has_table_privilege('dedup.settle_turn', 'UPDATE')
    ) THEN
        RAISE EXCEPTION 'only dedup writes the marks of dedup.article' USING ERRCODE = 'insufficient_privilege',
            HINT = 'To overrule a mark say what two articles are to each other: `dedup pin set`.';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER article_marks
    BEFORE UPDATE OF revision, status, stale, takes_part, duplicate_of, score, reason, limit_fired, marked_at
    ON dedup.article FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_marks();

CREATE FUNCTION dedup.article_lock() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    -- An older snapshot would not show all pairs of the articles, and some would stay as they are.
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'articles and pins can be changed in READ COMMITTED transactions only'
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
    PERFORM settle_lock();
    RETURN NULL;
END $$;
CREATE TRIGGER article_lock
    BEFORE DELETE OR UPDATE OF source_id, title, text, language, published_at, added_at ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_lock();

-- An edit, in the row being written. What a fingerprint is made from makes the article pending; the title is
-- part of that only where the text is too short to be compared by its parts.
CREATE FUNCTION dedup.article_edit() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    rewritten boolean := (NEW.text, NEW.language) IS DISTINCT FROM (OLD.text, OLD.language)
        OR NEW.title IS DISTINCT FROM OLD.title AND NOT EXISTS (
            SELECT FROM fingerprint f
            WHERE f.article_id = OLD.id AND f.revision = OLD.revision AND f.buckets <> '{}');
BEGIN
    IF rewritten THEN
        NEW.revision := OLD.revision + 1;
        NEW.status := 'pending';
        NEW.stale := false;
        NEW.takes_part := false;
        NEW.duplicate_of := NULL;
        NEW.score := NULL;
        NEW.reason := NULL;
        NEW.marked_at := NULL;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER article_edit
    BEFORE UPDATE OF source_id, title, text, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN ((OLD.source_id, OLD.title, OLD.text, OLD.language, OLD.published_at, OLD.added_at)
        IS DISTINCT FROM (NEW.source_id, NEW.title, NEW.text, NEW.language, NEW.published_at, NEW.added_at))
    EXECUTE FUNCTION dedup.article_edit();

-- What else the change touches follows after the statement, because the statement may write those rows too.
-- The names start with a digit: triggers fire by name, and these must see the pairs before the foreign keys
-- ("RI_...") remove them.
CREATE FUNCTION dedup.article_edited() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF NEW.revision <> OLD.revision THEN
        DELETE FROM fingerprint WHERE article_id = OLD.id;
        PERFORM remove_pairs(ARRAY[OLD.id]);
    ELSE
        PERFORM withdraw(ARRAY[OLD.id]);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER "0_article_edited"
    AFTER UPDATE OF source_id, title, text, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN ((OLD.source_id, OLD.revision, OLD.published_at, OLD.added_at)
        IS DISTINCT FROM (NEW.source_id, NEW.revision, NEW.published_at, NEW.added_at))
    EXECUTE FUNCTION dedup.article_edited();

CREATE FUNCTION dedup.article_deleted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    DELETE FROM fingerprint WHERE article_id = OLD.id;
    -- A mark cannot point to an article that is gone.
    UPDATE article
    SET status = 'pending', stale = false, duplicate_of = NULL, score = NULL, reason = NULL, marked_at = NULL
    WHERE duplicate_of = OLD.id;
    PERFORM remove_pairs(ARRAY[OLD.id]);
    RETURN NULL;
END $$;
CREATE TRIGGER "0_article_deleted"
    AFTER DELETE ON dedup.article FOR EACH ROW EXECUTE FUNCTION dedup.article_deleted();

-- Every fingerprint that comes or goes is counted again, whoever wrote it.
CREATE FUNCTION dedup.fingerprint_came() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    INSERT INTO sentence_change (article_id) SELECT article_id FROM came;
    RETURN NULL;
END $$;
CREATE TRIGGER fingerprint_came AFTER INSERT ON dedup.fingerprint
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_came();

CREATE FUNCTION dedup.fingerprint_went() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    INSERT INTO sentence_change (article_id, sentence_hashes, buckets)
    SELECT article_id, sentence_hashes, buckets FROM went;
    RETURN NULL;
END $$;
CREATE TRIGGER fingerprint_went AFTER DELETE ON dedup.fingerprint
    REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_went();

-- A change of a sentence's pin is a change of the common sentences.
CREATE FUNCTION dedup.sentence_pin_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO sentence_change (sentence_hashes) VALUES (ARRAY[OLD.sentence_hash]);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO sentence_change (sentence_hashes) VALUES (ARRAY[NEW.sentence_hash]);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER sentence_pin_changed AFTER INSERT OR UPDATE OR DELETE ON dedup.sentence_pin
    FOR EACH ROW EXECUTE FUNCTION dedup.sentence_pin_changed();

-- A change of a pair's pin: both articles are settled again. The lock first, as for articles.
CREATE TRIGGER pair_pin_lock BEFORE INSERT OR UPDATE OR DELETE ON dedup.pair_pin
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_lock();
CREATE FUNCTION dedup.pair_pin_changed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM make_stale(ARRAY(SELECT id FROM article
                                 WHERE source_id IN (OLD.source_id, OLD.other_source_id)));
    END IF;
    IF TG_OP <> 'DELETE' THEN
        PERFORM make_stale(ARRAY(SELECT id FROM article
                                 WHERE source_id IN (NEW.source_id, NEW.other_source_id)));
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER pair_pin_changed AFTER INSERT OR UPDATE OR DELETE ON dedup.pair_pin
    FOR EACH ROW EXECUTE FUNCTION dedup.pair_pin_changed();

-- What TRUNCATE takes away no trigger sees row by row. What was made from it is made again by the next backfill.
CREATE FUNCTION dedup.emptied() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    UPDATE corpus_state SET recount_all = true WHERE NOT recount_all;
    IF TG_TABLE_NAME IN ('fingerprint', 'match', 'pair_pin') THEN
        UPDATE article SET takes_part = false, stale = status IN ('unique', 'similar', 'duplicate')
        WHERE takes_part OR NOT stale AND status IN ('unique', 'similar', 'duplicate');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER article_emptied AFTER TRUNCATE ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER fingerprint_emptied AFTER TRUNCATE ON dedup.fingerprint
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER match_emptied AFTER TRUNCATE ON dedup.match
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER common_sentence_emptied AFTER TRUNCATE ON dedup.common_sentence
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER sentence_count_emptied AFTER TRUNCATE ON dedup.sentence_count
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER sentence_change_emptied AFTER TRUNCATE ON dedup.sentence_change
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER sentence_pin_emptied AFTER TRUNCATE ON dedup.sentence_pin
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();
CREATE TRIGGER pair_pin_emptied AFTER TRUNCATE ON dedup.pair_pin
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.emptied();

-- Rows of the bookkeeping that come from elsewhere, as in a restore of data alone: what they count may not be what
-- is there. So the next backfill counts everything again, and a place in time is not believed.
CREATE FUNCTION dedup.state_came() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    NEW.recount_all := true;
    NEW.settled_through := NULL;
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

-- In replica mode too: whoever applies changes that way, the marks must follow them. A restore with
-- `--disable-triggers` switches them on in the plain way only, so `dedup verify --repair` calls this again.
CREATE FUNCTION dedup.fire_always() RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    found record;
BEGIN
    FOR found IN SELECT t.tgname, t.tgrelid::regclass AS owner FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
                 WHERE c.relnamespace = 'dedup'::regnamespace AND NOT t.tgisinternal AND t.tgenabled <> 'A' LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', found.owner, found.tgname);
    END LOOP;
END $$;
COMMENT ON FUNCTION dedup.fire_always() IS 'Let every trigger of the schema fire, in replica mode too.';
SELECT dedup.fire_always();

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dedup FROM PUBLIC;
