"""What takes an attached table out of a corpus again, and leaves it as it was found."""

from __future__ import annotations

from psycopg import sql

from dedup.attach import attached_ddl, drift
from dedup.attach.attached_functions import mark_columns
from dedup.attach.attachments import Attachment, Part
from dedup.db.database import Cursor
from dedup.db.rendering import SCHEMA, own, schema_of
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")


def statements(cursor: Cursor, attachment: Attachment) -> list[Part]:
    gone = unmade(cursor, attachment)
    if attachment.mark_columns:
        gone += [attached_ddl.without_marks(place) for place in _marked(cursor, attachment, parts=False)]
    return [*gone, *_rights(cursor, attachment), attached_ddl.left(attachment)]


def _rights(cursor: Cursor, attachment: Attachment) -> list[Part]:
    """Take the rights back that the owner of the table needed to note its changes, and no more than these."""
    rows = cursor.execute(_sql("borrowed_rights"), {"rows": f"attached_{attachment.id}_rows"}).fetchall()
    gone: list[Part] = []
    for name, works, uses in rows:
        role = sql.Identifier(name)
        if not works:
            gone.append(sql.SQL("REVOKE INSERT ON {} FROM {}").format(own("outbox"), role))
        if not (works or uses):
            gone.append(sql.SQL("REVOKE USAGE ON SCHEMA {} FROM {}").format(SCHEMA, role))
    return gone


def unmade(cursor: Cursor, attachment: Attachment, *, same_key: bool = False) -> list[Part]:
    """What takes away all that was made for a table; of columns of marks, those of former partitions. But for
    the index of its articles, where it is mapped again with the same key.
    """
    made = {"made": f"^attached_{attachment.id}_"}
    rows = cursor.execute(_sql("triggers"), made).fetchall()
    functions = cursor.execute(_sql("functions"), made).fetchall()
    calling = [(sql.Identifier(row[0], row[1]), row[2]) for row in rows]
    gone = attached_ddl.unmade(attachment, calling, [row[0] for row in functions], same_key=same_key)
    if attachment.mark_columns:
        gone += [attached_ddl.without_marks(place) for place in _marked(cursor, attachment, parts=True)]
    return gone


def _marked(cursor: Cursor, attachment: Attachment, *, parts: bool) -> list[Part]:
    """The table with columns of marks, or what were partitions of it: never one that only took its name."""
    found = drift.find(cursor, attachment)
    if parts:
        wanted = [oid for oid in attachment.seen.get("parts", ()) if oid not in found.parts]
        wanted = [oid for oid in wanted if oid != attachment.seen.get("oid")]
    elif found.known_as is not None:
        wanted = [attachment.seen["oid"]]
    else:
        # After a restore the number is another one; the triggers came along.
        restored = found.triggers or not attachment.triggers
        wanted = [found.oid] if found.oid is not None and restored else []
    values = {"oids": wanted, "columns": mark_columns(schema_of(cursor))}
    rows = cursor.execute(_sql("with_marks"), values).fetchall()
    return [sql.Identifier(*row) for row in rows]
