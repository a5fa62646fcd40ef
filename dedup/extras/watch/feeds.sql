-- The state of feeds and of their entries, for `dedup watch`.

-- name: feed
-- Return the state of a feed by its address.
SELECT id, etag, modified, not_before, failures, problem FROM dedup.feed WHERE address = %(address)s

-- name: add_feed
-- Add a feed that is polled for the first time.
INSERT INTO dedup.feed (address) VALUES (%(address)s) ON CONFLICT (address) DO NOTHING

-- name: seen
-- Return the entries with these ids, of this feed and of others.
SELECT e.source_id, e.feed_id = %(feed)s, f.address, e.digest, e.brought
FROM dedup.feed_entry e JOIN dedup.feed f ON f.id = e.feed_id
WHERE e.source_id = ANY (%(ids)s)

-- name: claim
-- Before an entry is submitted, return whether a feed brings its article. The first time decides.
INSERT INTO dedup.feed_entry (source_id, feed_id, digest, brought)
SELECT %(id)s, %(feed)s, '', %(shared)s OR NOT (
    EXISTS (SELECT FROM dedup.article a WHERE a.source_id = %(id)s)
    OR EXISTS (SELECT FROM dedup.deferred_article w WHERE w.source_id = %(id)s))
ON CONFLICT (source_id, feed_id) DO UPDATE SET brought = coalesce(feed_entry.brought, excluded.brought)
RETURNING brought

-- name: note_entry
-- Store the version of an entry that was submitted or refused.
INSERT INTO dedup.feed_entry (source_id, feed_id, digest) VALUES (%(id)s, %(feed)s, %(digest)s)
ON CONFLICT (source_id, feed_id) DO UPDATE SET digest = excluded.digest, seen_at = now()

-- name: still_there
-- Store that entries are still in their feed, at most once a day for each entry.
UPDATE dedup.feed_entry SET seen_at = now()
WHERE source_id = ANY (%(ids)s) AND feed_id = %(feed)s AND seen_at < now() - interval '1 day'

-- name: forget_entries
-- Forget entries that have not been in their feed for so long, 1,000 at a time.
DELETE FROM dedup.feed_entry WHERE (source_id, feed_id) IN (
    SELECT source_id, feed_id FROM dedup.feed_entry
    WHERE feed_id = %(feed)s AND seen_at < now() - make_interval(days => %(days)s) LIMIT 1000)

-- name: answered
-- Store that a feed answered, and all its entries are submitted.
UPDATE dedup.feed SET etag = %(etag)s, modified = %(modified)s, answered_at = now(), not_before = NULL,
    failures = 0, problem = NULL
WHERE id = %(feed)s

-- name: failed
-- Store that a feed failed, or asked for a pause. It is polled again after so many seconds.
UPDATE dedup.feed SET not_before = now() + make_interval(secs => %(seconds)s), problem = %(problem)s,
    failures = failures + %(failures)s
WHERE id = %(feed)s
