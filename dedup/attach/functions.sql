-- Templates of the functions and the view made for an attached table. `functions.py` and `ddl.py` fill in the parts in
-- braces. Postgres looks up the columns in a function when the function runs, not when it is created.

-- name: function
-- Create a function that will belong to the owner of the table.
CREATE FUNCTION {name}{given} RETURNS {returns} LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp AS {body}

-- name: text
-- Return the body of a row. LIMIT 1 avoids an error here if a view has two rows with the same key. dedup finds and
-- reports repeated keys when it calls `rows` or `page`.

BEGIN
    RETURN (SELECT {body} FROM {table} t WHERE {by_key} AND {where} LIMIT 1);
END

-- name: rows
-- Return rows by their source_ids. OFFSET 0 forces an index lookup for each row, even if statistics are outdated.

#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT r.* FROM unnest($1) AS g (id)
    CROSS JOIN LATERAL (SELECT {row} FROM {table} t WHERE {by_key} AND {where} OFFSET 0) AS r;
END

-- name: rows_at_once
-- Return rows of a view by their source_ids, for one key column. A view without an index is read once, not per key.

#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT {row} FROM {table} t
    WHERE t.{key} = ANY (ARRAY(SELECT {key_of_id} FROM unnest($1) AS g (id))) AND {source_id} = ANY ($1) AND {where};
END

-- name: page
-- Return the next page of rows in the given order. `last`: the source_id of the last row of the previous page.

#variable_conflict use_column
BEGIN
    IF {last} IS NULL THEN
        RETURN QUERY {rows} AND {begin} ORDER BY {order} LIMIT {limit};
    ELSE
        RETURN QUERY {rows} AND ({order}) > ({after}) ORDER BY {order} LIMIT {limit};
    END IF;
END

-- name: kept
-- Compose a JSON object of the columns that an article keeps. Nulls are left out; if all are null, return null.
(SELECT jsonb_object_agg(k.name, CASE WHEN jsonb_typeof(k.value) = 'string'
 THEN to_jsonb(left(k.value #>> '{{}}', {most})) ELSE k.value END)
 FROM (VALUES {values}) AS k (name, value) WHERE k.value IS NOT NULL
 AND (jsonb_typeof(k.value) = 'string' OR length(k.value::text) <= {most}))

-- name: kept_value
-- Convert one kept column to JSON.
CASE WHEN pg_typeof(t.{column}) = 'json'::regtype THEN to_jsonb(t.{column}::text) ELSE to_jsonb(t.{column}) END

-- name: write
-- Write the marks passed as arguments; return the source_ids of rows that other sessions have locked.

DECLARE
    before text := current_setting('dedup.writing', true);
BEGIN
    PERFORM set_config('dedup.writing', 'on', true);  -- triggers must not note the written marks
    WITH wanted AS MATERIALIZED (
        SELECT g.id, t.part, t.place, g.status, {original} AS original, g.score
        FROM unnest($1, $2, $3, $4) AS g (id, status, original, score)
        CROSS JOIN LATERAL (
            SELECT t.tableoid AS part, t.ctid AS place, m.* FROM {table} t
            CROSS JOIN LATERAL (SELECT {marked}) AS m (status, original, score)
            WHERE {by_key} OFFSET 0) AS t
        WHERE (t.status, t.original, t.score) IS DISTINCT FROM (g.status, g.original, g.score)
    ), free AS MATERIALIZED (
        SELECT t.tableoid AS part, t.ctid AS place FROM {table} t
        WHERE t.ctid = ANY (ARRAY(SELECT place FROM wanted))
        FOR NO KEY UPDATE SKIP LOCKED
    ), done AS (
        UPDATE {table} t SET ({columns}) = ROW (w.status, w.original, w.score)
        FROM wanted w JOIN free USING (part, place)
        WHERE t.tableoid = w.part AND t.ctid = w.place
        RETURNING w.id
    )
    SELECT (SELECT count(*) FROM done), ARRAY(SELECT id FROM wanted EXCEPT SELECT id FROM done)
    INTO written, held;
    PERFORM set_config('dedup.writing', coalesce(before, ''), true);
END

-- name: changed
-- Trigger: note the rows that a statement changed (in a partitioned table, one row). The trigger must never fail.

DECLARE
    noted text[];
    rows_noted bigint;
BEGIN
{insert}
    IF TG_OP <> 'TRUNCATE' THEN
        BEGIN
{found}
        EXCEPTION WHEN OTHERS THEN
            noted := '{{}}';  -- the owner changed the table: compare the whole table
        END;
    END IF;
    INSERT INTO {outbox} ({columns}, amount, source_ids)
    VALUES ({id}, greatest(cardinality(noted), 1), noted);
    RETURN NULL;
END

-- name: changed_row
-- Note one row that was inserted, updated or deleted.
            IF TG_OP = 'INSERT' THEN
                noted := ARRAY[{new}];
            ELSIF TG_OP = 'DELETE' THEN
                noted := ARRAY[{old}];
            ELSIF {old} <> {new} THEN
                noted := ARRAY[{old}, {new}];
            ELSIF {differs} THEN
                noted := ARRAY[{new}];
            ELSE
                RETURN NULL;
            END IF;

-- name: changed_rows
-- Note the rows that a statement changed. If there are more than `most` rows, store several notes. If there are fewer,
-- put their source_ids into `noted`: the template `changed`, which contains this part, stores them as one note.
            IF TG_OP = 'INSERT' THEN
                IF EXISTS (SELECT FROM new_rows OFFSET {most}) THEN
                    {note_inserted};
                    RETURN NULL;
                END IF;
                SELECT array_agg(g.id) INTO noted FROM ({inserted}) AS g (id);
            ELSIF TG_OP = 'DELETE' THEN
                IF EXISTS (SELECT FROM old_rows OFFSET {most}) THEN
                    {note_deleted};
                    RETURN NULL;
                END IF;
                SELECT array_agg(g.id) INTO noted FROM ({deleted}) AS g (id);
            ELSIF TG_OP = 'UPDATE' THEN
                IF EXISTS (SELECT FROM new_rows OFFSET {most}) THEN
                    {note_updated};
                    RETURN NULL;
                END IF;
                SELECT array_agg(g.id) INTO noted FROM ({updated}) AS g (id);
            END IF;
            IF noted IS NULL THEN
                RETURN NULL;
            END IF;

-- name: updated
-- Select the source_ids of rows whose article an UPDATE changed.
SELECT CASE WHEN n.{key} IS NULL THEN {old} ELSE {new} END
            FROM old_rows o FULL JOIN new_rows n ON {same}
            WHERE o.{key} IS NULL OR n.{key} IS NULL
            OR {differs}

-- name: updated_base
-- Select the keys, old and new, of rows of a base table that an UPDATE changed.
SELECT DISTINCT g.id FROM old_rows o FULL JOIN new_rows n ON {same}
            CROSS JOIN LATERAL (VALUES ({old}), ({new})) AS g (id)
            WHERE g.id IS NOT NULL AND (o.{key} IS NULL OR n.{key} IS NULL
            OR {differs})

-- name: owned
-- If the table belongs to another role now, note only that all rows must be compared. For a partition, the owner of
-- the partitioned table decides.
    IF (SELECT pg_get_userbyid(c.relowner) FROM pg_class c
        WHERE c.oid = coalesce(pg_partition_root(TG_RELID), TG_RELID)) IS DISTINCT FROM current_user THEN
        INSERT INTO {outbox} ({columns}, amount, source_ids) VALUES ({id}, 1, '{{}}');
        RETURN NULL;
    END IF;

-- name: refer
-- Note the rows of an attached table that belong to rows of a base table, whose keys are in the argument.

BEGIN
    {note};
END

-- name: looked_up
-- Look a name up by a key.
(SELECT {name} FROM {base} f WHERE {key} = {by})

-- name: inserted_at_once
-- Note inserted rows if the key columns still exist. A block that catches errors is avoided here, because it would
-- double the cost.
    IF TG_OP = 'INSERT' AND {there} THEN
        INSERT INTO {outbox} ({columns}, amount, source_ids)
            SELECT {id}, 1, ARRAY[g.id] FROM ({inserted} LIMIT 2) AS g (id);
        GET DIAGNOSTICS rows_noted = ROW_COUNT;
        IF rows_noted = 2 THEN  -- two is the limit: more rows may follow
            {note_rest};
        END IF;
        RETURN NULL;
    END IF;

-- name: column_is_there
-- Condition: a column of the key still has its name.
(pg_identify_object_as_address('pg_class'::regclass, TG_RELID, {number})).object_names[3] = {name}

-- name: note
-- Run the query `source_ids`, and store the source_ids found as notes. `most`: maximum number of source_ids per note.
INSERT INTO {outbox} ({columns}, amount, source_ids)
    SELECT {id}, count(*), array_agg(s.source_id)
    FROM (SELECT g.source_id, row_number() OVER () / {most} AS part
          FROM ({source_ids}) AS g (source_id)) AS s
    GROUP BY s.part

-- name: differs_but_for_chunks
-- Condition: a value changed. Values are compared as text, since some types have no comparison. A large value that is
-- unchanged is not read.
(CASE WHEN pg_column_toast_chunk_id({old}) IS NOT NULL AND pg_column_toast_chunk_id({old}) IS NOT DISTINCT FROM pg_column_toast_chunk_id({new}) THEN false ELSE {old}::text COLLATE "C" IS DISTINCT FROM {new}::text COLLATE "C" END)

-- name: differs_but_for_size
-- Condition: a value changed or is large. Before PostgreSQL 17, a large value must be read to tell whether it changed,
-- and `dedup` does that when it reads the note.
(CASE WHEN pg_column_size({old}) >= {inline} THEN true ELSE {old}::text COLLATE "C" IS DISTINCT FROM {new}::text COLLATE "C" END)

-- name: marks
-- Trigger: note that the mark of an article changed, so that dedup later writes the new mark into the table.

BEGIN
    IF TG_OP = 'DELETE' THEN
        INSERT INTO {mark_change} (attachment_id, source_id) VALUES ({id}, OLD.source_id);
    ELSE
        INSERT INTO {mark_change} (attachment_id, source_id)
        SELECT {id}, a.source_id FROM {article} a WHERE a.id = NEW.id;
    END IF;
    RETURN NULL;
END

-- name: marks_view
-- Create the view of marks. Its first columns are the key columns of the table, which identify the articles.
CREATE VIEW {name} AS
SELECT {keys}, a.status,
    {originals},
    o.source_id AS original_source_id, a.score, a.reason, a.stale, a.marked_at
FROM {marked_article} a LEFT JOIN {article} o ON o.id = a.duplicate_of
WHERE a.attachment_id = {id}
