-- Loads, and the ids of the articles that each load had. An article does not know its load: so neither its row nor a hook
-- costs more, and a load costs a row or two for each transaction, which stores up to 500 articles.

CREATE TABLE dedup.load (
    id integer GENERATED ALWAYS AS IDENTITY,
    source text,
    feed_id integer,
    loaded_by text NOT NULL DEFAULT session_user,
    loaded_at timestamptz NOT NULL DEFAULT now(),
    removed_by text,
    removed_at timestamptz,
    CONSTRAINT load_pkey PRIMARY KEY (id),
    CONSTRAINT load_feed_id_fkey FOREIGN KEY (feed_id) REFERENCES dedup.feed (id) ON DELETE SET NULL
);
COMMENT ON TABLE dedup.load IS 'Loads of files and programs, and removals of what a feed brought.';
COMMENT ON COLUMN dedup.load.id IS 'The number of the load, which `dedup loads remove` takes.';
COMMENT ON COLUMN dedup.load.source IS 'The file as it was named, or the address of the feed; NULL: a program gave the articles.';
COMMENT ON COLUMN dedup.load.feed_id IS 'The feed, if its articles were to be removed; NULL for other loads.';
COMMENT ON COLUMN dedup.load.loaded_by IS 'The database user.';
COMMENT ON COLUMN dedup.load.loaded_at IS 'When its first articles were stored.';
COMMENT ON COLUMN dedup.load.removed_by IS 'The database user who removed its articles.';
COMMENT ON COLUMN dedup.load.removed_at IS 'When its articles had been removed; NULL before that.';

CREATE TABLE dedup.load_part (
    load_id integer,
    feed_id integer,
    kind text NOT NULL,
    ids int8multirange NOT NULL,
    CONSTRAINT load_part_load_id_fkey FOREIGN KEY (load_id) REFERENCES dedup.load (id) ON DELETE CASCADE,
    CONSTRAINT load_part_feed_id_fkey FOREIGN KEY (feed_id) REFERENCES dedup.feed (id) ON DELETE CASCADE,
    CONSTRAINT load_part_owner_check CHECK (num_nonnulls(load_id, feed_id) = 1),
    CONSTRAINT load_part_kind_check CHECK (kind IN ('new', 'known', 'edited'))
);
CREATE INDEX load_part_load_id ON dedup.load_part (load_id) WHERE load_id IS NOT NULL;
CREATE INDEX load_part_feed_id ON dedup.load_part (feed_id) WHERE feed_id IS NOT NULL;
CREATE INDEX load_part_ids ON dedup.load_part USING gist (ids);
COMMENT ON TABLE dedup.load_part IS 'Articles that a transaction of a load stored, or that a feed brought and no longer lists.';
COMMENT ON COLUMN dedup.load_part.load_id IS 'The load.';
COMMENT ON COLUMN dedup.load_part.feed_id IS 'The feed, of entries that dedup.feed_entry has forgotten.';
COMMENT ON COLUMN dedup.load_part.kind IS 'new: the load stored them first; known: they were stored already; edited: of these, articles that got another revision.';
COMMENT ON COLUMN dedup.load_part.ids IS 'Ranges of article.id. They may name articles that were deleted since.';

-- After TRUNCATE … RESTART IDENTITY the ids would mean other articles.
CREATE FUNCTION dedup.loads_emptied() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, dedup, pg_temp AS $$
BEGIN
    DELETE FROM load_part;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION dedup.loads_emptied() IS 'Forget which articles loads had, since all articles are gone.';
CREATE TRIGGER loads_emptied AFTER TRUNCATE ON dedup.article
    FOR EACH STATEMENT EXECUTE FUNCTION dedup.loads_emptied();
