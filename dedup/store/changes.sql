-- The journal of marks.

-- name: changes
-- Return the next marks that changed since a cursor, in the order of the changes.
SELECT cursor, source_id, status, duplicate_of, score, reason FROM dedup.changes(%(since)s, %(limit)s)

-- name: start
-- Start the journal; return false if it was started already.
SELECT dedup.start_journal()

-- name: stop
-- Drop the journal; return false if there was none.
SELECT dedup.stop_journal()
