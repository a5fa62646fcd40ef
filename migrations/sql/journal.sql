-- The journal of marks: which marks changed, in order, for those who keep marks elsewhere (docs/changes.md).
--
-- It is off until `dedup.start_journal()` makes its triggers, and costs nothing until then. A statement that changes
-- marks takes the next position and holds the last row of dedup.journal to the end of its transaction: so the order
-- of positions is that of the commits, and whoever has read up to a position has missed nothing before it. All who
-- change marks hold the settle lock before that, so nobody waits here. Who inserts an article takes no position, for
-- a new article has no mark yet.
--
-- Of each mark the last change is kept, not every one: the journal never has more rows than there are articles,
-- beside those of the articles that were deleted within 30 days.
--
-- A reader brings a cursor: how far it has read, and of which history. Histories part where a server goes on from an
-- older state than readers have seen: after a point-in-time recovery, or on a standby that lacked the last
-- transactions. Either needs another start of the server, so each start has a row of its own here with the last
-- position under it. A restore makes other triggers, and they are part of the key of a cursor too.

CREATE TABLE dedup.journal (
    number integer NOT NULL,
    key uuid NOT NULL DEFAULT gen_random_uuid(),
    position bigint NOT NULL,
    forgotten bigint NOT NULL,
    server_started timestamptz NOT NULL DEFAULT pg_postmaster_start_time(),
    CONSTRAINT journal_pkey PRIMARY KEY (number)
);
COMMENT ON TABLE dedup.journal IS 'How far the journal of marks has come: a row for each start of the server under which marks changed, the last 1,000. Empty where it is off.';
COMMENT ON COLUMN dedup.journal.number IS 'Number of the row; the last one is the present one.';
COMMENT ON COLUMN dedup.journal.key IS 'What tells this history from any other.';
COMMENT ON COLUMN dedup.journal.position IS 'The last position that was given.';
COMMENT ON COLUMN dedup.journal.forgotten IS 'Deletions up to this position are not told any more.';
COMMENT ON COLUMN dedup.journal.server_started IS 'When the server was started.';

CREATE TABLE dedup.journal_mark (
    article_id bigint NOT NULL,
    position bigint NOT NULL,
    CONSTRAINT journal_mark_pkey PRIMARY KEY (article_id)
);
CREATE INDEX journal_mark_position ON dedup.journal_mark (position, article_id);
COMMENT ON TABLE dedup.journal_mark IS 'The marks that changed since the journal was started, each at the position of its last change.';
COMMENT ON COLUMN dedup.journal_mark.article_id IS 'article.id.';
COMMENT ON COLUMN dedup.journal_mark.position IS 'Of the statement that changed it.';

CREATE TABLE dedup.journal_deleted (
    position bigint NOT NULL,
    article_id bigint NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    deleted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT journal_deleted_pkey PRIMARY KEY (position, article_id)
);
COMMENT ON TABLE dedup.journal_deleted IS 'The articles that were deleted, or got another source_id, within 30 days.';
COMMENT ON COLUMN dedup.journal_deleted.position IS 'Of the statement that did so.';
COMMENT ON COLUMN dedup.journal_deleted.article_id IS 'article.id.';
COMMENT ON COLUMN dedup.journal_deleted.source_id IS 'The key that is gone.';
COMMENT ON COLUMN dedup.journal_deleted.deleted_at IS 'When.';

-- What is written.

CREATE FUNCTION dedup.journal_next() RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    given bigint;
BEGIN
    -- What a reader has seen may not be taken back by a crash: it commits before it is seen.
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'local', true);
    END IF;
    LOOP
        UPDATE journal SET position = position + 1
        WHERE number = (SELECT max(number) FROM journal) AND server_started = pg_postmaster_start_time()
        RETURNING position INTO given;
        IF FOUND THEN
            RETURN given;
        END IF;
        INSERT INTO journal (number, position, forgotten)
        SELECT coalesce(max(number), 0) + 1, coalesce(max(position), 0), coalesce(max(forgotten), 0) FROM journal
        ON CONFLICT DO NOTHING;
        DELETE FROM journal WHERE number <= (SELECT max(number) FROM journal) - 1000;
    END LOOP;
END $$;
COMMENT ON FUNCTION dedup.journal_next() IS 'The next position of the journal, which is this transaction''s to its end.';

CREATE FUNCTION dedup.journal_note(ids bigint[]) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    given bigint;
BEGIN
    IF ids IS NOT NULL THEN
        given := journal_next();
        INSERT INTO journal_mark (article_id, position) SELECT id, given FROM unnest(ids) AS changed (id)
        ON CONFLICT (article_id) DO UPDATE SET position = excluded.position;
    END IF;
END $$;
COMMENT ON FUNCTION dedup.journal_note(bigint[]) IS 'Note that the marks of articles changed.';

CREATE FUNCTION dedup.journal_inserted() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    PERFORM journal_note((SELECT array_agg(id) FROM now_marks WHERE status <> 'pending'));
    RETURN NULL;
END $$;

-- Who settles may have switched these joins off, and a loop within a loop would compare every row with every other.
CREATE FUNCTION dedup.journal_updated() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp
    SET enable_hashjoin = on SET enable_nestloop = off AS $$
BEGIN
    PERFORM journal_note((
        SELECT array_agg(n.id ORDER BY n.id) FROM now_marks n JOIN old_marks o ON o.id = n.id
        WHERE (n.status, n.duplicate_of, n.score, n.reason) IS DISTINCT FROM (o.status, o.duplicate_of, o.score, o.reason)));
    RETURN NULL;
END $$;

-- Each deletion takes up to ten times as many with it that are too old.
CREATE FUNCTION dedup.journal_removed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    given bigint;
    last_old bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM old_articles) THEN
        RETURN NULL;
    END IF;
    given := journal_next();
    INSERT INTO journal_deleted (position, article_id, source_id) SELECT given, id, source_id FROM old_articles;
    DELETE FROM journal_mark WHERE article_id = ANY (ARRAY(SELECT id FROM old_articles));
    WITH old AS (
        DELETE FROM journal_deleted WHERE (position, article_id) IN (
            SELECT d.position, d.article_id FROM journal_deleted d ORDER BY d.position, d.article_id
            LIMIT 10 * (SELECT count(*) FROM old_articles))
          AND deleted_at < now() - interval '30 days'
        RETURNING position)
    SELECT max(position) INTO last_old FROM old;
    IF last_old IS NOT NULL THEN
        UPDATE journal SET forgotten = last_old WHERE number = (SELECT max(number) FROM journal);
    END IF;
    RETURN NULL;
END $$;

-- To whoever keeps marks by source_id the old one is gone, and marks that name it as the original are others.
CREATE FUNCTION dedup.journal_renamed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    INSERT INTO journal_deleted (position, article_id, source_id) VALUES (journal_next(), OLD.id, OLD.source_id);
    PERFORM journal_note(OLD.id || ARRAY(SELECT id FROM article_mark WHERE duplicate_of = OLD.id));
    RETURN NULL;
END $$;

-- Every mark is gone at once: a history of its own begins. No TRUNCATE, which would wait for readers that wait for us.
CREATE FUNCTION dedup.journal_emptied() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    DELETE FROM journal_mark;
    DELETE FROM journal_deleted;
    DELETE FROM journal;
    PERFORM journal_next();
    RETURN NULL;
END $$;

-- Started and stopped.

-- Another oid, or another version of its row: a trigger that was made again, or switched off and on. What changed
-- meanwhile was not noted.
CREATE FUNCTION dedup.journal_triggers() RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, dedup, pg_temp AS $$
    SELECT CASE WHEN count(*) = 5 THEN concat_ws(
        ' ', (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()),
        string_agg(format('%s %s', t.oid, t.xmin), ' ' ORDER BY t.oid)) END
    FROM pg_trigger t
    WHERE t.tgrelid IN ('dedup.article'::regclass, 'dedup.article_mark'::regclass)
      AND starts_with(t.tgname::text, 'journal_') AND t.tgenabled = 'A'
$$;
COMMENT ON FUNCTION dedup.journal_triggers() IS 'What tells the triggers of the journal from others of the same names; null where it is off.';

CREATE FUNCTION dedup.stop_journal() RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
DECLARE
    found record;
    were boolean := false;
BEGIN
    PERFORM settle_lock();
    LOCK TABLE journal IN ACCESS EXCLUSIVE MODE;  -- first, as readers do
    FOR found IN SELECT t.tgname, t.tgrelid::regclass AS owner FROM pg_trigger t
                 WHERE t.tgrelid IN ('dedup.article'::regclass, 'dedup.article_mark'::regclass)
                   AND starts_with(t.tgname::text, 'journal_') ORDER BY t.tgrelid LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', found.tgname, found.owner);
        were := true;
    END LOOP;
    TRUNCATE journal, journal_mark, journal_deleted;
    RETURN were;
END $$;
COMMENT ON FUNCTION dedup.stop_journal() IS 'Drop the journal of marks and its triggers; false where it was off. For the owner of the schema.';

CREATE FUNCTION dedup.start_journal() RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    PERFORM settle_lock();
    IF journal_triggers() IS NOT NULL AND EXISTS (SELECT FROM journal) THEN
        RETURN false;
    END IF;
    PERFORM stop_journal();
    CREATE TRIGGER journal_removed AFTER DELETE ON article REFERENCING OLD TABLE AS old_articles
        FOR EACH STATEMENT EXECUTE FUNCTION journal_removed();
    CREATE TRIGGER journal_renamed AFTER UPDATE OF source_id ON article
        FOR EACH ROW WHEN (NEW.source_id <> OLD.source_id) EXECUTE FUNCTION journal_renamed();
    CREATE TRIGGER journal_inserted AFTER INSERT ON article_mark REFERENCING NEW TABLE AS now_marks
        FOR EACH STATEMENT EXECUTE FUNCTION journal_inserted();
    CREATE TRIGGER journal_updated AFTER UPDATE ON article_mark REFERENCING OLD TABLE AS old_marks NEW TABLE AS now_marks
        FOR EACH STATEMENT EXECUTE FUNCTION journal_updated();
    CREATE TRIGGER journal_emptied AFTER TRUNCATE ON article_mark
        FOR EACH STATEMENT EXECUTE FUNCTION journal_emptied();
    PERFORM fire_always(), journal_next();
    RETURN true;
END $$;
COMMENT ON FUNCTION dedup.start_journal() IS 'Keep the journal of marks from now on; false where it is on already. For the owner of the schema.';

-- What is read: marks that never changed since the journal was started, by their ids, at position 0; then changes.
-- A cursor is KEY.POSITION.ID.BEGAN.SEEN: the history; the last row that was told; where the journal was when its
-- reader began, so that deletions before that need not be told; and where it was when this was read. That last one
-- matters: a mark that changed again was left out, for it comes later, and in a history without that change it
-- would not come.
CREATE FUNCTION dedup.changes(since text DEFAULT NULL, most integer DEFAULT 1000) RETURNS TABLE (
    cursor text, source_id text, status text, duplicate_of text, score double precision, reason text
)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, dedup, pg_temp
    SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    triggers text := journal_triggers();
    present journal;
    given text[];
    after bigint := 0;
    after_id bigint := 0;
    began bigint;
    own text;
    told bigint := 0;
BEGIN
    SELECT * INTO present FROM journal j ORDER BY j.number DESC LIMIT 1;
    IF triggers IS NULL OR present.number IS NULL THEN
        RAISE EXCEPTION 'no journal of marks is kept' USING ERRCODE = 'DJ001',
            HINT = 'The owner of the schema starts it: `dedup changes --start`.';
    END IF;
    began := present.position;
    own := left(md5(present.key || triggers), 12);
    IF since <> '' THEN
        given := regexp_match(since, '^([0-9a-f]{12})\.(\d{1,18})\.(\d{1,18})\.(\d{1,18})\.(\d{1,18})$');
        IF given IS NULL THEN
            RAISE EXCEPTION 'that is no cursor of changes' USING ERRCODE = 'DJ002';
        END IF;
        after := given[2];
        after_id := given[3];
        began := given[4];
        -- A standby may not have come so far yet.
        IF pg_is_in_recovery() AND given[1] = own AND given[5]::bigint > present.position THEN
            RETURN;
        END IF;
        IF present.forgotten > greatest(after, began) OR NOT EXISTS (
            SELECT FROM journal j WHERE left(md5(j.key || triggers), 12) = given[1] AND j.position >= given[5]::bigint
        ) THEN
            RAISE EXCEPTION 'the cursor is of another history, or older than the deletions that are told'
                USING ERRCODE = 'DJ003', HINT = 'Forget the marks that were read, and read all of them without a cursor.';
        END IF;
    END IF;
    IF after = 0 THEN
        RETURN QUERY
        SELECT format('%s.0.%s.%s.%s', own, m.id, began, present.position),
               m.source_id, m.status, m.original_source_id, m.score, m.reason
        FROM article_mark k
        CROSS JOIN LATERAL (SELECT * FROM mark WHERE mark.id = k.id OFFSET 0) AS m
        WHERE k.id > after_id AND k.status <> 'pending'
          AND NOT EXISTS (SELECT FROM journal_mark c WHERE c.article_id = k.id OFFSET 0)
        ORDER BY k.id LIMIT most;
        GET DIAGNOSTICS told = ROW_COUNT;
        after_id := 9223372036854775807;
    END IF;
    IF told < most THEN
        RETURN QUERY
        SELECT format('%s.%s.%s.%s.%s', own, found.position, found.id, began, present.position),
               found.source_id, found.status, found.original_source_id, found.score, found.reason
        FROM (
            (SELECT c.position, m.id, m.source_id, m.status, m.original_source_id, m.score, m.reason
             FROM journal_mark c
             CROSS JOIN LATERAL (SELECT * FROM mark WHERE mark.id = c.article_id OFFSET 0) AS m
             WHERE (c.position, c.article_id) > (after, after_id)
             ORDER BY c.position, c.article_id LIMIT most - told)
            UNION ALL
            (SELECT d.position, d.article_id, d.source_id, 'deleted', NULL, NULL, NULL
             FROM journal_deleted d
             WHERE (d.position, d.article_id) > (after, after_id) AND d.position > began
             ORDER BY d.position, d.article_id LIMIT most - told)
        ) AS found (position, id, source_id, status, original_source_id, score, reason)
        ORDER BY found.position, found.id LIMIT most - told;
    END IF;
END $$;
COMMENT ON FUNCTION dedup.changes(text, integer) IS
    'The marks that changed since a cursor, in order, at most so many, each with the cursor to go on from; since null: all marks, and then changes. See docs/changes.md.';
