"""One run of the memory engine, from a snapshot to marks: the path of many articles at once.

    read everything -> count sentences -> decide -> put waiting fingerprints in use -> write marks

Each step can be the last: what is committed is right, and the next run goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Self

from dedup.base.progress import Progress
from dedup.db.database import Database
from dedup.settling import refresh, segments
from dedup.settling.fingerprinting import analyze
from dedup.settling.held import held
from dedup.settling.memory.settle import COMPACT_SHARE, MemorySettling, Written, compact
from dedup.settling.memory.snapshot import Kept, Snapshot, fitting, read
from dedup.settling.refresh import Counted, Refreshed
from dedup.store import common_sentences, memory_engine
from dedup.store.memory_engine import MARK_INDEXES
from dedup.store.rulebooks import Rulebook


@dataclass(slots=True)
class Done:
    refreshed: Refreshed = field(default_factory=Refreshed)
    written: Written = field(default_factory=Written)


class MemoryRun:
    """The memory engine at work, from the beginning of a `with` block to its end.

    All the while hooks settle nothing, and what people change is noted. Raises StaleRulesError: the settings
    changed. `kept` takes what is stored within the block.

    Args:
        run: the number of the backfill in `dedup.run`.
        memory: bytes that it may use, more or less.
        loading: fingerprints are about to be written without indexes.
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
        self.kept = Kept(fitting(memory))

    def __enter__(self) -> Self:
        begin = partial(memory_engine.begin, run=self._run, loading=self._loading)
        held(self._database, begin, self._rulebook.check)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What went wrong first is what is told; whoever cannot end the work here leaves that to the next run.
        with suppress(Exception) if error else nullcontext():
            held(self._database, partial(memory_engine.end, run=self._run))

    def settle(self) -> Done:
        """Settle all that has a fingerprint. Raises StaleRulesError: the settings changed; what is written
        is right."""
        done = Done()
        with self._timed("reading"):
            since, snapshot, counted = self._read()
        if counted:
            self._progress.start("counting sentences", None)
            with self._timed("counting"):
                done.refreshed = refresh.apply(self._database, self._rulebook, counted)
        settling = MemorySettling(
            self._database, self._rulebook, self._run, snapshot, since, self._progress, self._stop
        )
        with self._timed("comparing"):
            plan = settling.decide()
        with self._database.transaction() as cursor:
            waiting = memory_engine.waiting(cursor)
        if waiting:
            self._progress.start("writing keys", None)
            with self._timed("indexing"):
                settling.flag_waiting(plan)
                bands = self._rulebook.settings.bands * len(snapshot)
                entries = int(snapshot.sentence_counts.sum()) + bands
                share = min(-(-entries // segments.LOADED_SEGMENTS), self._memory // segments.SORTED_BYTES)
                at_once = max(segments.SORTED_ENTRIES, share)
                with ThreadPoolExecutor(1, "dedup-tidying") as aside:
                    tidied = aside.submit(self._tidy, waiting)
                    made = segments.build(
                        self._database, "fingerprint_bulk", self._stop, snapshot.held(), at_once
                    )
                tidied.result()
                if self._stop():  # what waits goes on waiting
                    return done
                segments.publish(self._database, self._rulebook, self._run, made)
        with self._timed("writing"):
            done.written = settling.write(plan)
            if self._loading and done.written.settled >= COMPACT_SHARE * len(snapshot):
                compact(self._database, *MARK_INDEXES)
        return done

    def _tidy(self, waiting: int) -> None:
        """See to so many waiting fingerprints while nobody uses them: their index, their statistics."""
        compact(self._database, "fingerprint_bulk_pkey")
        analyze(self._database, waiting, "article", "fingerprint_bulk")

    def _read(self) -> tuple[int, Snapshot, Counted | None]:
        settings = self._rulebook.settings
        with self._database.session() as session, session.transaction(snapshot=True) as cursor:
            since = memory_engine.last_change(cursor)
            recount, taken, _ = common_sentences.take_changes(cursor)
            snapshot = read(
                cursor,
                settings,
                self._memory,
                self.kept,
                lambda total: self._progress.start("reading fingerprints", total),
                self._progress.advance,
            )
            if not recount and not len(taken):
                return since, snapshot, None
            changes = common_sentences.changes(
                cursor, snapshot.counts, settings, everything=True, complete=True
            )
        moved = {change.sentence_hash for change in changes if change.enters or change.leaves}
        return since, snapshot, Counted(True, taken, snapshot.counts, changes, snapshot.carriers(moved))
