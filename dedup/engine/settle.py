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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from dedup.corpus import neighbours
from dedup.corpus.database import Cursor, prefer_indexes
from dedup.corpus.neighbours import Outcome, Row
from dedup.engine.index import CandidateIndex, Node
from dedup.rules.marks import Mark, Pair, Status, choose_original
from dedup.rules.pair import Judgement, Profile, Relation, judge
from dedup.settings import Settings


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
    cursor: Cursor, settings: Settings, *, limit: int | None = None, ids: Sequence[int] | None = None
) -> Settled:
    """Give pending articles their marks; the caller holds the settle lock.

    Args:
        limit: at most so many articles, the earliest in canonical order.
        ids: only these articles; those not pending, or without a fingerprint, are passed over.
    """
    prefer_indexes(cursor)
    rows = neighbours.pending(cursor, settings.canonical_order, limit=limit, ids=ids)
    if not rows:
        return Settled()
    batch = _Batch(cursor, settings, rows)
    outcome = batch.decide()
    became = neighbours.write(cursor, outcome)
    return Settled(frozenset(row.id for row in rows), frozenset(became), batch.compared)


class _Batch:
    """The articles of one transaction, their neighbours, and the decisions about them."""

    def __init__(self, cursor: Cursor, settings: Settings, rows: list[Row]) -> None:
        self._cursor = cursor
        self._settings = settings
        self._common: dict[int, bool] = {}
        self._learn_common(rows)
        self._nodes = [self._node(row) for row in rows]  # in canonical order
        self._known = {node.id: node for node in self._nodes}
        self._index = CandidateIndex()
        for row in self._settled_sharing(self._nodes, canonical=True):
            self._index.add(self._known.get(row.id) or self._node(row))
        self.compared = 0

    def decide(self) -> Outcome:
        """Decide every article of the batch, the earliest first."""
        duplicates: dict[int, Mark] = {}
        canonical: list[int] = []
        flags: dict[int, bool] = {}
        pairs: list[Pair] = []
        displaced: list[int] = []
        appeared: list[Node] = []
        for node in self._nodes:
            earlier = [
                (other, judgement)
                for other, judgement in self._judged(node, self._index.sharing(node.profile))
                if other.order < node.order
            ]
            originals = [(o, j) for o, j in earlier if j.relation is Relation.DUPLICATE]
            pairs += [Pair.of(node.id, o.id, j) for o, j in originals or earlier]
            was, now = node.canonical, not originals
            if originals:
                original, judgement = choose_original((o.order, o.id, j) for o, j in originals)
                duplicates[node.id] = Mark(
                    Status.DUPLICATE, original, judgement.scores.score, judgement.rule.value
                )
            else:
                canonical.append(node.id)
            if was is now:
                continue
            flags[node.id] = node.canonical = now
            if now:
                self._index.add(node)
                appeared.append(node)
            elif was:
                self._index.remove(node)
                displaced.append(node.id)
        return Outcome(
            duplicates,
            canonical,
            flags,
            pairs,
            displaced,
            unsettled=self._affected_by(appeared),
            latest=max(node.order[0] for node in self._nodes),
        )

    def _affected_by(self, appeared: list[Node]) -> set[int]:
        """Settled articles, not of this batch, whose grounds change because these became canonical."""
        affected: set[int] = set()
        through = neighbours.settled_through(self._cursor)
        early = [node for node in appeared if through is not None and node.order[0] <= through]
        if not early:
            return affected
        for node in early:
            for other, _ in self._judged(node, self._index.sharing(node.profile)):
                if other.order > node.order and other.id not in self._known:
                    affected.add(other.id)
        others = CandidateIndex()
        for row in self._settled_sharing(early, canonical=False, after=min(n.order[0] for n in early)):
            if row.id not in self._known:
                others.add(self._node(row))
        for node in early:
            for other, judgement in self._judged(node, others.sharing(node.profile)):
                if other.order > node.order and judgement.relation is Relation.DUPLICATE:
                    affected.add(other.id)
        return affected

    def _judged(self, node: Node, others: Iterable[Node]) -> list[tuple[Node, Judgement]]:
        found = []
        for other in others:
            if other is node:
                continue
            self.compared += 1
            judgement = judge(node.profile, other.profile, self._settings)
            if judgement:
                found.append((other, judgement))
        return found

    def _settled_sharing(
        self, nodes: list[Node], *, canonical: bool, after: datetime | None = None
    ) -> list[Row]:
        rows = neighbours.sharing(
            self._cursor,
            self._settings.canonical_order,
            {key for node in nodes for key in node.profile.sentences},
            {key for node in nodes for key in node.profile.buckets},
            {node.profile.content_hash for node in nodes},
            canonical=canonical,
            after=after,
        )
        self._learn_common(rows)
        return rows

    def _learn_common(self, rows: list[Row]) -> None:
        """Look up which sentences of these rows are common, each once per transaction."""
        unknown = {h for row in rows for h in row.sentence_hashes.tolist() if h not in self._common}
        found = neighbours.common_among(self._cursor, unknown)
        self._common.update((h, h in found) for h in unknown)

    def _node(self, row: Row) -> Node:
        sentences = frozenset(h for h in row.sentence_hashes.tolist() if not self._common[h])
        buckets = frozenset(row.buckets.tolist())
        profile = Profile(row.content_hash, sentences, row.signature, buckets, row.shingle_count)
        return Node(row.id, row.order, row.canonical, profile)
