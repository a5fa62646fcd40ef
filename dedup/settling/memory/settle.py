"""Everything unsettled gets its mark at once: the memory engine (docs/semantics.md, section 6).

A snapshot is decided as a whole, and what differs from the stored marks and pairs is written, some components
of related articles at a time: so what is written agrees with itself at any moment. A component too large for
one transaction is made stale and then written in canonical order, since marks rest on earlier articles; an
article that is most like a later one stays stale until that one is written. Hooks settle nothing meanwhile.
What people change is noted, and settled through the indexes at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dedup.base.errors import BusyError
from dedup.base.numbers import Flags, begins_run
from dedup.base.progress import Progress
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, Database, translated
from dedup.rules.marks import Status
from dedup.rules.pair import Relation
from dedup.settling.held import held
from dedup.settling.memory.decide import Decisions, Profiles, decide
from dedup.settling.memory.keys import Bigints, Entries, Places, code
from dedup.settling.memory.snapshot import Snapshot
from dedup.store import memory_engine, settling, window
from dedup.store.memory_engine import NO_RULE, STATUSES, StoredMarks
from dedup.store.rulebooks import Rulebook
from dedup.store.settling import PairRows

CHUNK_ROWS = 4_000
"""Marks and pairs written under one hold of the settle lock, more or less: 20 ms on a quiet machine."""

FLAG_ROWS = 4
"""Where the canonical flag of a fingerprint in use changes, all its keys are written again. That takes as
long as so many other rows, or more."""

FLAGS_AT_ONCE = 10_000  # Of fingerprints that nobody else reads yet

VACUUM_SHARE = 0.2
"""A mark is a new version of its article. After such a share of them the room of the old ones is freed: the
table grows by a fifth, and not to twice its size."""

COMPACT_SHARE = 0.5
"""From so large a share of articles marked in one go, their indexes are made again at the end."""

VACUUM_ARTICLES = 5_000  # Fewer of them need no more room than comes and goes every day

UNIQUE, SIMILAR, DUPLICATE = (
    STATUSES.index(status) for status in (Status.UNIQUE, Status.SIMILAR, Status.DUPLICATE)
)


@dataclass(slots=True)
class Written:
    """Articles that got a mark or kept it, and pairs that were scored."""

    settled: int = 0
    compared: int = 0


def profiles(snapshot: Snapshot, common: Bigints, pins: dict[tuple[int, int], Relation]) -> Profiles:
    """What is compared, given the common sentences, ascending, and pins: places of pairs, the later one
    first."""
    by_sentence, by_bucket, by_content = snapshot.shared
    dropped = np.isin(by_sentence[0], common)
    counts = snapshot.sentence_counts - np.bincount(by_sentence[1][dropped], minlength=len(snapshot))
    # A sentence that one article carries is no key that is shared, but may be pinned as common.
    watched, at = snapshot.watched
    alone = np.isin(watched, common) & ~np.isin(watched, by_sentence[0])
    counts -= np.bincount(at[alone], minlength=len(snapshot))
    kept: Entries = (by_sentence[0][~dropped], by_sentence[1][~dropped])
    return Profiles(
        snapshot.content_hash,
        counts.astype(np.int32),
        snapshot.shingle_count.astype(np.int32),
        snapshot.signature,
        (kept, by_bucket, by_content),
        pins,
    )


class MemorySettling:
    """Decides a snapshot, and writes what follows.

    `run` is the number of the work (`memory_engine.begin`), `since` the last change that people had made
    before the snapshot.
    """

    def __init__(
        self,
        database: Database,
        rulebook: Rulebook,
        run: int,
        snapshot: Snapshot,
        since: int,
        progress: Progress,
        stop: Callable[[], bool],
    ) -> None:
        self._database, self._rulebook, self._run, self._since = database, rulebook, run, since
        self._snapshot, self._progress, self._stop = snapshot, progress, stop
        self._outside = bigints([])

    def decide(self) -> Plan:
        """Decide everything, and find out what has to be written."""
        snapshot, settings = self._snapshot, self._rulebook.settings
        with self._database.transaction() as cursor:
            common = memory_engine.sentences(cursor, "common")
            said = memory_engine.pinned_pairs(cursor)
            unsettled = snapshot.places(memory_engine.unsettled(cursor))
            # They came since the round began, and the next one archives them.
            self._outside = bigints(window.unsettled_outside(cursor, settings))
        self._progress.start("comparing in memory", len(snapshot))
        pins = {}
        for one, other, relation in said:
            a, b = snapshot.places(np.array([one, other])).tolist()
            if a >= 0 and b >= 0:
                pins[max(a, b), min(a, b)] = relation
        decisions = decide(profiles(snapshot, common, pins), settings, progress=self._progress.advance)
        return Plan.of(snapshot, decisions, unsettled[unsettled >= 0])

    def flag_waiting(self, plan: Plan) -> None:
        """Have fingerprints that are not in use yet say what was decided: their keys are written by that."""
        snapshot = self._snapshot
        turned = snapshot.ids[np.flatnonzero((plan.decisions.original < 0) != snapshot.canonical)]
        for start in range(0, len(turned), FLAGS_AT_ONCE):
            with self._database.transaction() as cursor:
                done = memory_engine.flag_waiting(cursor, turned[start : start + FLAGS_AT_ONCE])
            places = snapshot.places(done)
            snapshot.canonical[places] = ~snapshot.canonical[places]

    def write(self, plan: Plan) -> Written:
        """Write what differs.

        Raises StaleRulesError: the settings changed, or another engine took over; what is written is right.
        """
        done, snapshot = Written(compared=plan.decisions.compared), self._snapshot
        check = partial(memory_engine.check, rulebook=self._rulebook, run=self._run)
        self._progress.start("writing marks", int(plan.writes.sum()))
        for start in range(0, len(plan.divided), CHUNK_ROWS):
            if self._stop():
                return done
            ids = snapshot.ids[plan.divided[start : start + CHUNK_ROWS]].tolist()
            held(self._database, partial(settling.make_stale, ids=ids), check)
        often = max(1, round(len(plan.chunks) * VACUUM_SHARE))
        for number, chunk in enumerate(plan.chunks):
            if self._stop():
                break
            if number and number % often == 0 and done.settled >= VACUUM_ARTICLES:
                vacuum(self._database)
            settled = held(self._database, partial(self._write, plan=plan, chunk=chunk), check, bulk=True)
            done.settled += settled
            self._progress.advance(settled)
        return done

    def _write(self, cursor: Cursor, plan: Plan, chunk: Chunk) -> int:
        snapshot = self._snapshot
        left_out = np.concatenate([memory_engine.changed_since(cursor, self._since), self._outside])
        changed = snapshot.places(left_out)
        part = plan.part(chunk, changed[changed >= 0])
        memory_engine.drop_pairs(cursor, *part.drop)
        memory_engine.drop_pairs(cursor, *part.not_best_match, not_best=True)
        settling.write_flags(cursor, *part.flags)
        settling.write_pairs(cursor, part.pairs)
        memory_engine.write_marks(cursor, part.marks, stale=False)
        memory_engine.write_marks(cursor, part.open_marks, stale=True)
        memory_engine.keep_marks(cursor, part.kept, stale=False)
        memory_engine.keep_marks(cursor, part.open_kept, stale=True)
        settling.make_stale(cursor, part.left.tolist())
        memory_engine.settled_through(cursor, snapshot.through)
        return len(part.marks) + len(part.kept)


def vacuum(database: Database) -> None:
    """Free the room of old marks in the table."""
    with closing(database.connect(patient=True)) as connection, translated(database.location):
        memory_engine.vacuum(connection)


def compact(database: Database, *indexes: str) -> None:
    """Make indexes again that a large load leaves half empty, but for those in use."""
    for index in indexes:
        with suppress(BusyError), database.transaction() as cursor:
            memory_engine.compact(cursor, index)


@dataclass(slots=True)
class Part:
    """What one transaction writes; ids of articles, not places.

    Attributes:
        marks: the new ones; kept: the articles that are settled and keep theirs.
        open_marks, open_kept: those of articles that a later transaction settles.
        drop, not_best_match: pairs as (article_ids, other_ids).
        flags: the articles that become canonical, and those that become duplicates.
        left: articles whose marks would change, but wait for others.
    """

    marks: StoredMarks
    open_marks: StoredMarks
    kept: Bigints
    open_kept: Bigints
    pairs: PairRows
    drop: tuple[Bigints, Bigints]
    not_best_match: tuple[Bigints, Bigints]
    flags: tuple[Bigints, Bigints]
    left: Bigints


@dataclass(slots=True)
class Chunk:
    """What one transaction writes, unless people changed something there.

    Attributes:
        number: of the chunk.
        places: where a mark or a canonical flag is written, in canonical order.
        closed: where a mark was written by an earlier chunk, and is settled by this one.
        dropped: the stored pairs that go, by their places in `Plan.old`.
        loses: those that are no longer of the best match of their earlier one.
        pairs: those that are written, by their places in `Decisions.pairs`.
    """

    number: int
    places: Bigints
    closed: Bigints
    dropped: Bigints
    loses: Bigints
    pairs: Bigints


@dataclass(slots=True)
class Plan:
    """What differs between decisions and what is stored, in chunks.

    A chunk has whole components of related articles, or a part of one that is heavier than `CHUNK_ROWS`.

    Attributes:
        marks: the new marks, in canonical order; writes: which of them are written; differs: which are new.
        old: shape (m, 2): the stored pairs by place, the later first; -1 for an article without fingerprint.
        not_best_match: which of them stay, and lose their flag.
        divided: the places of the settled articles of components that are written in parts.
        chunk: shape (n,): in which chunk an article is written; settles: which one settles it.
    """

    snapshot: Snapshot
    decisions: Decisions
    marks: StoredMarks
    writes: Flags
    differs: Flags
    old: Bigints
    not_best_match: Flags
    divided: Bigints
    chunk: Bigints
    settles: Bigints
    chunks: list[Chunk]

    @classmethod
    def of(cls, snapshot: Snapshot, decisions: Decisions, unsettled: Places) -> Plan:
        """Compare decisions with what is stored; `unsettled` are the places of articles that are pending or
        stale."""
        marks, stored = _marks(snapshot, decisions), snapshot.marks
        differs = (
            (marks.status != stored.status)
            | (marks.duplicate_of != stored.duplicate_of)
            | (marks.score != stored.score)
            | (marks.reason != stored.reason)
        )
        writes = differs | ~stored.takes_part
        writes[unsettled] = True
        old, dropped, not_best_match, new = _pair_changes(snapshot, decisions)
        pairs, size = decisions.pairs, len(snapshot)
        loses = (dropped | not_best_match) & snapshot.pairs.best_match & (old[:, 1] >= 0)
        flags = (decisions.original < 0) != snapshot.canonical
        weight = writes + FLAG_ROWS * flags.astype(np.int64)
        for touched in (pairs.later[new], old[dropped, 0], old[loses, 1]):
            weight += np.bincount(touched, minlength=size)
        chunk, in_parts = _chunks(decisions.component, weight)
        divided = np.flatnonzero(in_parts)
        divided = divided[~np.isin(divided, unsettled)]
        writes |= in_parts
        settles = chunk.copy()
        settles[pairs.earlier[decisions.best_match]] = chunk[pairs.later[decisions.best_match]]
        count = int(chunk.max()) + 1 if size else 0
        parts = zip(
            range(count),
            _by_chunk(writes | flags, chunk, count),
            _by_chunk(settles > chunk, settles, count),
            _by_chunk(dropped, chunk[old[:, 0]], count),
            _by_chunk(loses, chunk[old[:, 1]], count),
            _by_chunk(new, chunk[pairs.later], count),
            strict=True,
        )
        chunks = [Chunk(number, *work) for number, *work in parts if any(map(len, work))]
        return cls(
            snapshot, decisions, marks, writes, differs, old, not_best_match, divided, chunk, settles, chunks
        )

    def part(self, chunk: Chunk, changed: Places) -> Part:
        """What a chunk writes, given the places of the articles that people have changed."""
        ids, stored, pairs = self.snapshot.ids, self.snapshot.pairs, self.decisions.pairs
        component = self.decisions.component
        blocked = np.unique(component[changed])

        def free(places: npt.NDArray[Any]) -> Flags:
            return (places >= 0) & ~np.isin(component[places], blocked)

        ready = free(chunk.places)
        go, wait = chunk.places[ready], chunk.places[~ready]
        differs, canonical = self.differs[go], self.decisions.original[go] < 0
        keeps, is_open = self.writes[go] & ~differs, self.settles[go] > chunk.number
        flags = canonical != self.snapshot.canonical[go]
        drop = chunk.dropped[free(self.old[chunk.dropped, 0])]
        loses = chunk.loses[free(self.old[chunk.loses, 1])]
        later = self.old[loses, 0]
        gone = free(later) & (self.chunk[later] <= chunk.number)
        not_best_match = loses[self.not_best_match[loses] | ~gone]
        new = chunk.pairs[free(pairs.later[chunk.pairs])]
        chosen = pairs[new]
        closed = chunk.closed[free(chunk.closed)]
        return Part(
            self.marks[go[differs & ~is_open]],
            self.marks[go[differs & is_open]],
            ids[np.concatenate([go[keeps & ~is_open], closed])],
            ids[go[keeps & is_open]],
            PairRows(
                ids[chosen.later],
                ids[chosen.earlier],
                chosen.duplicate,
                chosen.rule,
                chosen.score,
                chosen.sentence_jaccard,
                chosen.signature_jaccard,
                chosen.containment,
                self.decisions.best_match[new],
            ),
            (stored.article_id[drop], stored.other_id[drop]),
            (stored.article_id[not_best_match], stored.other_id[not_best_match]),
            (ids[go[flags & canonical]], ids[go[flags & ~canonical]]),
            ids[wait[self.differs[wait]]],
        )


def _chunks(component: Places, weight: Bigints) -> tuple[Bigints, Flags]:
    """In which chunk each article is written, ascending in a component; and whether that is divided."""
    order = np.argsort(component, kind="stable")
    heavy = (np.bincount(component, weight, len(weight)) > CHUNK_ROWS)[component]
    before = np.cumsum(weight[order]) - weight[order]
    first = np.maximum.accumulate(np.where(begins_run(component[order]), np.arange(len(order)), 0))
    chunk = np.empty(len(order), np.int64)
    chunk[order] = np.where(heavy[order], before, before[first]) // CHUNK_ROWS
    return chunk, heavy


def _by_chunk(wanted: Flags, chunk: Bigints, count: int) -> list[Bigints]:
    """Where `wanted` is set, for each of `count` chunks: sorted once, not searched for every chunk."""
    found = np.flatnonzero(wanted)
    found = found[np.argsort(chunk[found], kind="stable")]
    return np.split(found, np.searchsorted(chunk[found], np.arange(1, count + 1)))[:count]


def _marks(snapshot: Snapshot, decisions: Decisions) -> StoredMarks:
    canonical, alone = decisions.original < 0, decisions.score < 0
    size = len(snapshot)
    return StoredMarks(
        snapshot.ids,
        np.ones(size, np.bool_),
        np.where(canonical, np.where(alone, UNIQUE, SIMILAR), DUPLICATE).astype(np.int8),
        np.where(canonical, 0, snapshot.ids[decisions.original]) if size else snapshot.ids,
        decisions.score,
        np.where(alone, NO_RULE, decisions.rule).astype(np.int8),
    )


def _pair_changes(snapshot: Snapshot, decisions: Decisions) -> tuple[Bigints, Flags, Flags, Flags]:
    """The stored pairs by place, which of them go, which lose a flag; and which of those decided are new."""
    stored, found = snapshot.pairs, decisions.pairs
    later, earlier = snapshot.places(stored.article_id), snapshot.places(stored.other_id)
    old = np.stack([later, earlier], axis=1).astype(np.int64)
    # Negative where an article has no fingerprint: no pair of now is that.
    before, now = code(later, earlier), code(found.later, found.earlier)
    order = np.argsort(before)
    at = np.minimum(np.searchsorted(before[order], now), max(len(before) - 1, 0))
    same = np.zeros(len(now), np.bool_)
    if len(before):
        at = order[at]
        same = before[at] == now
    new = ~same
    for name in ("duplicate", "rule", "score", "sentence_jaccard", "signature_jaccard", "containment"):
        new[same] |= getattr(stored, name)[at[same]] != getattr(found, name)[same]
    new[same] |= stored.best_match[at[same]] != decisions.best_match[same]
    stays = np.zeros(len(before), np.bool_)
    stays[at[same]] = True
    dropped = ~stays & (later >= 0)
    # A pair of an article that has no fingerprint now stays until that one is settled.
    lost = np.zeros(len(before), np.bool_)
    lost[at[same]] = ~decisions.best_match[same]
    not_best_match = stored.best_match & (lost | (~stays & (later < 0)))
    return old, dropped, not_best_match, new
