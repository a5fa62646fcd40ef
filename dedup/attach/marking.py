"""Marks that changed are written into the columns that attached tables have for them.

The settle lock is not held, and a row that others hold is left to the next time. A function that writes has
the rights of the owner of its table: the role that settles needs none on it. It is given the marks, and reads
nothing of the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import psycopg

from dedup.attach import attachments, copying, drift
from dedup.attach.attachments import Attachment
from dedup.attach.outbox import UnfitError
from dedup.base.progress import Progress
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, Database, one_row, prefer_indexes, retried
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")

MARKS = 1_000  # Marks written in one transaction: a writer of such a row waits for its end


def write_marks(database: Database, progress: Progress, stop: Callable[[], bool]) -> tuple[int, list[str]]:
    """Write marks that changed into the tables that have columns for them.

    Returns how many rows, and which could not be written, a line each; these are tried again next time.
    """
    with database.transaction() as cursor:
        present = attachments.present(cursor)
        known = [a for a in present if a.mark_columns and not drift.problems_of(cursor, a)]
    written, problems = 0, []
    if known:
        progress.start("writing mark columns", None)
    for attachment in known:
        after: int | None = 0
        failed: dict[str, str] = {}
        while after is not None and not stop():
            try:
                done, after = retried(partial(_write_some, database, attachment, after))
            except UnfitError as error:
                problems.append(str(error))
                break
            written += done.rows
            progress.advance(done.rows)
            failed |= done.failed
        problems += [
            f"{attachment.shown}: row {source_id} takes no marks: a trigger or constraint of the table raised"
            f" SQLSTATE {state}"
            for source_id, state in failed.items()
        ]
    return written, problems


@dataclass(slots=True)
class WrittenMarks:
    """What became of some marks."""

    rows: int = 0  # how many rows were written
    held: set[str] = field(default_factory=set)  # the source_ids of rows that others hold
    # the source_id of a row that cannot be written to the SQLSTATE of why: a trigger or a constraint of the
    # owner raised it
    failed: dict[str, str] = field(default_factory=dict)


Apply = Callable[[list[str]], tuple[int, Sequence[str]]]
"""Write the marks of some rows: how many were written, and the source_ids of rows that others hold."""


def _write_some(database: Database, attachment: Attachment, after: int) -> tuple[WrittenMarks, int | None]:
    """Write the next marks that changed into the table, but not into rows that others hold: they stay noted.
    So do those that cannot be written. Returns what became of them, and the number of the last note that was
    looked at; None: there was none, or another is writing.
    """
    done = WrittenMarks()
    with database.transaction() as cursor:
        prefer_indexes(cursor)
        if not _has_turn(cursor, attachment):
            return done, None
        values = {"after": after, "id": attachment.id, "limit": MARKS}
        found = cursor.execute(_sql("changed_marks"), values).fetchall()
        if not found:
            return done, None
        with _writing(database, cursor, attachment) as apply:
            _write(apply, sorted({source_id for _, source_id in found}), done)
        left = done.held | done.failed.keys()
        finished = [number for number, source_id in found if source_id not in left]
        cursor.execute(_sql("forget_marks"), {"ids": bigints(finished)})
        failed = {"source_ids": list(done.failed), "states": list(done.failed.values()), "id": attachment.id}
        cursor.execute(_sql("note_failed"), failed)
    return done, int(found[-1][0])


def _has_turn(cursor: Cursor, attachment: Attachment) -> bool:
    """Be the only one who writes marks into a table, to the end of the transaction."""
    if attachment.copied:
        return copying.has_turn(cursor, attachment)
    return cursor.execute(_sql("take_turn"), {"id": attachment.id}).fetchone() is not None


@contextmanager
def _writing(database: Database, cursor: Cursor, attachment: Attachment) -> Iterator[Apply]:
    """Give what writes marks into the table: here, or in a session of its owner."""
    write = attachment.call("write", "m.ids, m.statuses, m.originals, m.scores")
    query = _sql("write_marks", write=write)

    def here(source_ids: list[str]) -> tuple[int, Sequence[str]]:
        with cursor.connection.transaction():
            rows, held = one_row(cursor, query, {"source_ids": source_ids, "id": attachment.id})
        return int(rows), held

    if not attachment.copied:
        copying.require_trust(cursor, attachment)
        yield here
        return
    with copying.writing(database, cursor, attachment) as there:
        yield there


def _write(apply: Apply, source_ids: list[str], done: WrittenMarks) -> None:
    """Write some marks; where that fails, half of them at a time, until it is known which row it is."""
    try:
        rows, held = apply(source_ids)
    except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled, psycopg.errors.DeadlockDetected):
        raise
    except psycopg.Error as error:
        if error.sqlstate is None or error.sqlstate.startswith(("08", "57")):
            raise
        if len(source_ids) == 1:
            done.failed[source_ids[0]] = error.sqlstate
            return
        half = len(source_ids) // 2
        _write(apply, source_ids[:half], done)
        _write(apply, source_ids[half:], done)
        return
    done.rows += rows
    done.held |= set(held)
