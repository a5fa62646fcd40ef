-- Upgrades of the embedded server.

-- name: databases
-- Return the databases that accept connections.
SELECT datname FROM pg_database WHERE datallowconn ORDER BY datname

-- name: roles
-- Return the roles that users made.
SELECT rolname FROM pg_roles WHERE rolname !~ '^pg_' ORDER BY rolname

-- name: tables
-- Return the quoted names of users' tables, without tables of extensions, which extensions fill.
SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND NOT EXISTS (SELECT FROM pg_depend d
                  WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY 1

-- name: content
-- Return the number of rows of a table, and a checksum that does not depend on the order of the rows.
SELECT count(*), coalesce(sum(hashtextextended((t.*)::text, 0)), 0) FROM ONLY ${table} t

-- name: size
-- Return the bytes of all databases, and whether their pages have checksums.
SELECT sum(pg_database_size(oid))::bigint, current_setting('data_checksums') = 'on' FROM pg_database
