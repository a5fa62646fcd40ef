"""Marks and pairs of many articles, in arrays: where they are decided (docs/semantics.md, sections 3 to 5).

Pure. `oracle.py` says the same of a whole corpus in the simplest form, and tests hold the two equal. What is
decided is *inside*, and what is *outside* keeps its mark: a batch is decided among what shares something with
it (`../settling/settle.py`), a whole corpus has nothing outside (`../settling/memory/`).

Articles are decided in canonical order, as many at a time as their comparisons fit in memory; each is
compared with the earlier ones among them and with the canonical ones before. So the work grows with the
stories that an article touches, and not with their copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Columns, Components, Counts, Flags, Shares, begins_run, distinct, ranges, runs
from dedup.base.settings import Settings
from dedup.rules.keys import Bigints, Entries, Groups, Places, code, pair
from dedup.rules.pair import Relation, Rule
from dedup.rules.pairs import CODE, Codes, score, scored_at_once

COMPARED_AT_ONCE = 4_000_000
"""Earlier members of groups looked at at a time, about 100 MB; an article that has more is decided alone."""

GONE_SHARE = 0.02
"""Groups forget decided duplicates whenever so large a share of all articles has become one since."""

NOBODY = -1


@dataclass(slots=True)
class Profiles:
    """What scores are made of, of n articles in canonical order.

    Attributes:
        content_hash: shape (n,).
        sentences: shape (n,): how many sentences count, common ones left out.
        shingles: shape (n,): distinct shingles.
        signature: shape (n, k); a row of an article without shingles counts for nothing.
        shared: the keys of each kind that several articles have: sentences, buckets, and the contents of
            articles that have no buckets.
        pins: what people have said of pairs, by their places, the later one first.
    """

    content_hash: Bigints
    sentences: Counts
    shingles: Counts
    signature: npt.NDArray[np.uint8]
    shared: tuple[Entries, Entries, Entries]
    pins: Mapping[tuple[int, int], Relation] = field(default_factory=dict)


@dataclass(slots=True)
class BestMatches:
    """The best match of each of n articles, each attribute of shape (n,).

    Attributes:
        score, rule: of the pair with it; the score is -1 where there is none.
        place: where it stands, between two of the n articles if it is none of them. Of one outside that comes
            before its article it need not be known, and is -1: in a tie it stays.
    """

    score: Shares
    rule: Codes
    place: npt.NDArray[np.float64]

    @classmethod
    def none(cls, size: int) -> BestMatches:
        return cls(np.full(size, -1.0), np.zeros(size, np.int8), np.full(size, -1.0))


@dataclass(slots=True)
class Outside:
    """What is known where not all of n articles are decided.

    Attributes:
        inside: shape (n,): which articles are decided.
        canonical: shape (n,): which others are canonical; whatever else is outside takes part in nothing.
        best: the best matches of those outside. Where none can be better, the score is infinite.
    """

    inside: Flags
    canonical: Flags
    best: BestMatches


@dataclass(slots=True)
class PairArrays(Columns):
    """Pairs with their relation and scores, each attribute of shape (m,).

    Attributes:
        later, earlier: places.
        duplicate: the relation; otherwise similar.
        rule: as its place in `rules.pairs.RULES`.
    """

    later: Places
    earlier: Places
    duplicate: Flags
    rule: Codes
    score: Shares
    sentence_jaccard: Shares
    signature_jaccard: Shares
    containment: Shares

    def codes(self) -> Bigints:
        """One number for each pair; see `code`."""
        return code(self.later, self.earlier)

    def united(self, others: PairArrays) -> tuple[PairArrays, Flags]:
        """These pairs and then the others that are not among them; and which of all are among the others."""
        if not len(others):
            return self, np.zeros(len(self), np.bool_)
        own, wanted = self.codes(), others.codes()
        new = ~np.isin(wanted, own)
        flags = np.concatenate([np.isin(own, wanted), np.ones(int(new.sum()), np.bool_)])
        return PairArrays.joined([self, others[new]]), flags


NO_PAIRS = PairArrays(
    *(np.empty(0, kind) for kind in (np.int32, np.int32, np.bool_, np.int8, *[np.float64] * 4))
)


@dataclass(slots=True)
class Decisions:
    """What follows for n articles; every place is one in canonical order.

    Attributes:
        original: shape (n,): of a duplicate its original; NOBODY of a canonical article, and of one outside.
        score: shape (n,): with the original, or with the best match; -1 where there is neither.
        rule: shape (n,): that decided, as its place in `rules.pairs.RULES`.
        best_place: shape (n,): where the best match stands, as in `BestMatches`.
        pairs: the rows of `match` of the articles inside; and where one outside has a better best match now
            that is later, their pair.
        best_match: which of them are of an earlier article and, of all, the one most like it.
        across: the pairs of canonical articles, one of them inside and one outside.
        component: shape (n,): the first place of those that are related, directly or through others; shape
            (0,) where something is outside.
        compared: pairs scored.
    """

    original: Places
    score: Shares
    rule: Codes
    best_place: npt.NDArray[np.float64]
    pairs: PairArrays
    best_match: Flags
    across: PairArrays
    component: Places
    compared: int


def decide(
    profiles: Profiles,
    settings: Settings,
    outside: Outside | None = None,
    *,
    at_once: int = COMPARED_AT_ONCE,
    progress: Callable[[int], object] = int,
) -> Decisions:
    """Decide all articles, or those inside. The result does not depend on `at_once`; `progress` is told how
    many were decided."""
    if outside is None:
        size = len(profiles.content_hash)
        everything = np.ones(size, np.bool_)
        outside = Outside(everything, ~everything, BestMatches.none(size))
    return _Decider(profiles, settings, outside, at_once).all(progress)


class ComparedArrays:
    """Articles inside are compared with canonical ones outside, and with each other.

    Articles have numbers: first those outside, then those inside, each in canonical order. So whoever has a
    smaller number is what an article inside is compared with.

    Attributes:
        place: shape (n,): the place of each number; number: the number of each place.
        compared: pairs scored.
    """

    def __init__(self, profiles: Profiles, settings: Settings, inside: Flags, at_once: int) -> None:
        self._profiles, self._settings, self._at_once = profiles, settings, at_once
        self._size, self._first = len(inside), int(np.count_nonzero(~inside))
        self.place = np.argsort(inside, kind="stable").astype(np.int32)
        self.number = np.empty(self._size, np.int32)
        self.number[self.place] = np.arange(self._size, dtype=np.int32)
        self.compared = 0
        # A kind of key that leads nowhere costs nothing.
        self._kinds = [
            Groups(self._numbered(entries), self._size) if len(entries[0]) else None
            for entries in profiles.shared
        ]
        pins = sorted((self._code(*places), relation) for places, relation in profiles.pins.items())
        self._pinned = np.array([number for number, _ in pins], np.int64)
        self._said = [relation for _, relation in pins]

    def _numbered(self, entries: Entries) -> Entries:
        if not self._first:
            return entries
        keys, numbers = entries[0], self.number[entries[1]]
        order = np.lexsort((numbers, keys))
        return keys[order], numbers[order]

    def _code(self, a: int, b: int) -> int:
        first, second = sorted((int(self.number[a]), int(self.number[b])))
        return second << 32 | first

    def steps(self) -> Iterator[tuple[int, int]]:
        """From which number up to which the articles inside are work enough at a time."""
        start = self._first
        kinds = [kind for kind in self._kinds if kind]
        while start < self._size:
            stop = self._size
            if kinds and stop > start + 1:
                work = sum(kind.work(start) for kind in kinds)
                stop = start + max(1, int(np.searchsorted(work, self._at_once, side="right")))
            yield start, stop
            start = stop

    def forget(self, gone: Flags) -> None:
        """Compare nobody with these places any more."""
        for kind in self._kinds:
            if kind:
                kind.drop(gone[self.place])

    def related(self, start: int, stop: int, among: Flags) -> PairArrays:
        """What these numbers are related to of smaller numbers, if it is at a place flagged in `among`."""
        acts = among[self.place]
        by_sentence, by_bucket, by_content = (
            kind.earlier(start, stop, acts) if kind else np.empty(0, np.int64) for kind in self._kinds
        )
        by_sentence = np.sort(by_sentence)
        starts, shared = runs(by_sentence)
        by_sentence = by_sentence[starts]
        by_bucket = distinct(by_bucket)
        first, last = np.searchsorted(self._pinned, [start << 32, stop << 32]).tolist()
        # Who is compared with canonical articles alone meets no copy, by a pin neither.
        pins = zip(self._pinned[first:last].tolist(), self._said[first:last], strict=True)
        said = {number: relation for number, relation in pins if acts[number & 0xFFFFFFFF]}
        pinned = np.array([*said], np.int64)
        everything = distinct(np.concatenate([by_sentence, by_bucket, by_content, pinned]))
        self.compared += len(everything)
        parts = [NO_PAIRS]
        step = scored_at_once(self._settings)
        for at in range(0, len(everything), step):
            codes = everything[at : at + step]
            counts = np.zeros(len(codes), np.int32)
            first, last = np.searchsorted(by_sentence, [codes[0], codes[-1] + 1])
            counts[np.searchsorted(codes, by_sentence[first:last])] = shared[first:last]
            same_bucket = np.zeros(len(codes), np.bool_)
            first, last = np.searchsorted(by_bucket, [codes[0], codes[-1] + 1])
            same_bucket[np.searchsorted(codes, by_bucket[first:last])] = True
            parts.append(self._scored(codes, counts, same_bucket, said))
        return PairArrays.joined(parts)

    def _scored(
        self, codes: Bigints, shared: Counts, same_bucket: Flags, said: Mapping[int, Relation]
    ) -> PairArrays:
        one, other = (self.place[numbers] for numbers in pair(codes))
        later, earlier = np.maximum(one, other), np.minimum(one, other)
        profiles, settings = self._profiles, self._settings
        shingles = profiles.shingles
        scored = score(
            np.stack([earlier, later], axis=1),
            settings,
            shared=shared,
            sentences=(profiles.sentences[earlier], profiles.sentences[later]),
            shingles=(shingles[earlier], shingles[later]),
            signatures=(profiles.signature[earlier], profiles.signature[later]),
            same_content=profiles.content_hash[earlier] == profiles.content_hash[later],
            same_bucket=same_bucket,
        )
        related, duplicate = scored.related(settings), scored.duplicates(settings)
        rule = scored.rules(settings)
        if said:
            for i in np.flatnonzero(np.isin(codes, self._pinned)).tolist():
                relation = said[int(codes[i])]
                related[i] = relation is not Relation.UNRELATED
                duplicate[i] = relation is Relation.DUPLICATE
                rule[i] = CODE[Rule.PINNED]
        scores = scored.score, scored.sentence_jaccard, scored.signature_jaccard, scored.containment
        return PairArrays(later, earlier, duplicate, rule, *scores)[related]


class _Decider:
    def __init__(self, profiles: Profiles, settings: Settings, outside: Outside, at_once: int) -> None:
        self._settings, self._inside = settings, outside.inside
        self._comparison = ComparedArrays(profiles, settings, outside.inside, at_once)
        size = self._size = len(outside.inside)
        # Canonical as far as decided; nobody inside is left out before.
        self._canonical = outside.inside | outside.canonical
        self._original = np.full(size, NOBODY, np.int32)
        best = outside.best
        self._score, self._rule, self._best_place = best.score.copy(), best.rule.copy(), best.place.copy()
        self._best_match = NO_PAIRS
        self._kept, self._across = [NO_PAIRS], [NO_PAIRS]
        self._is_whole = bool(outside.inside.all())
        self._components = Components(size if self._is_whole else 0)
        self._gone = 0

    def all(self, progress: Callable[[int], object]) -> Decisions:
        for start, stop in self._comparison.steps():
            self._decide(start, stop)
            progress(stop - start)
        pairs, flags = PairArrays.joined(self._kept).united(self._best_match)
        return Decisions(
            self._original,
            self._score,
            self._rule,
            self._best_place,
            pairs,
            flags,
            PairArrays.joined(self._across),
            self._components.firsts(),
            self._comparison.compared,
        )

    def _decide(self, start: int, stop: int) -> None:
        # The pairs that are related, were all undecided canonical.
        found = self._comparison.related(start, stop, self._canonical)
        if not len(found):
            return
        self._find_duplicates(start, found[found.duplicate])
        found = found[self._canonical[found.earlier]]
        canonical = self._canonical[found.later]
        self._keep_originals(found[~canonical & found.duplicate])
        self._keep_similar(found[canonical & ~found.duplicate])
        if self._is_whole:
            self._components.join(np.stack([found.earlier, found.later], axis=1))
        else:
            self._across.append(found[canonical & (self._inside[found.later] != self._inside[found.earlier])])
        self._gone += int((~self._canonical[self._comparison.place[start:stop]]).sum())
        if stop < self._size and self._gone > GONE_SHARE * self._size:
            self._gone = 0
            self._comparison.forget(~self._canonical)

    def _find_duplicates(self, start: int, duplicates: PairArrays) -> None:
        """Which of these articles have an earlier canonical one that they duplicate."""
        canonical, number = self._canonical, self._comparison.number
        duplicates = duplicates[number[duplicates.later] >= start]  # of the others we know
        here = number[duplicates.earlier] >= start
        canonical[duplicates.later[~here]] = False
        # By the later one: when it is looked at, all that is before it is decided.
        for later, earlier in zip(
            duplicates.later[here].tolist(), duplicates.earlier[here].tolist(), strict=True
        ):
            if canonical[earlier]:
                canonical[later] = False

    def _keep_originals(self, originals: PairArrays) -> None:
        """The marks of duplicates, and their best pairs."""
        if not len(originals):
            return
        order = np.lexsort((originals.earlier, -originals.score, originals.later))
        originals = originals[order]
        best = originals[begins_run(originals.later)]
        self._original[best.later] = best.earlier
        self._score[best.later], self._rule[best.later] = best.score, best.rule
        self._keep(originals)

    def _keep_similar(self, similar: PairArrays) -> None:
        """The best pairs of canonical articles with earlier ones, and of each the best match of all."""
        if not len(similar):
            return
        similar = similar[np.lexsort((similar.earlier, similar.rule, -similar.score, similar.later))]
        self._keep(similar if self._is_whole else similar[self._inside[similar.later]])
        self._improve(similar, similar.later, similar.earlier)
        similar = similar[np.lexsort((similar.later, similar.rule, -similar.score, similar.earlier))]
        better = self._improve(similar, similar.earlier, similar.later)
        stay = ~np.isin(self._best_match.earlier, better.earlier)
        self._best_match = PairArrays.joined([self._best_match[stay], better])

    def _improve(self, ranked: PairArrays, article: Places, other: Places) -> PairArrays:
        """Of each article the best pair, where it is better than what is known; they stand by article."""
        first = begins_run(article)
        best, article, other = ranked[first], article[first], other[first]
        score, rule = self._score[article], self._rule[article]
        tie = (best.rule < rule) | ((best.rule == rule) & (other < self._best_place[article]))
        better = (best.score > score) | ((best.score == score) & tie)
        best, article = best[better], article[better]
        self._score[article], self._rule[article], self._best_place[article] = (
            best.score,
            best.rule,
            other[better],
        )
        return best

    def _keep(self, ranked: PairArrays) -> None:
        """Of the pairs of each later article, which stand by article, the best and pinned ones."""
        _, sizes = runs(ranked.later)
        best = ranges(0, sizes) < self._settings.similar_pairs
        self._kept.append(ranked[best | (ranked.rule == CODE[Rule.PINNED])])
