"""Unsettled articles get their marks: one transaction of the settle lock (docs/semantics.md, section 6).

The state of a corpus is locally consistent when every settled article agrees with the canonical flags of the
articles before it, when the pairs that it keeps with earlier ones are among the rows of `match`, and when its
mark tells of its best match of all. `settle` keeps it so: it decides some unsettled articles in canonical
order, and gives new pairs and marks to the settled articles around them, or makes them stale where it cannot
know what they need. When nothing is unsettled, every article is consistent, and by induction along the
canonical order there is only one such state: the oracle's. Hence the result depends neither on which
unsettled articles are taken first nor on how many at a time.

What it need not look at: pairs that no row keeps. They matter only when a better one goes, which has a row;
then both its articles are known, and settled again where they may need another.

It ends: an article becomes stale only because another one became canonical or stopped being it. Whether it
is depends on earlier articles alone, so by induction along the canonical order these changes come to an end.
From then on each call leaves fewer unsettled articles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from dedup.base.settings import Settings
from dedup.db.arrays import Bigints, bigints
from dedup.db.database import Cursor
from dedup.rules.marks import Mark, Status
from dedup.rules.pair import Related, Relation, Rule
from dedup.rules.pairs import RULES
from dedup.settling.best_match import BestMatch, by_likeness
from dedup.settling.candidates import sharing, without_common
from dedup.settling.index import CODE, NO_RELATIONS, Nodes, Relations
from dedup.store import settling
from dedup.store.settling import Among, FingerprintRow, Outcome, PairRows

MAX_WORK = 1_000_000  # Work that one transaction takes up, in keys shared with candidates: about 0.3 s
ROW_WORK = 200  # Work of writing one pair


class TooManyCandidatesError(Exception):
    """A batch has more candidates than its limit; nothing was written."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What one call did.

    Attributes:
        ids: the articles that got a mark.
        unsettled: the articles that became stale by it.
        left: articles that were left for another call, since the others were work enough.
        compared: pairs scored.
    """

    ids: frozenset[int] = frozenset()
    unsettled: frozenset[int] = frozenset()
    left: frozenset[int] = frozenset()
    compared: int = 0


def settle(
    cursor: Cursor,
    settings: Settings,
    *,
    limit: int | None = None,
    ids: Sequence[int] | None = None,
    max_candidates: int | None = None,
    max_work: int = MAX_WORK,
) -> Settled:
    """Give unsettled articles their marks; the caller holds the settle lock.

    Args:
        limit: at most so many articles; needed where `ids` is not given.
        ids: only these articles; those settled already, or without a fingerprint, are passed over.
        max_candidates: where more settled articles than this share something with them, nothing is done and
            TooManyCandidatesError is raised.
        max_work: stop after so much work, and leave the later ones of these articles as they are.
    """
    if ids is None:
        assert limit is not None
        rows = settling.next_unsettled(cursor, settings, limit)
    else:
        rows = settling.unsettled_among(cursor, settings, ids)
    if not rows:
        return Settled()
    batch = _Batch(cursor, settings, sorted(rows, key=lambda row: row.order), max_candidates, max_work)
    outcome = batch.decide()
    became = settling.write(cursor, settings, outcome)
    return Settled(outcome.settled, frozenset(became), frozenset(batch.left), batch.compared)


class _Batch:
    """The articles of one transaction, what shares something with them, and the decisions about them.

    `rows` are to be settled, in canonical order: they are *inside*. What shares something with them is
    *outside*.
    """

    def __init__(
        self,
        cursor: Cursor,
        settings: Settings,
        rows: list[FingerprintRow],
        max_candidates: int | None,
        max_work: int,
    ) -> None:
        self._cursor = cursor
        self._settings = settings
        self._max_candidates = max_candidates
        self._sentences = dict(zip((row.id for row in rows), without_common(cursor, rows), strict=True))
        self._pins = settling.pair_pins(cursor, rows)
        names = {name for pair in self._pins for name in pair} - {row.order[1] for row in rows}
        self._pinned = settling.named(cursor, settings, names)
        self._ids = {row.id for row in rows}
        others = self._others(rows, "canonical")
        sentences = [*self._sentences.values(), *without_common(cursor, others)]
        self._nodes = nodes = Nodes([*rows, *others], sentences, self._pins, settings)
        self._place = {row.id: place for place, row in enumerate(nodes.rows)}
        given = np.array([self._place[row.id] for row in rows])
        self._inside = given[: self._enough(nodes.hits[given], nodes.most[given], max_work)]
        self._ids = {nodes.rows[place].id for place in self._inside}

        size = len(nodes)
        self._is_inside = np.zeros(size, np.bool_)
        self._is_inside[self._inside] = True
        taking_part = np.array([bool(row.canonical) for row in nodes.rows], np.bool_)
        # Which are canonical by the decisions made so far; nobody inside before it is decided.
        self._canonical = taking_part & ~self._is_inside
        self._settled = np.array([row.settled for row in nodes.rows], np.bool_) & self._canonical
        self._best_match = BestMatch(nodes.rows, self._is_inside, self._settled)
        self._kept: dict[int, Relations] = {}
        self._late: list[tuple[int, int, bool, float]] = []
        self._unsettled: set[int] = set()
        self._compared = 0
        self._through: datetime | None = None

    @property
    def compared(self) -> int:
        """Pairs scored."""
        return self._nodes.compared + self._compared

    @property
    def left(self) -> list[int]:
        """The articles that were left out, since the others are work enough."""
        return [id for id in self._sentences if id not in self._ids]

    def _enough(self, hits: Bigints, most: Bigints, max_work: int) -> int:
        """How many of the articles are work enough for one transaction, the earliest first; one at least."""
        work = np.cumsum(hits + ROW_WORK * np.minimum(most, self._settings.similar_pairs))
        return max(1, int(np.searchsorted(work, max_work, side="right")))

    def decide(self) -> Outcome:
        """Decide every article of the batch, the earliest first."""
        rows, cursor = self._nodes.rows, self._cursor
        duplicates: dict[int, Mark] = {}
        canonical: list[int] = []
        flags: dict[int, bool] = {}
        displaced: list[int] = []
        appeared: list[int] = []
        self._through = settling.reach(cursor, self._settings, rows[self._inside[-1]].order[0])
        if self._through is not None and rows[self._inside[0]].order[0] <= self._through:
            outside = [rows[place].id for place in np.flatnonzero(self._settled).tolist()]
            self._best_match.know_places(settling.best_match_later(cursor, self._settings, outside))
        for place in self._inside.tolist():
            row = rows[place]
            mark = self._decide(place)
            if mark:
                duplicates[row.id] = mark
            else:
                canonical.append(place)
            if row.stored_canonical is not (mark is None):
                flags[row.id] = mark is None
            if mark and row.canonical:
                displaced.append(row.id)
            elif not mark and not row.canonical:
                appeared.append(place)
        self._unsettled |= settling.decided_by(cursor, displaced) - self._ids
        self._unsettled |= self._unsettled_duplicates(appeared)
        retained = self._retained()
        entered = self._entered()
        gained = [place for place in self._best_match.gained() if rows[place].id not in self._unsettled]
        marks = {rows[place].id: self._best_match.mark(place) for place in [*canonical, *gained]}
        same = {row.id for row in map(rows.__getitem__, gained) if _same(row, marks[row.id])}
        return Outcome(
            duplicates,
            {id: mark for id, mark in marks.items() if id not in same},
            flags,
            self._pairs([*canonical, *gained], retained, entered),
            frozenset(self._ids),
            [*self._ids, *(rows[place].id for place in gained)],
            self._unsettled,
        )

    def _decide(self, place: int) -> Mark | None:
        """Decide one article; its mark if it is a duplicate."""
        nodes, settings, row = self._nodes, self._settings, self._nodes.rows[place]
        found = nodes.related(place, self._canonical)
        if not len(found):
            self._canonical[place] = True
            return None
        earlier = found.places < place
        originals = found[earlier & found.duplicate]
        if len(originals):
            ranked = np.lexsort((originals.places, -originals.score))
            self._kept[place] = self._best(originals, ranked)
            best = ranked[0]
            original = nodes.rows[originals.places[best]].id
            rule = RULES[originals.rule[best]].value
            return Mark(Status.DUPLICATE, original, float(originals.score[best]), rule)
        self._canonical[place] = True
        similar = found[~found.duplicate]
        before = similar[similar.places < place]
        self._kept[place] = self._best(before, by_likeness(before, settings.similar_pairs))
        if not row.canonical:
            self._appear(place, found[~earlier])
        self._best_match.compare(place, similar, appeared=not row.canonical)
        return None

    def _best(self, found: Relations, ranked: npt.NDArray[np.int64]) -> Relations:
        """Of what an article is related to, those whose pairs with it are kept: the best, and pinned ones."""
        kept = np.zeros(len(found), np.bool_)
        kept[ranked[: self._settings.similar_pairs]] = True
        return found[kept | (found.rule == CODE[Rule.PINNED])]

    def _appear(self, place: int, later: Relations) -> None:
        """An article becomes canonical before articles outside that may be settled already."""
        rows = self._nodes.rows
        self._unsettled.update(rows[other].id for other in later.places[later.duplicate].tolist())
        for i in np.flatnonzero(~later.duplicate & self._settled[later.places]).tolist():
            pinned = bool(later.rule[i] == CODE[Rule.PINNED])
            self._late.append((int(later.places[i]), place, pinned, float(later.score[i])))

    def _retained(self) -> list[tuple[int, int]]:
        """Pairs of the batch with earlier articles outside that were, and still are, most like them.

        An article outside whose best match is no longer, or no longer sure, has to be settled again.
        """
        rows, found = self._nodes.rows, []
        for id, other_id in settling.kept_for_best_match(self._cursor, self._ids):
            if other_id in self._ids:
                continue
            place, other = self._place[id], self._place.get(other_id)
            stays = rows[place].canonical and self._canonical[place]
            if not stays or other is None or not self._similar(place, other):
                self._unsettled.add(other_id)
            elif not self._best_match.has_gained(other):
                found.append((place, other))
        return found

    def _relation(self, place: int, other: int) -> Related:
        found = self._nodes.relation(place, other)
        assert found is not None
        return found

    def _similar(self, place: int, other: int) -> bool:
        related = self._nodes.relation(place, other) if self._canonical[other] else None
        return related is not None and related.relation is Relation.SIMILAR

    def _entered(self) -> list[tuple[int, int]]:
        """Pairs of settled articles outside with earlier ones that appeared.

        A settled article that has all the pairs it may keep is settled again if one of these may be better.
        """
        rows, found = self._nodes.rows, []
        late = [pair for pair in self._late if rows[pair[0]].id not in self._unsettled]
        by_later: dict[int, list[tuple[int, bool, float]]] = {}
        for later, place, pinned, score in late:
            by_later.setdefault(later, []).append((place, pinned, score))
        kept = settling.lowest_kept(self._cursor, self._settings, [rows[later].id for later in by_later])
        for later, pairs in by_later.items():
            number, lowest = kept[rows[later].id]
            wanted = [place for place, pinned, score in pairs if pinned or score >= lowest]
            if number + len(wanted) <= self._settings.similar_pairs:
                found += [(later, place) for place in wanted]
            elif wanted:
                self._unsettled.add(rows[later].id)
        return found

    def _pairs(
        self, known: list[int], retained: list[tuple[int, int]], entered: list[tuple[int, int]]
    ) -> PairRows:
        """The rows of the batch, and new ones of others; of the canonical ones in `known` the best match was
        decided."""
        rows = self._nodes.rows
        best_match = {
            (other, place) for place in known if (other := self._best_match.later(place)) is not None
        }
        extra = {*retained, *entered, *best_match}
        articles: list[Bigints] = []
        parts: list[Relations] = []
        for place, kept in self._kept.items():
            extra -= {(place, other) for other in kept.places.tolist()}
            articles.append(np.full(len(kept), place))
            parts.append(kept)
        for place, other in sorted(extra):
            articles.append(np.array([place]))
            parts.append(Relations.of([(other, self._relation(place, other))]))
        if not parts:
            return NO_PAIRS
        found, later = Relations.joined(parts), np.concatenate(articles)
        best_match |= set(retained)
        ids = bigints([row.id for row in rows])
        return PairRows(
            ids[later],
            ids[found.places],
            found.duplicate,
            found.rule,
            found.score,
            found.sentence_jaccard,
            found.signature_jaccard,
            found.containment,
            np.array(
                [pair in best_match for pair in zip(later.tolist(), found.places.tolist(), strict=True)]
            ),
        )

    def _unsettled_duplicates(self, appeared: list[int]) -> set[int]:
        """Settled duplicates, not of this batch, whose grounds change because these became canonical."""
        rows = self._nodes.rows
        early = [rows[p] for p in appeared if self._through is not None and rows[p].order[0] <= self._through]
        if not early:
            return set()
        others = self._others(early, "duplicate", after=early[0].order[0])
        sentences = [*(self._sentences[row.id] for row in early), *without_common(self._cursor, others)]
        nodes = Nodes([*early, *others], sentences, self._pins, self._settings)
        ids = {row.id for row in early}
        duplicates = np.array([row.id not in ids for row in nodes.rows], np.bool_)
        found: set[int] = set()
        for place in np.flatnonzero(~duplicates).tolist():
            later = duplicates.copy()
            later[:place] = False
            relations = nodes.related(place, later)
            found.update(nodes.rows[other].id for other in relations.places[relations.duplicate].tolist())
        self._compared += nodes.compared
        return found

    def _others(
        self, rows: list[FingerprintRow], among: Among, *, after: datetime | None = None
    ) -> list[FingerprintRow]:
        """Articles, not of this batch, that share something or are pinned with one of these."""
        limit = None if self._max_candidates is None else self._max_candidates + 1
        sentences = [self._sentences[row.id] for row in rows]
        found = sharing(self._cursor, self._settings, rows, sentences, among, after=after, limit=limit)
        if limit is not None and len(found) >= limit:
            raise TooManyCandidatesError
        wanted = among == "canonical"
        pinned = [row for row in self._pinned if row.canonical is wanted]
        return list({row.id: row for row in [*found, *pinned] if row.id not in self._ids}.values())


def _same(row: FingerprintRow, mark: Mark) -> bool:
    return (row.score, row.reason) == (mark.score, mark.reason)


NO_PAIRS = PairRows(
    bigints([]),
    bigints([]),
    NO_RELATIONS.duplicate,
    NO_RELATIONS.rule,
    NO_RELATIONS.score,
    NO_RELATIONS.sentence_jaccard,
    NO_RELATIONS.signature_jaccard,
    NO_RELATIONS.containment,
    NO_RELATIONS.duplicate,
)
