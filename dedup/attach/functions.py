"""Compose the SQL functions made for an attached table, which read its rows, write its marks and note its
changes. PL/pgSQL looks up columns only when a function runs, so the owner can change the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from psycopg import sql
from psycopg.abc import AdaptContext

from dedup.attach.attachments import KEY, Attachment, Base, Part
from dedup.base.article import KEPT_CHARACTERS, MAX_FIELD_BYTES
from dedup.db.rendering import Named, Verbatim, own, prefixed, render, schema_of
from dedup.db.statements import Statements

FIELDS = ("title", "url", "publication", "language", "published_at", "byline", "scope")
"""Fields of an article that can be mapped to a column, besides the text."""

LATER_FIELDS = ("byline", "scope")

BYTES_PER_CHARACTER = 4  # Maximum bytes of a character in UTF-8
MARK_COLUMNS = ("status", "duplicate_of", "score")  # In the table, the schema precedes these names

TIMES = ("date", "timestamp without time zone", "timestamp with time zone")

# Types whose values are equal exactly if their texts are equal: compare values without conversion to text.
EXACT = ("boolean", "smallint", "integer", "bigint", "uuid", *TIMES)

KEYS_PER_NOTE = 500  # Maximum rows per note, because one transaction with the settle lock applies it

# Smaller values are cheap to compare: they may be in the row itself (TOAST_TUPLE_THRESHOLD is 2,032 bytes).
INLINE_BYTES = 2_000

# Bodies are compared by hash. This is safe, because no two texts with the same SHA-256 hash are known.
HASH = "sha256(convert_to({}, 'UTF8'))"


_template = Statements("attach/functions").composed


def join(parts: Sequence[Part], between: str = ", ") -> Part:
    return sql.SQL(between).join(parts)


@dataclass(frozen=True, slots=True)
class TableShape:
    """Properties of a table that are not in `Attachment`, but that the functions made for the table need."""

    zoned: bool  # whether the column of the publication time has a time zone
    changes_zoned: bool  # whether the column of the last change has a time zone
    view: bool  # whether it is a view, or another relation that may have no index on its key
    # Types of the columns whose changes are noted: mapped columns, kept columns, columns in the condition.
    # A virtual column is replaced by the columns from which it is computed.
    watched: Mapping[str, str]
    numbers: tuple[int, ...]  # numbers of the key columns (pg_attribute.attnum)
    partitioned: bool
    owner: str  # role that owns the table
    creator: str  # role that attaches the table
    home: str  # role that owns the corpus
    lends: bool  # whether to lend CREATE on the schema to the table's owner, who is to own functions there
    chunks: bool  # whether the server can compare large values by their chunk ids, without reading them


def mark_columns(schema: str) -> list[str]:
    """Return the names of the columns of marks, with the schema as prefix: two corpora may mark one table."""
    return [f"{schema}_{name}" for name in MARK_COLUMNS]


def mark_column(row: str, name: str) -> Part:
    return Named(lambda schema: sql.Identifier(row, f"{schema}_{name}"))


class Body(sql.Composable):
    def as_bytes(self, context: AdaptContext | None = None) -> bytes:
        text: bytes = render(self._obj, schema_of(context)).as_bytes(context)
        tag = b"$dedup$"
        while tag in text:
            tag = tag[:-1] + b"_$"
        return tag + text + tag


@dataclass(frozen=True, slots=True)
class Function:
    name: Part
    given: str
    returns: str
    body: Part

    @property
    def signature(self) -> Part:
        return sql.SQL("FUNCTION {}{}").format(self.name, Verbatim(self.given))

    def statements(self) -> Iterator[Part]:
        given, returns = Verbatim(self.given), Verbatim(self.returns)
        yield _template("function", name=self.name, given=given, returns=returns, body=Body(self.body))
        yield sql.SQL("REVOKE ALL ON {} FROM PUBLIC").format(self.signature)


def _field(attachment: Attachment, name: str, zoned: bool = False) -> Part:
    """Return SQL for a field of row `t`. Long values except bodies are cut; impossible times become null."""
    column = attachment.columns.get(name)
    if column is None:
        return sql.SQL("NULL::timestamptz" if name == "published_at" else 'NULL::text COLLATE "C"')
    given: Part = sql.SQL("t.{}").format(sql.Identifier(column))
    for base in attachment.bases:
        if base.gives == name:
            key, by = sql.Identifier("f", base.keys[0]), given
            parts = {
                "name": sql.Identifier("f", base.name or ""),
                "base": base.identifier,
                "key": key,
                "by": by,
            }
            given = _template("looked_up", **parts)
    if name == "text":
        return sql.SQL("coalesce({}::text, '') COLLATE \"C\"").format(given)
    if name == "published_at":
        # Check the year before the conversion, because a date may be too large for a timestamp.
        zone, converted = ("", "::timestamp AT TIME ZONE 'UTC'") if not zoned else (" 00:00+00", "")
        return Verbatim(
            f"CASE WHEN {{0}} >= '0001-01-01{zone}' AND {{0}} < '10000-01-01{zone}' THEN {{0}}{converted} END"
        ).format(given)
    return sql.SQL('left({}::text, {}) COLLATE "C"').format(
        given, sql.Literal(MAX_FIELD_BYTES[name] // BYTES_PER_CHARACTER)
    )


def _read(attachment: Attachment) -> tuple[str, ...]:
    # Read a later field only if it is mapped: functions made by older versions of dedup do not return it.
    return tuple(name for name in FIELDS if name not in LATER_FIELDS or name in attachment.columns)


def later_fields(attachment: Attachment, row: str) -> dict[str, str]:
    """Return SQL for each of `LATER_FIELDS`: a column of alias `row`, or null if the field is unmapped."""
    return {name: f"{row}.{name}" if name in attachment.columns else "NULL::text" for name in LATER_FIELDS}


# Columns in the results of `rows` and `page`: the marks in the table, or null. `original` is a source_id.
MARKED = "status text, original text, score double precision"


def by_key(attachment: Attachment, source_id: Part) -> Part:
    """Return a condition that finds row `t` by its source_id, and can use the unique index of the table."""
    same = [
        sql.SQL("t.{} = {}").format(sql.Identifier(key), value)
        for key, value in zip(attachment.keys, attachment.key(source_id), strict=True)
    ]
    # The source_id is compared too, because 'news/007' and 'news/7' convert to the same key 7.
    return sql.SQL("{} AND {} = {}").format(join(same, " AND "), attachment.source_id("t"), source_id)


def _kept_values(attachment: Attachment) -> Part:
    pair = sql.SQL("({}, {})")
    columns = {name: _template("kept_value", column=sql.Identifier(name)) for name in attachment.keep}
    values = [pair.format(sql.Literal(name), column) for name, column in columns.items()]
    return _template("kept", values=join(values), most=KEPT_CHARACTERS)


def _present_marks(attachment: Attachment) -> Part:
    """Return SQL expressions for the marks that are in row `t` now, in the order of `MARKED`."""
    if not attachment.mark_columns:
        return sql.SQL("NULL::text, NULL::text, NULL::double precision")
    status, original, score = (mark_column("t", name) for name in MARK_COLUMNS)
    return sql.SQL("{}::text, {}, {}::double precision").format(status, attachment.original(original), score)


def read_functions(attachment: Attachment, shape: TableShape) -> Iterator[Function]:
    body = _field(attachment, "text")
    values = [Verbatim(HASH).format(body)] + [
        _field(attachment, name, shape.zoned) for name in _read(attachment)
    ]
    row = sql.SQL("{}, {}, {}").format(attachment.source_id("t"), join(values), _present_marks(attachment))
    typed = [f"{name} {'timestamptz' if name == 'published_at' else 'text'}" for name in _read(attachment)]
    columns = ["source_id text, text_hash bytea", *typed, MARKED]
    if attachment.keep:
        row = sql.SQL("{}, {}").format(row, _kept_values(attachment))
        columns.append("kept jsonb")
    if attachment.changed is not None:
        at = sql.Identifier("t", attachment.changed)
        row = sql.SQL("{}, {}" if shape.changes_zoned else "{}, {} AT TIME ZONE 'UTC'").format(row, at)
        columns.append("changed_at timestamptz")
    returned = f"TABLE ({', '.join(columns)})"
    where = attachment.condition
    if shape.view:
        there = [sql.SQL("{} IS NOT NULL").format(sql.Identifier("t", key)) for key in attachment.keys]
        where = join([where, *there], " AND ")
    of = {"table": attachment.identifier, "where": where}
    yield Function(
        attachment.function("text"),
        "(text)",
        "text",
        _template("text", body=body, by_key=by_key(attachment, sql.SQL("$1")), **of),
    )
    if shape.view and len(attachment.keys) == 1:
        found = _template(
            "rows_at_once",
            row=row,
            key=sql.Identifier(attachment.keys[0]),
            key_of_id=attachment.key(sql.Identifier("g", "id"))[0],
            source_id=attachment.source_id("t"),
            **of,
        )
    else:
        found = _template("rows", row=row, by_key=by_key(attachment, sql.Identifier("g", "id")), **of)
    yield Function(attachment.function("rows"), "(text[])", returned, found)
    keys = [sql.Identifier("t", key) for key in attachment.keys]
    page = sql.SQL("SELECT {} FROM {} t WHERE {}").format(row, attachment.identifier, where)
    next_rows = _template(
        "page",
        last=Verbatim("$1"),
        limit=Verbatim("$2"),
        rows=page,
        begin=Verbatim("true"),
        order=join(keys),
        after=join(attachment.key(sql.SQL("$1"))),
    )
    yield Function(attachment.function("page"), "(text, integer)", returned, next_rows)
    if attachment.changed is not None:
        since = sql.SQL("$1" if shape.changes_zoned else "($1 AT TIME ZONE 'UTC')")
        at = sql.Identifier("t", attachment.changed)
        next_changes = _template(
            "page",
            last=Verbatim("$2"),
            limit=Verbatim("$3"),
            rows=page,
            begin=sql.SQL("{} >= {}").format(at, since),
            order=join([at, *keys]),
            after=join([since, *attachment.key(sql.SQL("$2"))]),
        )
        given = "(timestamp with time zone, text, integer)"
        yield Function(attachment.function("recent"), given, returned, next_changes)


def write_function(attachment: Attachment) -> Function:
    """Return the function that writes marks and returns the source_ids of rows locked by other sessions."""
    body = _template(
        "write",
        original=attachment.original_from(sql.Identifier("g", "original")),
        table=attachment.identifier,
        marked=_present_marks(attachment),
        by_key=by_key(attachment, sql.Identifier("g", "id")),
        columns=join([prefixed(name) for name in MARK_COLUMNS]),
    )
    given = "(text[], text[], text[], double precision[], OUT written bigint, OUT held text[])"
    return Function(attachment.function("write"), given, "record", body)


def _noted(attachment: Attachment, base: Base | None) -> dict[str, object]:
    """Return the parts of an INSERT of a note: the table `outbox`, and the columns with their values."""
    if base is None or base.noted_as is None:
        return {"outbox": own("outbox"), "columns": Verbatim("attachment_id"), "id": attachment.id}
    columns = Verbatim("base, attachment_id")
    return {"outbox": own("outbox"), "columns": columns, "id": Verbatim(f"{base.noted_as}, {attachment.id}")}


def note_keys(attachment: Attachment, source_ids: Part, base: Base | None = None) -> Part:
    """Return a statement that runs the query `source_ids`, and stores the source_ids found as notes."""
    return _template("note", most=KEYS_PER_NOTE, source_ids=source_ids, **_noted(attachment, base))


def _differs(attachment: Attachment, shape: TableShape, old: str, new: str) -> Part:
    """Return an SQL condition: a watched column changed, or a program other than dedup changed marks."""
    parts: list[Part] = []
    for column, kind in shape.watched.items():
        pair = {"old": sql.Identifier(old, column), "new": sql.Identifier(new, column)}
        if kind in EXACT:
            parts.append(sql.SQL("{old} IS DISTINCT FROM {new}").format(**pair))
        elif shape.chunks:
            parts.append(_template("differs_but_for_chunks", **pair))
        else:
            parts.append(_template("differs_but_for_size", inline=INLINE_BYTES, **pair))
    if attachment.mark_columns:
        parts.append(
            sql.SQL(
                "current_setting('dedup.writing', true) IS DISTINCT FROM 'on' AND ({}) IS DISTINCT FROM ({})"
            ).format(*(join([mark_column(row, name) for name in MARK_COLUMNS]) for row in (old, new)))
        )
    return join(parts, "\n            OR ")


def _note_row(attachment: Attachment, shape: TableShape) -> Part:
    old, new = attachment.source_id("old"), attachment.source_id("new")
    return _template("changed_row", old=old, new=new, differs=_differs(attachment, shape, "old", "new"))


def _note_rows(attachment: Attachment, shape: TableShape, base: Base | None) -> Part:
    owned = attachment if base is None else attachment.like(base, base.own)
    same: Part = sql.SQL("{} = {}").format(owned.source_id("o"), owned.source_id("n"))
    if set(owned.key_types) <= set(EXACT):
        pairs = [(sql.Identifier("o", key), sql.Identifier("n", key)) for key in owned.keys]
        same = join([sql.SQL("{} = {}").format(*pair) for pair in pairs], " AND ")
    found = {
        "inserted": _select_keys(attachment, "new_rows", base),
        "deleted": _select_keys(attachment, "old_rows", base),
        "updated": _template(
            "updated" if base is None else "updated_base",
            old=attachment.source_id("o"),
            new=attachment.source_id("n"),
            same=same,
            key=sql.Identifier(owned.keys[0]),
            differs=_differs(attachment, shape, "o", "n"),
        ),
    }
    notes = {f"note_{event}": note_keys(attachment, query, base) for event, query in found.items()}
    return _template("changed_rows", most=KEYS_PER_NOTE, **found, **notes)


def _select_keys(attachment: Attachment, rows: str, base: Base | None) -> Part:
    query = sql.SQL("SELECT {} FROM {} r").format(attachment.source_id("r"), Verbatim(rows))
    if base is None:
        return query
    there = [sql.SQL("{} IS NOT NULL").format(sql.Identifier("r", key)) for key in attachment.keys]
    return sql.SQL("{} WHERE {}").format(query, join(there, " AND "))


def _note_insert(attachment: Attachment, shape: TableShape, base: Base | None) -> Part:
    """Return statements that note inserted rows. They catch no errors, because that would double the cost."""
    # An error here would undo the owner's INSERT. So the statements check first that the key columns exist.
    # If a key is a time, make no statements: the SQL that converts the time to text would fail after the
    # owner changed the column's type.
    if shape.partitioned or not shape.numbers or {*TIMES} & {*attachment.key_types}:
        return sql.SQL("")
    there = [
        _template("column_is_there", number=number, name=sql.Literal(key))
        for number, key in zip(shape.numbers, attachment.keys, strict=True)
    ]
    inserted = _select_keys(attachment, "new_rows", base)
    rest = note_keys(attachment, sql.SQL("{} OFFSET 2").format(inserted), base)
    parts = _noted(attachment, base)
    return _template(
        "inserted_at_once", there=join(there, " AND "), inserted=inserted, note_rest=rest, **parts
    )


def note_function(attachment: Attachment, shape: TableShape) -> Function:
    """Return the trigger function that notes changed rows. It runs once per statement, but in a partitioned
    table once per row."""
    # If a statement names a partition, statement triggers of the partitioned table do not fire.
    by_row = shape.partitioned
    found = _note_row(attachment, shape) if by_row else _note_rows(attachment, shape, None)
    body = _changed(_noted(attachment, None), _note_insert(attachment, shape, None), found)
    return Function(attachment.function("changed"), "()", "trigger", body)


def base_function(attachment: Attachment, shape: TableShape, base: Base) -> Function:
    """Return the trigger function that notes changed rows of a base table."""
    rows = attachment.like(base, base.keys)
    numbers = tuple(base.columns[key][0] for key in base.keys)
    of_base = replace(shape, watched=base.kinds, numbers=numbers, partitioned=False)
    insert, found = _note_insert(rows, of_base, base), _note_rows(rows, of_base, base)
    body = _changed(_noted(attachment, base), insert, found)
    return Function(attachment.function(f"base_{base.number}"), "()", "trigger", body)


def _changed(parts: Mapping[str, object], insert: Part, found: Part) -> Part:
    # Code of a new owner of the table, such as casts, must not run with the rights of the former owner.
    insert = join([_template("owned", **parts), insert], "\n")
    return _template("changed", insert=insert, found=found, **parts)


def refer_function(attachment: Attachment, base: Base) -> Function:
    """Return the function that notes the rows of an attached table which belong to rows of a base table."""
    by_number = {other.number: other for other in attachment.bases}
    key = attachment.like(base, base.keys).key(sql.Identifier("g", "id"))[0]
    keys: Part = sql.SQL("SELECT {} FROM unnest($1) AS g (id)").format(key)
    given = sql.SQL("t.{} = ANY (ARRAY({}))").format(sql.Identifier(base.by or ""), keys)
    table, rows = attachment.identifier, attachment
    above = by_number.get(base.of or 0)
    while above is not None:
        table, rows = above.identifier, attachment.like(above, above.keys)
        if above.way == KEY:
            break
        query = sql.SQL("SELECT t.{} FROM {} t WHERE {}")
        found = query.format(sql.Identifier(above.keys[0]), table, given)
        given = sql.SQL("t.{} IN ({})").format(sql.Identifier(above.by or ""), found)
        above = by_number.get(above.of or 0)
    there = [sql.SQL("{} IS NOT NULL").format(sql.Identifier("t", key)) for key in rows.keys]
    query = sql.SQL("SELECT DISTINCT {} FROM {} t WHERE {}")
    source_ids = query.format(rows.source_id("t"), table, join([given, *there], " AND "))
    body = _template("refer", note=note_keys(attachment, source_ids))
    return Function(attachment.function(f"refer_{base.number}"), "(text[])", "void", body)
