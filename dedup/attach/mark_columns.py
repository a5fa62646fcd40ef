"""Marks in the attached tables themselves: what is noted of them is found here and written by functions.

A function that writes has the rights of the owner of its table: who settles needs none on it. It is given the
marks, and reads nothing of the corpus.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import psycopg

from dedup.attach.attachments import Attachment
from dedup.db.arrays import bigints
from dedup.db.database import Cursor
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")


@dataclass(slots=True)
class Written:
    """What became of some marks."""

    rows: int = 0  # how many rows were written
    held: set[str] = field(default_factory=set)  # the source_ids of rows that others hold
    # the source_id of a row that cannot be written to the SQLSTATE of why: a trigger or a constraint of the
    # owner raised it
    failed: dict[str, str] = field(default_factory=dict)


def take_turn(cursor: Cursor, attachment: Attachment) -> bool:
    """Be the only one who writes marks into a table, to the end of the transaction; false: another is."""
    return cursor.execute(_sql("take_turn"), {"id": attachment.id}).fetchone() is not None


def write(cursor: Cursor, attachment: Attachment, after: int, limit: int) -> tuple[Written, int | None]:
    """Write the next marks that changed into the table, but not into rows that others hold: they stay noted.
    So do those that cannot be written. Returns what became of them, and the number of the last note that was
    looked at; None: there was none.
    """
    found = cursor.execute(
        _sql("changed_marks"), {"after": after, "id": attachment.id, "limit": limit}
    ).fetchall()
    if not found:
        return Written(), None
    done = Written()
    _write(cursor, attachment, sorted({source_id for _, source_id in found}), done)
    left = done.held | done.failed.keys()
    finished = [number for number, source_id in found if source_id not in left]
    cursor.execute(_sql("forget_marks"), {"ids": bigints(finished)})
    failed = {"source_ids": list(done.failed), "states": list(done.failed.values()), "id": attachment.id}
    cursor.execute(_sql("note_failed"), failed)
    return done, int(found[-1][0])


def _write(cursor: Cursor, attachment: Attachment, source_ids: list[str], done: Written) -> None:
    """Write some marks; where that fails, half of them at a time, until it is known which row it is."""
    query = _sql("write_marks", write=attachment.call("write", "m.ids, m.statuses, m.originals, m.scores"))
    try:
        with cursor.connection.transaction():
            row = cursor.execute(query, {"source_ids": source_ids, "id": attachment.id}).fetchone()
    except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled, psycopg.errors.DeadlockDetected):
        raise
    except psycopg.Error as error:
        if cursor.connection.closed or error.sqlstate is None:
            raise
        if len(source_ids) == 1:
            done.failed[source_ids[0]] = error.sqlstate
            return
        half = len(source_ids) // 2
        _write(cursor, attachment, source_ids[:half], done)
        _write(cursor, attachment, source_ids[half:], done)
        return
    assert row is not None
    done.rows += int(row[0])
    done.held |= set(row[1])
