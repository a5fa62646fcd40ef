"""Attached tables are followed: what changed in them is read, and marks are written back where wanted.

The notes in the outbox are worked off in short transactions under the settle lock, in bounded memory. Marks
are written without that lock, and never wait for a row: one that others hold is left to the next time.

A function that writes has the rights of the owner of its table: who settles needs none on it. It is given the
marks, and reads nothing of the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter

import psycopg

from dedup.attach import attachments, drift, outbox
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


def sync(database: Database, progress: Progress, stop: Callable[[], bool], *, again: bool = False) -> Synced:
    """Work off the outbox. `again`: try at once what could not be followed, and do not leave it alone for a
    while. Raises BusyError: others held an article for longer than `Timeouts.lock`.
    """
    return _Sync(database, progress, stop, again=again).run()


class _Sync:
    def __init__(
        self, database: Database, progress: Progress, stop: Callable[[], bool], *, again: bool
    ) -> None:
        self._database, self._progress, self._stop, self._again = database, progress, stop, again
        self._done = Synced()
        self._drifted: list[int] = []
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
        tables: dict[int, Attachment] = {}
        while not self._stop():
            taken_now, last, noted = retried(partial(self._batch, after), self._database.timeouts.lock)
            tables |= {attachment.id: attachment for attachment in noted}
            if last is not None:
                after, taken = last, taken + taken_now
                continue
            # After what was noted row by row: what the owner deleted is then no news to a comparison.
            for attachment in tables.values():
                self._compare(attachment)
            # Numbers become visible out of their order: once more from the beginning.
            if not after or not (taken or tables):
                break
            after, taken, tables = 0, 0, {}
        self._sweep()
        return self._done

    def _look(self) -> None:
        """What owners did to their tables; one that needs a person is left alone until it is mapped again."""
        self._drifted, self._done.problems = [], []
        with self._database.transaction() as cursor:
            held = set() if self._again else drift.held_now(cursor)
            for attachment in attachments.present(cursor):
                words = drift.look(cursor, attachment)
                if words or attachment.id in held:
                    self._leave(attachment, words or drift.held(attachment))
            outbox.note_freed(cursor)

    def _leave(self, attachment: Attachment, words: Sequence[str]) -> None:
        self._drifted.append(attachment.id)
        self._done.problems += words

    def _sync_due(self) -> None:
        """Look for changes where no trigger notes them and it is time to."""
        with self._database.transaction() as cursor:
            due = dict(cursor.execute(_sql("due")).fetchall())
            present = attachments.present(cursor) if due else []
            chosen = [a for a in present if a.id in due and a.id not in self._drifted]
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
                rows = [source_id for note in of for source_id in note[3] or ()]
                if attachment is None:  # it is detached
                    done.gone += outbox.delete(cursor, attachment_id, rows)
                    taken += [note[0] for note in of]
                    done.notes += sum(note[2] for note in of)
                    continue
                try:
                    if rows:
                        with fitting(cursor, attachment):
                            synced = outbox.sync(cursor, attachment, rows)
                            # A row that row security hides since we looked is not gone.
                            if synced.gone and (words := drift.problems_of(cursor, attachment)):
                                raise UnfitError(words[0])
                        done.add(synced)
                except UnfitError as error:
                    self._leave(attachment, [str(error)])
                    drift.hold(cursor, attachment, str(error))
                    continue
                if any(not note[3] for note in of):
                    tables.append(attachment)
                taken += [note[0] for note in of if note[3]]
                done.notes += sum(note[2] for note in of if note[3])
            outbox.forget(cursor, taken)
        self._size = min(NOTES, fitting_batch(done.notes, perf_counter() - started))
        self._count(done)
        return len(taken), found[-1][0], tables

    def _count(self, done: Synced) -> None:
        self._done.add(done)
        self._read += done.notes
        self._total = max(self._total, self._read)
        self._progress.advance(done.notes, self._total)
        self._unswept += done.notes
        self._sweep()

    def _compare(self, attachment: Attachment) -> None:
        """Note every row of a table that is not what its article is."""
        try:
            noted = compare(self._database, attachment, self._stop)
        except UnfitError as error:
            self._leave(attachment, [str(error)])
            return
        if noted is None:
            return
        self._total += noted
        with self._database.transaction() as cursor:
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

FEW_GONE = 20
"""So many articles may lose their rows unnoted, even if they are all of a table: a person sees at a glance
what became of them, and they are settled again within a second."""

Differs = Callable[[Cursor, Attachment, Differing | None, int], Differing]


def compare(
    database: Database,
    attachment: Attachment,
    stop: Callable[[], bool],
    *,
    whole: bool = True,
    allow_deletes: bool = False,
) -> int | None:
    """Note what is new, changed or gone in a table since it was last followed, page by page: of all its rows,
    after which no note has them compared, or without `whole` of those that changed lately, of which none is
    gone.

    What it has seen is kept at its end: whoever comes after one that was killed sees all of it again. Returns
    how many rows, or None if told to stop before the end. Raises UnfitError: the table cannot be read, or
    more than half of its articles have no row, which nobody noted or allowed. It is left alone then.
    """
    with database.transaction() as cursor:
        row = cursor.execute(_sql("began"), {"id": attachment.id, "overlap": OVERLAP_MINUTES}).fetchone()
        numbers, noted_by_trigger = outbox.whole(cursor, attachment)
    began, since = row or (None, None)
    if attachment.changed is None or since is None:
        whole = True
    looking = _Comparison(database, attachment, stop)
    try:
        if whole:
            looking.refuse_loss = not (allow_deletes or noted_by_trigger)
            done = looking.gone() and looking.differing(outbox.changed)
        else:
            done = looking.differing(
                lambda cursor, of, before, limit: outbox.recent(cursor, of, str(since), before, limit)
            )
    except UnfitError as error:
        with database.transaction() as cursor:
            outbox.forget(cursor, looking.notes)
            drift.hold(cursor, attachment, str(error))
        raise
    if not done:
        return None
    with database.transaction() as cursor:
        if whole:
            outbox.forget(cursor, numbers)
            drift.release(cursor, attachment)
        if attachment.changed is not None or attachment.every is not None:
            values = {"id": attachment.id, "whole": whole, "latest": looking.latest, "began": began}
            cursor.execute(_sql("looked"), values)
    return looking.noted


class _Comparison:
    """A table is compared with its articles; what differs is noted."""

    def __init__(self, database: Database, attachment: Attachment, stop: Callable[[], bool]) -> None:
        self._database, self._attachment, self._stop = database, attachment, stop
        self.refuse_loss = False  # whether most of the articles may not be gone
        self.noted = 0  # how many rows
        self.notes: list[int] = []  # the numbers of the notes
        self.latest: str | None = None  # the latest time of a change

    def differing(self, way: Differs) -> bool:
        """Note rows that differ; False if told to stop before the end."""
        found: Differing | None = None
        while found is None or found.last is not None:
            if self._stop():
                return False
            found = self._page(way, found)
            self.latest = max(filter(None, (self.latest, found.latest)), default=None)
        return True

    def gone(self) -> bool:
        """Note articles without a row, but none before it is known how many they are; as `differing`."""
        found: Differing | None = None
        lost, pages = 0, list[Differing | None]()
        while found is None or found.last is not None:
            if self._stop():
                return False
            before, found = found, self._page(outbox.gone, found, note=False)
            if found.rows:
                lost += len(found.rows)
                pages.append(before and replace(before, rows=[]))
        if self.refuse_loss and lost > FEW_GONE:
            with self._database.transaction() as cursor:
                amount = outbox.count_articles(cursor, self._attachment)
            if 2 * lost > amount:
                name, shown = self._attachment.name, self._attachment.shown
                raise UnfitError(
                    f"{shown}: {lost:,} of its {amount:,} articles have no row any more, and nothing was"
                    f" deleted: if they are to go, `dedup sync {name} --allow-deletes`"
                )
        for page in pages:
            if self._stop():
                return False
            self._page(outbox.gone, page)
        return True

    def _page(self, way: Differs, before: Differing | None, *, note: bool = True) -> Differing:
        with self._database.transaction() as cursor:
            prefer_indexes(cursor)
            with fitting(cursor, self._attachment):
                found = way(cursor, self._attachment, before, PAGE)
            if note and found.rows:
                self.notes += outbox.note(cursor, self._attachment, [row for row, _ in found.rows])
                self.noted += len(found.rows)
        return found


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
            done, after = retried(partial(_write_some, database, attachment, after))
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


def _write_some(database: Database, attachment: Attachment, after: int) -> tuple[Written, int | None]:
    """Write the next marks that changed into the table, but not into rows that others hold: they stay noted.
    So do those that cannot be written. Returns what became of them, and the number of the last note that was
    looked at; None: there was none, or another is writing.
    """
    done = Written()
    with database.transaction() as cursor:
        prefer_indexes(cursor)
        if cursor.execute(_sql("take_turn"), {"id": attachment.id}).fetchone() is None:
            return done, None
        values = {"after": after, "id": attachment.id, "limit": MARKS}
        found = cursor.execute(_sql("changed_marks"), values).fetchall()
        if not found:
            return done, None
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
