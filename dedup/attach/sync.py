"""Attached tables are followed: what changed in them is read, and marks are written back where wanted.

The notes in the outbox are worked off in short transactions under the settle lock, in bounded memory. Marks
are written without that lock, and never wait for a row: one that others hold is left to the next time.

A function that writes has the rights of the owner of its table: who settles needs none on it. It is given the
marks, and reads nothing of the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter

import psycopg

from dedup.attach import attachments, copying, drift, outbox
from dedup.attach.attachments import Attachment
from dedup.attach.outbox import Differing, Synced, UnfitError
from dedup.base.progress import Progress
from dedup.db.arrays import bigints
from dedup.db.connection import fitting_batch
from dedup.db.database import Cursor, Database, prefer_indexes, retried
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")

NOTES = 2_000  # Changes read in one transaction at most, give or take a note
PAGE = 2_000  # Rows or articles compared at a time
MARKS = 1_000  # Marks written in one transaction: whoever wants such a row waits for its end
VACUUM_NOTES = 200_000  # After so many the space of notes that are gone is used again


def sync(database: Database, progress: Progress, stop: Callable[[], bool]) -> Synced:
    """Work off the outbox. Raises BusyError: others held an article for longer than `Timeouts.lock`."""
    return _Sync(database, progress, stop).run()


class _Sync:
    def __init__(self, database: Database, progress: Progress, stop: Callable[[], bool]) -> None:
        self._database, self._progress, self._stop = database, progress, stop
        self._done = Synced()
        self._drifted: list[int] = []
        self._copied: list[Attachment] = []
        self._size, self._total, self._through = NOTES, 0, 0
        self._unswept = self._read = 0

    def run(self) -> Synced:
        retried(self._look, self._database.timeouts.lock)
        self._sync_due()
        with self._database.transaction() as cursor:
            waiting = outbox.count(cursor, self._drifted)
            # What comes later is left to the next passage: writers who never pause hold nobody else up.
            self._through = outbox.last_note(cursor)
        if not waiting:
            return self._done
        self._total = waiting
        self._progress.start("reading changes", waiting)
        after, taken = 0, 0
        while not self._stop():
            taken_now, last, tables = retried(partial(self._batch, after), self._database.timeouts.lock)
            for attachment in tables:
                self._compare(attachment)
            if last is not None:
                after, taken = last, taken + taken_now
                continue
            # Numbers become visible out of their order: once more from the beginning.
            if not after or not taken:
                break
            after, taken = 0, 0
        self._sweep()
        return self._done

    def _look(self) -> None:
        """What owners did to their tables; one that needs a person is left alone until it is mapped again."""
        self._drifted, self._done.problems = [], []
        with self._database.transaction() as cursor:
            present = attachments.present(cursor)
            self._copied = [attachment for attachment in present if attachment.copied]
            for attachment in present:
                if words := drift.look(cursor, attachment):
                    self._leave(attachment, [f"{line}: `dedup remap {attachment.name}`" for line in words])
            outbox.note_freed(cursor)

    def _leave(self, attachment: Attachment, words: Sequence[str]) -> None:
        self._copied = [other for other in self._copied if other.id != attachment.id]
        self._drifted.append(attachment.id)
        self._done.problems += words

    def _sync_due(self) -> None:
        """Look for changes where no trigger notes them and it is time to."""
        with self._database.transaction() as cursor:
            due = dict(cursor.execute(_sql("due")).fetchall())
            chosen = [a for a in attachments.present(cursor) if a.id in due] if due else []
        for attachment in chosen:
            if self._stop():
                return
            try:
                compare(self._database, attachment, self._stop, whole=due[attachment.id])
            except UnfitError as error:
                self._leave(attachment, [str(error)])
                with self._database.transaction() as cursor:
                    cursor.execute(_sql("put_off"), {"id": attachment.id})

    def _batch(self, after: int) -> tuple[int, int | None, list[Attachment]]:
        """Take some notes: how many, the number of the last one, and the tables to be compared as a whole."""
        copied = self._pull(after)
        with self._database.transaction(settling=True) as cursor:
            started = perf_counter()
            found = outbox.notes(cursor, after, self._through, self._size, self._drifted)
            if not found:
                return 0, None, []
            known = {a.id: a for a in attachments.present(cursor)}
            done = Synced()
            tables: list[Attachment] = []
            taken: list[int] = []
            for attachment_id in dict.fromkeys(note[1] for note in found):
                of = [note for note in found if note[1] == attachment_id]
                attachment = known.get(attachment_id)
                if attachment is not None and attachment.copied:
                    of = [note for note in of if note[3] is None or note[0] in copied]
                rows = [source_id for note in of for source_id in note[3] or ()]
                if attachment is None:  # it is detached
                    done.gone += outbox.delete(cursor, attachment_id, rows)
                    taken += [note[0] for note in of]
                    done.notes += sum(note[2] for note in of)
                    continue
                try:
                    if rows:
                        with fitting(cursor, attachment):
                            done.add(outbox.sync(cursor, attachment, rows))
                except UnfitError as error:
                    self._leave(attachment, [str(error)])
                    continue
                if any(note[3] is None for note in of):
                    tables.append(attachment)
                taken += [note[0] for note in of if note[3] is not None]
                done.notes += sum(note[2] for note in of if note[3] is not None)
            outbox.forget(cursor, taken)
        self._size = min(NOTES, fitting_batch(done.notes, perf_counter() - started))
        self._count(done)
        return len(taken), found[-1][0], tables

    def _pull(self, after: int) -> set[int]:
        """Copy the rows of the next notes where sessions of owners read them.

        Returns the numbers of the notes. The settle lock is not held: an owner's code may take long.
        """
        if not self._copied:
            return set()
        with self._database.transaction() as cursor:
            found = outbox.notes(cursor, after, self._through, self._size, self._drifted)
        numbers: set[int] = set()
        for attachment in self._copied:
            of = [note for note in found if note[1] == attachment.id and note[3]]
            rows = [source_id for note in of for source_id in note[3] or ()]
            try:
                if rows and copying.pull(self._database, attachment, rows):
                    numbers |= {note[0] for note in of}
            except UnfitError as error:
                self._leave(attachment, [str(error)])
        return numbers

    def _count(self, done: Synced) -> None:
        self._done.add(done)
        self._read += done.notes
        self._total = max(self._total, self._read)
        self._progress.advance(done.notes, self._total)
        self._unswept += done.notes
        self._sweep()

    def _compare(self, attachment: Attachment) -> None:
        """Note every row of a table that is not what its article is; then its own notes are done."""
        with self._database.transaction() as cursor:
            numbers = outbox.whole(cursor, attachment)
        try:
            noted = compare(self._database, attachment, self._stop)
        except UnfitError as error:
            self._leave(attachment, [str(error)])
            return
        if noted is None:
            return
        self._total += noted
        with self._database.transaction() as cursor:
            outbox.forget(cursor, numbers)
            self._through = outbox.last_note(cursor)
        self._count(Synced(1))

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


@contextmanager
def fitting(cursor: Cursor, attachment: Attachment) -> Iterator[None]:
    """A part of a transaction that reads a table. Raises UnfitError: its functions do not fit it any more."""
    if not attachment.copied and not copying.is_trusted(cursor, attachment):
        raise UnfitError(
            f"{attachment.shown}: it belongs to a role with fewer rights than the corpus' owner, so its rows"
            f" must be copied: `dedup remap {attachment.name}`"
        )
    try:
        with cursor.connection.transaction():
            yield
    except psycopg.errors.InsufficientPrivilege:
        raise  # of who asks: the owner of the functions is that of the table
    except (psycopg.ProgrammingError, psycopg.DataError) as error:
        # Not the message of the server, which may quote a row.
        raise UnfitError(
            f"{attachment.shown}: it does not fit what was made for it (SQLSTATE {error.sqlstate}):"
            f" `dedup remap {attachment.name}`"
        ) from None


OVERLAP_MINUTES = 60
"""Changes that are older by so much than the latest that was seen are looked at again: a transaction may have
been at work for so long, or clocks differ. docs/attach.md says so."""

Differs = Callable[[Cursor, Attachment, Differing | None, int], Differing]


def compare(
    database: Database, attachment: Attachment, stop: Callable[[], bool], *, whole: bool = True
) -> int | None:
    """Note what is new, changed or gone in a table since it was last followed, page by page: of all its rows,
    or without `whole` of those that changed lately, of which none is gone.

    What it has seen is kept at its end: whoever comes after one that was killed sees all of it again. Returns
    how many rows, or None if told to stop before the end. Raises UnfitError: the table cannot be read.
    """
    with database.transaction() as cursor:
        row = cursor.execute(_sql("began"), {"id": attachment.id, "overlap": OVERLAP_MINUTES}).fetchone()
    began, since = row or (None, None)
    if whole or attachment.changed is None:
        since = None
    if attachment.copied and not _copy(database, attachment, stop, since):
        return None
    ways: list[Differs] = [outbox.changed, outbox.gone]
    if since is not None:
        start = since
        ways = [lambda cursor, of, before, limit: outbox.recent(cursor, of, start, before, limit)]
    noted, latest = 0, None
    for differing in ways:
        found: Differing | None = None
        while found is None or found.last is not None:
            if stop():
                return None
            with database.transaction() as cursor:
                prefer_indexes(cursor)
                with fitting(cursor, attachment):
                    found = differing(cursor, attachment, found, PAGE)
                if found.rows:
                    outbox.note(cursor, attachment, [source_id for source_id, _ in found.rows])
            noted += len(found.rows)
            latest = max(filter(None, (latest, found.latest)), default=None)
    if attachment.changed is not None or attachment.every is not None:
        values = {"id": attachment.id, "whole": len(ways) > 1, "latest": latest, "began": began}
        with database.transaction() as cursor:
            cursor.execute(_sql("looked"), values)
    return noted


def _copy(database: Database, attachment: Attachment, stop: Callable[[], bool], since: str | None) -> bool:
    """Copy the rows of a table, or those that changed since a time; False: told to stop before the end."""
    deadline = perf_counter() + database.timeouts.statement
    after, at = None, None
    while True:
        if stop():
            return False
        if perf_counter() > deadline:
            raise UnfitError(
                f"{attachment.shown}: to read it takes longer than {database.timeouts.statement:,.0f} s: make"
                " its query quicker, or raise DEDUP_TIMEOUT_STATEMENT"
            )
        after, at = copying.pull_page(database, attachment, after, since, at)
        if after is None:
            break
    gone: str | None = "" if since is None else None
    while gone is not None and not stop():
        gone = copying.pull_gone(database, attachment, gone)
    return gone is None


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
class Written:
    """What became of some marks."""

    rows: int = 0  # how many rows were written
    held: set[str] = field(default_factory=set)  # the source_ids of rows that others hold
    # the source_id of a row that cannot be written to the SQLSTATE of why: a trigger or a constraint of the
    # owner raised it
    failed: dict[str, str] = field(default_factory=dict)


Apply = Callable[[list[str]], tuple[int, Sequence[str]]]
"""Write the marks of some rows: how many were written, and the source_ids of rows that others hold."""


def _write_some(database: Database, attachment: Attachment, after: int) -> tuple[Written, int | None]:
    """Write the next marks that changed into the table, but not into rows that others hold: they stay noted.
    So do those that cannot be written. Returns what became of them, and the number of the last note that was
    looked at; None: there was none, or another is writing.
    """
    done = Written()
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
            row = cursor.execute(query, {"source_ids": source_ids, "id": attachment.id}).fetchone()
        assert row is not None
        return int(row[0]), row[1]

    if not attachment.copied:
        yield here
        return
    with copying.writing(database, cursor, attachment) as there:
        yield there


def _write(apply: Apply, source_ids: list[str], done: Written) -> None:
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
