-- The embedded server.

-- name: databases
-- Databases to which one can connect.
SELECT datname FROM pg_database WHERE datallowconn ORDER BY datname

-- name: roles
-- Roles that Postgres did not make.
SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY rolname

-- name: tables
-- Tables of users, by their quoted names. An extension fills its own.
SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND NOT EXISTS (SELECT FROM pg_depend d
                  WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY 1

-- name: content
-- The rows of a table, and a sum over them that does not depend on their order and changes with any of them.
SELECT count(*), coalesce(sum(hashtextextended((t.*)::text, 0)), 0) FROM ONLY ${table} t

-- name: size
-- Bytes of all databases, and whether their pages have checksums.
SELECT sum(pg_database_size(oid))::bigint, current_setting('data_checksums') = 'on' FROM pg_database
