-- Who may do what.

-- name: may_settle
-- Whether the role of this session may write marks.
SELECT has_table_privilege('dedup.settle_turn', 'UPDATE')

-- name: may_read_texts
-- Whether the role of this session may read texts.
SELECT has_table_privilege('dedup.article_text', 'SELECT')

-- name: owns_schema
-- Whether a role owns the schema; no row: there is no such role.
SELECT r.rolname = pg_get_userbyid(n.nspowner)
FROM pg_roles r JOIN pg_namespace n ON n.oid = 'dedup'::regnamespace WHERE r.rolname = %(name)s

-- name: owner
-- Whether the role of this session may act as the owner of the schema, and who that is.
SELECT pg_has_role(nspowner, 'USAGE'), pg_get_userbyid(nspowner) FROM pg_namespace WHERE oid = 'dedup'::regnamespace

-- name: rights_of_session
-- The role of this session, the owner of the schema, whether the one may act as the other, and what tells the kinds of
-- role apart: whether it may write marks, store articles, and read texts in the table, in views, and marks in views.
SELECT current_user, pg_get_userbyid(n.nspowner), pg_has_role(n.nspowner, 'USAGE'),
       coalesce(bool_or(c.relname = 'settle_turn' AND has_table_privilege(c.oid, 'UPDATE')), false),
       coalesce(bool_or(c.relname = 'article' AND has_any_column_privilege(c.oid, 'INSERT')), false),
       coalesce(bool_or(c.relname = 'article' AND has_table_privilege(c.oid, 'SELECT')), false),
       coalesce(bool_or(c.relname = 'article_text' AND has_table_privilege(c.oid, 'SELECT')), false),
       coalesce(bool_or(c.relname = 'mark' AND has_table_privilege(c.oid, 'SELECT')), false)
FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid WHERE n.oid = 'dedup'::regnamespace
GROUP BY n.oid, n.nspowner

-- name: relations
-- Tables and views of the schema, and which of them are views.
SELECT relname, relkind IN ('v', 'm') FROM pg_class
WHERE relnamespace = 'dedup'::regnamespace AND relkind IN ('r', 'p', 'v', 'm') ORDER BY relkind, relname

-- name: functions
-- Functions of the schema that are called, with their arguments; without functions of owners who are not trusted.
SELECT p.proname, pg_get_function_identity_arguments(p.oid) FROM pg_proc p
WHERE p.pronamespace = 'dedup'::regnamespace AND p.prorettype <> 'trigger'::regtype
  AND NOT EXISTS (SELECT FROM dedup.attachment a WHERE a.copied AND p.proname ~ ('^attached_'::text || a.id || '_'))
ORDER BY 1, 2

-- name: may_make_temporary
-- The database, and whether a role may make temporary tables in it.
SELECT current_database(), has_database_privilege(%(name)s::name, current_database(), 'TEMPORARY')

-- name: may_make_schema
-- For who may not make the schema: the role, the database, and whether the schema is missing.
SELECT current_user, current_database(), NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = %(schema)s)
