"""Texts become fingerprints on all cores, and nothing can stop the work for ever.

This is the side of whoever knows which articles wait; `supervisor.py` keeps the worker processes at work,
`worker.py` is the life of one, and `reader.py` is what it does with a chunk. Texts and fingerprints go
between workers and database; through here go ids. Every wait here is bounded, and notices a supervisor that
has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from time import monotonic

from dedup.corpus.database import Database
from dedup.corpus.fingerprints import Chunk, Target
from dedup.corpus.rulebooks import Rulebook
from dedup.engine.reader import (
    HARMLESS,
    Factory,
    FingerprintFunction,
    Part,
    Reader,
    ReaderHere,
    Source,
    make_function,
    read_chunk,
)
from dedup.engine.supervisor import Limits, Supervisor, machine_error
from dedup.engine.worker import encode_recipe
from dedup.machine import cores
from dedup.text.fingerprints import Fingerprints
from dedup.text.tasks import Lost, TextTask

__all__ = ["Chunk", "Factory", "FingerprintFunction", "FingerprintPool", "Limits", "Part", "make_function"]


class FingerprintPool:
    """Worker processes that fingerprint texts and store the fingerprints. Use as a context manager.

    Args:
        database: where the texts are, and the fingerprints go.
        rulebook: what fingerprints are made with; none is stored once another one is in force.
        workers: processes; None for one per core; 0 works in this process, for a handful of articles.
        factory: makes the fingerprint function inside a worker; must be importable by name.
        stop: asked all the while; when it says so, `run` ends within `limits.stop`.
        target: the table that fingerprints go to.

    Raises:
        WorkerError: the pool cannot be started.
    """

    def __init__(
        self,
        database: Database,
        rulebook: Rulebook,
        workers: int | None = None,
        factory: Factory = make_function,
        limits: Limits | None = None,
        stop: Callable[[], bool] = lambda: False,
        target: Target = "fingerprint",
    ) -> None:
        settings, models, timeouts = rulebook.settings, rulebook.models, database.timeouts
        count = cores() if workers is None else workers
        if count:
            database.check_open()
        url = database.url if count else ""
        too_long = settings.text_max_characters
        source = Source(url, database.schema, timeouts, rulebook.state, too_long, target)
        self._limits, self._stop = limits or Limits(), stop
        self._here = None if count else _Here(ReaderHere(source, database), factory(settings, models))
        self._supervisor = None
        if count:
            # A store waits for others as long as it may, and then tries once more.
            patience = self._limits.chunk + 2 * timeouts.lock
            self._supervisor = Supervisor(
                count, encode_recipe(factory, settings, models, source), self._limits, patience
            )

    def __enter__(self) -> FingerprintPool:
        if self._supervisor:
            try:
                self._supervisor.start()
            except RuntimeError as error:  # no more threads
                self._supervisor.close()
                raise machine_error(str(error)) from None
        return self

    def __exit__(self, *exception: object) -> None:
        if self._supervisor:
            self._supervisor.stopping = True  # so it ends even where no memory is left for what follows
            self._supervisor.stop()
        if self._here:
            self._here.reader.close()

    def run(self, chunks: Iterable[Chunk]) -> Iterator[Part]:
        """Have the texts of chunks fingerprinted and stored; says what became of them, in any order.

        Pulls chunks as needed.

        Raises:
            WorkerError: workers cannot be started, or do not stay alive.
            DatabaseError: the server refused or went away.
            StaleRulesError: the settings changed meanwhile.
        """
        if self._supervisor:
            return self._share_out(self._supervisor, chunks)
        assert self._here
        return map(self._here.read, chunks)

    def _share_out(self, supervisor: Supervisor, chunks: Iterable[Chunk]) -> Iterator[Part]:
        waiting = 0
        for chunk in chunks:
            supervisor.give(chunk)
            waiting += len(chunk)
            while (part := supervisor.take(wait=supervisor.is_full, stop=self._stop)) is not None:
                waiting -= len(part.articles)
                yield part
            if self._stop():
                break
        while waiting and (part := supervisor.take(wait=lambda: True, stop=self._stop)) is not None:
            waiting -= len(part.articles)
            yield part
        supervisor.finish()
        deadline = monotonic() + self._limits.stop
        # The work is to stop: only what is in hand is waited for.
        while waiting and (part := supervisor.take(lambda: supervisor.busy > 0 and monotonic() < deadline)):
            waiting -= len(part.articles)
            yield part


class _Here:
    """The work of a worker in this process."""

    def __init__(self, reader: Reader, function: FingerprintFunction) -> None:
        self.reader, self._function = reader, function

    def read(self, chunk: Chunk) -> Part:
        """Read a chunk."""
        return read_chunk(self.reader, chunk, self._make)

    def _make(self, tasks: Sequence[TextTask]) -> tuple[Sequence[TextTask], Fingerprints | None, list[Lost]]:
        try:
            return tasks, self._function(tasks), []
        except MemoryError:
            pass
        read: list[TextTask] = []
        made: list[Fingerprints] = []
        lost: list[Lost] = []
        for task in tasks:
            try:
                made.append(self._function([task]))
                read.append(task)
            except MemoryError:
                try:
                    self._function([HARMLESS])
                except MemoryError:
                    raise machine_error("out of memory") from None
                lost.append(Lost(task.id, task.revision, "fingerprinting it ran out of memory"))
        return read, Fingerprints.joined(made) if made else None, lost
