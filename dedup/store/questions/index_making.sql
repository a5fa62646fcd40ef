-- name: index_making
-- What a process that makes an index is at, and how many blocks of how many it has read; NULL while it waits.
SELECT phase, blocks_done, nullif(blocks_total, 0) FROM pg_stat_progress_create_index
WHERE pid = %(process_id)s
