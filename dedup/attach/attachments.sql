-- Attached tables: attachments, changes that table owners make, and marks that are written into the tables.

-- name: attachments
-- Select every attachment.
SELECT id, name, schema_name, table_name, key_columns, key_types, columns, where_clause, mark_columns, triggers,
       html, kept_columns, changed_column, sync_minutes, leaving, copied, attached_at, seen, synced_at, compared_at,
       changed_through, bases
FROM dedup.attachment ORDER BY id

-- name: due
-- Select the attachments whose regular search for changes is due, and whether to compare all their rows. Skip tables
-- with problems that a person must solve. Skip new attachments, because `check` in drift.py has them compared first.
SELECT id, changed_column IS NULL OR compared_at IS NULL OR compared_at < now() - interval '1 day'
FROM dedup.attachment
WHERE sync_minutes IS NOT NULL AND NOT leaving AND seen -> 'problems' IS NULL
  AND synced_at < now() - make_interval(mins => sync_minutes)
ORDER BY id

-- name: hold
-- Pause work on a table for some minutes, store the reason, and add a note that asks to compare the whole table.
WITH noted AS (
    INSERT INTO dedup.outbox (attachment_id, source_ids)
    SELECT %(id)s::integer, '{}'
    WHERE NOT EXISTS (SELECT FROM dedup.outbox WHERE attachment_id = %(id)s
                      AND (source_ids IS NULL OR source_ids = '{}'))
)
UPDATE dedup.attachment
SET seen = seen || jsonb_build_object('held', %(why)s::text, 'until', extract(epoch FROM now()) + 60 * %(minutes)s)
WHERE id = %(id)s

-- name: held
-- Select the attachments whose pause has not ended.
SELECT id FROM dedup.attachment WHERE (seen ->> 'until')::double precision > extract(epoch FROM now())

-- name: release
-- End the pause of a table, and delete the stored reason for the pause.
UPDATE dedup.attachment SET seen = seen - 'held' - 'until' WHERE id = %(id)s AND seen -> 'held' IS NOT NULL

-- name: began
-- Select the present time, and the start of the period in which to search for changed rows. The period starts `overlap`
-- minutes before the latest change found, because a transaction may commit long after it changed a row.
SELECT now()::text, (changed_through - make_interval(mins => %(overlap)s))::text FROM dedup.attachment WHERE id = %(id)s

-- name: looked
-- Record that a search for changes has finished. `whole`: all rows were compared; `latest`: the latest time of change
-- found; `began`: the time when the search began.
UPDATE dedup.attachment
SET synced_at = now(), compared_at = CASE WHEN %(whole)s THEN now() ELSE compared_at END,
    changed_through = greatest(changed_through,
                               least(coalesce(%(latest)s::timestamptz, %(began)s::timestamptz), %(began)s::timestamptz))
WHERE id = %(id)s

-- name: restart_pause
-- After a failed search for changes, store the present time, so that the next search waits for the usual interval.
UPDATE dedup.attachment SET synced_at = now() WHERE id = %(id)s

-- name: known
-- Return whether the schema has a table of attachments.
SELECT to_regclass('dedup.attachment') IS NOT NULL

-- name: next_id
-- Return the id for the next attachment.
SELECT coalesce(max(id), 0) + 1 FROM dedup.attachment

-- name: lock
-- Keep other sessions from attaching or mapping a table until the end of the transaction.
LOCK TABLE dedup.attachment IN SHARE ROW EXCLUSIVE MODE

-- name: name_taken
-- Return three booleans about the name of a new attachment: whether an attachment has this name, whether a relation
-- is called NAME_marks, and whether source_ids begin with this name and a slash.
SELECT EXISTS (SELECT FROM dedup.attachment WHERE name = %(name)s::text),
       to_regclass(format('dedup.%%I', %(name)s::text || '_marks')) IS NOT NULL,
       EXISTS (SELECT FROM dedup.article
               WHERE source_id >= %(name)s::text || '/' AND source_id < %(name)s::text || '0')

-- name: parts_of_name
-- Return the parts of a name that is written as in SQL, such as schema."Table".
SELECT parse_ident(%(name)s)

-- name: own_search_path
-- Return the present search path of the session. Then set the search path to the default of the role and the database,
-- for this transaction.
SELECT pg_catalog.current_setting('search_path'), pg_catalog.set_config('search_path', s.reset_val, true)
FROM pg_catalog.pg_settings AS s WHERE s.name OPERATOR(pg_catalog.=) 'search_path'

-- name: relation
-- Return the oid of a relation by its quoted name.
SELECT pg_catalog.to_regclass(%(table)s)::pg_catalog.oid

-- name: search_path
-- Set the search path until the end of the transaction.
SELECT pg_catalog.set_config('search_path', %(path)s, true)

-- name: table
-- Select a relation by its oid, with properties that can forbid attaching: its kind, its persistence, whether it takes
-- part in inheritance, is a partition, has row security, or is in a schema made by dedup.
SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, c.relpersistence::text,
       EXISTS (SELECT FROM pg_inherits i WHERE (i.inhparent = c.oid OR i.inhrelid = c.oid)
               AND c.relkind <> 'p' AND NOT c.relispartition),
       c.relispartition, c.relrowsecurity,
       to_regclass(format('%%I.settle_turn', n.nspname)) IS NOT NULL
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = %(oid)s

-- name: sampled
-- Return the percentage for TABLESAMPLE that selects about `rows` rows of a relation. Return 100 if Postgres cannot
-- sample the relation, or has no estimate of its number of rows.
SELECT CASE WHEN relkind IN ('r', 'p', 'm') AND reltuples > %(rows)s THEN 100 * %(rows)s / reltuples ELSE 100 END
FROM pg_class WHERE oid = %(oid)s

-- name: foreign_partition
-- Return a row if a partition of a table is a foreign table.
SELECT FROM pg_partition_tree(%(oid)s::oid::regclass) p JOIN pg_class c ON c.oid = p.relid WHERE c.relkind = 'f'

-- name: columns
-- Select the columns of a table: types, whether null is forbidden, and the source columns of virtual columns.
SELECT a.attname, a.attnum, format_type(a.atttypid, a.atttypmod),
       format_type(coalesce(b.oid, t.oid), NULL), t.typcategory::text, a.attnotnull,
       coalesce(b.typnamespace, t.typnamespace) = 'pg_catalog'::regnamespace,
       ARRAY(SELECT b.attname FROM pg_attrdef e
             JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = e.oid
                 AND d.refclassid = 'pg_class'::regclass AND d.refobjid = a.attrelid
             JOIN pg_attribute b ON b.attrelid = a.attrelid AND b.attnum = d.refobjsubid
             WHERE e.adrelid = a.attrelid AND e.adnum = a.attnum AND a.attgenerated = 'v'
                 AND b.attnum <> a.attnum ORDER BY b.attnum)::text[]
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
WHERE a.attrelid = %(oid)s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum

-- name: seen_by
-- Select the triggers of a table and its partitions that would fire when dedup updates columns of marks. Leave out
-- triggers made by dedup.
SELECT DISTINCT tgname::text FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
WHERE NOT (p.proname ~ '^attached_[0-9]+_'
           AND EXISTS (SELECT FROM pg_class WHERE relnamespace = p.pronamespace AND relname = 'settle_turn'))
  AND tgrelid = ANY (%(oids)s::bigint[]::oid[]) AND NOT tgisinternal AND tgenabled <> 'D' AND tgtype::integer & 16 <> 0
  AND cardinality(tgattr::smallint[]) = 0
ORDER BY 1

-- name: is_unique
-- Return whether `keys` identify a row, that is, whether a unique index without WHERE has only columns in `keys`.
SELECT EXISTS (
    SELECT FROM pg_index i
    WHERE i.indrelid = %(oid)s AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL
      AND (SELECT array_agg(a.attname::text)
           FROM unnest(i.indkey[0:i.indnkeyatts - 1]) AS k (attnum)
           JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum) <@ %(keys)s::text[])

-- name: shape
-- Return eight values: whether a relation is a view of a trusted owner; the untrusted roles whose code runs when the
-- relation is read; and the last six fields of `TableShape` (functions.py), in their order. The last field is true from
-- PostgreSQL 17 on, which has pg_column_toast_chunk_id.
SELECT c.relkind = 'v' AND dedup.role_is_trusted(c.relowner), dedup.strangers(c.oid),
       c.relkind = 'p', pg_get_userbyid(c.relowner), current_user::text, pg_get_userbyid(n.nspowner),
       NOT r.rolsuper AND c.relowner <> r.oid AND NOT has_schema_privilege(c.relowner, n.oid, 'CREATE'),
       current_setting('server_version_num')::integer >= 170000
FROM pg_class c, pg_namespace n, pg_roles r
WHERE c.oid = %(oid)s AND n.oid = 'dedup'::regnamespace AND r.rolname = current_user

-- name: strangers
-- Return two arrays of roles that are not trusted (see docs/attach.md): roles whose code runs when a table is read,
-- and owners of the functions made for the table.
SELECT dedup.strangers(c.oid),
       ARRAY(SELECT DISTINCT pg_get_userbyid(p.proowner)::text FROM pg_proc p
             WHERE p.pronamespace = 'dedup'::regnamespace AND p.proname ~ %(made)s
               AND NOT dedup.role_is_trusted(p.proowner))
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(table)s

-- name: owners
-- Select the roles that own a table, its partitions, and the functions that read and write the table.
SELECT DISTINCT pg_get_userbyid(c.relowner)
FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_class c ON c.oid = t.oid OR c.oid IN (SELECT p.relid FROM pg_partition_tree(t.oid) AS p)
WHERE n.nspname = %(schema)s AND t.relname = %(table)s
UNION
SELECT pg_get_userbyid(p.proowner) FROM pg_proc p
WHERE p.pronamespace = 'dedup'::regnamespace AND p.proname ~ %(made)s AND p.proname !~ '_marks$$'
ORDER BY 1

-- name: looked_at
-- Select the columns that the `--where` condition reads, each after the oid of its table. PostgreSQL has them as
-- dependencies of the temporary view `dedup_condition`, which the caller made with the condition.
SELECT d.refobjid::bigint, a.attname
FROM pg_rewrite r
JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
    AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> r.ev_class
LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND d.refobjsubid > 0
WHERE r.ev_class = to_regclass('pg_temp.dedup_condition')

-- name: name_of_table
-- Select the schema and the name of a table.
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %(oid)s

-- name: attached_table
-- Return the fields of `TableState` (drift.py) for an attached table, which is found by its name and by its stored oid.
-- The last field is a digest that changes if rows may have been added or removed unnoticed: if the partitions, the
-- triggers, the query of a view, or the files of the rows change. TRUNCATE or a rewrite makes a new file. A partition
-- that was detached and attached again has new triggers. Switching a trigger off and on changes the trigger.
WITH present AS (
    SELECT c.oid, c.relowner, c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %(schema)s AND c.relname = %(table)s AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
), parts AS (
    SELECT oid FROM present WHERE relkind <> 'p'
    UNION ALL SELECT p.relid FROM present CROSS JOIN LATERAL pg_partition_tree(present.oid) AS p WHERE relkind = 'p'
), calling AS (
    SELECT t.oid, t.xmin::text AS version, t.tgrelid, t.tgenabled
    FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid JOIN parts ON parts.oid = t.tgrelid
    WHERE p.pronamespace = 'dedup'::regnamespace AND p.proname = %(changed)s
)
SELECT (SELECT oid::bigint FROM present), coalesce((SELECT dedup.strangers(oid) FROM present), '{}'),
       (SELECT count(*) FROM pg_proc p
        WHERE p.pronamespace = 'dedup'::regnamespace AND p.proname ~ %(made)s
          AND NOT (p.prosecdef AND p.proconfig = ARRAY['search_path=pg_catalog, pg_temp'])),
       (SELECT format('%%s.%%s', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.oid = %(oid)s::bigint::oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')),
       (SELECT pg_get_userbyid(relowner) FROM present),
       EXISTS (SELECT FROM present JOIN pg_class c USING (oid) JOIN pg_roles r ON r.oid = c.relowner
               WHERE c.relrowsecurity AND c.relforcerowsecurity AND NOT r.rolsuper AND NOT r.rolbypassrls),
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
       to_jsonb(ARRAY(SELECT oid::bigint FROM parts ORDER BY oid)),
       (SELECT md5(string_agg(concat_ws(' ', parts.oid, pg_relation_filenode(parts.oid), (
                   SELECT w.xmin::text FROM pg_rewrite w JOIN present ON present.relkind = 'v'
                   WHERE w.ev_class = parts.oid AND w.rulename = '_RETURN'), (
                   SELECT string_agg(concat_ws(' ', t.oid, t.version), ',' ORDER BY t.oid) FROM calling t
                   WHERE t.tgrelid = parts.oid)), ';' ORDER BY parts.oid))
        FROM parts)

-- name: compare_whole
-- Add a note that asks for a comparison of a whole table.
INSERT INTO dedup.outbox (attachment_id, source_ids) VALUES (%(id)s, '{}')

-- name: keep_seen
-- Store the state of a table, unless the stored state has changed meanwhile, such as by `dedup remap`.
UPDATE dedup.attachment SET seen = %(seen)s::jsonb WHERE id = %(id)s AND seen = %(before)s::jsonb

-- name: unwritten
-- Select the tables with rows into which marks could not be written: the number of rows, an example, and an SQLSTATE.
SELECT format('%%s.%%s', t.schema_name, t.table_name), count(*), min(m.source_id), min(m.failed)
FROM dedup.mark_change m JOIN dedup.attachment t ON t.id = m.attachment_id
WHERE m.failed IS NOT NULL GROUP BY 1 ORDER BY 1

-- name: take_turn
-- Try to become the only session that writes marks into a table, until the end of the transaction; return no row if a
-- different session does so already.
SELECT id FROM dedup.attachment WHERE id = %(id)s AND NOT leaving FOR NO KEY UPDATE SKIP LOCKED

-- name: changed_marks
-- Select the next notes of changed marks that must be written into a table.
SELECT id, source_id FROM dedup.mark_change
WHERE id > %(after)s AND attachment_id = %(id)s ORDER BY id LIMIT %(limit)s

-- name: answers
-- Return the marks of some rows as four arrays of texts, for the function that writes marks.
SELECT array_agg(g.id ORDER BY g.id), array_agg(a.status ORDER BY g.id),
       array_agg(o.source_id ORDER BY g.id), array_agg(a.score::text ORDER BY g.id)
FROM unnest(%(source_ids)s::text[]) AS g (id)
LEFT JOIN LATERAL (
    SELECT k.status, k.duplicate_of, k.score
    FROM (SELECT id FROM dedup.article
          WHERE source_id = g.id COLLATE "C" AND attachment_id = %(id)s OFFSET 0) AS own
    CROSS JOIN LATERAL (SELECT * FROM dedup.article_mark WHERE id = own.id OFFSET 0) AS k) AS a ON true
LEFT JOIN LATERAL (
    SELECT source_id FROM dedup.article
    WHERE id = a.duplicate_of AND attachment_id = %(id)s OFFSET 0) AS o ON true

-- name: apply
-- Write marks. `write`: a call of the writing function made for the table.
SELECT w.written, w.held FROM ${write} AS w

-- name: forget_marks
-- Delete notes of changed marks.
DELETE FROM dedup.mark_change WHERE id = ANY (%(ids)s)

-- name: note_failed
-- If marks could not be written, store the SQLSTATE of the error in the notes of these marks.
UPDATE dedup.mark_change SET failed = f.state
FROM unnest(%(source_ids)s::text[], %(states)s::text[]) AS f (id, state)
WHERE attachment_id = %(id)s AND source_id = f.id COLLATE "C" AND failed IS DISTINCT FROM f.state

-- name: borrowed_rights
-- Select the owner of a table, for `dedup detach`, which revokes rights of this role. Return two booleans: whether the
-- role has rights on the outbox besides INSERT, and whether the role has rights on other relations. Return no row if
-- the role also owns the corpus or another attached table, because it then keeps all rights.
WITH owner AS (
    SELECT DISTINCT p.proowner AS oid FROM pg_proc p, pg_namespace n
    WHERE n.oid = 'dedup'::regnamespace AND p.pronamespace = n.oid AND p.proname = %(rows)s
      AND p.proowner <> n.nspowner
), held AS (
    SELECT c.relname, a.privilege_type, a.grantee FROM pg_class c, aclexplode(c.relacl) AS a
    WHERE c.relnamespace = 'dedup'::regnamespace
)
SELECT pg_get_userbyid(o.oid),
       EXISTS (SELECT FROM held WHERE grantee = o.oid AND relname = 'outbox' AND privilege_type <> 'INSERT'),
       EXISTS (SELECT FROM held WHERE grantee = o.oid AND relname <> 'outbox')
FROM owner o
WHERE NOT EXISTS (
    SELECT FROM pg_proc p WHERE p.pronamespace = 'dedup'::regnamespace AND p.proowner = o.oid
      AND p.proname ~ '^attached_[0-9]+_rows$$' AND p.proname <> %(rows)s)

-- name: triggers
-- Select the triggers that were made for a table, on the table and on its former partitions.
SELECT n.nspname, c.relname, t.tgname
FROM pg_trigger t
JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_proc p ON p.oid = t.tgfoid
WHERE p.pronamespace = 'dedup'::regnamespace AND t.tgparentid = 0 AND p.proname ~ %(made)s
ORDER BY 1, 2, 3

-- name: functions
-- Select the functions that were made for a table.
SELECT oid::regprocedure::text FROM pg_proc
WHERE pronamespace = 'dedup'::regnamespace AND proname ~ %(made)s ORDER BY 1

-- name: with_marks
-- Select the tables among `oids` that have columns of marks.
SELECT n.nspname, c.relname
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid = ANY (%(oids)s::bigint[]::oid[]) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND (SELECT count(*) FROM pg_attribute a
       WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attname = ANY (%(columns)s)) > 0
ORDER BY 1, 2

-- name: forget_notes
-- Delete the notes of a table that was detached.
DELETE FROM dedup.outbox WHERE attachment_id = %(id)s

-- name: forget_all_marks
-- Delete the notes of changed marks of a table that was detached.
DELETE FROM dedup.mark_change WHERE attachment_id = %(id)s

-- name: forget_refused
-- Delete the list of refused rows of a table that was detached.
DELETE FROM dedup.refused_row WHERE attachment_id = %(id)s

-- name: forget
-- Delete an attachment.
DELETE FROM dedup.attachment WHERE id = %(id)s

-- name: holders
-- Select the roles other than the owner that were granted a privilege on a relation.
SELECT r.rolname FROM pg_class c, aclexplode(c.relacl) AS a JOIN pg_roles r ON r.oid = a.grantee
WHERE c.relnamespace = 'dedup'::regnamespace AND c.relname = %(relation)s
  AND a.privilege_type = %(privilege)s AND a.grantee <> c.relowner
ORDER BY 1
