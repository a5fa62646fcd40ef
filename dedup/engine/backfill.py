"""Everything unsettled gets its mark: the nightly run (docs/semantics.md, section 6).

Changed settings are adopted first. Then three steps, repeated until nothing is left: fingerprint texts on all
cores, bring the common sentences up to date, settle in batches. Each step commits as it goes, so a run that
is stopped, by Ctrl-C or a crash, is resumed by the next one where it was. Memory does not grow with the
corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import perf_counter

import psycopg

from dedup.corpus import fingerprints, rulebooks
from dedup.corpus.database import BACKFILL_LOCK_KEY, Database, translated
from dedup.corpus.rulebooks import Adoption, Rulebook, StaleRulesError
from dedup.engine.adopt import adopt
from dedup.engine.arrivals import store_arrivals
from dedup.engine.pool import Chunk, Factory, FingerprintPool, make_function
from dedup.engine.refresh import refresh
from dedup.engine.settle import settle
from dedup.progress import Progress, SilentProgress
from dedup.text.tasks import Fingerprinted

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


FINGERPRINTS_PER_SECOND = 2_500
SETTLED_PER_SECOND = 4_000
"""What two cores of 2024 do (scripts/benchmark.py), for previews: they say "about"."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What the next backfill has to do.

    Attributes:
        adoption: what it takes up first.
        fingerprint: texts to be fingerprinted; settle: articles to be settled.
    """

    adoption: Adoption
    fingerprint: int
    settle: int

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        return self.fingerprint / FINGERPRINTS_PER_SECOND + self.settle / SETTLED_PER_SECOND


def preview(database: Database) -> Preview:
    """What the next backfill has to do, counted without doing it."""
    with database.transaction() as cursor:
        adoption = rulebooks.waiting_adoption(cursor)
        row = cursor.execute("SELECT count(*) FROM dedup.article").fetchone()
        everything = row[0] if row else 0
        waiting = fingerprints.count_unfingerprinted(cursor)
        unsettled = waiting + fingerprints.count_unsettled(cursor)
    return Preview(
        adoption,
        everything if adoption.fingerprints else waiting,
        everything if adoption else unsettled,
    )


@dataclass(slots=True)
class BackfillReport:
    """What a backfill did.

    Attributes:
        already_running: another backfill holds the corpus; this one did nothing.
        stopped: it was asked to stop before everything was settled.
        adopted: changed settings, sentence parameters or a changed program were put in force.
        fingerprinted: texts that got a fingerprint; failed: texts that cannot have one.
        common_entered, common_left: sentences that became common, or stopped.
        settled: marks written, an article counted again if it was settled again.
        compared: pairs of articles scored.
        held: articles put aside by a hook that others still hold.
        seconds: stage (adopting, fingerprinting, counting, settling) to how long it took.
    """

    already_running: bool = False
    stopped: bool = False
    adopted: bool = False
    fingerprinted: int = 0
    failed: int = 0
    common_entered: int = 0
    common_left: int = 0
    settled: int = 0
    compared: int = 0
    held: int = 0
    seconds: dict[str, float] = field(default_factory=dict)


def backfill(
    database: Database,
    *,
    batch: int = BATCH_ARTICLES,
    workers: int | None = None,
    progress: Progress | None = None,
    factory: Factory = make_function,
    full_count: bool | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> BackfillReport:
    """Settle everything that is pending or stale.

    Args:
        stop: asked between batches; when it says so, the batch in hand is finished and the work ends.
        batch: articles per settle transaction; the result does not depend on it.
        workers: processes that fingerprint texts; None for one per core, 0 for none but this one.
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


def _gathered(parts: Iterable[list[Fingerprinted]], size: int) -> Iterator[list[Fingerprinted]]:
    """Join lists until they have `size` members: the database likes larger bites than the workers."""
    gathered: list[Fingerprinted] = []
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
        factory: Factory,
        full_count: bool | None,
        stop: Callable[[], bool],
    ) -> None:
        self._database, self._report, self._progress = database, report, progress
        self._batch, self._workers, self._factory = batch, workers, factory
        self._full_count, self._stop = full_count, stop

    def once(self) -> bool:
        """Go through all steps; False if none found anything to do."""
        self._report.held = store_arrivals(self._database)
        with self._timed("adopting"):
            self._report.adopted |= adopt(self._database)
        with self._database.transaction() as cursor:
            rulebook = rulebooks.load_rulebook(cursor)
        with self._timed("fingerprinting"):
            fingerprinted = self._fingerprint(rulebook)
        if self._stop():
            self._report.stopped = True
            return False
        with self._timed("counting"):
            refreshed = refresh(self._database, rulebook, full=self._full_count)
        self._report.common_entered += refreshed.entered
        self._report.common_left += refreshed.left
        with self._timed("settling"):
            settled = self._settle(rulebook)
        if self._stop():
            self._report.stopped = True
            return False
        return bool(fingerprinted or refreshed.entered or refreshed.left or settled)

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            seconds = self._report.seconds
            seconds[stage] = seconds.get(stage, 0.0) + perf_counter() - started

    def _fingerprint(self, rulebook: Rulebook) -> int:
        with self._database.transaction() as cursor:
            total = fingerprints.count_unfingerprinted(cursor)
        if not total:
            return 0
        self._progress.start("fingerprinting", total)
        done = 0
        with FingerprintPool(rulebook.settings, rulebook.models, self._workers, self._factory) as pool:
            for results in _gathered(pool.run(self._chunks()), PAGE_ARTICLES):
                with self._database.transaction(settling=True) as cursor:
                    rulebook.check(cursor)
                    fingerprints.store(cursor, results)
                failed = sum(result.fingerprint is None for result in results)
                self._report.failed += failed
                self._report.fingerprinted += len(results) - failed
                done += len(results)
                self._progress.advance(len(results))
        self._analyze(done)
        return done

    def _chunks(self) -> Iterator[Chunk]:
        after = None
        while not self._stop():
            with self._database.transaction() as cursor:
                page, after = fingerprints.unfingerprinted_page(cursor, after, PAGE_ARTICLES, PAGE_CHARACTERS)
            if not page:
                return
            for start in range(0, len(page), CHUNK_ARTICLES):
                yield page[start : start + CHUNK_ARTICLES]

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
