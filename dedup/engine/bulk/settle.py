"""Everything unsettled gets its mark at once: the bulk engine (docs/semantics.md, section 6).

A snapshot of the corpus is decided as a whole, and what differs from the stored marks and pairs is written,
some whole components of related articles at a time: so whatever is written agrees with itself, whoever looks
and whenever the work is stopped. Nobody else settles meanwhile: hooks leave their articles unsettled. What
people change meanwhile is noted, and its components are left to be settled through the indexes at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dedup.corpus import bulk, settling, window
from dedup.corpus.arrays import bigints
from dedup.corpus.bulk import NO_RULE, STATUSES, StoredMarks
from dedup.corpus.database import Database, retried
from dedup.corpus.rulebooks import Rulebook
from dedup.corpus.settling import PairRows
from dedup.corpus.steps import run
from dedup.engine.bulk.decide import Decisions, PairArrays, Profiles, decide
from dedup.engine.bulk.keys import Bigints, Entries, Places, code
from dedup.engine.bulk.room import vacuum
from dedup.engine.bulk.snapshot import Snapshot
from dedup.numbers import Flags
from dedup.progress import Progress
from dedup.rules.marks import Status
from dedup.rules.pair import Relation

CHUNK_ROWS = 2_000
"""Marks and pairs written under one hold of the settle lock, more or less: about a tenth of a second."""

VACUUM_SHARE = 0.2
"""A mark is a new version of its article. After such a share of them the room of the old ones is freed: the
table grows by a fifth, and not to twice its size."""

VACUUM_ARTICLES = 5_000
"""Fewer of them need no more room than comes and goes every day."""

UNIQUE, SIMILAR, DUPLICATE = (
    STATUSES.index(status) for status in (Status.UNIQUE, Status.SIMILAR, Status.DUPLICATE)
)


@dataclass(slots=True)
class Written:
    """What was written.

    Attributes:
        settled: articles that got a mark, or kept it.
        compared: pairs scored.
    """

    settled: int = 0
    compared: int = 0


def profiles(snapshot: Snapshot, common: Bigints, pins: dict[tuple[int, int], Relation]) -> Profiles:
    """What is compared, given which sentences are common.

    Args:
        common: ascending.
        pins: places of pairs, the later one first.
    """
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


class BulkSettling:
    """Decides a snapshot, and writes what follows.

    Args:
        run: the number under which the engine is at work; see `corpus.bulk.begin`.
        since: the last change that people had made before the snapshot.
        stop: asked between transactions.
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
            common = bulk.common(cursor)
            said = bulk.pinned_pairs(cursor)
            unsettled = snapshot.places(bulk.unsettled(cursor))
            # They came since the round began, and the next one archives them.
            self._outside = bigints(window.unsettled_outside(cursor, settings))
        self._progress.start("comparing in memory", len(snapshot))
        pins = _pins(snapshot, said)
        decisions = decide(profiles(snapshot, common, pins), settings, progress=self._progress.advance)
        return Plan.of(snapshot, decisions, unsettled[unsettled >= 0])

    def write(self, plan: Plan) -> Written:
        """Write what differs.

        Raises:
            StaleRulesError: the settings changed, or another engine took over; what is written is right.
        """
        done = Written(compared=plan.decisions.compared)
        self._progress.start("writing marks", int(plan.writes.sum()))
        chunks = len(plan.chunks)
        often = max(1, round(chunks * VACUUM_SHARE))
        for number in range(chunks):
            if self._stop():
                break
            if number and number % often == 0 and done.settled >= VACUUM_ARTICLES:
                vacuum(self._database)
            settled = retried(partial(self._write, plan, number), self._database.timeouts.lock)
            done.settled += settled
            self._progress.advance(settled)
        return done

    def _write(self, plan: Plan, number: int) -> int:
        snapshot = self._snapshot
        with self._database.transaction(settling=True) as cursor:
            bulk.check(cursor, self._rulebook, self._run)
            left_out = np.concatenate([bulk.changed_since(cursor, self._since), self._outside])
            changed = snapshot.places(left_out)
            part = plan.part(number, changed[changed >= 0])
            bulk.drop_pairs(cursor, *part.drop)
            bulk.set_not_likest(cursor, *part.not_likest)
            settling.write_flags(cursor, *part.flags)
            run(cursor, settling.write_pairs(part.pairs))
            bulk.write_marks(cursor, part.marks, part.kept)
            settling.make_stale(cursor, part.left.tolist())
            bulk.settled_through(cursor, snapshot.through)
        return len(part.marks) + len(part.kept)


def _pins(snapshot: Snapshot, said: list[tuple[int, int, Relation]]) -> dict[tuple[int, int], Relation]:
    found = {}
    for one, other, relation in said:
        a, b = snapshot.places(np.array([one, other])).tolist()
        if a >= 0 and b >= 0:
            found[max(a, b), min(a, b)] = relation
    return found


@dataclass(slots=True)
class Part:
    """What one transaction writes; ids of articles, not places.

    Attributes:
        marks: the new ones; kept: the articles that are settled and keep theirs.
        drop, not_likest: pairs as (article_ids, other_ids).
        flags: the articles that become canonical, and those that become duplicates.
        left: articles whose marks would change, but wait for others.
    """

    marks: StoredMarks
    kept: Bigints
    pairs: PairRows
    drop: tuple[Bigints, Bigints]
    not_likest: tuple[Bigints, Bigints]
    flags: tuple[Bigints, Bigints]
    left: Bigints


@dataclass(slots=True)
class Plan:
    """What differs between decisions and what is stored, in chunks of whole components.

    Attributes:
        marks: the new marks, in canonical order; writes: which of them are written; differs: which are new.
        old: shape (m, 2): the stored pairs by place, the later first; -1 for an article without fingerprint.
        dropped: which of them go; not_likest: which of them stay, and lose their flag.
        chunks: none of them empty; of each the places at which a mark or a canonical flag is written, in
            canonical order, the stored pairs that go or lose their flag, by their places in `old`, and the
            pairs that are written, by their places in `decisions.pairs`.
    """

    snapshot: Snapshot
    decisions: Decisions
    marks: StoredMarks
    writes: Flags
    differs: Flags
    old: Bigints
    dropped: Flags
    not_likest: Flags
    chunks: list[tuple[Bigints, Bigints, Bigints]]

    @classmethod
    def of(cls, snapshot: Snapshot, decisions: Decisions, unsettled: Places) -> Plan:
        """Compare decisions with what is stored.

        Args:
            unsettled: the places of articles that are pending or stale.
        """
        marks, stored = _marks(snapshot, decisions), snapshot.marks
        differs = (
            (marks.status != stored.status)
            | (marks.duplicate_of != stored.duplicate_of)
            | (marks.score != stored.score)
            | (marks.reason != stored.reason)
        )
        writes = differs | ~stored.takes_part
        writes[unsettled] = True
        old, dropped, not_likest, new = _pair_changes(snapshot, decisions)
        component = decisions.component
        weight = np.bincount(component[writes], minlength=len(component))
        weight += np.bincount(component[decisions.pairs.later[new]], minlength=len(component))
        touched = old[dropped | not_likest].max(axis=1) if len(old) else np.empty(0, np.int64)
        weight += np.bincount(component[touched[touched >= 0]], minlength=len(component))
        chunk = ((np.cumsum(weight) - weight) // CHUNK_ROWS)[component].astype(np.int64)
        count = int(chunk.max()) + 1 if len(chunk) else 0
        flags = (decisions.original < 0) != snapshot.canonical
        # A stored pair goes with the first of its articles; one of no article that is here, with none.
        of_old = np.where(old >= 0, chunk[old], count).min(axis=1) if count else np.zeros(len(old), np.int64)
        parts = zip(
            _by_chunk(writes | flags, chunk, count),
            _by_chunk(dropped | not_likest, of_old, count),
            _by_chunk(new, chunk[decisions.pairs.later], count),
            strict=True,
        )
        # A component that is heavier than a chunk has the numbers of several, and stands under the first.
        chunks = [part for part in parts if any(map(len, part))]
        return cls(snapshot, decisions, marks, writes, differs, old, dropped, not_likest, chunks)

    def part(self, number: int, changed: Places) -> Part:
        """What chunk `number` writes, given the places of the articles that people have changed."""
        ids, stored, pairs = self.snapshot.ids, self.snapshot.pairs, self.decisions.pairs
        component = self.decisions.component
        blocked = np.unique(component[changed])

        def free(places: npt.NDArray[Any]) -> Flags:
            return (places >= 0) & ~np.isin(component[places], blocked)

        here, old, new = self.chunks[number]
        ready = free(here)
        go, wait = here[ready], here[~ready]
        differs, canonical = self.differs[go], self.decisions.original[go] < 0
        flags = canonical != self.snapshot.canonical[go]
        later, earlier = free(self.old[old, 0]), free(self.old[old, 1])
        drop = old[self.dropped[old] & later]
        not_likest = old[earlier & stored.likest[old] & (self.not_likest[old] | (self.dropped[old] & ~later))]
        new = new[free(pairs.later[new])]
        return Part(
            self.marks[go[differs]],
            ids[go[self.writes[go] & ~differs]],
            _rows(pairs[new], self.decisions.likest[new], ids),
            (stored.article_id[drop], stored.other_id[drop]),
            (stored.article_id[not_likest], stored.other_id[not_likest]),
            (ids[go[flags & canonical]], ids[go[flags & ~canonical]]),
            ids[wait[self.differs[wait]]],
        )


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
    new[same] |= stored.likest[at[same]] != decisions.likest[same]
    stays = np.zeros(len(before), np.bool_)
    stays[at[same]] = True
    dropped = ~stays & (later >= 0)
    # A pair of an article that has no fingerprint now stays until that one is settled.
    lost = np.zeros(len(before), np.bool_)
    lost[at[same]] = ~decisions.likest[same]
    not_likest = stored.likest & (lost | (~stays & (later < 0)))
    return old, dropped, not_likest, new


def _rows(pairs: PairArrays, likest: Flags, ids: Bigints) -> PairRows:
    return PairRows(
        ids[pairs.later],
        ids[pairs.earlier],
        pairs.duplicate,
        pairs.rule,
        pairs.score,
        pairs.sentence_jaccard,
        pairs.signature_jaccard,
        pairs.containment,
        likest,
    )
