"""One chunk of articles from texts to fingerprints: read, made and stored.

No transaction is open while fingerprints are made, and the settle lock is held only while what was made is
stored. What meets other transactions is tried again; a database that refuses is an error of the database,
never of a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, LifoQueue
from threading import Lock

from dedup.base.errors import BusyError, ClosedError, UnreachableError
from dedup.base.settings import Settings
from dedup.db.database import Connection, Cursor, Database, Session, retried, translated
from dedup.store import fingerprints
from dedup.store.fingerprints import Batch, Chunk, Stored, Target
from dedup.store.rulebooks import Rulebook
from dedup.text.fingerprint import Fingerprinter, TextTask
from dedup.text.fingerprints import Fingerprints
from dedup.text.punkt import PunktModel

FingerprintFunction = Callable[[Sequence[TextTask]], Fingerprints]
Factory = Callable[[Settings, Mapping[str, PunktModel]], FingerprintFunction]

CANCEL_SECONDS = 1.0  # For a server to take note that a statement is to end


def make_function(settings: Settings, models: Mapping[str, PunktModel]) -> FingerprintFunction:
    return Fingerprinter(settings, models).fingerprint_many


@dataclass(frozen=True, slots=True)
class Part:
    """What became of some articles, all of which have been stored.

    Attributes:
        articles: all of them.
        failed: those that cannot have a fingerprint, by id, with the reason.
        gone: the ids of those that changed, went or no longer wait.
        stored: the fingerprints; None where there is none.
    """

    articles: Chunk
    failed: dict[int, str] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)
    stored: Stored | None = None

    @property
    def made(self) -> int:
        """How many have a fingerprint."""
        return len(self.articles) - len(self.failed) - len(self.gone)


class Reader:
    """Reads texts and stores fingerprints, for any number of threads.

    Args:
        rulebook: which must still be in force when a fingerprint is stored.
        function: makes the fingerprints.
        target: the table that they go to.
        threads: how many have a connection of their own, or as many as the server gives; 0 for the caller
            alone, through the connections of `database`.
    """

    def __init__(
        self,
        database: Database,
        rulebook: Rulebook,
        function: FingerprintFunction,
        target: Target,
        threads: int,
    ) -> None:
        self._database, self._rulebook = database, rulebook
        self._function, self._target, self._threads = function, target, threads
        self._open, self._opening = list[Connection](), Lock()
        self._idle: LifoQueue[Connection] = LifoQueue()
        self._cancelled = False

    def close(self) -> None:
        """Close the connections. No thread is at work any more."""
        for connection in self._open:
            with suppress(Exception):
                connection.close()

    def cancel(self) -> None:
        """End what threads are waiting for: their `read` raises, and what it had not stored is not stored."""
        self._cancelled = True
        for connection in self._open:
            with suppress(Exception):  # it may be closed, or its server away
                connection.cancel_safe(timeout=CANCEL_SECONDS)

    def read(self, chunk: Chunk) -> Part:
        """Read the texts of a chunk, but for those that changed or no longer wait; store their fingerprints.

        Raises:
            StaleRulesError: the settings changed meanwhile.
            DatabaseError: the server refused or went away.
            ClosedError: `cancel` was called.
        """
        patience = self._database.timeouts.lock
        tasks = retried(lambda: self._texts(chunk), patience)
        failed: dict[int, str] = {}
        gone = {i for i, _ in chunk} - {task.id for task in tasks}
        stored = None
        if tasks:
            batch = Batch([(task.id, task.revision) for task in tasks], self._function(tasks))
            stored, moved = retried(lambda: self._store(batch), patience)
            gone.update(moved)
            failed = {i: reason for (i, _), reason in batch.failed.items() if i not in gone}
        return Part(chunk, failed, sorted(gone), stored)

    def _texts(self, chunk: Chunk) -> list[TextTask]:
        with self._transaction() as cursor:
            return fingerprints.waiting_texts(cursor, chunk, self._rulebook.settings.text_max_characters)

    def _store(self, batch: Batch) -> tuple[Stored, list[int]]:
        with self._transaction(storing=True) as cursor:
            self._rulebook.check(cursor)
            return batch.store(cursor, self._target)

    @contextmanager
    def _transaction(self, *, storing: bool = False) -> Iterator[Cursor]:
        if not self._threads:
            with self._database.transaction(settling=storing, bulk=storing) as cursor:
                yield cursor
            return
        connection = self._borrow()
        try:
            session = Session(connection, self._database.timeouts)
            with (
                translated(self._database.location),
                session.transaction(settling=storing, bulk=storing) as cursor,
            ):
                yield cursor
        finally:
            self._idle.put(connection)

    def _borrow(self) -> Connection:
        """A connection that no thread uses, or a new one. Where the server gives none, one is waited for."""
        if self._cancelled:
            raise ClosedError(f"{self._database.location}: the work was stopped")
        with suppress(Empty):
            return self._idle.get_nowait()
        with self._opening:
            try:
                connection = self._database.connect()
            except UnreachableError:
                if not self._open:
                    raise
            else:
                self._open.append(connection)
                return connection
        try:
            return self._idle.get(timeout=self._database.timeouts.lock)
        except Empty:
            raise BusyError(
                f"{self._database.location} gives no more connections; use fewer threads"
            ) from None
