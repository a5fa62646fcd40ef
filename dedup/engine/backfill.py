"""Everything pending gets its mark: the nightly run (SEMANTICS section 6).

Three steps, repeated until nothing is left: read texts into fingerprints on all cores, bring the common
sentences up to date, settle in batches. Each step commits as it goes, so a run that is stopped, by
Ctrl-C or a crash, is resumed by the next one where it was. Memory does not grow with the corpus.
Read next: `hook.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Protocol

import psycopg

from dedup.corpus import fingerprints, rulebooks
from dedup.corpus.database import BACKFILL_LOCK_KEY, Database, translated
from dedup.corpus.fingerprints import Reading, Unread
from dedup.corpus.rulebooks import Rulebook, StaleRulesError
from dedup.engine.pool import Chunk, ReaderFactory, ReaderPool, make_reader
from dedup.engine.refresh import refresh
from dedup.engine.settle import settle

BATCH_ARTICLES = 1_000
"""Articles per settle transaction: about half a second of the settle lock, which is as long as a hook
may have to wait for its verdict."""

PAGE_ARTICLES = 500
PAGE_CHARACTERS = 4_000_000
"""Texts held in memory at a time per page: the smaller of both bounds; a page has one article at least."""

CHUNK_ARTICLES = 50
"""Articles handed to a worker at a time: about 40 ms of work."""

ANALYZE_ARTICLES = 5_000
"""After so many new fingerprints or marks the planner's statistics are brought up to date."""


class Progress(Protocol):
    """Told how long work goes on; `SilentProgress` is the default."""

    def start(self, stage: str, total: int) -> None:
        """A stage begins; `total` is how many articles it has to do, as far as known."""

    def advance(self, count: int, total: int | None = None) -> None:
        """So many more are done; `total` if it has changed."""


class SilentProgress:
    """Tells nobody."""

    def start(self, stage: str, total: int) -> None:
        pass

    def advance(self, count: int, total: int | None = None) -> None:
        pass


@dataclass(slots=True)
class BackfillReport:
    """What a backfill did.

    Attributes:
        already_running: another backfill holds the corpus; this one did nothing.
        stopped: it was asked to stop before everything was settled.
        read: texts read into fingerprints; failed: texts that could not be read.
        common_entered, common_left: sentences that became common, or stopped.
        settled: marks written, an article counted again if it was settled again.
        compared: pairs of articles scored.
    """

    already_running: bool = False
    stopped: bool = False
    read: int = 0
    failed: int = 0
    common_entered: int = 0
    common_left: int = 0
    settled: int = 0
    compared: int = 0


def backfill(
    database: Database,
    *,
    batch: int = BATCH_ARTICLES,
    workers: int | None = None,
    progress: Progress | None = None,
    factory: ReaderFactory = make_reader,
    full_count: bool | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> BackfillReport:
    """Settle everything that is pending.

    Args:
        stop: asked between batches; when it says so, the batch in hand is finished and the work ends.
        batch: articles per settle transaction; the result does not depend on it.
        workers: processes that read texts; None for one per core, 0 for none but this one.
        full_count: as in `refresh`.

    Raises:
        DatabaseError: the server refused or went away; run it again to go on.
    """
    report = BackfillReport()
    with _only_backfill(database) as alone:
        if not alone:
            report.already_running = True
            return report
        run = _Run(database, report, progress or SilentProgress(), batch, workers, factory, full_count, stop)
        while True:
            try:
                if not run.once():
                    return report
            except StaleRulesError:
                continue  # someone changed a setting: begin again with the new ones


@contextmanager
def _only_backfill(database: Database) -> Iterator[bool]:
    """Hold the lock of the running backfill for as long as its session lives."""
    connection = database.connect()
    try:
        with translated(database.place):
            row = connection.execute("SELECT pg_try_advisory_lock(%s)", [BACKFILL_LOCK_KEY]).fetchone()
        yield bool(row and row[0])
    finally:
        # Closing alone would let go of the lock only when the server has noticed.
        with suppress(psycopg.Error):
            connection.execute("SELECT pg_advisory_unlock_all()")
        connection.close()


def _gathered(parts: Iterable[list[Reading]], size: int) -> Iterator[list[Reading]]:
    """Join lists until they have `size` members: the database likes larger bites than the workers."""
    gathered: list[Reading] = []
    for part in parts:
        gathered += part
        if len(gathered) >= size:
            yield gathered
            gathered = []
    if gathered:
        yield gathered


class _Run:
    """One backfill at work."""

    def __init__(
        self,
        database: Database,
        report: BackfillReport,
        progress: Progress,
        batch: int,
        workers: int | None,
        factory: ReaderFactory,
        full_count: bool | None,
        stop: Callable[[], bool],
    ) -> None:
        self._database, self._report, self._progress = database, report, progress
        self._batch, self._workers, self._factory = batch, workers, factory
        self._full_count, self._stop = full_count, stop

    def once(self) -> bool:
        """Go through all steps; False if none found anything to do."""
        with self._database.transaction() as cursor:
            adopted = rulebooks.is_adopted(cursor)
        if not adopted:
            with self._database.transaction(settling=True) as cursor:
                rulebooks.adopt(cursor)
        with self._database.transaction() as cursor:
            rulebook = rulebooks.load_rulebook(cursor)
        read = self._read_texts(rulebook)
        if self._stop():
            self._report.stopped = True
            return False
        refreshed = refresh(self._database, rulebook, full=self._full_count)
        self._report.common_entered += refreshed.entered
        self._report.common_left += refreshed.left
        settled = self._settle(rulebook)
        if self._stop():
            self._report.stopped = True
            return False
        return bool(read or refreshed.entered or refreshed.left or settled)

    def _read_texts(self, rulebook: Rulebook) -> int:
        with self._database.transaction() as cursor:
            total = fingerprints.count_unread(cursor)
        if not total:
            return 0
        self._progress.start("reading texts", total)
        done = 0
        with ReaderPool(rulebook.settings, rulebook.models, self._workers, self._factory) as pool:
            for readings in _gathered(pool.read(self._chunks(rulebook)), PAGE_ARTICLES):
                with self._database.transaction(settling=True) as cursor:
                    rulebook.check(cursor)
                    fingerprints.store_readings(cursor, readings)
                failed = sum(reading.fingerprint is None for reading in readings)
                self._report.failed += failed
                self._report.read += len(readings) - failed
                done += len(readings)
                self._progress.advance(len(readings))
        self._analyze(done)
        return done

    def _chunks(self, rulebook: Rulebook) -> Iterator[Chunk]:
        after = None
        while not self._stop() and (page := self._page(rulebook, after)):
            after = page[-1].place
            for start in range(0, len(page), CHUNK_ARTICLES):
                yield page[start : start + CHUNK_ARTICLES]

    def _page(self, rulebook: Rulebook, after: fingerprints.Place | None) -> list[Unread]:
        with self._database.transaction() as cursor:
            return fingerprints.unread_page(
                cursor, rulebook.settings.canonical_order, after, PAGE_ARTICLES, PAGE_CHARACTERS
            )

    def _settle(self, rulebook: Rulebook) -> int:
        with self._database.transaction() as cursor:
            total = fingerprints.count_unsettled(cursor)
        if not total:
            return 0
        self._progress.start("settling", total)
        done = 0
        while not self._stop():
            with self._database.transaction(settling=True) as cursor:
                rulebook.check(cursor)
                settled = settle(cursor, rulebook.settings, limit=self._batch)
            if not settled.ids:
                break
            done += len(settled.ids)
            total += len(settled.unsettled)
            self._report.settled += len(settled.ids)
            self._report.compared += settled.compared
            self._progress.advance(len(settled.ids), total)
        self._analyze(done)
        return done

    def _analyze(self, done: int) -> None:
        """Tell the planner what the tables now hold: first that all is pending, at last that nothing is."""
        if done >= ANALYZE_ARTICLES:
            with self._database.transaction() as cursor:
                cursor.execute("ANALYZE dedup.article, dedup.fingerprint")
