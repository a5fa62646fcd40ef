"""The functions made for an attached table: they read its rows, write marks into it, and note what changes.

Each is in PL/pgSQL, which names the columns of the table as text: Postgres holds it to them when it runs, and
not when the owner changes the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from psycopg import sql
from psycopg.abc import AdaptContext

from dedup.attach.attachments import Attachment, Part
from dedup.base.article import MAX_FIELD_BYTES
from dedup.base.kept import KEPT_CHARACTERS
from dedup.db.rendering import Named, own, prefixed, raw, rendered, schema_of
from dedup.db.statements import Statements

FIELDS = ("title", "url", "publication", "language", "published_at", "byline")
"""What of an article may be mapped to a column beside its text."""

BYTES_PER_CHARACTER = 4  # Of UTF-8, at most

MARK_COLUMNS = ("status", "duplicate_of", "score")
"""What the columns tell that `--mark-columns` adds to the table."""

TIMES = ("date", "timestamp without time zone", "timestamp with time zone")

EXACT = ("boolean", "smallint", "integer", "bigint", "uuid", *TIMES)
"""Types of which equal values have equal texts: they are compared without writing the texts."""

KEYS_PER_NOTE = 500  # Rows in one note, which is worked off as a whole while others wait for the settle lock

INLINE_BYTES = 2_000
"""A value of fewer bytes may be in the row (TOAST_TUPLE_THRESHOLD is 2,032), and is cheap to compare."""

HASH = "sha256(convert_to({}, 'UTF8'))"
"""The hash of a body by which a change is told: nobody can find two texts for one."""


_template = Statements("attach/functions").composed


def joined(parts: Sequence[Part], between: str = ", ") -> Part:
    return sql.SQL(between).join(parts)


@dataclass(frozen=True, slots=True)
class TableShape:
    """What the statements depend on, beside what is kept of an attachment."""

    zoned: bool  # whether the column of the publication time knows its time zone
    changes_zoned: bool  # whether the column of the last change knows its time zone
    view: bool  # whether it is a view, or another relation that may have no index on its key
    # columns in which a change of a row is one of its article, and their types: those that are mapped, those
    # that the condition looks at, and those that virtual columns are made of
    watched: Mapping[str, str]
    numbers: tuple[int, ...]  # where the columns of the key stand in the table
    partitioned: bool  # whether the table is
    owner: str  # the role that owns the table
    creator: str  # that attaches it
    home: str  # that owns the corpus
    lends: bool  # whether the owner must be let make functions for a moment, to be given them
    chunks: bool  # whether the server tells one large value from another without reading them


def mark_columns(schema: str) -> list[str]:
    """The columns: `dedup_status` and so on. Two corpora may mark the same table."""
    return [f"{schema}_{name}" for name in MARK_COLUMNS]


def marked(row: str, name: str) -> Part:
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
        given, returns = raw(self.given), raw(self.returns)
        yield _template("function", name=self.name, given=given, returns=returns, body=Body(self.body))
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


def _read(attachment: Attachment) -> tuple[str, ...]:
    """The fields of a row; no byline where none is mapped, as in functions from before there were any."""
    return tuple(name for name in FIELDS if name != "byline" or name in attachment.columns)


MARKED = "status text, original text, score double precision"
"""What its columns of marks hold, the original by its source_id; nulls where it has none."""


def by_key(attachment: Attachment, source_id: Part) -> Part:
    """The row `t` of a source_id, found by the unique index of the table."""
    same = [
        sql.SQL("t.{} = {}").format(sql.Identifier(key), value)
        for key, value in zip(attachment.keys, attachment.key(source_id), strict=True)
    ]
    return sql.SQL("{} AND {} = {}").format(joined(same, " AND "), attachment.source_id("t"), source_id)


def _kept(attachment: Attachment) -> Part:
    """The columns of the row `t` that its article keeps, without those that are null; null where all are."""
    values = [
        sql.SQL("({}, {})").format(
            sql.Literal(name),
            _template("kept_value", column=sql.Identifier(name)),
        )
        for name in attachment.keep
    ]
    return _template("kept", values=joined(values), most=KEPT_CHARACTERS)


def _present_marks(attachment: Attachment) -> Part:
    """The columns of marks of the row `t`, as `MARKED`."""
    if not attachment.mark_columns:
        return sql.SQL("NULL::text, NULL::text, NULL::double precision")
    status, original, score = (marked("t", name) for name in MARK_COLUMNS)
    return sql.SQL("{}::text, {}, {}::double precision").format(status, attachment.original(original), score)


def reading(attachment: Attachment, shape: TableShape) -> Iterator[Function]:
    body = _field(attachment, "text")
    values = [raw(HASH).format(body)] + [_field(attachment, name, shape.zoned) for name in _read(attachment)]
    row = sql.SQL("{}, {}, {}").format(attachment.source_id("t"), joined(values), _present_marks(attachment))
    typed = [f"{name} {'timestamptz' if name == 'published_at' else 'text'}" for name in _read(attachment)]
    columns = ["source_id text, text_hash bytea", *typed, MARKED]
    if attachment.keep:
        row = sql.SQL("{}, {}").format(row, _kept(attachment))
        columns.append("kept jsonb")
    if attachment.changed is not None:
        at = sql.Identifier("t", attachment.changed)
        row = sql.SQL("{}, {}" if shape.changes_zoned else "{}, {} AT TIME ZONE 'UTC'").format(row, at)
        columns.append("changed_at timestamptz")
    returned = f"TABLE ({', '.join(columns)})"
    where = attachment.condition
    if shape.view:
        there = [sql.SQL("{} IS NOT NULL").format(sql.Identifier("t", key)) for key in attachment.keys]
        where = joined([where, *there], " AND ")
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
        last=raw("$1"),
        limit=raw("$2"),
        rows=page,
        begin=raw("true"),
        order=joined(keys),
        after=joined(attachment.key(sql.SQL("$1"))),
    )
    yield Function(attachment.function("page"), "(text, integer)", returned, next_rows)
    if attachment.changed is not None:
        since = sql.SQL("$1" if shape.changes_zoned else "($1 AT TIME ZONE 'UTC')")
        at = sql.Identifier("t", attachment.changed)
        next_changes = _template(
            "page",
            last=raw("$2"),
            limit=raw("$3"),
            rows=page,
            begin=sql.SQL("{} >= {}").format(at, since),
            order=joined([at, *keys]),
            after=joined([since, *attachment.key(sql.SQL("$2"))]),
        )
        given = "(timestamp with time zone, text, integer)"
        yield Function(attachment.function("recent"), given, returned, next_changes)


def writing(attachment: Attachment) -> Function:
    """Write marks that were found elsewhere; the source_ids whose rows others hold are the answer."""
    body = _template(
        "write",
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
    return _template(
        "note", outbox=own("outbox"), id=attachment.id, most=KEYS_PER_NOTE, source_ids=source_ids
    )


def _differs(attachment: Attachment, shape: TableShape, old: str, new: str) -> Part:
    """Whether a row changed as an article, or its marks were overwritten by others."""
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
            ).format(*(joined([marked(row, name) for name in MARK_COLUMNS]) for row in (old, new)))
        )
    return joined(parts, "\n            OR ")


def _of_row(attachment: Attachment, shape: TableShape) -> Part:
    old, new = attachment.source_id("old"), attachment.source_id("new")
    return _template("changed_row", old=old, new=new, differs=_differs(attachment, shape, "old", "new"))


def _of_statement(attachment: Attachment, shape: TableShape) -> Part:
    old, new = attachment.source_id("o"), attachment.source_id("n")
    same: Part = sql.SQL("{} = {}").format(old, new)
    if set(attachment.key_types) <= set(EXACT):
        pairs = [(sql.Identifier("o", key), sql.Identifier("n", key)) for key in attachment.keys]
        same = joined([sql.SQL("{} = {}").format(*pair) for pair in pairs], " AND ")
    found = {
        "inserted": _keys_of(attachment, "new_rows"),
        "deleted": _keys_of(attachment, "old_rows"),
        "updated": _template(
            "updated",
            old=old,
            new=new,
            same=same,
            key=sql.Identifier(attachment.keys[0]),
            differs=_differs(attachment, shape, "o", "n"),
        ),
    }
    notes = {f"note_{event}": into_outbox(attachment, query) for event, query in found.items()}
    return _template("changed_rows", most=KEYS_PER_NOTE, **found, **notes)


def _keys_of(attachment: Attachment, rows: str) -> Part:
    return sql.SQL("SELECT {} FROM {} r").format(attachment.source_id("r"), raw(rows))


def _of_insert(attachment: Attachment, shape: TableShape) -> Part:
    """Note inserted rows outside of what may fail, which costs as much as all the rest. Before, it sees
    whether the columns of the key are still there. Only for keys whose texts can be written whatever their
    types are by now.
    """
    if shape.partitioned or not shape.numbers or {*TIMES} & {*attachment.key_types}:
        return sql.SQL("")
    there = [
        _template("column_is_there", number=number, name=sql.Literal(key))
        for number, key in zip(shape.numbers, attachment.keys, strict=True)
    ]
    inserted = _keys_of(attachment, "new_rows")
    rest = into_outbox(attachment, sql.SQL("{} OFFSET 2").format(inserted))
    return _template(
        "inserted_at_once",
        there=joined(there, " AND "),
        outbox=own("outbox"),
        id=attachment.id,
        inserted=inserted,
        note_rest=rest,
    )


def changed(attachment: Attachment, shape: TableShape) -> Function:
    """Note which rows a statement changed, or one row of a partitioned table. A partition that is written to
    by its own name fires no triggers for statements of its table.
    """
    body = _template(
        "changed",
        insert=_of_insert(attachment, shape),
        found=(_of_row if shape.partitioned else _of_statement)(attachment, shape),
        outbox=own("outbox"),
        id=attachment.id,
    )
    return Function(attachment.function("changed"), "()", "trigger", body)
