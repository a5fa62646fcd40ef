"""Run the memory engine once: settle all articles of a corpus together, from a snapshot to marks.

    read everything -> count sentences -> decide -> put waiting fingerprints into use -> write marks

A run may stop after any step: committed results are right, and the next run continues from there. During a
run hooks settle nothing. Articles that people change are noted, and settled through the indexes at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Self

import numpy as np

from dedup.base.errors import BusyError
from dedup.base.progress import Progress
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, Database, run_locked, translate_errors
from dedup.settling import refresh, segments
from dedup.settling.fingerprinting import analyze
from dedup.settling.memory import writing
from dedup.settling.memory.snapshot import Cache, Snapshot, count_fitting
from dedup.settling.memory.writing import Chunk, Plan, decide_all
from dedup.settling.pool import submit_to_thread
from dedup.settling.refresh import RefreshResult, SentenceCounts
from dedup.store import common_sentences, memory_engine, settling, window
from dedup.store.memory_engine import MARK_INDEXES
from dedup.store.rulebooks import Rulebook

FLAGS_AT_ONCE = 10_000  # Maximum number of canonical flags changed per transaction

# Each new mark leaves the old version of its row behind. Vacuum frees this space whenever this share of the
# marks is written, so the table grows by only a fifth, and does not double.
VACUUM_SHARE = 0.2

COMPACT_SHARE = 0.5  # If a load marks at least this share of articles, the indexes of marks are rebuilt
VACUUM_ARTICLES = 5_000  # Minimum marks written before a vacuum; a normal day writes fewer


@dataclass(slots=True)
class MemoryResult:
    """Counts of a run: changes of common sentences, articles that got or kept a mark, and scored pairs."""

    refreshed: RefreshResult = field(default_factory=RefreshResult)
    settled: int = 0
    compared: int = 0


class MemoryRun:
    """Run of the memory engine, as a `with` block. Inside the block hooks settle nothing, and articles that
    people change are noted. `kept`: cache of new fingerprints. Raises StaleRulesError: the settings changed.

    Args:
        run: the number of the backfill in `dedup.run`.
        memory: approximate maximum of bytes to use.
        loading: True if fingerprints will be written without indexes.
    """

    def __init__(
        self,
        database: Database,
        rulebook: Rulebook,
        run: int,
        memory: int,
        progress: Progress,
        timed: Callable[[str], AbstractContextManager[None]],
        stop: Callable[[], bool],
        *,
        loading: bool,
    ) -> None:
        self._database, self._rulebook, self._run, self._memory = database, rulebook, run, memory
        self._progress, self._timed, self._stop, self._loading = progress, timed, stop, loading
        self.kept = Cache(count_fitting(memory, rulebook.settings))
        # Two kinds of articles get no mark: articles that changed after the snapshot (`_since` is the id of
        # the last change before it), and the articles `_outside` the window, which the next round archives.
        self._since, self._outside = 0, bigints([])

    def __enter__(self) -> Self:
        begin = partial(memory_engine.begin, run=self._run, loading=self._loading)
        run_locked(self._database, begin, self._rulebook.check)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An error here must not hide an earlier error. If this run cannot be ended, the next run ends it.
        with suppress(Exception) if error else nullcontext():
            run_locked(self._database, partial(memory_engine.end, run=self._run))

    def settle(self) -> MemoryResult:
        """Settle everything that has a fingerprint. Raises StaleRulesError: the settings changed."""
        done = MemoryResult()
        with self._timed("reading"):
            snapshot, counted = self._read()
        if counted:
            self._progress.start("counting sentences", None)
            with self._timed("counting"):
                done.refreshed = refresh.apply(self._database, self._rulebook, counted)
        with self._timed("comparing"):
            plan = self._decide(snapshot)
        with self._database.transaction() as cursor:
            waiting = memory_engine.count_waiting(cursor)
        if waiting:
            self._progress.start("writing keys", None)
            with self._timed("indexing"):
                self._flag_waiting(plan)
                bands = self._rulebook.settings.buckets * len(snapshot)
                entries = int(snapshot.sentence_counts.sum()) + bands
                share = min(-(-entries // segments.LOADED_SEGMENTS), self._memory // segments.SORTED_BYTES)
                at_once = max(segments.SORTED_ENTRIES, share)
                with ThreadPoolExecutor(1, "dedup-tidying") as aside:
                    tidied = submit_to_thread(aside, self._tidy, waiting)
                    made = segments.build(
                        self._database, "fingerprint_bulk", self._stop, snapshot.read_entries(), at_once
                    )
                tidied.result()
                if self._stop():  # the next run puts the new fingerprints into use
                    return done
                segments.publish(self._database, self._rulebook, self._run, made)
        with self._timed("writing"):
            self._write(plan, done)
            if self._loading and done.settled >= COMPACT_SHARE * len(snapshot):
                compact(self._database, *MARK_INDEXES)
        return done

    def _read(self) -> tuple[Snapshot, SentenceCounts | None]:
        settings = self._rulebook.settings
        with self._database.session() as session, session.transaction(snapshot=True) as cursor:
            self._since = memory_engine.last_change(cursor)
            recount, taken, _ = common_sentences.take_changes(cursor)
            start = partial(self._progress.start, "reading fingerprints")
            snapshot = Snapshot(cursor, settings, self._memory, self.kept, start, self._progress.advance)
            if not recount and not len(taken):
                return snapshot, None
            changes = common_sentences.find_changes(
                cursor, snapshot.counts, settings, everything=True, complete=True
            )
        moved = {change.sentence_hash for change in changes if change.enters or change.leaves}
        return snapshot, SentenceCounts(True, taken, snapshot.counts, changes, snapshot.find_carriers(moved))

    def _decide(self, snapshot: Snapshot) -> Plan:
        settings = self._rulebook.settings
        with self._database.transaction() as cursor:
            common = memory_engine.read_sentences(cursor, "common")
            said = memory_engine.read_pinned_pairs(cursor)
            unsettled = snapshot.find_places(memory_engine.find_unsettled(cursor))
            # Articles before the horizon that arrived during this round are archived in the next round.
            self._outside = bigints(window.find_unsettled_outside(cursor, settings))
        self._progress.start("comparing in memory", len(snapshot))
        decisions = decide_all(snapshot, common, said, settings, self._progress.advance)
        return Plan(snapshot, decisions, unsettled[unsettled >= 0])

    def _flag_waiting(self, plan: Plan) -> None:
        """Correct the canonical flags of the new fingerprints, which no other process reads yet."""
        snapshot = plan.snapshot
        # Correct flags before writing keys, since keys of originals and of duplicates are written separately.
        turned = snapshot.ids[np.flatnonzero((plan.decisions.original < 0) != snapshot.canonical)]
        for start in range(0, len(turned), FLAGS_AT_ONCE):
            with self._database.transaction() as cursor:
                done = memory_engine.flag_waiting(cursor, turned[start : start + FLAGS_AT_ONCE])
            places = snapshot.find_places(done)
            snapshot.canonical[places] = ~snapshot.canonical[places]

    def _tidy(self, waiting: int) -> None:
        """Rebuild the index and update the statistics of the new fingerprints before they come into use."""
        compact(self._database, "fingerprint_bulk_pkey")
        analyze(self._database, waiting, "article", "fingerprint_bulk")

    def _write(self, plan: Plan, done: MemoryResult) -> None:
        done.compared = plan.decisions.compared
        check = partial(memory_engine.check, rulebook=self._rulebook, run=self._run)
        self._progress.start("writing marks", int(plan.writes.sum()))
        # Make related articles in different chunks stale: their marks disagree until all chunks are written.
        for start in range(0, len(plan.divided), writing.CHUNK_ROWS):
            if self._stop():
                return
            ids = plan.snapshot.ids[plan.divided[start : start + writing.CHUNK_ROWS]].tolist()
            run_locked(self._database, partial(settling.make_stale, ids=ids), check)
        often = max(1, round(len(plan.chunks) * VACUUM_SHARE))
        for number, chunk in enumerate(plan.chunks):
            if self._stop():
                return
            if number and number % often == 0 and done.settled >= VACUUM_ARTICLES:
                vacuum(self._database)
            write = partial(self._write_chunk, plan=plan, chunk=chunk)
            settled = run_locked(self._database, write, check, async_commit=True)
            done.settled += settled
            self._progress.advance(settled)

    def _write_chunk(self, cursor: Cursor, plan: Plan, chunk: Chunk) -> int:
        # Under the lock this query finds all articles that people changed while the run compared everything.
        left_out = np.concatenate([memory_engine.find_changed(cursor, self._since), self._outside])
        changed = plan.snapshot.find_places(left_out)
        settled = plan.write(cursor, chunk, changed[changed >= 0])
        memory_engine.note_settled_through(cursor, plan.snapshot.through)
        return settled


def vacuum(database: Database) -> None:
    with closing(database.connect(patient=True)) as connection, translate_errors(database.location):
        memory_engine.vacuum(connection)


def compact(database: Database, *indexes: str) -> None:
    """Rebuild indexes that a large load left half empty; skip indexes in use."""
    for index in indexes:
        with suppress(BusyError), database.transaction() as cursor:
            memory_engine.compact(cursor, index)
