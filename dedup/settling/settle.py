"""Give unsettled articles their marks in one transaction of the settle lock (docs/semantics.md, section 6).

`rules/decide.py` decides marks and pairs. This module chooses the articles to compare. It also updates the
settled articles that the new marks affect: these get new pairs and marks, or become stale if a pair that they
need is not known. So three conditions hold for each settled article. Its mark agrees with the canonical flags
of earlier articles. The pairs that it keeps with earlier articles are rows of `match`. Its mark has the score
and rule of its best match.

Section 6 proves that settling ends, and that the order and the batches of settling do not change marks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Flags, runs
from dedup.base.settings import Settings
from dedup.db.arrays import bigints
from dedup.db.database import Cursor
from dedup.rules.decide import BestMatches, ComparedArrays, Decisions, Outside, PairArrays, Profiles, decide
from dedup.rules.marks import Mark, Status
from dedup.rules.pair import Rule
from dedup.rules.pairs import CODE, RULES
from dedup.settling.candidates import drop_common, find_sharing, make_profiles
from dedup.store import settling
from dedup.store.settling import Among, FingerprintRow, Outcome, PairRows

COMPARED_AT_ONCE = 20_000  # Maximum comparisons per step; later steps skip duplicates found before
MAX_WORK = 1_000_000  # Maximum work per transaction, about 0.3 s. An article found by a key is 1 unit
ROW_WORK = 200  # Units of work to write one pair


class TooManyCandidatesError(Exception):
    """A batch has more candidates than allowed, and nothing was written."""


@dataclass(frozen=True, slots=True)
class SettleResult:
    ids: frozenset[int] = frozenset()  # articles that got a mark
    unsettled: frozenset[int] = frozenset()  # other articles that became stale
    left: frozenset[int] = frozenset()  # articles left for the next call, since there was too much work
    compared: int = 0  # number of scored pairs


def settle(
    cursor: Cursor,
    settings: Settings,
    *,
    limit: int | None = None,
    ids: Sequence[int] | None = None,
    max_candidates: int | None = None,
    max_work: int = MAX_WORK,
) -> SettleResult:
    """Give unsettled articles their marks; the caller holds the settle lock.

    Args:
        limit: maximum number of articles; required without `ids`.
        ids: articles to settle; settled articles, and articles without a fingerprint, are skipped.
        max_candidates: maximum number of settled articles that share a key with the articles to settle; if
            there are more, TooManyCandidatesError is raised, and nothing is written.
        max_work: maximum work (see `MAX_WORK`); the latest articles beyond it are left unsettled.
    """
    if ids is None:
        assert limit is not None
        rows = settling.next_unsettled(cursor, settings, limit)
    else:
        rows = settling.find_unsettled(cursor, settings, ids)
    if not rows:
        return SettleResult()
    batch = _SettleBatch(cursor, settings, sorted(rows, key=lambda row: row.order), max_candidates, max_work)
    outcome = batch.decide()
    became = settling.write(cursor, settings, outcome)
    left = frozenset(row.id for row in rows) - outcome.settled
    return SettleResult(outcome.settled, frozenset(became), left, batch.compared)


class _SettleBatch:
    """The articles of one transaction. Articles *inside* get their marks now. Articles *outside* share a key
    or a pin with articles inside. A *place* is an index into both together, in canonical order."""

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
        self._sentences = dict(zip((row.id for row in rows), drop_common(cursor, rows), strict=True))
        self._pins = settling.load_pair_pins(cursor, rows)
        names = {name for pair in self._pins for name in pair} - {row.order[1] for row in rows}
        self._pinned = settling.find_named(cursor, settings, names)
        self._ids = {row.id for row in rows}
        self._rows, self._profiles = self._make_profiles(rows, self._find_others(rows, "canonical"))
        self._place = {row.id: place for place, row in enumerate(self._rows)}
        given = np.array([self._place[row.id] for row in rows])
        self._inside = np.zeros(len(self._rows), np.bool_)
        self._inside[given[: self._count_affordable(given, max_work)]] = True
        self._ids = self._ids_at(self._inside)
        self._canonical = np.array([bool(row.canonical) for row in self._rows], np.bool_)
        self._settled = np.array([row.settled for row in self._rows], np.bool_)
        self._settled &= self._canonical & ~self._inside
        self._unsettled: set[int] = set()
        self._through: datetime | None = None
        self.compared = 0  # pairs scored

    def _count_affordable(self, given: npt.NDArray[np.int64], max_work: int) -> int:
        """Return how many of the earliest articles one transaction can settle; at least one. Work is the
        number of articles found by keys, plus `ROW_WORK` for each pair that may be written."""
        if len(given) == 1:
            return 1
        hits, most = np.zeros((2, len(self._rows)), np.int64)
        for keys, places in self._profiles.shared:
            _, sizes = runs(keys)
            others = np.repeat(sizes - 1, sizes)
            np.add.at(hits, places, others)
            np.maximum.at(most, places, others)
        work = np.cumsum((hits + ROW_WORK * np.minimum(most, self._settings.similar_pairs))[given])
        return max(1, int(np.searchsorted(work, max_work, side="right")))

    def decide(self) -> Outcome:
        rows, inside = self._rows, self._inside
        outside = self._describe_outside()
        found = decide(self._profiles, self._settings, outside, at_once=COMPARED_AT_ONCE)
        self.compared += found.compared
        canonical = np.where(inside, found.original < 0, self._canonical)
        appeared = canonical & ~self._canonical
        displaced = self._ids_at(self._canonical & ~canonical)
        self._unsettled |= settling.find_dependent(self._cursor, displaced) - self._ids
        self._unsettled |= self._find_stale_duplicates([rows[p] for p in np.flatnonzero(appeared).tolist()])
        across = found.across
        late = appeared[across.earlier]  # pairs whose earlier article has just become canonical
        self._unsettled |= {rows[p].id for p in across.later[late & across.duplicate].tolist()}
        has_gained = ~inside & (found.best_place != outside.best.place)
        similar = across[~across.duplicate]
        retained = self._retain_pairs(similar, canonical & self._canonical, has_gained)
        entered = self._enter_pairs(similar[appeared[similar.earlier] & self._settled[similar.later]])
        pairs, best_match = found.pairs.united(PairArrays.joined([retained, entered]))
        best_match &= np.isin(pairs.codes(), retained.codes())
        best_match[: len(found.pairs)] |= found.best_match
        marks = {rows[place].id: self._make_mark(found, place) for place in np.flatnonzero(inside).tolist()}
        gained = [rows[place] for place in np.flatnonzero(has_gained).tolist()]
        for row in gained:
            mark = self._make_mark(found, self._place[row.id])
            if row.id not in self._unsettled and (row.score, row.reason) != (mark.score, mark.reason):
                marks[row.id] = mark
        stored = np.array([row.stored_canonical for row in rows], np.bool_)
        changed = inside & (canonical != stored)
        return Outcome(
            {id: mark for id, mark in marks.items() if mark.status is Status.DUPLICATE},
            {id: mark for id, mark in marks.items() if mark.status is not Status.DUPLICATE},
            {rows[place].id: bool(canonical[place]) for place in np.flatnonzero(changed).tolist()},
            PairRows.of(bigints([row.id for row in rows]), pairs, best_match),
            frozenset(self._ids),
            [*self._ids, *(row.id for row in gained)],
            self._unsettled,
        )

    def _describe_outside(self) -> Outside:
        rows, times = self._rows, [self._rows[place].order[0] for place in np.flatnonzero(self._inside)]
        best = BestMatches.none(len(rows))
        # Unsettled articles outside are decided in a later call, and must keep their best matches until then:
        # no new match exceeds an infinite score.
        best.score[~self._inside & ~self._settled] = np.inf
        for place in np.flatnonzero(self._settled).tolist():
            row = rows[place]
            if row.score is not None and row.reason is not None:
                best.score[place], best.rule[place] = row.score, CODE[Rule(row.reason)]
        self._through = settling.note_reached(self._cursor, self._settings, times[-1])
        # Of two equal matches the earlier match counts. So if an article inside may come before the present
        # best match of a settled article, find the place of that best match.
        if self._through is not None and times[0] <= self._through:
            settled = self._ids_at(self._settled)
            later = settling.find_later_best_matches(self._cursor, self._settings, settled)
            for id, order in later.items():
                other = bisect_left(rows, order, key=lambda row: row.order)
                # If the best match is not in `rows`, its place is a fraction, such as 3.5 between 3 and 4.
                known = other < len(rows) and rows[other].order == order
                best.place[self._place[id]] = other if known else other - 0.5
        return Outside(self._inside, self._canonical & ~self._inside, best)

    def _make_mark(self, found: Decisions, place: int) -> Mark:
        original, score = int(found.original[place]), float(found.score[place])
        rule = RULES[found.rule[place]].value
        if original >= 0:
            return Mark(Status.DUPLICATE, self._rows[original].id, score, rule)
        return Mark(Status.SIMILAR, None, score, rule) if score >= 0 else Mark(Status.UNIQUE)

    def _retain_pairs(self, similar: PairArrays, stay: Flags, gained: Flags) -> PairArrays:
        """Return the pairs in which an article inside is still the best match of an earlier article outside.

        Args:
            similar: the similar pairs of an article inside and an article outside.
            stay: flags, true if an article stays canonical.
            gained: flags, true if an article outside has a new best match.
        """
        kept = settling.find_best_match_pairs(self._cursor, self._ids)
        known = {number: i for i, number in enumerate(similar.codes().tolist())} if kept else {}
        found: list[int] = []
        for id, other_id in kept:
            if other_id in self._ids:
                continue
            place, other = self._place[id], self._place.get(other_id)
            pair = None if other is None else known.get(place << 32 | other)
            if other is None or pair is None or not stay[place]:
                # The article outside has lost its best match, or may have, and must be settled again.
                self._unsettled.add(other_id)
            elif not gained[other]:
                found.append(pair)
        return similar[np.array(found, np.int64)]

    def _enter_pairs(self, late: PairArrays) -> PairArrays:
        """Return the pairs of `late` that their later article keeps. `late`: similar pairs of a settled
        article outside with an earlier article that has just become canonical."""
        by_later: dict[int, list[int]] = {}
        for i, later in enumerate(late.later.tolist()):
            if self._rows[later].id not in self._unsettled:
                by_later.setdefault(self._rows[later].id, []).append(i)
        kept = settling.find_lowest(self._cursor, self._settings, by_later)
        found: list[int] = []
        for id, pairs in by_later.items():
            number, lowest = kept[id]
            wanted = [i for i in pairs if late.rule[i] == CODE[Rule.PINNED] or late.score[i] >= lowest]
            if number + len(wanted) <= self._settings.similar_pairs:
                found += wanted
            # With more than `similar_pairs` pairs, settle the article again, to keep only the best pairs.
            elif wanted:
                self._unsettled.add(id)
        return late[np.array(found, np.int64)]

    def _find_stale_duplicates(self, appeared: list[FingerprintRow]) -> set[int]:
        """Return settled duplicates, outside the batch, that may have another original now. `appeared`:
        articles that have just become canonical."""
        early = [row for row in appeared if self._through is not None and row.order[0] <= self._through]
        if not early:
            return set()
        others = self._find_others(early, "duplicate", after=early[0].order[0])
        rows, profiles = self._make_profiles(early, others)
        ids = {row.id for row in early}
        among = np.array([row.id in ids for row in rows], np.bool_)
        comparison = ComparedArrays(profiles, self._settings, ~among, COMPARED_AT_ONCE)
        found: set[int] = set()
        for start, stop in comparison.steps():
            pairs = comparison.related(start, stop, among)
            later = pairs.later[pairs.duplicate & among[pairs.earlier]]
            found |= {rows[place].id for place in later.tolist()}
        self.compared += comparison.compared
        return found

    def _make_profiles(
        self, rows: list[FingerprintRow], others: list[FingerprintRow]
    ) -> tuple[list[FingerprintRow], Profiles]:
        sentences = [*(self._sentences[row.id] for row in rows), *drop_common(self._cursor, others)]
        everything = [*rows, *others]
        order = sorted(range(len(everything)), key=lambda i: everything[i].order)
        ordered = [everything[i] for i in order]
        return ordered, make_profiles(ordered, [sentences[i] for i in order], self._pins)

    def _find_others(
        self, rows: list[FingerprintRow], among: Among, *, after: datetime | None = None
    ) -> list[FingerprintRow]:
        """Find articles outside the batch that share a key or are pinned with an article of `rows`."""
        # Read at most one article more than allowed: finding so many means that there are too many.
        limit = None if self._max_candidates is None else self._max_candidates + 1
        sentences = [self._sentences[row.id] for row in rows]
        found = find_sharing(self._cursor, self._settings, rows, sentences, among, after=after, limit=limit)
        if limit is not None and len(found) >= limit:
            raise TooManyCandidatesError
        wanted = among == "canonical"
        pinned = [row for row in self._pinned if row.canonical is wanted]
        return list({row.id: row for row in [*found, *pinned] if row.id not in self._ids}.values())

    def _ids_at(self, places: Flags) -> set[int]:
        return {self._rows[place].id for place in np.flatnonzero(places).tolist()}
