-- The journal of marks.

-- name: changes
-- Return the next marks that changed, in order.
SELECT cursor, source_id, status, duplicate_of, score, reason FROM dedup.changes(%(since)s, %(limit)s)

-- name: start
-- Start the journal; false if it is on already.
SELECT dedup.start_journal()

-- name: stop
-- Drop the journal; false if it was off.
SELECT dedup.stop_journal()
