-- What `dedup watch` remembers of feeds and of their entries.

-- name: feed
-- A feed by its address: its number, how to ask for it, and when.
SELECT id, etag, modified, not_before, failures, problem FROM dedup.feed WHERE address = %(address)s

-- name: add_feed
-- Remember a feed that is polled for the first time.
INSERT INTO dedup.feed (address) VALUES (%(address)s) ON CONFLICT (address) DO NOTHING

-- name: seen
-- What is known of entries by their ids, of this feed and of others.
SELECT e.source_id, e.feed_id = %(feed)s, f.address, e.digest, e.brought
FROM dedup.feed_entry e JOIN dedup.feed f ON f.id = e.feed_id
WHERE e.source_id = ANY (%(ids)s)

-- name: claim
-- An entry is about to be submitted: whether the article is one that a feed brings, which is decided the first time.
INSERT INTO dedup.feed_entry (source_id, feed_id, digest, brought)
SELECT %(id)s, %(feed)s, '', %(shared)s OR NOT (
    EXISTS (SELECT FROM dedup.article a WHERE a.source_id = %(id)s)
    OR EXISTS (SELECT FROM dedup.deferred_article w WHERE w.source_id = %(id)s))
ON CONFLICT (source_id, feed_id) DO UPDATE SET brought = coalesce(feed_entry.brought, excluded.brought)
RETURNING brought

-- name: note_entry
-- An entry was submitted as it is now, or is none that can be.
INSERT INTO dedup.feed_entry (source_id, feed_id, digest) VALUES (%(id)s, %(feed)s, %(digest)s)
ON CONFLICT (source_id, feed_id) DO UPDATE SET digest = excluded.digest, seen_at = now()

-- name: still_there
-- Entries are still in their feed; one that was said to be so today is not written again.
UPDATE dedup.feed_entry SET seen_at = now()
WHERE source_id = ANY (%(ids)s) AND feed_id = %(feed)s AND seen_at < now() - interval '1 day'

-- name: forget_entries
-- Forget some entries that have not been in their feed for so long.
DELETE FROM dedup.feed_entry WHERE (source_id, feed_id) IN (
    SELECT source_id, feed_id FROM dedup.feed_entry
    WHERE feed_id = %(feed)s AND seen_at < now() - make_interval(days => %(days)s) LIMIT 1000)

-- name: answered
-- A feed answered, and all its entries are submitted.
UPDATE dedup.feed SET etag = %(etag)s, modified = %(modified)s, answered_at = now(), not_before = NULL,
    failures = 0, problem = NULL
WHERE id = %(feed)s

-- name: failed
-- A feed failed, or asked for a pause; it is asked again after so many seconds.
UPDATE dedup.feed SET not_before = now() + make_interval(secs => %(seconds)s), problem = %(problem)s,
    failures = failures + %(failures)s
WHERE id = %(feed)s
