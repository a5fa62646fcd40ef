"""The articles of one settle transaction in canonical order, found by what they share, and their relations.

Articles are known by their place in canonical order. Most sentences and buckets occur in one article only; a
key that no two of the given articles have leads from none to another and is left out at once. What stays is
a list of places per key. Few candidates are related one by one, many as arrays; a test holds both equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Columns, Flags, Shares, begins_run
from dedup.base.settings import Settings
from dedup.db.arrays import Bigints
from dedup.rules.pair import Profile, Related, Relation, relate
from dedup.rules.pairs import RULES, Codes, Scored, score
from dedup.store.settling import FingerprintRow, PairPins
from dedup.text.signature import jaccards

MANY = 48  # From so many candidates, one that shares several keys counted each time, arrays are quicker
Places = npt.NDArray[np.int32]  # Shape (m,): places of articles in canonical order, ascending
CODE = {rule: place for place, rule in enumerate(RULES)}  # A rule to its place in `RULES`


@dataclass(slots=True)
class Relations(Columns):
    """The articles that one is related to, each attribute of shape (m,).

    Attributes:
        places: of the others, ascending.
        duplicate: whether they are duplicates; otherwise they are similar.
        rule: what decided, as its place in `RULES`.
    """

    places: Places
    duplicate: Flags
    rule: Codes
    score: Shares
    sentence_jaccard: Shares
    signature_jaccard: Shares
    containment: Shares

    @classmethod
    def of(cls, found: Sequence[tuple[int, Related]]) -> Relations:
        ordered = sorted(found, key=lambda pair: pair[0])
        related = [r for _, r in ordered]
        return cls(
            np.array([place for place, _ in ordered], np.int32),
            np.array([r.relation is Relation.DUPLICATE for r in related], np.bool_),
            np.array([CODE[r.rule] for r in related], np.int8),
            np.array([r.scores.score for r in related], np.float64),
            np.array([r.scores.sentence_jaccard for r in related], np.float64),
            np.array([r.scores.signature_jaccard for r in related], np.float64),
            np.array([r.scores.containment for r in related], np.float64),
        )


NO_RELATIONS = Relations.of([])


class Nodes:
    """Articles that are compared with each other; of each row, `sentences` has the hashes that are not
    common.

    Attributes:
        rows: the articles in canonical order; orders: their places in it.
        hits: shape (n,): how many articles each of their keys leads to, summed; about the work of comparing.
        most: shape (n,): how many articles one of their keys leads to, the one that leads to most.
        compared: pairs scored.
    """

    def __init__(
        self, rows: Sequence[FingerprintRow], sentences: Sequence[Bigints], pins: PairPins, settings: Settings
    ) -> None:
        order = sorted(range(len(rows)), key=lambda i: rows[i].order)
        self.rows = [rows[i] for i in order]
        self._sentences = [sentences[i] for i in order]
        self._settings = settings
        self.compared = 0
        self.orders = [row.order for row in self.rows]
        self._profiles: list[Profile | None] = [None] * len(rows)
        self._pins = _pins_by_place({order[1]: i for i, order in enumerate(self.orders)}, pins)
        self._arrays: _Arrays | None = None
        self._kinds = [
            _Keys(self._sentences),
            _Keys([row.buckets for row in self.rows]),
            _Keys([np.array([row.content_hash], np.int64) for row in self.rows]),
        ]
        self.hits: Bigints = sum((kind.hits for kind in self._kinds), np.zeros(len(rows), np.int64))
        self.most: Bigints = np.max([kind.most for kind in self._kinds], axis=0)

    def __len__(self) -> int:
        return len(self.rows)

    def related(self, place: int, among: Flags) -> Relations:
        """The relations of one article to some of the others: those flagged in `among`, shape (n,), not
        itself."""
        pins = self._pins.get(place)
        if self.hits[place] < MANY:
            others: set[int] = set()
            if self.hits[place]:
                for kind in self._kinds:
                    kind.add_sharing(place, others)
            if pins:
                others.update(pins)
            found = self._one_by_one(place, [other for other in others if among[other]], pins or {})
            return Relations.of(found) if found else NO_RELATIONS
        counts = [kind.count_sharing(place, len(self.rows)) for kind in self._kinds]
        met = (counts[0] > 0) | (counts[1] > 0) | (counts[2] > 0)
        met &= among
        if pins:
            met[list(pins)] = False
        places = np.flatnonzero(met).astype(np.int32)
        many = self._together(place, places, counts[0][places], counts[1][places] > 0)
        if not pins:
            return many
        few = Relations.of(self._one_by_one(place, [other for other in pins if among[other]], pins))
        both = Relations.joined([many, few])
        return both[np.argsort(both.places)]

    def relation(self, place: int, other: int) -> Related | None:
        pin = self._pins.get(place, {}).get(other)
        return relate(self._profile(place), self._profile(other), self._settings, pin)

    def _one_by_one(
        self, place: int, others: Sequence[int], pins: Mapping[int, Relation]
    ) -> list[tuple[int, Related]]:
        self.compared += len(others)
        profile, settings, found = self._profile(place), self._settings, []
        for other in others:
            relation = relate(profile, self._profile(other), settings, pins.get(other))
            if relation:
                found.append((other, relation))
        return found

    def _together(
        self, place: int, others: Places, shared: npt.NDArray[np.int64], same_bucket: Flags
    ) -> Relations:
        self.compared += len(others)
        if self._arrays is None:
            self._arrays = _Arrays(self.rows, self._sentences)
        arrays, settings = self._arrays, self._settings
        scored = score(
            np.stack([np.full(len(others), place, np.int32), others], axis=1),
            settings,
            shared=shared.astype(np.int32),
            sentences=(arrays.sentences[[place]], arrays.sentences[others]),
            shingles=(arrays.shingles[[place]], arrays.shingles[others]),
            signature_jaccard=arrays.signature_jaccard(place, others),
            same_content=arrays.contents[others] == arrays.contents[place],
            same_bucket=same_bucket,
        )
        return _relations(scored, others, settings)

    def _profile(self, place: int) -> Profile:
        """What the rules see of an article; made when it is first compared, since most articles never are."""
        found = self._profiles[place]
        if found is None:
            found = self._profiles[place] = profile_of(self.rows[place], self._sentences[place])
        return found


def profile_of(row: FingerprintRow, sentences: Bigints) -> Profile:
    """What the rules see of a stored article, given those of its sentences that are not common."""
    return Profile(
        row.content_hash,
        frozenset(sentences.tolist()),
        row.signature,
        frozenset(row.buckets.tolist()),
        row.shingle_count,
    )


def _relations(scored: Scored, others: Places, settings: Settings) -> Relations:
    related = np.flatnonzero(scored.related(settings))
    return Relations(
        others[related],
        scored.duplicates(settings)[related],
        scored.rules(settings)[related],
        scored.score[related],
        scored.sentence_jaccard[related],
        scored.signature_jaccard[related],
        scored.containment[related],
    )


def _pins_by_place(places: Mapping[bytes, int], pins: PairPins) -> dict[int, dict[int, Relation]]:
    found: dict[int, dict[int, Relation]] = {}
    for pair, relation in pins.items():
        a, b = (places.get(name) for name in pair)
        if a is not None and b is not None:
            found.setdefault(a, {})[b] = relation
            found.setdefault(b, {})[a] = relation
    return found


class _Keys:
    """Which articles have which keys of one kind, without the keys that one article has alone.

    Attributes:
        hits: shape (n,): of each article, the other articles that its keys lead to, summed.
        most: shape (n,): the most of them that one key leads to.
    """

    def __init__(self, keys: Sequence[Bigints]) -> None:
        owners = np.repeat(np.arange(len(keys)), [len(own) for own in keys])
        everything = np.concatenate(keys) if keys else np.empty(0, np.int64)
        order = np.argsort(everything, kind="stable")
        names, members = everything[order], owners[order]
        # An article may have a key twice: without shingles, all its buckets are one.
        fresh = begins_run(names, members)
        groups, members = (np.cumsum(begins_run(names)) - 1)[fresh], members[fresh]
        several = np.bincount(groups)[groups] > 1 if len(groups) else np.empty(0, np.bool_)
        _, groups = np.unique(groups[several], return_inverse=True)
        self._members = members[several].astype(np.int32)
        sizes = np.bincount(groups)
        self._ends = np.cumsum(sizes)
        self._begins = self._ends - sizes
        by_owner = np.argsort(self._members, kind="stable")
        self._groups = groups[by_owner]
        self._first = np.searchsorted(self._members[by_owner], np.arange(len(keys) + 1))
        self.hits = np.zeros(len(keys), np.int64)
        self.most = np.zeros(len(keys), np.int64)
        np.add.at(self.hits, self._members, sizes[groups] - 1)
        np.maximum.at(self.most, self._members, sizes[groups] - 1)

    def add_sharing(self, place: int, found: set[int]) -> None:
        for group in self._groups[self._first[place] : self._first[place + 1]].tolist():
            found.update(self._members[self._begins[group] : self._ends[group]].tolist())

    def count_sharing(self, place: int, size: int) -> npt.NDArray[np.int64]:
        """How many keys of this article each of all `size` articles has."""
        groups = self._groups[self._first[place] : self._first[place + 1]].tolist()
        if not groups:
            return np.zeros(size, np.int64)
        begins, ends = self._begins, self._ends
        return np.bincount(
            np.concatenate([self._members[begins[group] : ends[group]] for group in groups]), minlength=size
        )


class _Arrays:
    def __init__(self, rows: Sequence[FingerprintRow], sentences: Sequence[Bigints]) -> None:
        self.sentences = np.array([len(own) for own in sentences], np.int32)
        self.shingles = np.array([row.shingle_count for row in rows], np.int32)
        self.contents = np.array([row.content_hash for row in rows], np.int64)
        self._sizes = np.array([len(row.signature) for row in rows], np.int32)
        self._signatures = np.zeros((len(rows), max(self._sizes, default=0)), np.uint8)
        for i, row in enumerate(rows):
            self._signatures[i, : len(row.signature)] = row.signature

    def signature_jaccard(self, place: int, others: Places) -> Shares:
        size = int(self._sizes[place])
        found = np.zeros(len(others))
        signed = np.flatnonzero(self._sizes[others] == size) if size else np.empty(0, np.int64)
        found[signed] = jaccards(self._signatures[others[signed], :size], self._signatures[place, :size])
        return found
