"""Texts become fingerprints on all cores, and nothing can stop the work for ever.

This is the side of whoever has texts; `supervisor.py` keeps the worker processes at work, `worker.py` is the
life of one. Every wait here is bounded, and notices a supervisor that has ended. No database here, nor in the
workers: a test holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from time import monotonic

from dedup.engine.supervisor import Chunk, Limits, Supervisor, machine_error
from dedup.engine.worker import HARMLESS, Factory, FingerprintFunction, encode_recipe, make_function
from dedup.machine import cores
from dedup.settings import Settings
from dedup.text.punkt import PunktModel
from dedup.text.tasks import Answer, Lost

__all__ = ["Chunk", "Factory", "FingerprintFunction", "FingerprintPool", "Limits", "make_function"]


class FingerprintPool:
    """Worker processes that fingerprint texts. Use as a context manager.

    Args:
        settings, models: what fingerprints are made with.
        workers: processes; None for one per core; 0 works in this process, for a handful of articles.
        factory: makes the fingerprint function inside a worker; must be importable by name.
        stop: asked all the while; when it says so, `run` ends within `limits.stop`.

    Raises:
        WorkerError: the pool cannot be started.
    """

    def __init__(
        self,
        settings: Settings,
        models: Mapping[str, PunktModel],
        workers: int | None = None,
        factory: Factory = make_function,
        limits: Limits | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        count = cores() if workers is None else workers
        self._limits, self._stop = limits or Limits(), stop
        self._function = factory(settings, models) if count == 0 else None
        self._supervisor = None
        if count:
            recipe = encode_recipe(factory, settings, models)
            self._supervisor = Supervisor(count, recipe, self._limits)

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

    def run(self, chunks: Iterable[Chunk]) -> Iterator[list[Answer]]:
        """Fingerprint chunks of texts; results come in parts, in any order. Pulls chunks as needed.

        Raises:
            WorkerError: workers cannot be started, or do not stay alive; what was read before has been given.
        """
        if self._supervisor:
            return self._share_out(self._supervisor, chunks)
        assert self._function
        return _read_here(self._function, chunks)

    def _share_out(self, supervisor: Supervisor, chunks: Iterable[Chunk]) -> Iterator[list[Answer]]:
        waiting = 0
        for chunk in chunks:
            supervisor.give(chunk)
            waiting += len(chunk)
            while (part := supervisor.take(wait=supervisor.is_full, stop=self._stop)) is not None:
                waiting -= len(part)
                yield part
            if self._stop():
                break
        while waiting and (part := supervisor.take(wait=lambda: True, stop=self._stop)) is not None:
            waiting -= len(part)
            yield part
        supervisor.finish()
        deadline = monotonic() + self._limits.stop
        # The work is to stop: only what is in hand is waited for.
        while waiting and (part := supervisor.take(lambda: supervisor.busy > 0 and monotonic() < deadline)):
            waiting -= len(part)
            yield part


def _read_here(function: FingerprintFunction, chunks: Iterable[Chunk]) -> Iterator[list[Answer]]:
    for chunk in chunks:
        found: list[Answer] = []
        for task in chunk:
            try:
                found.append(function(task))
            except MemoryError:
                try:
                    function(HARMLESS)
                except MemoryError:
                    raise machine_error("out of memory") from None
                found.append(Lost(task.id, task.revision, "fingerprinting it ran out of memory"))
        yield found
