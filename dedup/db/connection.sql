-- Connections.

-- name: working
-- Whether a server process works, or may do so, since of others' sessions not all may be seen. It is idle while it
-- waits for its client.
SELECT coalesce(bool_or(
    state IS NULL OR state NOT LIKE 'idle%%' OR clock_timestamp() - state_change < interval '1 s'), false)
FROM pg_stat_activity WHERE pid = %(pid)s

-- name: let_go
-- End the server process of a lost connection that is left in a transaction: it would hold its locks until the
-- server's own timeout, and the next one waits for them. No younger transaction, should its number be used again.
SELECT coalesce(bool_or(pg_terminate_backend(pid)), false)
FROM pg_stat_activity
WHERE pid = %(pid)s AND usename = current_user AND state LIKE 'idle in transaction%%'
    AND xact_start < clock_timestamp() - interval '4 s'
