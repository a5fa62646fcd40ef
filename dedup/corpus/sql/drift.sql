-- Drift of attached tables.

-- name: attached_table
-- A table of others as it is now, by its name and by the number it had: what it is called, its owner, its columns,
-- whether triggers note its changes, and a digest of what tells that rows may have come or gone unnoticed: the
-- partitions, the files of the rows (another one after TRUNCATE and where a table is rewritten) and the triggers
-- (others after a partition was attached again, changed ones after they were switched off and on).
WITH present AS (
    SELECT c.oid, c.relowner, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %(schema)s AND c.relname = %(table)s AND c.relkind IN ('r', 'p')
), parts AS (
    SELECT oid FROM present WHERE relkind = 'r'
    UNION ALL SELECT p.relid FROM present CROSS JOIN LATERAL pg_partition_tree(present.oid) AS p WHERE relkind = 'p'
), calling AS (
    SELECT t.oid, t.xmin::text AS version, t.tgrelid, t.tgenabled FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN parts ON parts.oid = t.tgrelid
    WHERE p.pronamespace = 'dedup'::regnamespace AND p.proname = %(changed)s
)
SELECT (SELECT oid::bigint FROM present),
       (SELECT format('%%s.%%s', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.oid = %(oid)s::bigint::oid AND c.relkind IN ('r', 'p')),
       (SELECT pg_get_userbyid(relowner) FROM present),
       (SELECT pg_get_userbyid(p.proowner) FROM pg_proc p
        WHERE p.pronamespace = 'dedup'::regnamespace AND p.proname = %(rows)s),
       (SELECT coalesce(jsonb_object_agg(a.attname, jsonb_build_array(
                   a.attnum, format_type(a.atttypid, NULL),
                   CASE WHEN a.attgenerated <> '' THEN pg_get_expr(d.adbin, d.adrelid) END)), '{}')
        FROM pg_attribute a JOIN present ON a.attrelid = present.oid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE a.attnum > 0 AND NOT a.attisdropped),
       (SELECT count(*) FROM calling JOIN present ON present.oid = calling.tgrelid),
       (SELECT count(*) FROM calling WHERE tgenabled NOT IN ('O', 'A')),
       (SELECT array_agg(oid::bigint ORDER BY oid) FROM parts),
       (SELECT md5(string_agg(concat_ws(' ', parts.oid, pg_relation_filenode(parts.oid), (
                   SELECT string_agg(concat_ws(' ', t.oid, t.version), ',' ORDER BY t.oid) FROM calling t
                   WHERE t.tgrelid = parts.oid)), ';' ORDER BY parts.oid))
        FROM parts)
