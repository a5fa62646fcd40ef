-- The journal of marks: which marks changed since a reader last asked.

-- name: changes
-- The next marks that changed, in order.
SELECT cursor, source_id, status, duplicate_of, score, reason FROM dedup.changes(%(since)s, %(limit)s)

-- name: start
-- Keep the journal from now on; false where it is on already.
SELECT dedup.start_journal()

-- name: stop
-- Drop the journal; false where it was off.
SELECT dedup.stop_journal()
