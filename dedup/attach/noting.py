"""The function of the triggers of an attached table: it notes which rows changed, and fails for no reason.

What reads the rows that were noted is in `functions.py`, what makes the triggers in `ddl.py`.
"""

from __future__ import annotations

from psycopg import sql

from dedup.attach.attachments import Attachment, Part
from dedup.attach.functions import EXACT, MARK_COLUMNS, TIMES, Function, TableShape, joined, marked
from dedup.db.rendering import own, raw
from dedup.db.statements import Templates

_template = Templates("attach/functions")

KEYS_PER_NOTE = 500
"""Rows in one note, which is worked off as a whole while others wait for the settle lock."""

INLINE_BYTES = 2_000
"""A value of fewer bytes may be in the row (TOAST_TUPLE_THRESHOLD is 2,032), and is cheap to compare."""


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
