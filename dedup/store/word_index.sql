-- The index of words.

-- name: index_making
-- Return the phase of the process that builds an index, the number of blocks read, and the number of all blocks, which
-- is NULL while the process waits.
SELECT phase, blocks_done, nullif(blocks_total, 0) FROM pg_stat_progress_create_index
WHERE pid = %(process_id)s

-- name: index_of_words
-- Return whether an index is complete.
SELECT i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relname = %(index)s AND c.relnamespace = 'dedup'::regnamespace
