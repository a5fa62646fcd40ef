"""Settle all waiting articles in one run, for example every night (docs/semantics.md, section 6).

Changed settings are adopted first. Then three steps repeat until nothing is left: fingerprint texts, bring
the common sentences up to date, settle in batches. Each step commits its work in parts: if a run is stopped,
the next run continues from there. The memory that a batch needs does not grow with the corpus.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter

from dedup.attach.marking import write_marks
from dedup.attach.sync import sync
from dedup.base.answer import Answer
from dedup.base.errors import BusyError
from dedup.base.machine import BATCH_ARTICLES, EngineName
from dedup.base.progress import Both, Progress, SilentProgress, timed
from dedup.base.settings import Settings
from dedup.db.connection import next_batch
from dedup.db.database import Cursor, Database, run_locked
from dedup.runs.heartbeat import Heartbeat
from dedup.runs.runs import Run, RunCounts, forget_workers
from dedup.settling import choice, segments
from dedup.settling.adopt import adopt
from dedup.settling.fingerprinting import Counts, Fingerprinting, PoolOptions, analyze, make_stuck_error
from dedup.settling.memory.run import MemoryRun
from dedup.settling.memory.snapshot import Cache
from dedup.settling.pool import Factory, make_function
from dedup.settling.refresh import refresh
from dedup.settling.settle import SettleResult, settle
from dedup.settling.window import Window
from dedup.store import articles, credits, fingerprints, rulebooks, stories
from dedup.store.rulebooks import Adoption, Rulebook, StaleRulesError
from dedup.store.stories import Reprints

# A run ends with an error after this number of rounds (or batches) that did exactly the same work: something
# in the corpus is inconsistent then, and the run would never end.
SAME_ROUNDS = 10

DEFERRED_PER_TRANSACTION = 100  # Maximum: a transaction should hold the settle lock for less than 0.1 s
MOST_REPRINTED = 3  # Number of the most reprinted stories that a report names


@dataclass(slots=True)
class BackfillReport(Answer):
    """Result of a backfill.

    Attributes:
        already_running: true if another run is at work; then this backfill did nothing.
        running: the other run, if one is at work.
        taken_over: the dead run that this run replaced.
        superseded: true if another run considered this one dead and replaced it.
        stopped: true if the run was asked to stop before everything was settled.
        adopted: true if changed settings, sentence parameters or a changed program were put into force.
        fingerprinted: texts that got a fingerprint.
        failed: texts that cannot have a fingerprint.
        common_entered: sentences that became common.
        common_left: sentences that stopped being common.
        settled: marks written; an article that was settled twice counts twice.
        compared: pairs of articles scored.
        deferred: articles that could not be stored yet, since other transactions block them.
        archived: articles before the horizon that were archived (docs/semantics.md, section 10).
        synced: changes of attached tables that were read.
        refused: rows of attached tables that cannot be articles: the key is longer than 1,000 bytes, or an
            article that is not from this table has the same source_id.
        written_back: rows of attached tables into which marks were written.
        problems: problems of attached tables, with advice, a line each.
        seconds: seconds per stage: reading changes, adopting, archiving, fingerprinting, counting, settling,
            reading credits; with the memory engine also reading, comparing, indexing and writing.
        engines: engines in order of use: "postgres" or "memory".
        reprints: duplicates in the corpus now; None if nothing was settled.
    """

    already_running: bool = False
    running: Run | None = None
    taken_over: Run | None = None
    superseded: bool = False
    stopped: bool = False
    adopted: bool = False
    fingerprinted: int = 0
    failed: int = 0
    common_entered: int = 0
    common_left: int = 0
    settled: int = 0
    compared: int = 0
    deferred: int = 0
    archived: int = 0
    synced: int = 0
    refused: int = 0
    written_back: int = 0
    problems: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    engines: list[str] = field(default_factory=list)
    reprints: Reprints | None = None


def backfill(
    database: Database,
    *,
    batch: int = BATCH_ARTICLES,
    workers: int | None = None,
    engine: EngineName = "auto",
    memory: int | None = None,
    progress: Progress | None = None,
    factory: Factory = make_function,
    full_count: bool | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> BackfillReport:
    """Settle everything that is pending or stale; arguments and errors as in `Deduplicator.backfill`. See
    `FingerprintPool` for `factory`, and `refresh` for `full_count`."""
    report = BackfillReport()
    heartbeat = Heartbeat(database, "backfill")
    try:
        if not heartbeat.claim():
            report.already_running, report.running = True, heartbeat.other
            return report
        report.taken_over = heartbeat.taken_over
        memory = memory or choice.choose_memory()
        options = BackfillOptions(batch, full_count, PoolOptions(workers, factory), engine, memory)
        try:
            BackfillRun(database, report, heartbeat, options, progress or SilentProgress(), stop).run()
        except BaseException as error:
            # If the database is down, the outcome is not stored; the next run notices that this run is dead.
            with suppress(Exception):
                heartbeat.end("failed", type(error).__name__)
            raise
        report.superseded = heartbeat.superseded
        heartbeat.end("stopped" if report.stopped else "done")
        # The rows of lost workers are removed when a worker starts. Remove the rows here, too, because a
        # newsroom that settles by backfills starts no worker.
        if not report.stopped:
            with database.transaction() as cursor:
                forget_workers(cursor)
        if report.settled:
            with database.transaction() as cursor:
                report.reprints = stories.reprints(cursor, MOST_REPRINTED)
        return report
    finally:
        heartbeat.close()


@dataclass(frozen=True, slots=True)
class BackfillOptions:
    batch: int
    full_count: bool | None
    pool: PoolOptions
    engine: EngineName
    memory: int


class BackfillRun:
    def __init__(
        self,
        database: Database,
        report: BackfillReport,
        heartbeat: Heartbeat,
        options: BackfillOptions,
        progress: Progress,
        stop: Callable[[], bool],
    ) -> None:
        self._database, self._report, self._heartbeat, self._options = database, report, heartbeat, options
        self._progress = Both(heartbeat, progress)
        self._stop: Callable[[], bool] = lambda: stop() or heartbeat.superseded
        self._window = Window(database, self._progress, self._stop)
        self._rounds: Counter[tuple[int, ...]] = Counter()
        self._settled_in_memory = False
        # `dedup backfill` also reads tables that workers skip for a while: a person may have repaired them.
        self._again = heartbeat.what == "backfill"
        self._fingerprinting = Fingerprinting(database, self._progress, options.pool, self._stop)
        self._timed = partial(timed, report.seconds)

    def run(self) -> None:
        """Settle all waiting articles, and add the counts to the row of the run."""
        try:
            self._run_rounds()
        finally:
            done = self._report
            counts = RunCounts(done.fingerprinted, done.settled, done.failed, done.seconds)
            # Ignore an error here: the counts only inform, and must not hide the error that ended the run.
            with suppress(Exception):
                self._heartbeat.add_counts(counts)

    def _run_rounds(self) -> None:
        while not self._stop():
            try:
                did = self.run_round()
            except StaleRulesError:
                # The rules in force changed after the round read them, for example a setting: begin again.
                self._fingerprinting.begin_again()
                continue
            # Read the credits (agencies named by an article) that a hook did not read, or that a changed
            # byline, title or list of agencies made outdated.
            with self._timed("reading credits"):
                while not self._stop() and run_locked(self._database, credits.read_unread):
                    pass
            written, unwritten = write_marks(self._database, self._progress, self._stop)
            self._report.written_back += written
            self._report.problems += [line for line in unwritten if line not in self._report.problems]
            if did:
                self._rounds[did] += 1
                if self._rounds[did] >= SAME_ROUNDS:
                    raise make_stuck_error(max(did[0], did[4]))
            elif not self._stop() and not self._window.advance():
                return
        self._report.stopped = True

    def run_round(self) -> tuple[int, ...]:
        """Run all steps once. Return counts and hashes of the work done, or () if there was nothing to do.
        Two rounds that did the same work return equal tuples."""
        self._report.deferred = store_deferred(self._database)
        with self._timed("reading changes"):
            synced = sync(self._database, self._progress, self._stop, again=self._again)
        self._again = False
        self._report.synced += synced.notes
        self._report.refused += synced.refused
        self._report.problems = synced.problems
        with self._timed("adopting"):
            if adopt(self._database):
                self._report.adopted = True
                self._settled_in_memory = False
                self._fingerprinting.begin_again()
        with self._database.transaction() as cursor:
            rulebook = rulebooks.load_rulebook(cursor)
        with self._timed("archiving"):
            self._window.divide(rulebook)
        self._report.archived = self._window.archived
        with self._database.transaction() as cursor:
            waiting = fingerprints.count(cursor, "unfingerprinted")
        # Choose the table for new fingerprints first, since fingerprinting already writes to this table.
        engine = self._options.engine
        loading = choice.should_load_without_indexes(self._database, engine, waiting)
        self._fingerprinting.target = "fingerprint_bulk" if loading else "fingerprint"
        if loading:
            return self._settle_in_memory(rulebook, waiting, None)
        read = self._fingerprint(rulebook, waiting)
        if self._stop():
            return ()
        if not self._settled_in_memory and choice.should_settle_in_memory(self._database, engine):
            return self._settle_in_memory(rulebook, waiting, read)
        self._progress.first.start("counting sentences", 0)
        with self._timed("counting"):
            refreshed = refresh(self._database, rulebook, full=self._options.full_count)
        self._report.common_entered += refreshed.entered
        self._report.common_left += refreshed.left
        with self._timed("settling"):
            settled, which = self._settle(rulebook)
        segments.merge(self._database)
        if read.articles or refreshed.entered or refreshed.left or settled:
            return (read.articles, read.which, refreshed.entered, refreshed.left, settled, which)
        return ()

    def _fingerprint(self, rulebook: Rulebook, waiting: int, kept: Cache | None = None) -> Counts:
        with self._timed("fingerprinting"):
            read = self._fingerprinting.run(rulebook, waiting, kept)
        self._report.fingerprinted += read.fingerprinted
        self._report.failed += read.failed
        return read

    def _settle_in_memory(self, rulebook: Rulebook, waiting: int, read: Counts | None) -> tuple[int, ...]:
        """Settle everything with the memory engine. `read`: result of this round's fingerprinting. If None,
        first fingerprint the waiting texts, and write the fingerprints to the table without indexes."""
        run, memory, loading = self._heartbeat.run, self._options.memory, read is None
        with MemoryRun(
            self._database, rulebook, run, memory, self._progress, self._timed, self._stop, loading=loading
        ) as engine:
            if read is None:
                read = self._fingerprint(rulebook, waiting, engine.kept)
                if self._stop():
                    return ()
            self._note_engine("memory")
            done = engine.settle()
        self._settled_in_memory = True
        self._report.common_entered += done.refreshed.entered
        self._report.common_left += done.refreshed.left
        self._report.settled += done.settled
        self._report.compared += done.compared
        analyze(self._database, done.settled, "article_mark")
        return read.articles, read.which, done.refreshed.entered, done.refreshed.left, done.settled, -1

    def _settle(self, rulebook: Rulebook) -> tuple[int, int]:
        """Settle all unsettled articles with a fingerprint; return their number and a hash of their ids."""
        with self._database.transaction() as cursor:
            total = fingerprints.count(cursor, "unsettled")
        if not total:
            return 0, 0
        self._note_engine("postgres")
        self._progress.start("settling", total)
        limit = self._options.batch
        done, which, before, same = 0, 0, frozenset[int](), 0
        while not self._stop():
            settled, seconds = run_locked(
                self._database, partial(_settle_some, settings=rulebook.settings, limit=limit), rulebook.check
            )
            if not settled.ids:
                break
            # Hooks wait while a batch holds the settle lock, so a slow machine gets smaller batches.
            limit = min(self._options.batch, next_batch(len(settled.ids), seconds))
            same = same + 1 if settled.ids == before else 0
            if same >= SAME_ROUNDS:
                raise make_stuck_error(len(before))
            before = settled.ids
            # The hash shows whether two rounds with equal counts settled the same articles.
            which ^= hash(before)
            done += len(settled.ids)
            total += len(settled.unsettled)
            self._report.settled += len(settled.ids)
            self._report.compared += settled.compared
            self._progress.advance(len(settled.ids), total)
        analyze(self._database, done, "article_mark")
        return done, which

    def _note_engine(self, engine: str) -> None:
        self._heartbeat.engine = engine
        if self._report.engines[-1:] != [engine]:
            self._report.engines.append(engine)


def _settle_some(cursor: Cursor, settings: Settings, limit: int) -> tuple[SettleResult, float]:
    """Settle at most `limit` articles; return the result, and the seconds for which the lock was held."""
    started = perf_counter()
    return settle(cursor, settings, limit=limit), perf_counter() - started


def store_deferred(database: Database) -> int:
    """Store articles that were deferred because of a lock; return the number that is still blocked."""
    left: list[str] = []
    while True:
        with database.transaction() as cursor:
            found = articles.list_deferred(cursor, DEFERRED_PER_TRANSACTION + len(left))
        waiting = [source_id for source_id in found if source_id not in left]
        if not waiting:
            return len(left)
        try:
            run_locked(database, partial(articles.store_deferred, source_ids=waiting), seconds=0)
        except BusyError:
            # Try each article alone, since other transactions may block only one of them.
            for source_id in waiting:
                try:
                    run_locked(database, partial(articles.store_deferred, source_ids=[source_id]), seconds=0)
                except BusyError:
                    left.append(source_id)


# Speeds on a machine of 2024 with two cores (scripts/benchmark.py), for a rough estimate of the time.
FINGERPRINTS_PER_SECOND = 2_500
SETTLED_PER_SECOND = 4_000


@dataclass(frozen=True, slots=True)
class Preview(Answer):
    """Amount of work for the next backfill.

    Attributes:
        adoption: changes that the backfill adopts first.
        fingerprint: texts to be fingerprinted.
        settle: articles to be settled.
    """

    adoption: Adoption
    fingerprint: int
    settle: int

    @property
    def seconds(self) -> float:
        return self.fingerprint / FINGERPRINTS_PER_SECOND + self.settle / SETTLED_PER_SECOND


def preview(database: Database) -> Preview:
    """Count the work of the next backfill without doing it."""
    with database.transaction() as cursor:
        adoption = rulebooks.find_adoption(cursor)
        everything = articles.count(cursor) if adoption else 0
        waiting = fingerprints.count(cursor, "unfingerprinted")
        unsettled = waiting + fingerprints.count(cursor, "unsettled")
    return Preview(
        adoption, everything if adoption.fingerprints else waiting, everything if adoption else unsettled
    )
