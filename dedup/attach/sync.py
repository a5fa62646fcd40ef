"""Apply the noted changes of attached tables to the articles, in short transactions with the settle lock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from time import perf_counter

from dedup.attach import attachments, copying, drift, outbox
from dedup.attach.attachments import Attachment, Base
from dedup.attach.comparing import compare, savepoint
from dedup.attach.outbox import Counts, UnfitError
from dedup.base.progress import Progress
from dedup.db.connection import next_batch
from dedup.db.database import Database, one_row, retry
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")
_of_bases = Statements("attach/bases")

NOTES = 2_000  # Approximate maximum number of changes read in one transaction; the last note may exceed it
VACUUM_NOTES = 200_000  # Number of changes after which the space of old notes is freed

# If at most this number of rows of a base table changed, one statement finds the affected rows of the
# attached table. If more rows changed, all rows of the attached table are compared, page by page.
BASE_KEYS = 10_000

# If a change of a base table names no rows, all rows are compared. A program may change such a table every
# second, so comparisons take at most this share of the time, with pauses between them. A pause ends before
# `dedup status --check` warns of waiting changes.
COMPARED_SHARE = 0.1
LONGEST_REST_SECONDS = 600.0


def sync(database: Database, progress: Progress, stop: Callable[[], bool], *, again: bool = False) -> Counts:
    """Apply the changes noted in the outbox. `again`: also try tables that are paused after an error. Raises
    BusyError: other sessions locked an article longer than `Timeouts.lock`."""
    return _Sync(database, progress, stop, again).run()


class _Sync:
    def __init__(self, database: Database, progress: Progress, stop: Callable[[], bool], again: bool) -> None:
        self._database, self._progress, self._stop, self._again = database, progress, stop, again
        self._done = Counts()
        self._drifted: list[int] = []
        self._copied: list[Attachment] = []
        self._resting: list[int] = []
        self._size, self._total, self._through = NOTES, 0, 0
        self._unswept = self._read = 0

    def run(self) -> Counts:
        based = retry(self._look, self._database.timeouts.lock)
        self._sync_due()
        for attachment in based:
            self._refer(attachment)
        with self._database.transaction() as cursor:
            waiting = outbox.count(cursor, self._drifted)
            # Leave later notes to the next call, so that this call ends even if writers never pause.
            self._through = outbox.last_note(cursor)
        if not waiting:
            return self._done
        self._total = waiting
        self._progress.start("reading changes", waiting)
        after, taken = 0, 0
        tables: dict[int, Attachment] = {}
        while not self._stop():
            taken_now, last, noted = retry(partial(self._batch, after), self._database.timeouts.lock)
            tables |= {attachment.id: attachment for attachment in noted}
            if last is not None:
                after, taken = last, taken + taken_now
                continue
            # Whole tables are compared last, so that rows whose deletion was noted do not count as lost.
            for attachment in tables.values():
                self._compare(attachment)
            # Read the outbox from the start again: a note with a lower id may have been committed meanwhile.
            if not after or not (taken or tables):
                break
            after, taken, tables = 0, 0, {}
        self._sweep()
        return self._done

    def _look(self) -> list[Attachment]:
        """Record which attached tables must be left alone. Return the attachments that have base tables."""
        self._drifted, self._done.problems = [], []
        with self._database.transaction() as cursor:
            held = set() if self._again else {row[0] for row in cursor.execute(_sql("held")).fetchall()}
            present = attachments.list_active(cursor)
            self._copied = [attachment for attachment in present if attachment.copied]
            for attachment in present:
                words = drift.check(cursor, attachment)
                if words or attachment.id in held:
                    self._leave(attachment, words or drift.held(attachment))
            outbox.note_freed(cursor)
            based = [attachment for attachment in present if attachment.bases]
            if based and not self._again:
                self._resting = [row[0] for row in cursor.execute(_of_bases("resting")).fetchall()]
        return based

    def _refer(self, attachment: Attachment) -> None:
        """Replace notes about rows of base tables by notes about the affected rows of the attached table."""
        for base in attachment.referring:
            if attachment.id in self._drifted:
                return
            try:
                retry(partial(self._refer_to, attachment, base), self._database.timeouts.lock)
            except UnfitError as error:
                self._leave(attachment, [str(error)])
                with self._database.transaction() as cursor:
                    drift.hold(cursor, attachment, error)

    def _refer_to(self, attachment: Attachment, base: Base) -> None:
        with self._database.transaction() as cursor:
            given = {"id": attachment.id, "base": base.number, "limit": BASE_KEYS + 1}
            notes, whole, keys = one_row(cursor, _of_bases("take"), given)
            if not notes:
                return
            self._done.notes += notes
            if whole or len(keys) > BASE_KEYS:
                cursor.execute(_sql("compare_whole"), {"id": attachment.id})
                return
            call = attachment.call(f"refer_{base.number}", "%(keys)s::text[]")
            query = _of_bases("refer", refer=call)
            if attachment.copied:
                with copying.open_session(self._database, cursor, attachment) as owner:
                    copying.limit_time(owner)
                    with owner.transaction():
                        owner.execute(query, {"keys": keys})
            else:
                with savepoint(cursor, attachment):
                    cursor.execute(query, {"keys": keys})

    def _leave(self, attachment: Attachment, words: Sequence[str]) -> None:
        self._copied = [other for other in self._copied if other.id != attachment.id]
        self._drifted.append(attachment.id)
        self._done.problems += words

    def _sync_due(self) -> None:
        with self._database.transaction() as cursor:
            due = dict(cursor.execute(_sql("due")).fetchall())
            present = attachments.list_active(cursor) if due else []
            chosen = [a for a in present if a.id in due and a.id not in self._drifted]
        for attachment in chosen:
            if self._stop():
                return
            try:
                compare(self._database, attachment, self._stop, whole=due[attachment.id])
            except UnfitError as error:
                self._leave(attachment, [str(error)])
                with self._database.transaction() as cursor:
                    cursor.execute(_sql("restart_pause"), {"id": attachment.id})

    def _batch(self, after: int) -> tuple[int, int | None, list[Attachment]]:
        """Apply the next notes. Return their number, the id of the last note (None: no note is left), and the
        tables that must be compared as a whole."""
        copied = self._pull(after)
        with self._database.transaction(settling=True) as cursor:
            started = perf_counter()
            found = outbox.notes(cursor, *self._next(after))
            if not found:
                return 0, None, []
            known = {a.id: a for a in attachments.list_active(cursor)}
            done = Counts()
            tables: list[Attachment] = []
            taken: list[int] = []
            for attachment_id in dict.fromkeys(note[1] for note in found):
                of = [note for note in found if note[1] == attachment_id]
                attachment = known.get(attachment_id)
                # note[4] is the number of a base table, or None. `_refer` replaces notes about base tables to
                # which the attached table still refers. Other notes about base tables are deleted here.
                known_bases = {base.number for base in attachment.referring} if attachment else set()
                taken += [note[0] for note in of if note[4] is not None and note[4] not in known_bases]
                of = [note for note in of if note[4] is None]
                if attachment is not None and attachment.copied:
                    of = [note for note in of if not note[3] or note[0] in copied]
                rows = [source_id for note in of for source_id in note[3] or ()]
                if attachment is None:  # the table was detached
                    done.gone += outbox.delete(cursor, attachment_id, rows)
                    taken += [note[0] for note in of]
                    done.notes += sum(note[2] for note in of)
                    continue
                try:
                    if rows:
                        with savepoint(cursor, attachment):
                            synced = outbox.sync(cursor, attachment, rows)
                            # Hidden rows seem deleted: check whether row security was switched on.
                            if synced.gone and (words := drift.problems_of(cursor, attachment)):
                                raise UnfitError(words[0])
                        done.add(synced)
                except UnfitError as error:
                    self._leave(attachment, [str(error)])
                    drift.hold(cursor, attachment, error)
                    continue
                if any(not note[3] for note in of):
                    tables.append(attachment)
                taken += [note[0] for note in of if note[3]]
                done.notes += sum(note[2] for note in of if note[3])
            outbox.forget(cursor, taken)
        self._size = min(NOTES, next_batch(done.notes, perf_counter() - started))
        self._count(done)
        return len(taken), found[-1][0], tables

    def _pull(self, after: int) -> set[int]:
        """Copy the rows named by the next notes, in sessions of the owners; return the ids of these notes."""
        if not self._copied:
            return set()
        with self._database.transaction() as cursor:
            found = outbox.notes(cursor, *self._next(after))
        # The settle lock is not held here, because an owner's code may take long.
        numbers: set[int] = set()
        for attachment in self._copied:
            of = [note for note in found if note[1] == attachment.id and note[3] and note[4] is None]
            rows = [source_id for note in of for source_id in note[3] or ()]
            try:
                if rows and copying.pull(self._database, attachment, rows):
                    numbers |= {note[0] for note in of}
            except UnfitError as error:
                self._leave(attachment, [str(error)])
                with self._database.transaction() as cursor:
                    drift.hold(cursor, attachment, error)
        return numbers

    def _next(self, after: int) -> tuple[int, int, int, list[int], list[int]]:
        return after, self._through, self._size, self._drifted, self._resting

    def _count(self, done: Counts) -> None:
        self._done.add(done)
        self._read += done.notes
        self._total = max(self._total, self._read)
        self._progress.advance(done.notes, self._total)
        self._unswept += done.notes
        self._sweep()

    def _compare(self, attachment: Attachment) -> None:
        started = perf_counter()
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
            if attachment.bases:
                rest = (perf_counter() - started) * (1 / COMPARED_SHARE - 1)
                values = {"id": attachment.id, "seconds": min(rest, LONGEST_REST_SECONDS)}
                cursor.execute(_of_bases("rest"), values)
        self._count(Counts(1))

    def _sweep(self) -> None:
        """Free the space of old notes, so that the file of the outbox does not keep growing."""
        if self._unswept < VACUUM_NOTES:
            return
        self._unswept = 0
        connection = self._database.connect(patient=True)
        try:
            connection.execute("VACUUM dedup.outbox")
        finally:
            connection.close()
