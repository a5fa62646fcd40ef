"""Pending articles get their marks: one transaction of the settle lock (SEMANTICS section 6).

The state of a corpus is locally consistent when every settled article agrees with the canonical flags
of the articles before it. `settle` keeps it so: it decides some pending articles in canonical order and
makes pending every settled article whose grounds it changed. When nothing is pending, every article is
consistent, and by induction along the canonical order there is only one such state: the oracle's. Hence
the result depends neither on which pending articles are taken first nor on how many at a time.

It ends: an article makes only later ones pending, so each call moves the earliest pending article on.
Read next: `backfill.py` (many articles) and `hook.py` (one).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from dedup.corpus import settling
from dedup.corpus.arrays import Hashes, hashes
from dedup.corpus.database import Cursor, prefer_indexes
from dedup.corpus.settling import Outcome, Row
from dedup.engine.index import CandidateIndex, Node, make_nodes
from dedup.rules.marks import Mark, Pair, Status, choose_original
from dedup.rules.pair import Judgement, Relation, judge
from dedup.settings import Settings


class TooManyCandidatesError(Exception):
    """A batch has more candidates than its limit; nothing was written."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What one call did.

    Attributes:
        ids: the articles that got a mark.
        unsettled: the articles that became pending by it.
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
    """Give pending articles their marks; the caller holds the settle lock.

    Args:
        limit: at most so many articles, the earliest in canonical order.
        ids: only these articles; those not pending, or without a fingerprint, are passed over.
        max_candidates: give up where more settled articles than this share something with them.

    Raises:
        TooManyCandidatesError: `max_candidates` was exceeded.
    """
    prefer_indexes(cursor)
    rows = settling.pending(cursor, settings.canonical_order, limit=limit, ids=ids)
    if not rows:
        return Settled()
    batch = _Batch(cursor, settings, rows, max_candidates)
    outcome = batch.decide()
    became = settling.write(cursor, outcome)
    return Settled(frozenset(row.id for row in rows), frozenset(became), batch.compared)


class _Batch:
    """The articles of one transaction, their neighbours, and the decisions about them."""

    def __init__(
        self, cursor: Cursor, settings: Settings, rows: list[Row], max_candidates: int | None
    ) -> None:
        self._cursor = cursor
        self._settings = settings
        self._max_candidates = max_candidates
        own = without_common(cursor, rows)
        ids = {row.id for row in rows}
        found = self._settled_sharing(rows, own, canonical=True)
        others = [row for row in found if row.id not in ids]
        nodes = make_nodes([*rows, *others], [*own, *without_common(cursor, others)])
        self._rows, self._sentences = rows, own
        self._nodes = nodes[: len(rows)]  # in canonical order, as `rows` are
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
            related = self._related(node, earlier)
            originals = [(o, j) for o, j in related if j.relation is Relation.DUPLICATE]
            pairs += [Pair.of(node.id, o.id, j) for o, j in originals or related]
            if originals:
                original, judgement = choose_original((o.order, o.id, j) for o, j in originals)
                duplicates[node.id] = Mark(
                    Status.DUPLICATE, original, judgement.scores.score, judgement.rule.value
                )
            else:
                canonical.append(node.id)
            was, now = node.canonical, not originals
            if was is now:
                continue
            flags[node.id] = node.canonical = now
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
        through = settling.reach(self._cursor, max(node.order[0] for node in self._nodes))
        early = [i for i in appeared if through is not None and self._nodes[i].order[0] <= through]
        if not early:
            return set()
        ids = {node.id for node in self._nodes}
        found: set[int] = set()
        for i in early:
            node = self._nodes[i]
            later = [o for o in self._index.sharing(node) if o.order > node.order and o.id not in ids]
            found.update(other.id for other, _ in self._related(node, later))
        rows = [self._rows[i] for i in early]
        own = [self._sentences[i] for i in early]
        first = min(row.order[0] for row in rows)
        others = [
            row for row in self._settled_sharing(rows, own, canonical=False, after=first) if row.id not in ids
        ]
        nodes = make_nodes([*rows, *others], [*own, *without_common(self._cursor, others)])
        index = CandidateIndex()
        for node in nodes[len(rows) :]:
            index.add(node)
        for node in nodes[: len(rows)]:
            later = [other for other in index.sharing(node) if other.order > node.order]
            found.update(
                other.id
                for other, judgement in self._related(node, later)
                if judgement.relation is Relation.DUPLICATE
            )
        return found

    def _related(self, node: Node, others: list[Node]) -> list[tuple[Node, Judgement]]:
        self.compared += len(others)
        judged = ((other, judge(node.profile, other.profile, self._settings)) for other in others)
        return [(other, judgement) for other, judgement in judged if judgement]

    def _settled_sharing(
        self,
        rows: list[Row],
        sentences: list[Hashes],
        *,
        canonical: bool,
        after: datetime | None = None,
    ) -> list[Row]:
        limit = None if self._max_candidates is None else self._max_candidates + 1
        found = settling.sharing(
            self._cursor,
            self._settings.canonical_order,
            np.unique(np.concatenate(sentences)),
            np.unique(np.concatenate([row.buckets for row in rows])),
            hashes({row.content_hash for row in rows if not len(row.buckets)}),
            canonical=canonical,
            after=after,
            limit=limit,
        )
        if limit is not None and len(found) >= limit:
            raise TooManyCandidatesError
        return found


def without_common(cursor: Cursor, rows: list[Row]) -> list[Hashes]:
    """The sentences of each row that are not common: S' of SEMANTICS section 2."""
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
