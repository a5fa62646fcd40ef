-- Back to the schema of 0002: the indexes with whole keys.

ALTER TABLE dedup.corpus_state DROP COLUMN bulk_run;
DROP INDEX dedup.fingerprint_canonical, dedup.fingerprint_duplicate;
DROP FUNCTION dedup.submit_new, dedup.store_new;
DROP FUNCTION dedup.refold(integer), dedup.make_indexes(regclass, integer), dedup.use_indexes(integer);
DROP FUNCTION dedup.folded(bigint[]), dedup.folded_duplicate(bigint[]),
              dedup.keys(bigint[], bigint[], bigint);
CREATE INDEX fingerprint_canonical ON dedup.fingerprint
    USING gin (sentence_hashes, buckets) WITH (fastupdate = off) WHERE canonical;
CREATE INDEX fingerprint_duplicate ON dedup.fingerprint
    USING gin (sentence_hashes, buckets) WITH (fastupdate = off) WHERE NOT canonical;
CREATE INDEX fingerprint_content ON dedup.fingerprint (content_hash) WHERE buckets = '{}';

CREATE OR REPLACE FUNCTION dedup.sharing(
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

CREATE OR REPLACE FUNCTION dedup.carrier(sentences bigint[])
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

CREATE OR REPLACE FUNCTION dedup.holder(bucket_keys bigint[])
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

CREATE OR REPLACE FUNCTION dedup.state_came() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    NEW.recount_all := true;
    NEW.settled_through := NULL;
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION dedup.article_new() RETURNS trigger
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
