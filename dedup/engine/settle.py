"""Unsettled articles get their marks: one transaction of the settle lock (docs/semantics.md, section 6).

The state of a corpus is locally consistent when every settled article agrees with the canonical flags
of the articles before it. `settle` keeps it so: it decides some unsettled articles in canonical order and
makes stale every settled article whose grounds it changed. When nothing is unsettled, every article is
consistent, and by induction along the canonical order there is only one such state: the oracle's. Hence
the result depends neither on which unsettled articles are taken first nor on how many at a time.

It ends: an article unsettles only later ones, so the earliest unsettled article stays settled once it is
taken; and it is taken, since those before it in the index end in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from dedup.corpus import settling
from dedup.corpus.arrays import Bigints, bigints
from dedup.corpus.database import Cursor
from dedup.corpus.settling import Among, FingerprintRow, Outcome
from dedup.engine.index import CandidateIndex, Node, make_nodes, related
from dedup.rules.marks import Mark, Pair, decide
from dedup.rules.pair import Related, Relation
from dedup.settings import Settings


class TooManyCandidatesError(Exception):
    """A batch has more candidates than its limit; nothing was written."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What one call did.

    Attributes:
        ids: the articles that got a mark.
        unsettled: the articles that became stale by it.
        compared: pairs scored.
    """

    ids: frozenset[int] = frozenset()
    unsettled: frozenset[int] = frozenset()
    compared: int = 0


def settle(
    cursor: Cursor,
    settings: Settings,
    *,
    limit: int | None = None,
    ids: Sequence[int] | None = None,
    max_candidates: int | None = None,
) -> Settled:
    """Give unsettled articles their marks; the caller holds the settle lock.

    Args:
        limit: at most so many articles; needed where `ids` is not given.
        ids: only these articles; those settled already, or without a fingerprint, are passed over.
        max_candidates: give up where more settled articles than this share something with them.

    Raises:
        TooManyCandidatesError: `max_candidates` was exceeded.
    """
    if ids is None:
        assert limit is not None
        rows = settling.next_unsettled(cursor, settings, limit)
    else:
        rows = settling.unsettled_among(cursor, settings, ids)
    if not rows:
        return Settled()
    batch = _Batch(cursor, settings, sorted(rows, key=lambda row: row.order), max_candidates)
    outcome = batch.decide()
    became = settling.write(cursor, outcome)
    return Settled(frozenset(row.id for row in rows), frozenset(became), batch.compared)


class _Batch:
    """The articles of one transaction, what shares something with them, and the decisions about them.

    Args:
        rows: the articles to settle, in canonical order.
    """

    def __init__(
        self, cursor: Cursor, settings: Settings, rows: list[FingerprintRow], max_candidates: int | None
    ) -> None:
        self._cursor = cursor
        self._settings = settings
        self._max_candidates = max_candidates
        self._rows, self._sentences = rows, without_common(cursor, rows)
        self._ids = {row.id for row in rows}
        self._pins = settling.pair_pins(cursor, rows)
        names = {name for pair in self._pins for name in pair} - {row.order[1] for row in rows}
        self._pinned = settling.named(cursor, settings, names)
        others = self._others(rows, self._sentences, "canonical")
        nodes = make_nodes([*rows, *others], [*self._sentences, *without_common(cursor, others)], self._pins)
        self._nodes = nodes[: len(rows)]
        self._index = CandidateIndex()
        for node in nodes:
            if node.canonical:
                self._index.add(node)
        self.compared = 0

    def decide(self) -> Outcome:
        """Decide every article of the batch, the earliest first."""
        duplicates: dict[int, Mark] = {}
        canonical: list[int] = []
        flags: dict[int, bool] = {}
        pairs: list[Pair] = []
        displaced: list[int] = []
        appeared: list[int] = []  # positions in the batch
        for position, node in enumerate(self._nodes):
            earlier = [o for o in self._index.sharing(node) if o.order < node.order]
            found = self._related(node, earlier)
            originals = [(o, r) for o, r in found if r.relation is Relation.DUPLICATE]
            pairs += [Pair.of(node.id, o.id, r) for o, r in originals or found]
            if originals:
                duplicates[node.id] = decide(((o.order, o.id, r) for o, r in originals), ())
            else:
                canonical.append(node.id)
            was, now = node.canonical, not originals
            if self._rows[position].stored_canonical is not now:
                flags[node.id] = now
            if was is now:
                continue
            node.canonical = now
            if now:
                self._index.add(node)
                appeared.append(position)
            elif was:
                self._index.remove(node)
                displaced.append(node.id)
        return Outcome(
            duplicates,
            canonical,
            flags,
            pairs,
            displaced,
            unsettled=self._unsettled_by(appeared),
        )

    def _unsettled_by(self, appeared: list[int]) -> set[int]:
        """Settled articles, not of this batch, whose grounds change because these became canonical."""
        through = settling.reach(self._cursor, self._settings, max(node.order[0] for node in self._nodes))
        early = [i for i in appeared if through is not None and self._nodes[i].order[0] <= through]
        if not early:
            return set()
        found: set[int] = set()
        for i in early:
            node = self._nodes[i]
            later = [o for o in self._index.sharing(node) if o.order > node.order and o.id not in self._ids]
            found.update(other.id for other, _ in self._related(node, later))
        rows = [self._rows[i] for i in early]
        own = [self._sentences[i] for i in early]
        first = min(row.order[0] for row in rows)
        others = self._others(rows, own, "duplicate", after=first)
        sentences = [*own, *without_common(self._cursor, others)]
        nodes = make_nodes([*rows, *others], sentences, self._pins)
        index = CandidateIndex()
        for node in nodes[len(rows) :]:
            index.add(node)
        for node in nodes[: len(rows)]:
            later = [other for other in index.sharing(node) if other.order > node.order]
            found.update(o.id for o, r in self._related(node, later) if r.relation is Relation.DUPLICATE)
        return found

    def _related(self, node: Node, others: list[Node]) -> list[tuple[Node, Related]]:
        self.compared += len(others)
        found = ((other, related(node, other, self._settings, self._pins)) for other in others)
        return [(other, relation) for other, relation in found if relation]

    def _others(
        self,
        rows: list[FingerprintRow],
        sentences: list[Bigints],
        among: Among,
        *,
        after: datetime | None = None,
    ) -> list[FingerprintRow]:
        """Articles, not of this batch, that share something or are pinned with one of these."""
        limit = None if self._max_candidates is None else self._max_candidates + 1
        found = sharing(self._cursor, self._settings, rows, sentences, among, after=after, limit=limit)
        if limit is not None and len(found) >= limit:
            raise TooManyCandidatesError
        wanted = among == "canonical"
        pinned = [row for row in self._pinned if row.canonical is wanted]
        return list({row.id: row for row in [*found, *pinned] if row.id not in self._ids}.values())


def sharing(
    cursor: Cursor,
    settings: Settings,
    rows: Sequence[FingerprintRow],
    sentences: Sequence[Bigints],
    among: Among,
    *,
    after: datetime | None = None,
    limit: int | None = None,
) -> list[FingerprintRow]:
    """Articles that share a sentence that is not common, a bucket or the content with one of these.

    Args:
        sentences: per row, its sentence hashes that are not common.
    """
    return settling.sharing(
        cursor,
        settings,
        among,
        np.unique(np.concatenate(sentences)),
        np.unique(np.concatenate([row.buckets for row in rows])),
        bigints({row.content_hash for row in rows if not len(row.buckets)}),
        after=after,
        limit=limit,
    )


def without_common(cursor: Cursor, rows: Sequence[FingerprintRow]) -> list[Bigints]:
    """The sentences of each row that are not common: S' of docs/semantics.md, section 2."""
    if not rows:
        return []
    everything = np.concatenate([row.sentence_hashes for row in rows])
    common = settling.common_among(cursor, np.unique(everything))
    if not len(common):
        return [row.sentence_hashes for row in rows]
    kept = ~np.isin(everything, common)
    found, start = [], 0
    for row in rows:
        stop = start + len(row.sentence_hashes)
        found.append(row.sentence_hashes[kept[start:stop]])
        start = stop
    return found
