-- Read and write the state of feeds and entries for `dedup watch`.

-- name: feed
-- Return the state of a feed by its address.
SELECT id, etag, modified, not_before, failures, problem FROM dedup.feed WHERE address = %(address)s

-- name: add_feed
-- Add a feed before its first poll.
INSERT INTO dedup.feed (address) VALUES (%(address)s) ON CONFLICT (address) DO NOTHING

-- name: seen
-- Return the stored entries with these ids, in this feed and in other feeds.
SELECT e.source_id, e.feed_id = %(feed)s, f.address, e.digest, e.brought
FROM dedup.feed_entry e JOIN dedup.feed f ON f.id = e.feed_id
WHERE e.source_id = ANY (%(ids)s)

-- name: claim
-- Return, and store for later polls, whether a feed may change an article: the article is new, or of the feed's site.
INSERT INTO dedup.feed_entry (source_id, feed_id, digest, brought)
SELECT %(id)s, %(feed)s, '', %(shared)s OR NOT (
    EXISTS (SELECT FROM dedup.article a WHERE a.source_id = %(id)s)
    OR EXISTS (SELECT FROM dedup.deferred_article w WHERE w.source_id = %(id)s))
ON CONFLICT (source_id, feed_id) DO UPDATE SET brought = coalesce(feed_entry.brought, excluded.brought)
RETURNING brought

-- name: note_entry
-- Store the digest of an entry's version that was submitted or refused.
INSERT INTO dedup.feed_entry (source_id, feed_id, digest) VALUES (%(id)s, %(feed)s, %(digest)s)
ON CONFLICT (source_id, feed_id) DO UPDATE SET digest = excluded.digest, seen_at = now()

-- name: still_there
-- Store that entries are still in a feed; this updates each entry at most once a day.
UPDATE dedup.feed_entry SET seen_at = now()
WHERE source_id = ANY (%(ids)s) AND feed_id = %(feed)s AND seen_at < now() - interval '1 day'

-- name: forget_entries
-- Forget at most 1,000 entries that have been absent from a feed for this number of days; keep the ids of articles
-- that the feed brought.
WITH forgotten AS (
    DELETE FROM dedup.feed_entry WHERE (source_id, feed_id) IN (
        SELECT source_id, feed_id FROM dedup.feed_entry
        WHERE feed_id = %(feed)s AND seen_at < now() - make_interval(days => %(days)s) LIMIT 1000)
    RETURNING source_id, brought
)
INSERT INTO dedup.load_part (feed_id, kind, ids)
SELECT %(feed)s, 'new', range_agg(int8range(a.id, a.id, '[]'))
FROM forgotten f JOIN dedup.article a USING (source_id)
WHERE f.brought HAVING count(*) > 0

-- name: answered
-- Store that a feed answered and that its entries were submitted.
UPDATE dedup.feed SET etag = %(etag)s, modified = %(modified)s, answered_at = now(), not_before = NULL,
    failures = 0, problem = NULL
WHERE id = %(feed)s

-- name: failed
-- Store that a feed failed or asked for a pause; the feed is polled again after this number of seconds.
UPDATE dedup.feed SET not_before = now() + make_interval(secs => %(seconds)s), problem = %(problem)s,
    failures = failures + %(failures)s
WHERE id = %(feed)s
