"""Of each canonical article the one it is most like, kept up to date while a batch is decided.

The mark of a similar article tells of that pair, and the pair is kept (docs/semantics.md, section 5). The
best match is ranked as `best_match` in `../rules/marks.py` has it; a test of every engine holds both equal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Flags
from dedup.rules.marks import Mark, OrderKey, Status
from dedup.rules.pair import Rule
from dedup.rules.pairs import RULES
from dedup.settling.index import CODE, Relations
from dedup.store.settling import FingerprintRow


class BestMatch:
    """The best match of each of some articles.

    Args:
        rows: the articles in canonical order.
        inside: which of them are being settled; of these nothing is known yet.
        settled: which of the others are canonical and settled: their marks tell of their best matches.
    """

    def __init__(self, rows: Sequence[FingerprintRow], inside: Flags, settled: Flags) -> None:
        self._rows, self._inside, self._settled = rows, inside, settled
        self._score = np.full(len(rows), -1.0)
        self._rule = np.zeros(len(rows), np.int8)
        # Where the best match comes before the article, its place need not be known: in a tie it stays.
        self._place = np.full(len(rows), -1.0)
        self._gained = np.zeros(len(rows), np.bool_)
        for place in np.flatnonzero(settled).tolist():
            row = rows[place]
            if row.score is not None and row.reason is not None:
                self._score[place] = row.score
                self._rule[place] = CODE[Rule(row.reason)]

    def know_places(self, best_match: Mapping[int, OrderKey]) -> None:
        """Let ties be decided by exact places; needed where what is settled may come before what was.

        `best_match`: the ids of settled articles that are most like a later one, to the order of that one.
        """
        orders = [row.order for row in self._rows]
        for place in np.flatnonzero(self._settled).tolist():
            order = best_match.get(self._rows[place].id)
            if order is not None:
                other = bisect_left(orders, order)
                # It may be none of these articles; then it is between two of them.
                self._place[place] = other if orders[other : other + 1] == [order] else other - 0.5

    def compare(self, place: int, similar: Relations, *, appeared: bool) -> None:
        """Find the best match of an article among those similar to it, and those whose best match it is.

        `appeared`: it was not canonical before, so that settled articles do not know it.
        """
        if not len(similar):
            return
        first = by_likeness(similar, 1)[0]
        self._score[place], self._rule[place] = similar.score[first], similar.rule[first]
        self._place[place] = similar.places[first]
        others = similar.places
        chosen = self._inside[others] | (self._settled[others] & appeared)
        others, score, rule = others[chosen], similar.score[chosen], similar.rule[chosen]
        best_score, best_rule = self._score[others], self._rule[others]
        better = (score > best_score) | (
            (score == best_score)
            & ((rule < best_rule) | ((rule == best_rule) & (place < self._place[others])))
        )
        others = others[better]
        self._score[others], self._rule[others] = score[better], rule[better]
        self._place[others] = place
        self._gained[others[~self._inside[others]]] = True

    def gained(self) -> list[int]:
        """The articles not inside that are now most like another one than before."""
        return [int(place) for place in np.flatnonzero(self._gained)]

    def has_gained(self, place: int) -> bool:
        return bool(self._gained[place])

    def later(self, place: int) -> int | None:
        """The place of the best match, where that is a later article."""
        other = self._place[place]
        return int(other) if other > place else None

    def mark(self, place: int) -> Mark:
        score = float(self._score[place])
        if score < 0:
            return Mark(Status.UNIQUE)
        return Mark(Status.SIMILAR, None, score, RULES[self._rule[place]].value)


def by_likeness(found: Relations, count: int) -> npt.NDArray[np.int64]:
    """The `count` best of what a canonical article is similar to, ranked as in `rules.marks.best_match`."""
    among = np.arange(len(found))
    if len(found) > 4 * count:
        lowest = np.partition(found.score, len(found) - count)[len(found) - count]
        among = np.flatnonzero(found.score >= lowest)
    ranked = np.lexsort((found.places[among], found.rule[among], -found.score[among]))
    return np.asarray(among[ranked][:count])
