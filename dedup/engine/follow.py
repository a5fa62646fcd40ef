"""Attached tables are followed: what changed in them is read, and marks are written back where wanted.

The notes in the outbox are worked off in short transactions under the settle lock, in bounded memory. Marks
are written without that lock, and never wait for a row: one that others hold is left to the next time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter

from dedup.corpus import attachments, mark_columns, outbox
from dedup.corpus.attachments import Attachment
from dedup.corpus.database import Database, prefer_indexes, retried
from dedup.corpus.outbox import Followed
from dedup.engine.holding import fitting_batch
from dedup.progress import Progress

NOTES = 2_000
"""Changes read in one transaction at most, give or take a note."""

PAGE = 2_000
"""Rows or articles compared at a time."""

MARKS = 1_000
"""Marks written in one transaction: whoever wants such a row waits for its end."""

VACUUM_NOTES = 200_000
"""After so many the space of notes that are gone is used again."""


def follow(database: Database, progress: Progress, stop: Callable[[], bool]) -> Followed:
    """Work off the outbox.

    Raises:
        BusyError: others held an article for longer than `Timeouts.lock`.
    """
    return _Following(database, progress, stop).run()


class _Following:
    """One passage through the outbox."""

    def __init__(self, database: Database, progress: Progress, stop: Callable[[], bool]) -> None:
        self._database, self._progress, self._stop = database, progress, stop
        self._done = Followed()
        self._size = NOTES
        self._unswept = 0

    def run(self) -> Followed:
        with self._database.transaction() as cursor:
            waiting = outbox.count(cursor)
        if not waiting:
            return self._done
        self._progress.start("reading changes", waiting)
        after, taken = 0, 0
        while not self._stop():
            taken_now, last, tables = retried(partial(self._batch, after), self._database.timeouts.lock)
            for attachment, numbers in tables:
                self._compare(attachment, numbers)
            if last is not None:
                after, taken = last, taken + taken_now
                continue
            # Numbers become visible out of their order: once more from the beginning.
            if not after or not taken:
                break
            after, taken = 0, 0
        self._sweep()
        return self._done

    def _batch(self, after: int) -> tuple[int, int | None, list[tuple[Attachment, list[int]]]]:
        """Take some notes.

        Returns:
            How many, the number of the last one, and the tables to be compared as a whole, with their notes.
        """
        with self._database.transaction(settling=True) as cursor:
            started = perf_counter()
            found = outbox.notes(cursor, after, self._size)
            if not found:
                return 0, None, []
            known = {a.id: a for a in attachments.present(attachments.attachments(cursor))}
            done = Followed(notes=sum(note[2] for note in found))
            tables: list[tuple[Attachment, list[int]]] = []
            for attachment_id in dict.fromkeys(note[1] for note in found):
                of = [note for note in found if note[1] == attachment_id]
                attachment = known.get(attachment_id)
                rows = [source_id for note in of for source_id in note[3] or ()]
                whole = [note[0] for note in of if note[3] is None]
                if attachment is None:  # it is detached
                    done.gone += outbox.delete(cursor, attachment_id, rows)
                    continue
                if rows:
                    done.add(outbox.follow(cursor, attachment, rows))
                if whole:
                    tables.append((attachment, whole))
            kept = {number for _, numbers in tables for number in numbers}
            outbox.forget(cursor, [note[0] for note in found if note[0] not in kept])
        self._size = min(NOTES, fitting_batch(done.notes, perf_counter() - started))
        self._count(done)
        return len(found) - len(kept), found[-1][0], tables

    def _count(self, done: Followed) -> None:
        self._done.add(done)
        self._progress.advance(done.notes)
        self._unswept += done.notes
        if self._unswept >= VACUUM_NOTES:
            self._sweep()

    def _compare(self, attachment: Attachment, numbers: list[int]) -> None:
        """Note every row of a table that is not what its article is; then its own notes are done."""
        if compare(self._database, attachment, self._stop) is None:
            return
        with self._database.transaction() as cursor:
            outbox.forget(cursor, numbers)

    def _sweep(self) -> None:
        """Give the space of notes back: the table is empty again and again, and must not grow for ever."""
        if self._unswept < VACUUM_NOTES:
            return
        self._unswept = 0
        connection = self._database.connect(patient=True)
        try:
            connection.execute("VACUUM dedup.outbox")
        finally:
            connection.close()


def compare(database: Database, attachment: Attachment, stop: Callable[[], bool]) -> int | None:
    """Note what is new, changed or gone in a table since it was last followed, page by page.

    Returns:
        How many rows were noted; None where it was told to stop before the end.
    """
    noted = 0
    for note in (outbox.note_changed, outbox.note_gone):
        last, more = None, True
        while more:
            if stop():
                return None
            with database.transaction() as cursor:
                prefer_indexes(cursor)
                count, last = note(cursor, attachment, last, PAGE)
            noted += count
            more = last is not None
    return noted


def write_marks(database: Database, stop: Callable[[], bool]) -> int:
    """Write marks that changed into the tables that have columns for them; returns how many rows."""
    with database.transaction() as cursor:
        known = [a for a in attachments.present(attachments.attachments(cursor)) if a.mark_columns]
    written = 0
    for attachment in known:
        after: int | None = 0
        while after is not None and not stop():
            count, after = retried(partial(_write_some, database, attachment, after))
            written += count
    return written


def _write_some(database: Database, attachment: Attachment, after: int) -> tuple[int, int | None]:
    with database.transaction() as cursor:
        prefer_indexes(cursor)
        if not mark_columns.take_turn(cursor, attachment):
            return 0, None
        return mark_columns.write(cursor, attachment, after, MARKS)
