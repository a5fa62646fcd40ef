-- Connections.

-- name: working
-- Whether a server process works, or may do so, since of others' sessions not all may be seen. It is idle while it
-- waits for its client.
SELECT coalesce(bool_or(
    state IS NULL OR state NOT LIKE 'idle%%' OR clock_timestamp() - state_change < interval '1 s'), false)
FROM pg_stat_activity WHERE pid = %(pid)s
