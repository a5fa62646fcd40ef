-- Recognise and end lost connections.

-- name: working
-- Return whether a server process works on a statement. The state of another role's session is NULL, and
-- counts as working; so does a process that became idle less than a second ago.
SELECT coalesce(bool_or(
    state IS NULL OR state NOT LIKE 'idle%%' OR clock_timestamp() - state_change < interval '1 s'), false)
FROM pg_stat_activity WHERE pid = %(pid)s

-- name: let_go
-- End the server process of a lost connection that is idle in a transaction: the process would hold its locks until the
-- server's own timeout. A transaction younger than 4 s is spared: a new process may have got the same id.
SELECT coalesce(bool_or(pg_terminate_backend(pid)), false)
FROM pg_stat_activity
WHERE pid = %(pid)s AND usename = current_user AND state LIKE 'idle in transaction%%'
    AND xact_start < clock_timestamp() - interval '4 s'
