"""Fingerprint texts on all cores, in threads that each read a chunk, fingerprint it and store the result.

The compiled C code releases Python's interpreter lock while it works, as the database driver does while it
waits. Without the C code only one thread at a time makes fingerprints, while other threads read and store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, LifoQueue
from threading import Lock
from time import monotonic
from typing import TypeVar

from dedup.base.errors import BusyError, ClosedError, MachineError, UnreachableError
from dedup.base.machine import threads
from dedup.base.settings import Settings
from dedup.db.database import Connection, Cursor, Database, Session, retry, translate_errors
from dedup.store import credits, fingerprints
from dedup.store.articles import extract_text
from dedup.store.credits import Notices, Reader
from dedup.store.fingerprints import Batch, Chunk, StoredBatch, Target
from dedup.store.rulebooks import Rulebook
from dedup.text.fingerprint import Fingerprinter, TextTask
from dedup.text.fingerprints import Fingerprints
from dedup.text.punkt import PunktModel

FingerprintFunction = Callable[[Sequence[TextTask]], Fingerprints]
Factory = Callable[[Settings, Mapping[str, PunktModel]], FingerprintFunction]

CHUNKS_AHEAD = 4  # Chunks submitted per thread, so that all have work while the next page of ids is read
LOOK_SECONDS = 0.2  # Maximum seconds between two calls of `stop`, which tells whether to stop
STOP_SECONDS = 3.0  # Maximum time to finish the present chunks after a request to stop
CANCEL_SECONDS = 1.0  # Maximum time for the server to accept a request to cancel a statement

_Given = TypeVar("_Given")
_Value = TypeVar("_Value")

SPARE = (
    "nothing was lost and no article is to blame: free memory or threads on this machine (`ulimit -a`),"
    " or use fewer threads (--workers), then run `dedup backfill` again"
)


def make_function(settings: Settings, models: Mapping[str, PunktModel]) -> FingerprintFunction:
    return Fingerprinter(settings, models).fingerprint_many


@dataclass(frozen=True, slots=True)
class StoredPart:
    """Result for the articles of a chunk, after it was stored."""

    articles: Chunk
    failed: dict[int, str] = field(default_factory=dict)  # failed articles: reason by id
    gone: list[int] = field(default_factory=list)  # ids of texts that changed, were deleted or wait no longer
    stored: StoredBatch | None = None

    @property
    def made(self) -> int:
        """Number of articles that got a fingerprint."""
        return len(self.articles) - len(self.failed) - len(self.gone)


class FingerprintPool:
    """Threads that fingerprint texts and store the fingerprints.

    Each thread has its own connection; if the server allows fewer, threads share connections. No transaction
    is open while fingerprints are made, and the settle lock is held only to store fingerprints. Conflicts
    with other transactions are retried. A database error ends the run; it does not mark texts as `failed`.

    Args:
        rulebook: makes the fingerprints, which are stored only while this rulebook is in force.
        workers: number of threads; None for one more than cores; 0 to work in the caller's thread, through
            the connections of `database`.
        factory: makes the fingerprint function, which all threads share.
        stop: called often; once it returns True, present chunks are finished, and no new chunk is begun.
        credits: reads credits and corrections in the texts; None to read none.
    """

    def __init__(
        self,
        database: Database,
        rulebook: Rulebook,
        workers: int | None = None,
        factory: Factory = make_function,
        stop: Callable[[], bool] = lambda: False,
        target: Target = "fingerprint",
        credits: Reader | None = None,
    ) -> None:
        self._workers = threads() if workers is None else workers
        self._database, self._rulebook, self._target = database, rulebook, target
        self._function, self._stop = factory(rulebook.settings, rulebook.models), stop
        self._open, self._opening = list[Connection](), Lock()
        self._credits = credits
        self._idle: LifoQueue[Connection] = LifoQueue()
        self._cancelled = False

    def run(self, chunks: Iterable[Chunk]) -> Iterator[StoredPart]:
        """Fingerprint the texts of chunks and store the results; yield one result per chunk, in any order.
        Raises MachineError: no memory or no thread is left; stored fingerprints are kept. DatabaseError: the
        server refused a statement or was lost. StaleRulesError: the settings changed."""
        try:
            yield from self._run_threads(chunks) if self._workers else map(self._process, chunks)
        except MemoryError:
            raise MachineError(f"out of memory; {SPARE}") from None
        finally:
            self._close()

    def _run_threads(self, chunks: Iterable[Chunk]) -> Iterator[StoredPart]:
        waiting: set[Future[StoredPart]] = set()
        with ThreadPoolExecutor(self._workers, "dedup-fingerprints") as executor:
            try:
                for chunk in chunks:
                    waiting.add(submit_to_thread(executor, self._process, chunk))
                    while len(waiting) >= CHUNKS_AHEAD * self._workers and not self._stop():
                        yield from _take_finished(waiting)
                    if self._stop():
                        break
                while waiting and not self._stop():
                    yield from _take_finished(waiting)
                yield from self._finish_chunks(waiting)
            except BaseException:
                for future in waiting:
                    future.cancel()
                self._cancel()
                raise

    def _finish_chunks(self, waiting: set[Future[StoredPart]]) -> Iterator[StoredPart]:
        """Finish the present chunks; after `STOP_SECONDS` cancel the statements of the remaining chunks."""
        in_hand = {future for future in waiting if not future.cancel()}
        deadline = monotonic() + STOP_SECONDS
        while in_hand and monotonic() < deadline:
            yield from _take_finished(in_hand)
        if in_hand:
            self._cancel()
            wait(in_hand)

    def _close(self) -> None:
        for connection in self._open:
            with suppress(Exception):
                connection.close()
        self._open, self._idle, self._cancelled = [], LifoQueue(), False

    def _cancel(self) -> None:
        """Cancel the statements of all threads: `_process` then raises an error and stores nothing more."""
        self._cancelled = True
        for connection in self._open:
            with suppress(Exception):  # the connection may be closed, or the server unreachable
                connection.cancel_safe(timeout=CANCEL_SECONDS)

    def _process(self, chunk: Chunk) -> StoredPart:
        """Read the texts of a chunk that still wait, and store their fingerprints. Raises the errors of
        `run`, and ClosedError if `_cancel` was called."""
        patience = self._database.timeouts.lock
        found = retry(lambda: self._load_texts(chunk), patience)
        tasks = [task._replace(text=extract_text(task.text, html)) if html else task for task, html in found]
        failed: dict[int, str] = {}
        gone = {i for i, _ in chunk} - {task.id for task in tasks}
        stored = None
        if tasks:
            batch = Batch([(task.id, task.revision) for task in tasks], self._function(tasks))
            named = self._read_credits(tasks, batch)
            stored, moved = retry(lambda: self._store(batch, named), patience)
            gone.update(moved)
            failed = {i: reason for (i, _), reason in batch.failed.items() if i not in gone}
        return StoredPart(chunk, failed, sorted(gone), stored)

    def _read_credits(self, tasks: Sequence[TextTask], batch: Batch) -> dict[int, Notices]:
        if self._credits is None:
            return {}
        failed = dict.fromkeys((article for article, _ in batch.failed), Notices())
        return failed | self._credits.read_many([task for task in tasks if task.id not in failed])

    def _load_texts(self, chunk: Chunk) -> list[tuple[TextTask, bool]]:
        with self._transaction() as cursor:
            return fingerprints.waiting_texts(cursor, chunk, self._rulebook.settings.text_max_characters)

    def _store(self, batch: Batch, named: Mapping[int, Notices]) -> tuple[StoredBatch, list[int]]:
        with self._transaction(storing=True) as cursor:
            self._rulebook.check(cursor)
            stored, gone = batch.store(cursor, self._target)
            credits.write(cursor, {article: found for article, found in named.items() if article not in gone})
            return stored, gone

    @contextmanager
    def _transaction(self, *, storing: bool = False) -> Iterator[Cursor]:
        if not self._workers:
            with self._database.transaction(settling=storing, async_commit=storing) as cursor:
                yield cursor
            return
        connection = self._borrow()
        try:
            session = Session(connection, self._database.timeouts)
            with (
                translate_errors(self._database.location),
                session.transaction(settling=storing, async_commit=storing) as cursor,
            ):
                yield cursor
        finally:
            self._idle.put(connection)

    def _borrow(self) -> Connection:
        """Return an idle or a new connection; if the server allows no more, wait for an idle connection."""
        if self._cancelled:
            raise ClosedError(f"{self._database.location}: the work was stopped")
        with suppress(Empty):
            return self._idle.get_nowait()
        with self._opening:
            try:
                connection = self._database.connect()
            except UnreachableError:
                # Threads share the open connections. The error counts only if no connection is open.
                if not self._open:
                    raise
            else:
                self._open.append(connection)
                return connection
        try:
            return self._idle.get(timeout=self._database.timeouts.lock)
        except Empty:
            raise BusyError(
                f"{self._database.location} allows no more connections; use fewer threads"
            ) from None


def submit_to_thread(
    executor: ThreadPoolExecutor, work: Callable[[_Given], _Value], given: _Given
) -> Future[_Value]:
    """Submit work to a thread. Raises MachineError: the system gives no new thread."""
    try:
        return executor.submit(work, given)
    except RuntimeError:
        raise MachineError(f"no more threads; {SPARE}") from None


def _take_finished(waiting: set[Future[StoredPart]]) -> Iterator[StoredPart]:
    """Wait at most `LOOK_SECONDS`; yield the finished results, and remove their futures from `waiting`."""
    done, _ = wait(waiting, LOOK_SECONDS, FIRST_COMPLETED)
    for future in done:
        waiting.remove(future)
        yield future.result()
