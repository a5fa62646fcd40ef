-- Rights of roles.

-- name: may_settle
-- Return whether the role of this session may write marks.
SELECT has_table_privilege('dedup.settle_turn', 'UPDATE')

-- name: may_read_texts
-- Return whether the role of this session may read texts.
SELECT has_table_privilege('dedup.article_text', 'SELECT')

-- name: owns_schema
-- Return whether a role owns the schema; no row if the role does not exist.
SELECT r.rolname = pg_get_userbyid(n.nspowner)
FROM pg_roles r JOIN pg_namespace n ON n.oid = 'dedup'::regnamespace WHERE r.rolname = %(name)s

-- name: owner
-- Return whether the role of this session may act as the owner of the schema, and the owner.
SELECT pg_has_role(nspowner, 'USAGE'), pg_get_userbyid(nspowner) FROM pg_namespace WHERE oid = 'dedup'::regnamespace

-- name: rights_of_roles
-- Return the role of this session, then the other roles that may use the schema. Return with each role the owner of the
-- schema, and whether the role may act as the owner, write marks, store articles, read the table of articles, read texts
-- in views, and read marks in views. `all`: also return roles that may not log in.
SELECT r.rolname, pg_get_userbyid(n.nspowner), pg_has_role(r.oid, n.nspowner, 'USAGE'),
       coalesce(bool_or(c.relname = 'settle_turn' AND has_table_privilege(r.oid, c.oid, 'UPDATE')), false),
       coalesce(bool_or(c.relname = 'article' AND has_any_column_privilege(r.oid, c.oid, 'INSERT')), false),
       coalesce(bool_or(c.relname = 'article' AND has_table_privilege(r.oid, c.oid, 'SELECT')), false),
       coalesce(bool_or(c.relname = 'article_text' AND has_table_privilege(r.oid, c.oid, 'SELECT')), false),
       coalesce(bool_or(c.relname = 'mark' AND has_table_privilege(r.oid, c.oid, 'SELECT')), false)
FROM pg_namespace n CROSS JOIN pg_roles r
LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname IN ('settle_turn', 'article', 'article_text', 'mark')
WHERE n.oid = 'dedup'::regnamespace
  AND (r.rolname = current_user OR (r.rolcanlogin OR %(all)s AND r.rolname !~ '^pg_') AND has_schema_privilege(r.oid, n.oid, 'USAGE'))
GROUP BY r.oid, r.rolname, n.nspowner ORDER BY r.rolname <> current_user, r.rolname

-- name: relations
-- Return the names of tables and views of the schema, and whether each is a view.
SELECT relname, relkind IN ('v', 'm') FROM pg_class
WHERE relnamespace = 'dedup'::regnamespace AND relkind IN ('r', 'p', 'v', 'm') ORDER BY relkind, relname

-- name: functions
-- Return functions of the schema with their arguments, except trigger functions and functions of untrusted owners.
SELECT p.proname, pg_get_function_identity_arguments(p.oid) FROM pg_proc p
WHERE p.pronamespace = 'dedup'::regnamespace AND p.prorettype <> 'trigger'::regtype
  AND NOT EXISTS (SELECT FROM dedup.attachment a WHERE a.copied AND p.proname ~ ('^attached_'::text || a.id || '_'))
ORDER BY 1, 2

-- name: may_make_temporary
-- Return the name of the database, and whether a role may make temporary tables in it.
SELECT current_database(), has_database_privilege(%(name)s::name, current_database(), 'TEMPORARY')

-- name: may_make_schema
-- Return the role of this session, the database, and whether the schema is missing.
SELECT current_user, current_database(), NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = %(schema)s)
