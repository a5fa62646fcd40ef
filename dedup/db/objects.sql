-- Objects of the schema. Sessions look names up in pg_catalog only, so all other names are written with their schema.

-- name: objects
-- Return kind, name and statement of every object, in an order in which they can be made. Indexes of constraints are
-- left out.
WITH relation AS (
    SELECT c.oid, c.relname::text AS name, format('%%I.%%I', n.nspname, c.relname) AS full_name, c.relkind, c.reloptions
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.oid = 'dedup'::regnamespace AND c.relkind IN ('r', 'v')
), object (place, kind, of_table, name, position, statement) AS (
    SELECT 1, 'table', '', r.name, 0,
           format('CREATE TABLE %%s ()', r.full_name) || coalesce(' WITH (' || array_to_string(r.reloptions, ', ') || ')', '')
    FROM relation r WHERE r.relkind = 'r'
    UNION ALL
    SELECT 2, 'column', r.name, a.attname, a.attnum,
           format('ALTER TABLE %%s ADD COLUMN %%I %%s', r.full_name, a.attname, format_type(a.atttypid, a.atttypmod))
           || CASE WHEN a.attcollation <> t.typcollation THEN format(' COLLATE %%I', l.collname) ELSE '' END
           || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
           || CASE WHEN a.attidentity = 'a' THEN ' GENERATED ALWAYS AS IDENTITY' ELSE '' END
           || CASE WHEN d.oid IS NULL THEN '' WHEN a.attgenerated = 's'
                   THEN format(' GENERATED ALWAYS AS (%%s) STORED', pg_get_expr(d.adbin, d.adrelid))
                   ELSE ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) END
    FROM relation r
    JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_type t ON t.oid = a.atttypid
    LEFT JOIN pg_collation l ON l.oid = a.attcollation
    LEFT JOIN pg_attrdef d ON d.adrelid = r.oid AND d.adnum = a.attnum
    WHERE r.relkind = 'r'
    UNION ALL
    SELECT CASE WHEN k.contype IN ('p', 'u') THEN 3 ELSE 6 END, 'constraint', r.name, k.conname, 0,
           format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s', r.full_name, k.conname, pg_get_constraintdef(k.oid))
    FROM relation r JOIN pg_constraint k ON k.conrelid = r.oid
    WHERE k.contype IN ('c', 'f', 'p', 'u')  -- PostgreSQL 18 also lists NOT NULL, which the columns above have already
    UNION ALL
    SELECT 4, 'type', '', t.typname, 0,
           format('CREATE TYPE %%s AS (%%s)', t.oid::regtype,
                  (SELECT string_agg(format('%%I %%s', a.attname, format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY a.attnum)
                   FROM pg_attribute a WHERE a.attrelid = c.oid))
    FROM pg_class c JOIN pg_type t ON t.oid = c.reltype
    WHERE c.relnamespace = 'dedup'::regnamespace AND c.relkind = 'c'
    UNION ALL
    SELECT 5, 'function', '', format('%%s(%%s)', p.proname, pg_get_function_identity_arguments(p.oid)), 0,
           regexp_replace(trim(E' \n' FROM pg_get_functiondef(p.oid)),
                          'SET search_path TO ''pg_catalog'', ''(\w+)'', ''pg_temp''',
                          'SET search_path = pg_catalog, \1, pg_temp')
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.oid = 'dedup'::regnamespace
    UNION ALL
    SELECT 7, 'index', r.name, i.relname, 0,
           pg_get_indexdef(i.oid) || CASE WHEN x.indisvalid THEN '' ELSE ' (invalid)' END
    FROM relation r JOIN pg_index x ON x.indrelid = r.oid JOIN pg_class i ON i.oid = x.indexrelid
    WHERE NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.oid AND k.contype IN ('p', 'u', 'x'))
    UNION ALL
    SELECT 8, 'view', '', r.name, r.oid::bigint,
           format('CREATE OR REPLACE VIEW %%s', r.full_name)
           || coalesce(' WITH (' || array_to_string(r.reloptions, ', ') || ')', '')
           || format(E' AS\n%%s', trim(E' ;\n' FROM pg_get_viewdef(r.oid)))
    FROM relation r WHERE r.relkind = 'v'
    UNION ALL
    SELECT 9, 'trigger', r.name, t.tgname, 0,
           regexp_replace(pg_get_triggerdef(t.oid), '^CREATE', 'CREATE OR REPLACE')
           || CASE WHEN t.tgenabled = 'A' THEN '' ELSE ' (not always enabled)' END
    FROM relation r JOIN pg_trigger t ON t.tgrelid = r.oid WHERE NOT t.tgisinternal
)
SELECT kind, concat_ws(' of ', name, nullif(of_table, '')), statement FROM object
ORDER BY place, CASE WHEN kind = 'column' THEN of_table END, position, of_table, name

-- name: one_at_a_time
-- Wait for other programs that make or mend this schema.
SELECT pg_advisory_xact_lock(%(lock)s)

-- name: fire_always
-- Make every trigger fire in replica mode too.
SELECT dedup.fire_always()

-- name: not_for_everyone
-- Revoke the right to call functions, which Postgres grants to everyone.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dedup FROM PUBLIC

-- name: corpora
-- Return the schemas with a corpus, at most `limit`.
SELECT n.nspname FROM pg_namespace n JOIN pg_class c ON c.relnamespace = n.oid
WHERE c.relname = 'settle_turn' AND c.relkind = 'r' ORDER BY 1 LIMIT %(limit)s
