-- Articles: what was stored. Versions that could not be stored at once wait beside them. The mark of each is in
-- marks.sql.
--
-- Whoever changes an article, by this program or by plain SQL, the marks stay right: the triggers have settled
-- again what the change touches. They take the settle lock first. A transaction that has locked rows before (by
-- another edit, or SELECT FOR UPDATE) can still meet a settler in a deadlock; who is chosen to lose it gets the
-- error 40P01, and this program tries again.
--
-- The functions of triggers run with the rights of the schema's owner: who may edit an article need not be able
-- to write fingerprints, pairs and marks. What they call is in settling.sql.

CREATE TABLE dedup.article (
    id bigint GENERATED ALWAYS AS IDENTITY,
    source_id text COLLATE "C" NOT NULL,
    url text,
    title text,
    publication text,
    published_at timestamptz,
    added_at timestamptz NOT NULL DEFAULT now(),
    language text,
    text text,
    revision integer NOT NULL DEFAULT 0,
    attachment_id integer,
    text_hash bytea,
    CONSTRAINT article_pkey PRIMARY KEY (id),
    CONSTRAINT article_source_id_key UNIQUE (source_id),
    -- The times that every client can read: 'infinity' in one row would stop all settling.
    CONSTRAINT article_published_at_check
        CHECK (published_at >= '0001-01-01 00:00:00+00' AND published_at < '10000-01-01 00:00:00+00'),
    CONSTRAINT article_added_at_check
        CHECK (added_at >= '0001-01-01 00:00:00+00' AND added_at < '10000-01-01 00:00:00+00'),
    -- The text of an attached article stays in its table. The hash, one that nobody can find two texts for,
    -- says which text the marks are about.
    CONSTRAINT article_text_check CHECK ((attachment_id IS NULL) = (text IS NOT NULL)),
    CONSTRAINT article_text_hash_check CHECK ((attachment_id IS NULL) = (text_hash IS NULL))
);
-- Texts go out of line early: what looks articles over without their texts reads 100 bytes of each.
ALTER TABLE dedup.article SET (toast_tuple_target = 256);
-- What pages ask (dedup/store/questions/) is found by an index, whatever the size of the corpus.
-- Of a day, and of an outlet, the newest first. No more of a name than keeps a row of an index small: any
-- name is taken, however long.
CREATE INDEX article_time ON dedup.article ((coalesce(published_at, added_at)), id);
CREATE INDEX article_outlet ON dedup.article
    ((left(publication, 100) COLLATE "C"), (coalesce(published_at, added_at)), id) WHERE publication IS NOT NULL;
-- By their hashes: addresses have any length.
CREATE INDEX article_url ON dedup.article USING hash (url);
COMMENT ON TABLE dedup.article IS 'Every article. Nothing is ever removed by deduplication. With their marks: dedup.marked_article.';
COMMENT ON COLUMN dedup.article.id IS 'Internal number; says nothing about order.';
COMMENT ON COLUMN dedup.article.source_id IS 'The caller''s own key, unique.';
COMMENT ON COLUMN dedup.article.url IS 'Where it was published; not compared.';
COMMENT ON COLUMN dedup.article.title IS 'Headline; compared only where the text is too short to be compared by its parts.';
COMMENT ON COLUMN dedup.article.publication IS 'Who published it; not compared.';
COMMENT ON COLUMN dedup.article.published_at IS 'When it was published; the earlier of two duplicates is the original. Counts as missing where it cannot be true.';
COMMENT ON COLUMN dedup.article.added_at IS 'When the corpus first stored it; stands in where published_at is missing.';
COMMENT ON COLUMN dedup.article.language IS 'ISO 639 code; chooses the sentence parameters; null is the corpus default.';
COMMENT ON COLUMN dedup.article.text IS 'The body as given, without NUL and lone surrogates; null where it is in an attached table: see article_text.';
COMMENT ON COLUMN dedup.article.revision IS 'How often what a fingerprint is made from has changed; ties a fingerprint to its text.';
COMMENT ON COLUMN dedup.article.attachment_id IS 'The attached table it is a row of (attachment.id), or null.';
COMMENT ON COLUMN dedup.article.text_hash IS 'SHA-256 of the text in the attached table when it was last looked at.';

CREATE TABLE dedup.deferred_article (
    id bigint GENERATED ALWAYS AS IDENTITY,
    source_id text COLLATE "C" NOT NULL,
    url text,
    title text,
    publication text,
    published_at timestamptz,
    added_at timestamptz NOT NULL DEFAULT now(),
    language text,
    text text NOT NULL,
    CONSTRAINT deferred_article_pkey PRIMARY KEY (id)
);
CREATE INDEX deferred_article_source_id ON dedup.deferred_article (source_id, id);
COMMENT ON TABLE dedup.deferred_article IS
    'Articles that could not be stored at once, because another transaction held them: the next backfill stores them, or the next hook of the same article.';
COMMENT ON COLUMN dedup.deferred_article.id IS 'Order of arrival.';
COMMENT ON COLUMN dedup.deferred_article.source_id IS 'As in dedup.article, and so are all other columns; not unique here.';
COMMENT ON COLUMN dedup.deferred_article.url IS 'Null keeps what is stored.';
COMMENT ON COLUMN dedup.deferred_article.title IS 'Null keeps what is stored.';
COMMENT ON COLUMN dedup.deferred_article.publication IS 'Null keeps what is stored.';
COMMENT ON COLUMN dedup.deferred_article.published_at IS 'Null keeps what is stored.';
COMMENT ON COLUMN dedup.deferred_article.added_at IS 'When it arrived, unless the caller said something else.';
COMMENT ON COLUMN dedup.deferred_article.language IS 'Null keeps what is stored.';
COMMENT ON COLUMN dedup.deferred_article.text IS 'The body.';

-- How often a text has changed is counted here. A restore of the whole schema makes its triggers after its rows.
CREATE FUNCTION dedup.article_new() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    NEW.revision := 0;
    RETURN NEW;
END $$;
CREATE TRIGGER article_new BEFORE INSERT ON dedup.article FOR EACH ROW
    WHEN (NEW.revision <> 0) EXECUTE FUNCTION dedup.article_new();

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
    BEFORE DELETE OR UPDATE OF source_id, title, text, text_hash, language, published_at, added_at ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_lock();

-- An edit, in the row being written. What a fingerprint is made from gives the text another revision; the hash of a
-- text elsewhere counts as the text, and the title only where the text is too short to be compared by its
-- parts. Of an archived article the fingerprint, which would say whether it is short, is gone: with another title it
-- keeps its mark.
CREATE FUNCTION dedup.article_edit() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF (NEW.text, NEW.text_hash, NEW.language) IS DISTINCT FROM (OLD.text, OLD.text_hash, OLD.language)
       OR NEW.title IS DISTINCT FROM OLD.title
          AND NOT EXISTS (
              SELECT FROM fingerprint f
              WHERE f.article_id = OLD.id AND f.revision = OLD.revision AND f.buckets <> '{}')
          AND NOT EXISTS (SELECT FROM article_mark k WHERE k.id = OLD.id AND k.archived) THEN
        NEW.revision := OLD.revision + 1;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER article_edit
    BEFORE UPDATE OF source_id, title, text, text_hash, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN ((OLD.title, OLD.text, OLD.text_hash, OLD.language)
        IS DISTINCT FROM (NEW.title, NEW.text, NEW.text_hash, NEW.language))
    EXECUTE FUNCTION dedup.article_edit();

-- What else the change touches follows after the statement, because the statement may write those rows too.
CREATE FUNCTION dedup.article_edited() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    -- Who follows attached tables calls it once for all that one statement has changed. That nobody else gets here
    -- with the parameter set is what "article_attached_update" is for.
    IF NEW.attachment_id IS NULL OR current_setting('dedup.syncing', true) IS DISTINCT FROM 'on' THEN
        PERFORM articles_edited(ARRAY[OLD.id], ARRAY[OLD.revision], ARRAY[NEW.revision]);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER article_edited
    AFTER UPDATE OF source_id, title, text, text_hash, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN ((OLD.source_id, OLD.revision, OLD.published_at, OLD.added_at)
        IS DISTINCT FROM (NEW.source_id, NEW.revision, NEW.published_at, NEW.added_at))
    EXECUTE FUNCTION dedup.article_edited();

CREATE FUNCTION dedup.article_deleted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    PERFORM note_bulk_change(ARRAY[OLD.id]);
    PERFORM waiting_went(ARRAY[OLD.id], ARRAY[OLD.revision]);
    DELETE FROM fingerprint WHERE article_id = OLD.id;
    -- A mark cannot point to an article that is gone, and an archived one gets no other.
    UPDATE article_mark
    SET status = CASE WHEN archived THEN 'failed' ELSE 'pending' END, stale = false, duplicate_of = NULL, score = NULL,
        reason = CASE WHEN archived THEN 'archived: its original was deleted' END,
        marked_at = CASE WHEN archived THEN now() END
    WHERE duplicate_of = OLD.id;
    DELETE FROM article_mark WHERE id = OLD.id;
    PERFORM remove_pairs(ARRAY[OLD.id]);
    RETURN NULL;
END $$;
CREATE TRIGGER article_deleted
    AFTER DELETE ON dedup.article FOR EACH ROW EXECUTE FUNCTION dedup.article_deleted();
