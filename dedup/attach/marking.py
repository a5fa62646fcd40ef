"""Write changed marks into the columns of marks of attached tables, without the settle lock.

The SQL function that writes marks has the rights of the table's owner. If the owner is not trusted, the
function runs in a session of the owner. It gets the marks as arguments, and does not read the corpus.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import psycopg

from dedup.attach import attachments, copying, drift
from dedup.attach.attachments import Attachment
from dedup.attach.outbox import UnfitError
from dedup.base.progress import Progress
from dedup.base.words import counted
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, Database, one_row, prefer_indexes, retry
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")

MARKS = 1_000  # Maximum marks per transaction, because other writers of the rows wait for the end
WRITING_SECONDS = 45.0  # Maximum per batch in an owner's session: dedup's own session may idle for only 60 s

ANSWERS = ("ids", "statuses", "originals", "scores")  # columns of the query `answers`, each an array

GIVEN = "%(ids)s::text[], %(statuses)s::text[], %(originals)s::text[], %(scores)s::text[]::double precision[]"


def write_marks(database: Database, progress: Progress, stop: Callable[[], bool]) -> tuple[int, list[str]]:
    """Write changed marks into the tables with columns of marks. Return the number of rows written, and one
    line for each row that could not be written. The next call tries these rows again."""
    with database.transaction() as cursor:
        present = attachments.list_active(cursor)
        known = [a for a in present if a.mark_columns and not drift.problems_of(cursor, a)]
    written, problems = 0, []
    if known:
        progress.start("writing mark columns", None)
    for attachment in known:
        after: int | None = 0
        failed: dict[str, str] = {}
        while after is not None and not stop():
            try:
                done, after = retry(partial(_write_some, database, attachment, after))
            except UnfitError as error:
                problems.append(str(error))
                break
            if done is None:
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


def _write_some(database: Database, attachment: Attachment, after: int) -> tuple[_Writing | None, int | None]:
    """Write the next changed marks, and delete the notes of marks that were written. Return the result, and
    the id of the last note read; (None, None) if no note is left or another session writes marks."""
    with database.transaction() as cursor:
        prefer_indexes(cursor)
        if not _has_turn(cursor, attachment):
            return None, None
        values = {"after": after, "id": attachment.id, "limit": MARKS}
        found = cursor.execute(_sql("changed_marks"), values).fetchall()
        if not found:
            return None, None
        with _session(database, cursor, attachment) as there:
            done = _Writing(cursor, attachment, there)
            done.write(sorted({source_id for _, source_id in found}))
        left = done.held | done.failed.keys()
        finished = [number for number, source_id in found if source_id not in left]
        cursor.execute(_sql("forget_marks"), {"ids": bigints(finished)})
        failed = {"source_ids": list(done.failed), "states": list(done.failed.values()), "id": attachment.id}
        cursor.execute(_sql("note_failed"), failed)
    return done, int(found[-1][0])


def _has_turn(cursor: Cursor, attachment: Attachment) -> bool:
    if attachment.copied:
        return copying.has_turn(cursor, attachment)
    return cursor.execute(_sql("take_turn"), {"id": attachment.id}).fetchone() is not None


@contextmanager
def _session(database: Database, cursor: Cursor, attachment: Attachment) -> Iterator[psycopg.Connection[Any]]:
    if attachment.copied:
        with copying.open_session(database, cursor, attachment) as owner:
            yield owner
    else:
        copying.require_trust(cursor, attachment)
        yield cursor.connection


class _Writing:
    def __init__(self, cursor: Cursor, attachment: Attachment, there: psycopg.Connection[Any]) -> None:
        self._cursor, self._attachment, self._there = cursor, attachment, there
        self._deadline = time.monotonic() + WRITING_SECONDS
        self._query = _sql("apply", write=attachment.call("write", GIVEN))
        self.rows = 0  # how many rows were written
        self.held: set[str] = set()  # source_ids of rows that other sessions have locked
        self.failed: dict[str, str] = {}  # SQLSTATEs that code of the owner raised, by source_id

    def write(self, source_ids: list[str]) -> None:
        """Write the marks of rows. If that fails, try each half of the rows, until only single rows fail."""
        try:
            self._apply(source_ids)
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
            raise
        except psycopg.Error as error:
            # SQLSTATE classes 08 (connection lost) and 57 (cancelled by the server) are not caused by a row.
            if error.sqlstate is None or error.sqlstate.startswith(("08", "57")):
                raise
            if len(source_ids) == 1:
                self.failed[source_ids[0]] = error.sqlstate
                return
            half = len(source_ids) // 2
            self.write(source_ids[:half])
            self.write(source_ids[half:])

    def _apply(self, source_ids: list[str]) -> None:
        copied = self._attachment.copied
        if copied and time.monotonic() > self._deadline:
            raise UnfitError(
                f"{self._attachment.shown}: writing {counted(len(source_ids), 'mark')} takes longer than"
                f" {WRITING_SECONDS:.0f} s: make the triggers of the table faster"
            )
        of = {"source_ids": source_ids, "id": self._attachment.id}
        given = dict(zip(ANSWERS, one_row(self._cursor, _sql("answers"), of), strict=True))
        if copied:
            copying.limit_time(self._there)
        with self._there.transaction():
            rows, left = self._there.execute(self._query, given).fetchone() or (0, None)
        held = [str(name) for name in left or ()]
        if copied:
            copying.note_written(self._cursor, self._attachment, {"held": held, **given})
        self.rows += int(rows)
        self.held.update(held)
