-- Articles: what was stored, with the mark of each. Versions that could not be stored at once wait beside them.
--
-- Whoever changes an article, by this program or by plain SQL, the marks stay right: the triggers have settled
-- again what the change touches. They take the settle lock first. A transaction that has locked rows before (by
-- another edit, or SELECT FOR UPDATE) can still meet a settler in a deadlock; who is chosen to lose it gets the
-- error 40P01, and this program tries again.
--
-- The functions of triggers run with the rights of the schema's owner: who may edit an article need not be able
-- to write fingerprints, pairs and marks. What they call is in settling.sql.
--
-- Articles before the horizon of the window (docs/semantics.md, section 10) are archived. They keep their
-- marks, have no fingerprint and no pair with an article inside, and nothing that looks for work finds them.

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
    status text NOT NULL DEFAULT 'pending',
    stale boolean NOT NULL DEFAULT false,
    takes_part boolean NOT NULL DEFAULT false,
    duplicate_of bigint,
    score double precision,
    marked_at timestamptz,
    reason text,
    limit_fired text,
    attachment_id integer,
    text_hash bytea,
    archived boolean NOT NULL DEFAULT false,
    CONSTRAINT article_pkey PRIMARY KEY (id),
    CONSTRAINT article_source_id_key UNIQUE (source_id),
    CONSTRAINT article_duplicate_of_fkey FOREIGN KEY (duplicate_of) REFERENCES dedup.article (id),
    CONSTRAINT article_status_check CHECK (status IN ('pending', 'unique', 'similar', 'duplicate', 'failed')),
    CONSTRAINT article_stale_check CHECK (NOT stale OR status IN ('unique', 'similar', 'duplicate')),
    CONSTRAINT article_duplicate_of_check CHECK ((status = 'duplicate') = (duplicate_of IS NOT NULL)),
    -- The times that every client can read: 'infinity' in one row would stop all settling.
    CONSTRAINT article_published_at_check
        CHECK (published_at >= '0001-01-01 00:00:00+00' AND published_at < '10000-01-01 00:00:00+00'),
    CONSTRAINT article_added_at_check
        CHECK (added_at >= '0001-01-01 00:00:00+00' AND added_at < '10000-01-01 00:00:00+00'),
    -- The text of an attached article stays in its table. The hash, one that nobody can find two texts for,
    -- says which text the marks are about.
    CONSTRAINT article_text_check CHECK ((attachment_id IS NULL) = (text IS NOT NULL)),
    CONSTRAINT article_text_hash_check CHECK ((attachment_id IS NULL) = (text_hash IS NULL)),
    -- Whoever looks for unsettled articles, or for those that others rest on, need not know of the window.
    CONSTRAINT article_archived_check CHECK (NOT archived OR NOT (status = 'pending' OR stale OR takes_part))
);
-- Texts go out of line early, so that marking an article rewrites 100 bytes and not its text.
ALTER TABLE dedup.article SET (toast_tuple_target = 256);
-- What is to be settled, near enough in canonical order: the exact order depends on settings, and the result
-- does not depend on which articles are settled first. Settled rows are not in this index.
CREATE INDEX article_unsettled ON dedup.article
    (coalesce(published_at, added_at), source_id) WHERE status = 'pending' OR stale;
CREATE INDEX article_failed ON dedup.article (id) WHERE status = 'failed';
-- What pages ask (dedup/corpus/browsing/) is found by an index, whatever the size of the corpus.
-- Of a day, and of an outlet, the newest first. No more of a name than keeps a row of an index small: any
-- name is taken, however long.
CREATE INDEX article_time ON dedup.article ((coalesce(published_at, added_at)), id);
CREATE INDEX article_outlet ON dedup.article
    ((left(publication, 100) COLLATE "C"), (coalesce(published_at, added_at)), id) WHERE publication IS NOT NULL;
-- By their hashes: addresses have any length.
CREATE INDEX article_url ON dedup.article USING hash (url);
-- The copies of a story come by time, so that a page of them reads no more than that. Made after article_time:
-- of two indexes that seem to cost the same, as with statistics of an empty table, Postgres takes the newer one.
CREATE INDEX article_duplicate_of ON dedup.article (duplicate_of, (coalesce(published_at, added_at)), id)
    WHERE duplicate_of IS NOT NULL;
COMMENT ON TABLE dedup.article IS 'Every article with its mark. Nothing is ever removed by deduplication.';
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
COMMENT ON COLUMN dedup.article.status IS 'pending: never settled; unique; similar: canonical, but like another one; duplicate: see duplicate_of; failed: see reason.';
COMMENT ON COLUMN dedup.article.takes_part IS 'Whether other marks may rest on whether it is canonical: not before it is settled, nor while its place or its scores are about to change.';
COMMENT ON COLUMN dedup.article.stale IS 'The mark is the last one and must be settled again, which the next backfill does.';
COMMENT ON COLUMN dedup.article.duplicate_of IS 'The canonical article this one duplicates (article.id).';
COMMENT ON COLUMN dedup.article.score IS 'Duplicate: its score with duplicate_of. Similar: its highest score. 0 to 1.';
COMMENT ON COLUMN dedup.article.marked_at IS 'When the present mark was written.';
COMMENT ON COLUMN dedup.article.reason IS 'The rule that decided: pinned, content, sentences, signature or containment; for failed articles why.';
COMMENT ON COLUMN dedup.article.limit_fired IS 'The safety limit that left the article to the next backfill, or null.';
COMMENT ON COLUMN dedup.article.attachment_id IS 'The attached table it is a row of (attachment.id), or null.';
COMMENT ON COLUMN dedup.article.text_hash IS 'SHA-256 of the text in the attached table when it was last looked at.';
COMMENT ON COLUMN dedup.article.archived IS 'It is before the horizon: compared with nothing any more, with the mark that it had when it left.';

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

-- What only settling may say: an article always begins as a pending one, whatever an INSERT claims. It may
-- come with its mark where a settler brings it: see dedup.store_new. As with dedup.article_marks, the right
-- to the settle lock says who is a settler. A restore of the whole schema makes its triggers after its rows,
-- and keeps the marks.
CREATE FUNCTION dedup.article_new() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF current_setting('dedup.settling', true) = 'on' AND has_table_privilege('dedup.settle_turn', 'UPDATE') THEN
        RETURN NEW;
    END IF;
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

-- Only settling says what is archived, too: an INSERT that brings it along begins as any other.
CREATE FUNCTION dedup.article_new_archived() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    NEW.archived := false;
    RETURN NEW;
END $$;
CREATE TRIGGER article_new_archived BEFORE INSERT ON dedup.article FOR EACH ROW
    WHEN (NEW.archived) EXECUTE FUNCTION dedup.article_new_archived();

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
CREATE TRIGGER article_archived BEFORE UPDATE OF archived ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.article_marks();

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

-- An edit, in the row being written. What a fingerprint is made from makes the article pending; the hash of a
-- text elsewhere counts as the text, and the title only where the text is too short to be compared by its
-- parts.
CREATE FUNCTION dedup.article_edit() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    rewritten boolean :=
        (NEW.text, NEW.text_hash, NEW.language) IS DISTINCT FROM (OLD.text, OLD.text_hash, OLD.language)
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
    BEFORE UPDATE OF source_id, title, text, text_hash, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN (
        (OLD.source_id, OLD.title, OLD.text, OLD.text_hash, OLD.language, OLD.published_at, OLD.added_at)
        IS DISTINCT FROM
        (NEW.source_id, NEW.title, NEW.text, NEW.text_hash, NEW.language, NEW.published_at, NEW.added_at))
    EXECUTE FUNCTION dedup.article_edit();

-- An article that was archived is looked at again when it is edited: it may be inside now. What its mark was
-- made from may be another text. Its title told something of short texts only, and its fingerprint, which
-- would say whether it is short, is gone: with another title it keeps its mark. Fires after article_edit,
-- which has made it pending if its text, or its title, is another one.
CREATE FUNCTION dedup.article_unarchived() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    IF (NEW.text, NEW.text_hash, NEW.language, NEW.source_id, NEW.published_at, NEW.added_at) IS NOT DISTINCT FROM
       (OLD.text, OLD.text_hash, OLD.language, OLD.source_id, OLD.published_at, OLD.added_at) THEN
        NEW.revision := OLD.revision;
        NEW.status := OLD.status;
        NEW.duplicate_of := OLD.duplicate_of;
        NEW.score := OLD.score;
        NEW.reason := OLD.reason;
        NEW.marked_at := OLD.marked_at;
        RETURN NEW;
    END IF;
    NEW.archived := false;
    IF NEW.status = 'failed' THEN
        NEW.status := 'pending';
        NEW.reason := NULL;
        NEW.marked_at := NULL;
    ELSE
        NEW.stale := NEW.status <> 'pending';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER article_unarchived
    BEFORE UPDATE OF source_id, title, text, text_hash, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN (OLD.archived
        AND (OLD.source_id, OLD.title, OLD.text, OLD.text_hash, OLD.language, OLD.published_at, OLD.added_at)
            IS DISTINCT FROM
            (NEW.source_id, NEW.title, NEW.text, NEW.text_hash, NEW.language, NEW.published_at, NEW.added_at))
    EXECUTE FUNCTION dedup.article_unarchived();

-- What else the change touches follows after the statement, because the statement may write those rows too.
-- The names start with a digit: triggers fire by name, and these must see the pairs before the foreign keys
-- ("RI_...") remove them.
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
CREATE TRIGGER "0_article_edited"
    AFTER UPDATE OF source_id, title, text, text_hash, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN ((OLD.source_id, OLD.revision, OLD.published_at, OLD.added_at)
        IS DISTINCT FROM (NEW.source_id, NEW.revision, NEW.published_at, NEW.added_at))
    EXECUTE FUNCTION dedup.article_edited();

-- Its pairs with those that stay archived go: they would count as pairs of an article inside.
CREATE FUNCTION dedup.article_came_back() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    PERFORM remove_pairs(ARRAY[OLD.id]);
    RETURN NULL;
END $$;
CREATE TRIGGER "0_article_came_back"
    AFTER UPDATE OF source_id, title, text, text_hash, language, published_at, added_at ON dedup.article
    FOR EACH ROW WHEN (OLD.archived AND NOT NEW.archived) EXECUTE FUNCTION dedup.article_came_back();

CREATE FUNCTION dedup.article_deleted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    PERFORM note_bulk_change(ARRAY[OLD.id]);
    PERFORM waiting_went(ARRAY[OLD.id], ARRAY[OLD.revision]);
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

-- A mark cannot point to an article that is gone, and an archived one gets no other. Fires before
-- "0_article_deleted", which makes such articles pending.
CREATE FUNCTION dedup.archived_original_deleted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    UPDATE article
    SET status = 'failed', duplicate_of = NULL, score = NULL, marked_at = now(),
        reason = 'archived: its original was deleted'
    WHERE duplicate_of = OLD.id AND archived;
    RETURN NULL;
END $$;
CREATE TRIGGER "0_article_archived_original"
    AFTER DELETE ON dedup.article FOR EACH ROW EXECUTE FUNCTION dedup.archived_original_deleted();
