-- Whoever changes an article, by this program or by plain SQL, the marks stay right: the triggers make
-- pending what the change touches. They take the settle lock first, before any row is locked, so they
-- cannot deadlock with a settler.

-- The settle lock: one settler per corpus. The key is the text 'dedup' read as bytes.
CREATE FUNCTION dedup.settle_lock() RETURNS void
    LANGUAGE sql AS $$ SELECT pg_advisory_xact_lock(431197812080) $$;
COMMENT ON FUNCTION dedup.settle_lock() IS 'Wait for the settle lock and hold it to the end of the transaction.';

-- Articles to be settled again; their old marks go at once.
CREATE FUNCTION dedup.make_pending(ids bigint[]) RETURNS SETOF bigint
    LANGUAGE sql SET search_path = dedup, pg_catalog, pg_temp AS $$
    UPDATE article
    SET status = 'pending', duplicate_of = NULL, score = NULL, reason = NULL, marked_at = NULL
    WHERE id = ANY (ids) AND status <> 'pending' RETURNING id
$$;
COMMENT ON FUNCTION dedup.make_pending(bigint[]) IS 'Have articles settled again; returns those that were not pending already.';

-- Take articles out of what is settled: their pairs go, their partners become pending. The caller
-- decides what becomes of the articles themselves. Needs the settle lock.
CREATE FUNCTION dedup.withdraw(ids bigint[]) RETURNS void
    LANGUAGE plpgsql SET search_path = dedup, pg_catalog, pg_temp AS $$
DECLARE
    partners bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM match m WHERE m.article_id = ANY (ids) OR m.other_id = ANY (ids)
        RETURNING m.article_id, m.other_id
    )
    SELECT array_agg(id) INTO partners
    FROM (
        SELECT article_id FROM gone UNION SELECT other_id FROM gone EXCEPT SELECT unnest(ids)
    ) AS partner (id);
    PERFORM make_pending(partners);
    -- A duplicate always has a pair; this is for the ones among `ids` themselves.
    PERFORM make_pending(ARRAY(SELECT id FROM article WHERE duplicate_of = ANY (ids)));
    UPDATE fingerprint f SET canonical = NULL WHERE f.article_id = ANY (ids) AND f.canonical IS NOT NULL;
END $$;
COMMENT ON FUNCTION dedup.withdraw(bigint[]) IS 'Take articles out of what is settled; their partners become pending.';

-- The look-ups of settling. Their plans must not depend on statistics: right after a bulk load these say
-- that hardly anything is canonical, and the planner would rather scan it all, once per key. So each key
-- is looked up on its own (OFFSET 0), and the GIN indexes are the only way left to do it.
CREATE FUNCTION dedup.sharing(
    among_canonical boolean, sentences bigint[], bucket_keys bigint[], contents bigint[]
) RETURNS TABLE (article_id bigint)
    LANGUAGE plpgsql STABLE SET search_path = dedup, pg_catalog, pg_temp
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
    'Settled articles, canonical ones or the others, that have one of these sentences, buckets or content hashes.';

CREATE FUNCTION dedup.carrier(sentences bigint[])
    RETURNS TABLE (sentence_hash bigint, article_id bigint, sketch bigint)
    LANGUAGE plpgsql STABLE SET search_path = dedup, pg_catalog, pg_temp
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
BEGIN
    RETURN QUERY
    SELECT key.hash, hit.article_id, hit.sketch FROM unnest(sentences) AS key (hash) CROSS JOIN LATERAL (
        SELECT f.article_id, f.sketch FROM fingerprint f
        WHERE f.sentence_hashes @> ARRAY[key.hash] AND f.canonical OFFSET 0) AS hit
    UNION ALL
    SELECT key.hash, hit.article_id, hit.sketch FROM unnest(sentences) AS key (hash) CROSS JOIN LATERAL (
        SELECT f.article_id, f.sketch FROM fingerprint f
        WHERE f.sentence_hashes @> ARRAY[key.hash] AND NOT f.canonical OFFSET 0) AS hit;
END $$;
COMMENT ON FUNCTION dedup.carrier(bigint[]) IS 'Settled articles that carry these sentences, one row per sentence and article.';

CREATE FUNCTION dedup.article_lock() RETURNS trigger
    LANGUAGE plpgsql SET search_path = dedup, pg_catalog, pg_temp AS $$
BEGIN
    -- An older snapshot would not show all pairs of the articles, and some would stay as they are.
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'articles can be edited and deleted in READ COMMITTED transactions only'
            USING ERRCODE = 'invalid_transaction_state';
    END IF;
    PERFORM settle_lock();
    RETURN NULL;
END $$;
CREATE TRIGGER article_lock
    BEFORE DELETE OR UPDATE OF source_id, text, language, published_at, added_at ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_lock();

-- An edit: the article itself becomes pending in the row being written.
CREATE FUNCTION dedup.article_edit() RETURNS trigger
    LANGUAGE plpgsql SET search_path = dedup, pg_catalog, pg_temp AS $$
BEGIN
    IF (NEW.text, NEW.language) IS DISTINCT FROM (OLD.text, OLD.language) THEN
        NEW.revision := OLD.revision + 1;
    ELSIF OLD.status = 'failed' THEN
        RETURN NEW;
    END IF;
    NEW.status := 'pending';
    NEW.duplicate_of := NULL;
    NEW.score := NULL;
    NEW.reason := NULL;
    NEW.marked_at := NULL;
    RETURN NEW;
END $$;
CREATE TRIGGER article_edit
    BEFORE UPDATE OF source_id, text, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN ((OLD.source_id, OLD.text, OLD.language, OLD.published_at, OLD.added_at)
        IS DISTINCT FROM (NEW.source_id, NEW.text, NEW.language, NEW.published_at, NEW.added_at))
    EXECUTE FUNCTION dedup.article_edit();

-- Its partners become pending after the statement, because the statement may write their rows too. The
-- name starts with a digit: triggers fire by name, and this one must see the pairs before the foreign
-- keys ("RI_...") remove them.
CREATE FUNCTION dedup.article_withdraw() RETURNS trigger
    LANGUAGE plpgsql SET search_path = dedup, pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' OR NEW.revision <> OLD.revision THEN
        DELETE FROM fingerprint WHERE article_id = OLD.id;
    END IF;
    PERFORM withdraw(ARRAY[OLD.id]);
    RETURN NULL;
END $$;
CREATE TRIGGER "0_article_withdraw_edit"
    AFTER UPDATE OF source_id, text, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN ((OLD.source_id, OLD.text, OLD.language, OLD.published_at, OLD.added_at)
        IS DISTINCT FROM (NEW.source_id, NEW.text, NEW.language, NEW.published_at, NEW.added_at))
    EXECUTE FUNCTION dedup.article_withdraw();
CREATE TRIGGER "0_article_withdraw_delete"
    AFTER DELETE ON dedup.article FOR EACH ROW EXECUTE FUNCTION dedup.article_withdraw();

-- Every fingerprint that comes or goes is counted again, whoever wrote it.
CREATE FUNCTION dedup.fingerprint_came() RETURNS trigger
    LANGUAGE plpgsql SET search_path = dedup, pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO sentence_change (article_id) SELECT article_id FROM came;
    RETURN NULL;
END $$;
CREATE TRIGGER fingerprint_came AFTER INSERT ON dedup.fingerprint
    REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_came();

CREATE FUNCTION dedup.fingerprint_went() RETURNS trigger
    LANGUAGE plpgsql SET search_path = dedup, pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO sentence_change (sentence_hashes) SELECT sentence_hashes FROM went;
    RETURN NULL;
END $$;
CREATE TRIGGER fingerprint_went AFTER DELETE ON dedup.fingerprint
    REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE FUNCTION dedup.fingerprint_went();

-- A change of pins is a change of the common sentences.
CREATE FUNCTION dedup.pin_changed() RETURNS trigger
    LANGUAGE plpgsql SET search_path = dedup, pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO sentence_change (sentence_hashes) VALUES (ARRAY[OLD.sentence_hash]);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO sentence_change (sentence_hashes) VALUES (ARRAY[NEW.sentence_hash]);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER pin_changed AFTER INSERT OR UPDATE OR DELETE ON dedup.sentence_pin
    FOR EACH ROW EXECUTE FUNCTION dedup.pin_changed();
