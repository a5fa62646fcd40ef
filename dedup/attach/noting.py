"""The function of the triggers of an attached table: it notes which rows changed, and fails for no reason.

What reads the rows that were noted is in `functions.py`, what makes the triggers in `ddl.py`.
"""

from __future__ import annotations

from psycopg import sql

from dedup.attach.attachments import Attachment, Part
from dedup.attach.functions import EXACT, MARK_COLUMNS, TIMES, Function, Shape, joined, marked
from dedup.db.rendering import own, raw

KEYS_PER_NOTE = 500
"""Rows in one note, which is worked off as a whole while others wait for the settle lock."""

INLINE_BYTES = 2_000
"""A value of fewer bytes may be in the row (TOAST_TUPLE_THRESHOLD is 2,032), and is cheap to compare."""


def into_outbox(attachment: Attachment, source_ids: Part) -> Part:
    """A statement that notes the source_ids that a query has, many in one note."""
    return sql.SQL(
        "INSERT INTO {} (attachment_id, amount, source_ids)\n"
        "    SELECT {}, count(*), array_agg(s.source_id)\n"
        "    FROM (SELECT g.source_id, row_number() OVER () / {} AS part\n"
        "          FROM ({}) AS g (source_id)) AS s\n"
        "    GROUP BY s.part"
    ).format(own("outbox"), attachment.id, KEYS_PER_NOTE, source_ids)


def _differs(attachment: Attachment, shape: Shape, old: str, new: str) -> Part:
    """Whether a row changed as an article, or its marks were overwritten by others."""
    # As text: every type has one, and not every type can be compared. A large value is not read only to see
    # that it is the one that was there: before PostgreSQL 17 that cannot be seen, and whoever reads the note
    # sees it.
    same = (
        "pg_column_toast_chunk_id({0}) IS NOT NULL"
        " AND pg_column_toast_chunk_id({0}) IS NOT DISTINCT FROM pg_column_toast_chunk_id({1}) THEN false"
        if shape.chunks
        else f"pg_column_size({{0}}) >= {INLINE_BYTES} THEN true"
    )
    as_text = f'(CASE WHEN {same} ELSE {{0}}::text COLLATE "C" IS DISTINCT FROM {{1}}::text COLLATE "C" END)'
    parts = [
        raw("{0} IS DISTINCT FROM {1}" if kind in EXACT else as_text).format(
            sql.Identifier(old, column), sql.Identifier(new, column)
        )
        for column, kind in shape.watched.items()
    ]
    if attachment.mark_columns:
        parts.append(
            sql.SQL(
                "current_setting('dedup.writing', true) IS DISTINCT FROM 'on' AND ({}) IS DISTINCT FROM ({})"
            ).format(*(joined([marked(row, name) for name in MARK_COLUMNS]) for row in (old, new)))
        )
    return joined(parts, "\n            OR ")


def _of_row(attachment: Attachment, shape: Shape) -> Part:
    old, new = attachment.source_id("old"), attachment.source_id("new")
    return sql.SQL(
        "            IF TG_OP = 'INSERT' THEN\n                noted := ARRAY[{new}];\n"
        "            ELSIF TG_OP = 'DELETE' THEN\n                noted := ARRAY[{old}];\n"
        "            ELSIF {old} <> {new} THEN\n                noted := ARRAY[{old}, {new}];\n"
        "            ELSIF {differs} THEN\n                noted := ARRAY[{new}];\n"
        "            ELSE\n                RETURN NULL;\n            END IF;\n"
    ).format(old=old, new=new, differs=_differs(attachment, shape, "old", "new"))


def _of_statement(attachment: Attachment, shape: Shape) -> Part:
    old, new = attachment.source_id("o"), attachment.source_id("n")
    same: Part = sql.SQL("{} = {}").format(old, new)
    if set(attachment.key_types) <= set(EXACT):
        pairs = [(sql.Identifier("o", key), sql.Identifier("n", key)) for key in attachment.keys]
        same = joined([sql.SQL("{} = {}").format(*pair) for pair in pairs], " AND ")
    queries = {
        "INSERT": _keys_of(attachment, "new_rows"),
        "DELETE": _keys_of(attachment, "old_rows"),
        "UPDATE": sql.SQL(
            "SELECT CASE WHEN n.{key} IS NULL THEN {old} ELSE {new} END\n"
            "            FROM old_rows o FULL JOIN new_rows n ON {same}\n"
            "            WHERE o.{key} IS NULL OR n.{key} IS NULL\n            OR {differs}"
        ).format(
            old=old,
            new=new,
            same=same,
            key=sql.Identifier(attachment.keys[0]),
            differs=_differs(attachment, shape, "o", "n"),
        ),
    }
    steps = []
    for i, (event, query) in enumerate(queries.items()):
        few = sql.SQL("SELECT array_agg(g.id) INTO noted FROM ({}) AS g (id)").format(query)
        # Of many rows one note each some hundred; few are noted below, outside of what may fail.
        steps.append(
            sql.SQL(
                "            {word} TG_OP = {event} THEN\n"
                "                IF EXISTS (SELECT FROM {rows} OFFSET {most}) THEN\n"
                "                    {many};\n                    RETURN NULL;\n                END IF;\n"
                "                {few};\n"
            ).format(
                word=raw("IF" if not i else "ELSIF"),
                event=sql.Literal(event),
                rows=raw("old_rows" if event == "DELETE" else "new_rows"),
                most=KEYS_PER_NOTE,
                many=into_outbox(attachment, query),
                few=few,
            )
        )
    return sql.SQL(
        "{}            END IF;\n            IF noted IS NULL THEN\n"
        "                RETURN NULL;\n            END IF;\n"
    ).format(joined(steps, ""))


def _keys_of(attachment: Attachment, rows: str) -> Part:
    return sql.SQL("SELECT {} FROM {} r").format(attachment.source_id("r"), raw(rows))


def _of_insert(attachment: Attachment, shape: Shape) -> Part:
    """Note inserted rows outside of what may fail, which costs as much as all the rest. Before, it sees
    whether the columns of the key are still there. Only for keys whose texts can be written whatever their
    types are by now.
    """
    if shape.partitioned or not shape.numbers or {*TIMES} & {*attachment.key_types}:
        return sql.SQL("")
    there = [
        sql.SQL(
            "(pg_identify_object_as_address('pg_class'::regclass, TG_RELID, {})).object_names[3] = {}"
        ).format(number, sql.Literal(key))
        for number, key in zip(shape.numbers, attachment.keys, strict=True)
    ]
    first = sql.SQL(
        "INSERT INTO {} (attachment_id, amount, source_ids)\n"
        "            SELECT {}, 1, ARRAY[g.id] FROM ({} LIMIT 2) AS g (id)"
    ).format(own("outbox"), attachment.id, _keys_of(attachment, "new_rows"))
    rest = sql.SQL("{} OFFSET 2").format(_keys_of(attachment, "new_rows"))
    return sql.SQL(
        "    IF TG_OP = 'INSERT' AND {there} THEN\n        {first};\n"
        "        GET DIAGNOSTICS rows_noted = ROW_COUNT;\n"
        "        IF rows_noted = 2 THEN  -- there may be more\n            {rest};\n        END IF;\n"
        "        RETURN NULL;\n    END IF;\n"
    ).format(there=joined(there, " AND "), first=first, rest=into_outbox(attachment, rest))


def changed(attachment: Attachment, shape: Shape) -> Function:
    """Note which rows a statement changed, or one row of a partitioned table. A partition that is written to
    by its own name fires no triggers for statements of its table.
    """
    body = sql.SQL(
        "\nDECLARE\n    noted text[];\n    rows_noted bigint;\nBEGIN\n{insert}"
        "    IF TG_OP <> 'TRUNCATE' THEN\n        BEGIN\n{found}"
        "        EXCEPTION WHEN OTHERS THEN\n"
        "            noted := '{{}}';  -- the owner changed the table: all of it is to be compared\n"
        "        END;\n    END IF;\n"
        "    INSERT INTO {outbox} (attachment_id, amount, source_ids)\n"
        "    VALUES ({id}, greatest(cardinality(noted), 1), noted);\n    RETURN NULL;\nEND "
    ).format(
        insert=_of_insert(attachment, shape),
        found=(_of_row if shape.partitioned else _of_statement)(attachment, shape),
        outbox=own("outbox"),
        id=attachment.id,
    )
    return Function(attachment.function("changed"), "()", "trigger", body)
