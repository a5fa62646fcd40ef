-- Removal of a corpus.

-- name: outside
-- Return objects outside the schema that depend on it.
WITH own AS (
    SELECT 'pg_class'::regclass AS class, oid FROM pg_class WHERE relnamespace = 'dedup'::regnamespace
    UNION ALL
    SELECT 'pg_proc'::regclass, oid FROM pg_proc WHERE pronamespace = 'dedup'::regnamespace
    UNION ALL
    SELECT 'pg_type'::regclass, oid FROM pg_type WHERE typnamespace = 'dedup'::regnamespace
), dependent AS (
    -- pg_depend lists the rule of a view instead of the view, so return the view of the rule.
    SELECT DISTINCT CASE WHEN r.oid IS NULL THEN d.classid ELSE 'pg_class'::regclass END AS class,
           coalesce(r.ev_class, d.objid) AS oid
    FROM pg_depend d JOIN own ON own.class = d.refclassid AND own.oid = d.refobjid
    LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
    WHERE d.deptype IN ('n', 'a')
)
SELECT i.type || ' ' || i.identity FROM dependent d
CROSS JOIN LATERAL pg_identify_object(d.class, d.oid, 0) AS i
WHERE i.schema IS DISTINCT FROM 'dedup'::regnamespace::text
  AND NOT EXISTS (SELECT FROM pg_constraint k JOIN own ON own.oid = k.conrelid
                  WHERE d.class = 'pg_constraint'::regclass AND k.oid = d.oid)
  AND NOT EXISTS (SELECT FROM pg_trigger t JOIN own ON own.oid = t.tgrelid
                  WHERE d.class = 'pg_trigger'::regclass AND t.oid = d.oid)
  -- Leave out dedup's triggers on attached tables: they are removed with the attachment.
  AND NOT EXISTS (SELECT FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
                  WHERE d.class = 'pg_trigger'::regclass AND t.oid = d.oid
                    AND p.pronamespace = 'dedup'::regnamespace AND p.proname ~ '^attached_[0-9]+_')
  AND NOT EXISTS (SELECT FROM pg_attrdef t JOIN own ON own.oid = t.adrelid
                  WHERE d.class = 'pg_attrdef'::regclass AND t.oid = d.oid)
ORDER BY 1

-- name: tables
-- Return the tables of the schema, with bytes including indexes.
SELECT relname, pg_total_relation_size(oid) FROM pg_class
WHERE relnamespace = 'dedup'::regnamespace AND relkind = 'r' ORDER BY relname

-- name: count
-- Count the rows of a table.
SELECT count(*) FROM dedup.${table}
