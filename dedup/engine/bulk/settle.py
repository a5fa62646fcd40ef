"""Everything unsettled gets its mark at once: the bulk engine (docs/semantics.md, section 6).

A snapshot of the corpus is decided as a whole, and what differs from the stored marks and pairs is written,
some whole components of related articles at a time: so whatever is written agrees with itself, whoever looks
and whenever the work is stopped. Nobody else settles meanwhile: hooks leave their articles unsettled. What
people change meanwhile is noted, and its components are left to be settled through the indexes at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from dedup.corpus import bulk, settling
from dedup.corpus.bulk import NO_RULE, STATUSES, StoredMarks
from dedup.corpus.database import Database, retried, translated
from dedup.corpus.rulebooks import Rulebook, StaleRulesError
from dedup.corpus.settling import PairRows
from dedup.engine.bulk.decide import Decisions, PairArrays, Profiles, decide
from dedup.engine.bulk.keys import Bigints, Entries, Places
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

    def decide(self) -> Plan:
        """Decide everything, and find out what has to be written."""
        snapshot, settings = self._snapshot, self._rulebook.settings
        with self._database.transaction() as cursor:
            common = bulk.common(cursor)
            said = bulk.pinned_pairs(cursor)
            unsettled = snapshot.places(bulk.unsettled(cursor))
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
        often = max(1, round(plan.chunks * VACUUM_SHARE))
        for number in range(plan.chunks):
            if self._stop():
                break
            if number and number % often == 0 and done.settled >= VACUUM_ARTICLES:
                self._vacuum()
            settled = retried(partial(self._write, plan, number), self._database.timeouts.lock)
            done.settled += settled
            self._progress.advance(settled)
        return done

    def _vacuum(self) -> None:
        with closing(self._database.connect(patient=True)) as connection, translated(self._database.place):
            bulk.vacuum(connection)

    def _write(self, plan: Plan, number: int) -> int:
        snapshot = self._snapshot
        with self._database.transaction(settling=True) as cursor:
            self._rulebook.check(cursor)
            if not bulk.at_work(cursor, self._run):
                raise StaleRulesError
            changed = snapshot.places(bulk.changed_since(cursor, self._since))
            part = plan.part(number, changed[changed >= 0])
            bulk.drop_pairs(cursor, *part.drop)
            bulk.set_not_likest(cursor, *part.not_likest)
            bulk.write_flags(cursor, *part.flags)
            settling.write_pairs(cursor, part.pairs)
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
        chunk: shape (n,): the chunk of each article.
        old: shape (m, 2): the stored pairs by place, the later first; -1 for an article without fingerprint.
        dropped: which of them go; not_likest: which of them stay, and lose their flag.
        new: which pairs of the decisions are written.
    """

    snapshot: Snapshot
    decisions: Decisions
    marks: StoredMarks
    writes: Flags
    differs: Flags
    chunk: npt.NDArray[np.int64]
    old: npt.NDArray[np.int64]
    dropped: Flags
    not_likest: Flags
    new: Flags

    @property
    def chunks(self) -> int:
        """How many transactions there are."""
        return int(self.chunk.max()) + 1 if len(self.chunk) else 0

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
        return cls(snapshot, decisions, marks, writes, differs, chunk, old, dropped, not_likest, new)

    def part(self, number: int, changed: Places) -> Part:
        """What chunk `number` writes, given the places of the articles that people have changed."""
        component, ids = self.decisions.component, self.snapshot.ids
        blocked = np.isin(component, component[changed])
        here = self.chunk == number
        go = here & ~blocked
        later, earlier = self.old.T
        first = np.minimum(_of(self.chunk, later), _of(self.chunk, earlier))
        mine = first == number
        free_later = (later >= 0) & ~blocked[later]
        free_earlier = (earlier >= 0) & ~blocked[earlier]
        drop = mine & self.dropped & free_later
        not_likest = mine & (self.dropped & ~free_later & free_earlier | self.not_likest & free_earlier)
        not_likest &= self.snapshot.pairs.likest
        pairs = self.decisions.pairs
        new = np.flatnonzero(self.new & go[pairs.later])
        canonical = self.decisions.original < 0
        flags = go & (canonical != self.snapshot.canonical)
        return Part(
            self.marks[go & self.differs],
            ids[go & self.writes & ~self.differs],
            _rows(pairs[new], self.decisions.likest[new], ids),
            (self.snapshot.pairs.article_id[drop], self.snapshot.pairs.other_id[drop]),
            (self.snapshot.pairs.article_id[not_likest], self.snapshot.pairs.other_id[not_likest]),
            (ids[flags & canonical], ids[flags & ~canonical]),
            ids[here & blocked & self.differs],
        )


def _of(chunk: npt.NDArray[np.int64], places: Bigints) -> npt.NDArray[np.int64]:
    """The chunks of places; that of no place is beyond all."""
    return np.where(places >= 0, chunk[places], np.iinfo(np.int64).max)


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
    before = old[:, 0] << 32 | (old[:, 1] & 0xFFFFFFFF)
    now = found.later.astype(np.int64) << 32 | found.earlier
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
