-- Feeds that `dedup watch` polls, and what it has seen in each, so that a restart neither loses nor repeats anything.

CREATE TABLE dedup.feed (
    id           integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    address      text COLLATE "C" NOT NULL UNIQUE CHECK (octet_length(address) <= 2000),
    etag         text,
    modified     text,
    answered_at  timestamptz,
    not_before   timestamptz,
    failures     integer NOT NULL DEFAULT 0,
    problem      text
);
COMMENT ON TABLE dedup.feed IS 'Feeds and sitemaps that dedup watch polls, and how far it is with each.';
COMMENT ON COLUMN dedup.feed.id IS 'The number of the feed in this schema.';
COMMENT ON COLUMN dedup.feed.address IS 'Its address, as it was given.';
COMMENT ON COLUMN dedup.feed.etag IS 'The ETag of the answer whose entries are all submitted; NULL asks for the whole feed.';
COMMENT ON COLUMN dedup.feed.modified IS 'The Last-Modified of that answer.';
COMMENT ON COLUMN dedup.feed.answered_at IS 'When it last answered, be it that nothing is new.';
COMMENT ON COLUMN dedup.feed.not_before IS 'When it may be asked again, after it failed or asked for a pause.';
COMMENT ON COLUMN dedup.feed.failures IS 'How many times it failed since it last answered.';
COMMENT ON COLUMN dedup.feed.problem IS 'Why it failed last; NULL since it answered.';

CREATE TABLE dedup.feed_entry (
    source_id  text COLLATE "C" NOT NULL,
    feed_id    integer NOT NULL REFERENCES dedup.feed (id) ON DELETE CASCADE,
    digest     bytea NOT NULL,
    seen_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (source_id, feed_id)
);
CREATE INDEX feed_entry_by_feed ON dedup.feed_entry (feed_id, seen_at);
COMMENT ON TABLE dedup.feed_entry IS 'Entries of feeds that were submitted, until they have not been in their feed for a month.';
COMMENT ON COLUMN dedup.feed_entry.source_id IS 'The source_id of the article that the entry is.';
COMMENT ON COLUMN dedup.feed_entry.feed_id IS 'The feed that it is in.';
COMMENT ON COLUMN dedup.feed_entry.digest IS 'A digest of its title, text, address and date: another one is a new version.';
COMMENT ON COLUMN dedup.feed_entry.seen_at IS 'When it was last known to be in the feed, to the day.';
