"""The functions made for an attached table: they read its rows, write marks into it and note changes.

Each is in PL/pgSQL, which names the columns of the table as text: Postgres holds it to them when it runs, and
not when the owner changes the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from psycopg import sql
from psycopg.abc import AdaptContext

from dedup.attach.attachments import Attachment, Part
from dedup.base.article import MAX_FIELD_BYTES
from dedup.db.rendering import Named, own, prefixed, raw, rendered, schema_of

FIELDS = ("title", "url", "publication", "language", "published_at")
"""What of an article may be mapped to a column beside its text."""

BYTES_PER_CHARACTER = 4
"""Of UTF-8, at most."""

MARK_COLUMNS = ("status", "duplicate_of", "score")
"""What the columns tell that `--mark-columns` adds to the table."""

KEYS_PER_NOTE = 500
"""Rows in one note, which is worked off as a whole while others wait for the settle lock."""

INLINE_BYTES = 2_000
"""A value of fewer bytes may be in the row (TOAST_TUPLE_THRESHOLD is 2,032), and is cheap to compare."""

TIMES = ("date", "timestamp without time zone", "timestamp with time zone")

TELLS_CHUNKS = 170_000
"""From this server on `pg_column_toast_chunk_id` tells whether a large value is the one that was there."""

EXACT = ("boolean", "smallint", "integer", "bigint", "uuid", *TIMES)
"""Types of which equal values have equal texts: they are compared without writing the texts."""

HASH = "sha256(convert_to({}, 'UTF8'))"
"""The hash of a body by which a change is told: nobody can find two texts for one."""


def joined(parts: Sequence[Part], between: str = ", ") -> Part:
    return sql.SQL(between).join(parts)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the statements depend on, beside what is kept of an attachment."""

    zoned: bool = False  # whether the column of the publication time knows its time zone
    partitioned: bool = False  # whether the table is
    # columns in which a change of a row is one of its article, and their types: those that are mapped, those
    # that the condition looks at, and those that virtual columns are made of
    watched: Mapping[str, str] = field(default_factory=dict)
    numbers: tuple[int, ...] = ()  # where the columns of the key stand in the table
    owner: str = ""  # the role that owns the table
    creator: str = ""  # that attaches it
    home: str = ""  # that owns the corpus
    lends: bool = False  # whether the owner must be let make functions for a moment, to be given them
    chunks: bool = True  # whether the server tells one large value from another without reading them


def mark_columns(schema: str) -> list[str]:
    """The columns: `dedup_status` and so on. Two corpora may mark the same table."""
    return [f"{schema}_{name}" for name in MARK_COLUMNS]


def _marked(row: str, name: str) -> Part:
    return Named(lambda schema: sql.Identifier(row, f"{schema}_{name}"))


class Body(sql.Composable):
    def as_bytes(self, context: AdaptContext | None = None) -> bytes:
        text: bytes = rendered(self._obj, schema_of(context)).as_bytes(context)
        tag = b"$dedup$"
        while tag in text:
            tag = tag[:-1] + b"_$"
        return tag + text + tag


@dataclass(frozen=True, slots=True)
class Function:
    """A function in PL/pgSQL: it is held to the table when it runs, not when it is made."""

    name: Part
    given: str
    returns: str
    body: Part

    @property
    def signature(self) -> Part:
        return sql.SQL("FUNCTION {}{}").format(self.name, raw(self.given))

    def statements(self) -> Iterator[Part]:
        yield sql.SQL(
            "CREATE FUNCTION {}{} RETURNS {} LANGUAGE plpgsql SECURITY DEFINER\n"
            "    SET search_path = pg_catalog, pg_temp AS {}"
        ).format(self.name, raw(self.given), raw(self.returns), Body(self.body))
        yield sql.SQL("REVOKE ALL ON {} FROM PUBLIC").format(self.signature)


def _field(attachment: Attachment, name: str, zoned: bool = False) -> Part:
    """A field of an article, over the row `t`; what an article cannot hold is cut or missing."""
    column = attachment.columns.get(name)
    if column is None:
        return sql.SQL("NULL::timestamptz" if name == "published_at" else 'NULL::text COLLATE "C"')
    given = sql.SQL("t.{}").format(sql.Identifier(column))
    if name == "text":
        return sql.SQL("coalesce({}::text, '') COLLATE \"C\"").format(given)
    if name == "published_at":
        # Compared before it is converted: a date may be too large for a timestamp.
        zone, converted = ("", "::timestamp AT TIME ZONE 'UTC'") if not zoned else (" 00:00+00", "")
        return raw(
            f"CASE WHEN {{0}} >= '0001-01-01{zone}' AND {{0}} < '10000-01-01{zone}' THEN {{0}}{converted} END"
        ).format(given)
    return sql.SQL('left({}::text, {}) COLLATE "C"').format(
        given, sql.Literal(MAX_FIELD_BYTES[name] // BYTES_PER_CHARACTER)
    )


ROW = "source_id text, text_hash bytea, " + ", ".join(
    f"{name} {'timestamptz' if name == 'published_at' else 'text'}" for name in FIELDS
)
"""What is read of a row as an article; the text itself by `attached_1_text`."""

MARKED = "status text, original text, score double precision"
"""What its columns of marks hold, the original by its source_id; nulls where it has none."""


def by_key(attachment: Attachment, source_id: Part) -> Part:
    """The row `t` of a source_id, found by the unique index of the table."""
    same = [
        sql.SQL("t.{} = {}").format(sql.Identifier(key), value)
        for key, value in zip(attachment.keys, attachment.key(source_id), strict=True)
    ]
    return sql.SQL("{} AND {} = {}").format(joined(same, " AND "), attachment.source_id("t"), source_id)


def _present_marks(attachment: Attachment) -> Part:
    """The columns of marks of the row `t`, as `MARKED`."""
    if not attachment.mark_columns:
        return sql.SQL("NULL::text, NULL::text, NULL::double precision")
    status, original, score = (_marked("t", name) for name in MARK_COLUMNS)
    return sql.SQL("{}::text, {}, {}::double precision").format(status, attachment.original(original), score)


def reading(attachment: Attachment, shape: Shape) -> Iterator[Function]:
    body = _field(attachment, "text")
    values = [raw(HASH).format(body)] + [_field(attachment, name, shape.zoned) for name in FIELDS]
    row = sql.SQL("{}, {}, {}").format(attachment.source_id("t"), joined(values), _present_marks(attachment))
    where: Part = sql.SQL("true")
    if attachment.where is not None:
        where = sql.SQL("({}\n)").format(raw(attachment.where))  # it may end with a comment
    yield Function(
        attachment.function("text"),
        "(text)",
        "text",
        sql.SQL("\nBEGIN\n    RETURN (SELECT {} FROM {} t WHERE {} AND {});\nEND ").format(
            body, attachment.identifier, by_key(attachment, sql.SQL("$1")), where
        ),
    )
    # OFFSET 0: looked up one by one, whatever the statistics say.
    yield Function(
        attachment.function("rows"),
        "(text[])",
        f"TABLE ({ROW}, {MARKED})",
        sql.SQL(
            "\n#variable_conflict use_column\nBEGIN\n    RETURN QUERY SELECT r.* FROM unnest($1) AS g (id)\n"
            "    CROSS JOIN LATERAL (SELECT {} FROM {} t WHERE {} AND {} OFFSET 0) AS r;\nEND "
        ).format(row, attachment.identifier, by_key(attachment, sql.Identifier("g", "id")), where),
    )
    keys = joined([sql.Identifier("t", key) for key in attachment.keys])
    after = joined(attachment.key(sql.SQL("$1")))
    page = "    RETURN QUERY SELECT {row} FROM {table} t WHERE {where}{beyond} ORDER BY {keys} LIMIT $2;\n"
    first, later = (
        sql.SQL(page).format(row=row, table=attachment.identifier, where=where, keys=keys, beyond=beyond)
        for beyond in (sql.SQL(""), sql.SQL(" AND ({}) > ({})").format(keys, after))
    )
    yield Function(
        attachment.function("page"),
        "(text, integer)",
        f"TABLE ({ROW}, {MARKED})",
        sql.SQL(
            "\n#variable_conflict use_column\nBEGIN\n    IF $1 IS NULL THEN\n    {}"
            "    ELSE\n    {}    END IF;\nEND "
        ).format(first, later),
    )


def writing(attachment: Attachment) -> Function:
    """Write marks that were found elsewhere; the source_ids whose rows others hold are the answer."""
    body = sql.SQL("""
DECLARE
    before text := current_setting('dedup.writing', true);
BEGIN
    PERFORM set_config('dedup.writing', 'on', true);  -- to write marks is no change of the row
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
END """).format(
        original=attachment.original_from(sql.Identifier("g", "original")),
        table=attachment.identifier,
        marked=_present_marks(attachment),
        by_key=by_key(attachment, sql.Identifier("g", "id")),
        columns=joined([prefixed(name) for name in MARK_COLUMNS]),
    )
    given = "(text[], text[], text[], double precision[], OUT written bigint, OUT held text[])"
    return Function(attachment.function("write"), given, "record", body)


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
            ).format(*(joined([_marked(row, name) for name in MARK_COLUMNS]) for row in (old, new)))
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
        "            noted := NULL;  -- the owner changed the table: all of it is to be compared\n"
        "        END;\n    END IF;\n"
        "    INSERT INTO {outbox} (attachment_id, amount, source_ids)\n"
        "    VALUES ({id}, coalesce(cardinality(noted), 1), noted);\n    RETURN NULL;\nEND "
    ).format(
        insert=_of_insert(attachment, shape),
        found=(_of_row if shape.partitioned else _of_statement)(attachment, shape),
        outbox=own("outbox"),
        id=attachment.id,
    )
    return Function(attachment.function("changed"), "()", "trigger", body)
