"""Texts become fingerprints on all cores, and no text can stop the work.

Each worker process is fed by a thread of its own. A worker that dies or takes too long is replaced, its
articles are tried again one by one, and the one to blame is reported as failed. No database here, nor in
the workers: a test holds it.
"""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from multiprocessing.connection import Connection
from queue import SimpleQueue

from dedup.machine import cores
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprinter
from dedup.text.punkt import PunktModel
from dedup.text.tasks import Fingerprinted, TextTask, fingerprint_task

CHUNK_SECONDS = 120.0
"""A chunk takes about 0.1 s; one that takes this long holds a text that does not end."""

ARTICLE_SECONDS = 30.0
"""The largest readable text, a million characters, takes about half a second."""

START_SECONDS = 60.0
"""A worker starts in about a second; a machine that swaps takes longer."""

CHUNKS_AHEAD = 12
"""Chunks handed out per worker: enough that none waits while the database is written."""

Chunk = list[TextTask]
FingerprintFunction = Callable[[TextTask], Fingerprinted]
Factory = Callable[[Settings, Mapping[str, PunktModel]], FingerprintFunction]


def make_function(settings: Settings, models: Mapping[str, PunktModel]) -> FingerprintFunction:
    """The function that fingerprints one text."""
    fingerprinter = Fingerprinter(settings, models)
    fingerprinter.sentences("Ready.")  # what is loaded on first use must not count against a text
    return partial(fingerprint_task, fingerprinter)


class FingerprintPool:
    """Worker processes that fingerprint texts. Use as a context manager.

    Args:
        settings, models: what fingerprints are made with.
        workers: processes; None for one per core; 0 works in this process, for a handful of articles.
        factory: makes the fingerprint function inside a worker; must be importable by name.
    """

    def __init__(
        self,
        settings: Settings,
        models: Mapping[str, PunktModel],
        workers: int | None = None,
        factory: Factory = make_function,
        chunk_seconds: float = CHUNK_SECONDS,
        article_seconds: float = ARTICLE_SECONDS,
    ) -> None:
        count = cores() if workers is None else workers
        self._tasks: SimpleQueue[Chunk | None] = SimpleQueue()
        self._results: SimpleQueue[list[Fingerprinted]] = SimpleQueue()
        self._function = factory(settings, models) if count == 0 else None
        recipe = (factory, settings, dict(models))
        limits = (chunk_seconds, article_seconds)
        self._feeders = [_Feeder(self._tasks, self._results, recipe, limits) for _ in range(count)]

    def __enter__(self) -> FingerprintPool:
        for feeder in self._feeders:
            feeder.start()
        return self

    def __exit__(self, *exception: object) -> None:
        for feeder in self._feeders:
            feeder.stop()
        for _ in self._feeders:
            self._tasks.put(None)

    def run(self, chunks: Iterable[Chunk]) -> Iterator[list[Fingerprinted]]:
        """Fingerprint chunks of texts; results come chunk by chunk, in any order. Pulls chunks as needed."""
        if self._function:
            for chunk in chunks:
                yield [self._function(task) for task in chunk]
            return
        waiting = 0
        for chunk in chunks:
            self._tasks.put(chunk)
            waiting += 1
            if waiting >= CHUNKS_AHEAD * len(self._feeders):
                yield self._results.get()
                waiting -= 1
        for _ in range(waiting):
            yield self._results.get()


class _LostError(Exception):
    """The worker died or took too long; the message says which."""


class _Feeder(threading.Thread):
    """Hands chunks to one worker process and waits for its answers."""

    def __init__(
        self,
        tasks: SimpleQueue[Chunk | None],
        results: SimpleQueue[list[Fingerprinted]],
        recipe: tuple[Factory, Settings, dict[str, PunktModel]],
        limits: tuple[float, float],
    ) -> None:
        super().__init__(daemon=True)
        self._tasks, self._results, self._recipe = tasks, results, recipe
        self._chunk_seconds, self._article_seconds = limits
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None
        self._stopping = False

    def run(self) -> None:
        # Workers inherit this: Ctrl-C is the parent's business, and it stops them.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        while (chunk := self._tasks.get()) is not None and not self._stopping:
            try:
                results = self._ask(chunk, self._chunk_seconds)
            except _LostError:
                results = [self._ask_alone(task) for task in chunk if not self._stopping]
            self._results.put(results)
        self._discard()

    def stop(self) -> None:
        """Give up the work in hand; the thread ends soon after."""
        self._stopping = True
        if self._process and self._process.is_alive():
            self._process.kill()

    def _ask_alone(self, task: TextTask) -> Fingerprinted:
        try:
            return self._ask([task], self._article_seconds)[0]
        except _LostError as error:
            return Fingerprinted(task.id, task.revision, None, f"unreadable: {error}")

    def _ask(self, chunk: Chunk, seconds: float) -> list[Fingerprinted]:
        try:
            connection = self._connection or self._spawn()
            connection.send(chunk)
            if not connection.poll(seconds):
                raise _LostError(f"fingerprinting it took longer than {seconds:.0f} s")
            results: list[Fingerprinted] = connection.recv()
        except (EOFError, OSError):
            self._discard()
            raise _LostError("fingerprinting it ended the worker process") from None
        except _LostError:
            self._discard()
            raise
        return results

    def _spawn(self) -> Connection:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs, *self._recipe), daemon=True)
        self._process.start()
        theirs.close()
        # Its start is not the text's fault and does not count against it.
        if not self._connection.poll(START_SECONDS):
            raise _LostError("its worker process did not start")
        self._connection.recv()
        return self._connection

    def _discard(self) -> None:
        if self._process:
            self._process.kill()
            self._process.join()
        if self._connection:
            self._connection.close()
        self._process = self._connection = None


def _work(
    connection: Connection, factory: Factory, settings: Settings, models: dict[str, PunktModel]
) -> None:
    """The life of a worker process: ends when the parent does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    function = factory(settings, models)
    connection.send("ready")
    while True:
        try:
            chunk: Chunk = connection.recv()
            connection.send([function(task) for task in chunk])
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return
