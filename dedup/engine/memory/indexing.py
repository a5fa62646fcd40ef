"""Waiting fingerprints: their indexes are built by the server beside other work, then they are put in use."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from dedup.corpus import memory_engine
from dedup.corpus.database import Database, retried, translated
from dedup.corpus.rulebooks import Rulebook
from dedup.progress import Progress

LOOK_SECONDS = 0.2  # Between two looks at how far the server is

INDEX_SHARE = 0.25
"""Of the memory that an engine may use, what the server builds an index in: with too little for all keys at
once it takes twice as long."""

PUBLISH_SECONDS = 600.0
"""For so long a moment is awaited at which nobody reads the fingerprints, so that the new ones can take their
place; each try waits for a tenth of a second."""


class IndexBuild:
    """A build at work, from the beginning of a `with` block to its end at the latest.

    `bits` of the keys are as in `corpus.folding`; the server builds in a share of `memory`, bytes.
    """

    def __init__(self, database: Database, bits: int, memory: int) -> None:
        self._database, self._bits = database, bits
        self._megabytes = max(64, int(INDEX_SHARE * memory / 1e6))
        self._connection = database.connect(patient=True)
        self._thread = threading.Thread(target=self._build, daemon=True, name="dedup-indexing")
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread.is_alive():
            with suppress(Exception):  # it ends with its connection in any case
                self._connection.cancel_safe()
            self._thread.join()
        self._connection.close()

    def wait(self, progress: Progress, stop: Callable[[], bool]) -> None:
        """Wait for the end, and tell how far it is; not any longer once `stop` says so."""
        if self._thread.is_alive():
            progress.start("building indexes", None)
        told = 0
        while self._thread.is_alive() and not stop():
            self._thread.join(LOOK_SECONDS)
            with suppress(Exception), self._database.transaction() as cursor:
                done, total = memory_engine.index_progress(cursor, self._connection.info.backend_pid)
                if done > told:
                    progress.advance(done - told, total)
                    told = done
        if self._error:
            raise self._error

    def _build(self) -> None:
        try:
            with translated(self._database.location), self._connection.transaction():
                memory_engine.build_indexes(self._connection.cursor(), self._bits, self._megabytes)
        except BaseException as error:  # told to whoever waits
            self._error = error


def publish(database: Database, rulebook: Rulebook, run: int, bits: int) -> None:
    """Put the waiting fingerprints in use. Raises StaleRulesError: the settings changed, or another engine
    took over."""

    def attempt() -> None:
        with database.transaction(settling=True) as cursor:
            memory_engine.check(cursor, rulebook, run)
            memory_engine.publish(cursor, bits)

    retried(attempt, PUBLISH_SECONDS)
