-- Base tables of attached tables: tables that give names by a key, and tables that a view reads.

-- name: owner
-- Return whether a relation is a plain table, and the owners of this relation and of the attached table.
SELECT c.relkind = 'r', pg_get_userbyid(c.relowner), pg_get_userbyid(t.relowner), t.relkind = 'v'
FROM pg_class c, pg_class t WHERE c.oid = %(oid)s AND t.oid = %(attached)s

-- name: unique_keys
-- Select the unique keys of a table, each as an array of its columns. First a key to which a foreign key in the column
-- `number` of the attached table refers, then the primary key.
SELECT ARRAY(SELECT a.attname::text FROM unnest(i.indkey[0:i.indnkeyatts - 1]) WITH ORDINALITY AS k (attnum, place)
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum ORDER BY k.place),
       CASE WHEN EXISTS (SELECT FROM pg_constraint f
                         WHERE f.contype = 'f' AND f.conrelid = %(attached)s::bigint::oid AND f.conindid = i.indexrelid
                           AND f.conkey = ARRAY[%(number)s::smallint]) THEN 0 WHEN i.indisprimary THEN 1 ELSE 2 END AS rank
FROM pg_index i
WHERE i.indrelid = %(oid)s AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
ORDER BY rank, i.indexrelid

-- name: columns_read
-- Select the columns that a view reads, also through other views, each after the oid of its table. The column is null
-- if the view uses whole rows.
WITH RECURSIVE rule (oid, relation) AS (
    SELECT w.oid, w.ev_class FROM pg_rewrite w
    WHERE w.ev_class = %(oid)s::bigint::oid AND w.rulename = '_RETURN'
    UNION
    SELECT w.oid, w.ev_class FROM rule
    JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = rule.oid
        AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> rule.relation
    JOIN pg_rewrite w ON w.ev_class = d.refobjid AND w.rulename = '_RETURN'
)
SELECT DISTINCT d.refobjid::bigint, a.attname::text
FROM rule JOIN pg_rewrite w ON w.oid = rule.oid
JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
    AND d.refobjid <> rule.relation
-- In the stored form of a query, column 0 of a table is its whole row.
LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND d.refobjsubid > 0
    AND w.ev_action::text NOT LIKE '%%:varattno 0 %%'

-- name: states
-- Select the fields of `BaseState` for base tables, in their order. A table is found by its name; `oids` are stored oids.
SELECT c.oid::bigint,
       coalesce(c.relkind = 'r' AND NOT EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid), false), pg_get_userbyid(c.relowner),
       coalesce(c.relrowsecurity AND c.relforcerowsecurity AND NOT r.rolsuper AND NOT r.rolbypassrls, false),
       (SELECT format('%%s.%%s', m.nspname, k.relname) FROM pg_class k JOIN pg_namespace m ON m.oid = k.relnamespace
        WHERE k.oid = b.oid),
       (SELECT coalesce(jsonb_object_agg(a.attname, jsonb_build_array(
                   a.attnum, format_type(a.atttypid, NULL),
                   CASE WHEN a.attgenerated <> '' THEN pg_get_expr(d.adbin, d.adrelid) END)), '{}')
        FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
       t.present, t.off, concat_ws(' ', c.oid, pg_relation_filenode(c.oid), t.versions)
FROM unnest(%(schemas)s::text[], %(tables)s::text[], %(oids)s::bigint[]::oid[], %(functions)s::text[])
    WITH ORDINALITY AS b (schema_name, table_name, oid, function, place)
LEFT JOIN pg_namespace n ON n.nspname = b.schema_name
LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = b.table_name
LEFT JOIN pg_roles r ON r.oid = c.relowner
CROSS JOIN LATERAL (
    SELECT count(*) AS present, count(*) FILTER (WHERE g.tgenabled NOT IN ('O', 'A')) AS off,
           string_agg(concat_ws(' ', g.oid, g.xmin::text), ',' ORDER BY g.oid) AS versions
    FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
    WHERE g.tgrelid = c.oid AND p.pronamespace = 'dedup'::regnamespace AND p.proname = b.function) AS t
ORDER BY b.place

-- name: owners
-- Select the roles that own base tables; and null if a base table is gone or is no plain table now.
SELECT DISTINCT pg_get_userbyid(c.relowner)
FROM unnest(%(schemas)s::text[], %(tables)s::text[]) AS b (schema_name, table_name)
LEFT JOIN pg_namespace n ON n.nspname = b.schema_name
LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = b.table_name AND c.relkind = 'r'
    AND NOT EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid)

-- name: take
-- Delete the notes about rows of a base table. Return the number of notes, whether one of them asks for a comparison of
-- all rows, and the keys of the noted rows, at most `limit`.
WITH taken AS (
    DELETE FROM dedup.outbox WHERE attachment_id = %(id)s AND base = %(base)s RETURNING source_ids
)
SELECT (SELECT count(*) FROM taken), (SELECT bool_or(coalesce(cardinality(source_ids), 0) = 0) FROM taken),
       ARRAY(SELECT DISTINCT key FROM taken, unnest(source_ids) AS key LIMIT %(limit)s)

-- name: refer
-- Note the rows that belong to rows of a base table. `refer`: a call of a function made for the attached table.
SELECT FROM ${refer}

-- name: resting
-- Select the attachments that rest. Until the end of the rest, a note of a base table that names no rows must wait.
SELECT id FROM dedup.attachment WHERE rests_until > now()

-- name: rest
-- Let an attachment rest (see `resting`) for `seconds`.
UPDATE dedup.attachment SET rests_until = now() + make_interval(secs => %(seconds)s) WHERE id = %(id)s
