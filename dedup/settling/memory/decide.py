"""Marks and pairs of a whole corpus, in arrays (docs/semantics.md, sections 3 to 5), without a database.

Articles are decided in canonical order, as many at a time as their comparisons fit in memory; each is
compared with the earlier ones among them and with the canonical ones before. So the work grows with the
stories that an article touches, and not with their copies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Columns, Components, Counts, Flags, Shares, distinct, ranges, runs
from dedup.base.settings import Settings
from dedup.rules.pair import Relation, Rule
from dedup.rules.pairs import SCORED_AT_ONCE, Codes, Scored, score
from dedup.settling.index import CODE
from dedup.settling.memory.keys import Bigints, Entries, Groups, Places, code, pair
from dedup.text.signature import jaccards

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

    @classmethod
    def none(cls) -> PairArrays:
        kinds: tuple[Any, ...] = (
            np.int32,
            np.int32,
            np.bool_,
            np.int8,
            np.float64,
            np.float64,
            np.float64,
            np.float64,
        )
        return cls(*(np.empty(0, kind) for kind in kinds))


@dataclass(slots=True)
class Decisions:
    """What follows for n articles; every place is one in canonical order.

    Attributes:
        original: shape (n,): of a duplicate its original; NOBODY of a canonical article.
        score: shape (n,): with the original, or with the best match; -1 where there is neither.
        rule: shape (n,): that decided, as its place in `rules.pairs.RULES`.
        pairs: the rows of `match`.
        best match: which of them are of an earlier article and, of all, the one most like it.
        component: shape (n,): the first place of those that are related, directly or through others.
        compared: pairs scored.
    """

    original: Places
    score: Shares
    rule: Codes
    pairs: PairArrays
    best_match: Flags
    component: Places
    compared: int


def decide(
    profiles: Profiles,
    settings: Settings,
    *,
    at_once: int = COMPARED_AT_ONCE,
    progress: Callable[[int], object] = int,
) -> Decisions:
    """Decide all articles. The result does not depend on `at_once`; `progress` is told how many were
    decided."""
    return _Decider(profiles, settings, at_once).all(progress)


class _Decider:
    def __init__(self, profiles: Profiles, settings: Settings, at_once: int) -> None:
        self._profiles, self._settings, self._at_once = profiles, settings, at_once
        size = self._size = len(profiles.content_hash)
        self._kinds = [Groups(entries, size) for entries in profiles.shared]
        # Canonical as far as decided; nobody before is left out, nobody after is counted.
        self._canonical = np.ones(size, np.bool_)
        self._original = np.full(size, NOBODY, np.int32)
        self._score = np.full(size, -1.0)
        self._rule = np.zeros(size, np.int8)
        self._best_match = PairArrays.none()
        self._kept: list[PairArrays] = []
        self._components = Components(size)
        self._compared = 0
        self._gone = 0
        pins = sorted(profiles.pins.items())
        self._pinned = np.array([later << 32 | earlier for (later, earlier), _ in pins], np.int64)
        self._said = np.array([said for _, said in pins], np.object_)

    def all(self, progress: Callable[[int], object]) -> Decisions:
        start = 0
        while start < self._size:
            stop = self._enough(start)
            self._decide(start, stop)
            progress(stop - start)
            start = stop
        best_match = self._best_match
        pairs = PairArrays.joined([PairArrays.none(), *self._kept])
        codes, wanted = code(pairs.later, pairs.earlier), code(best_match.later, best_match.earlier)
        new = ~np.isin(wanted, codes)
        flags = np.isin(codes, wanted)
        return Decisions(
            self._original,
            self._score,
            self._rule,
            PairArrays.joined([pairs, best_match[new]]),
            np.concatenate([flags, np.ones(int(new.sum()), np.bool_)]),
            self._components.firsts(),
            self._compared,
        )

    def _enough(self, start: int) -> int:
        """Up to where the articles from `start` on are work enough at a time."""
        work = sum(kind.work(start) for kind in self._kinds)
        return start + max(1, int(np.searchsorted(work, self._at_once, side="right")))

    def _decide(self, start: int, stop: int) -> None:
        found = self._related(start, stop)
        duplicates = found[found.duplicate]
        self._original[start:stop] = NOBODY
        self._find_duplicates(start, duplicates)
        found = found[self._canonical[found.earlier]]
        self._components.join(np.stack([found.earlier, found.later], axis=1))
        originals = found[found.duplicate]
        similar = found[~found.duplicate & self._canonical[found.later]]
        self._keep_originals(originals)
        self._keep_similar(similar)
        self._gone += int((~self._canonical[start:stop]).sum())
        if self._gone > GONE_SHARE * self._size:
            self._gone = 0
            for kind in self._kinds:
                kind.drop(~self._canonical)

    def _related(self, start: int, stop: int) -> PairArrays:
        """The pairs of these articles with earlier ones that are related, were all undecided canonical."""
        by_sentence, by_bucket, by_content = (
            kind.earlier(start, stop, self._canonical) for kind in self._kinds
        )
        by_sentence, shared = np.unique(by_sentence, return_counts=True)
        by_bucket = distinct(by_bucket)
        here = slice(*np.searchsorted(self._pinned, [start << 32, stop << 32]))
        # Who is compared with canonical articles alone meets no copy, by a pin neither.
        acts = self._canonical[pair(self._pinned[here])[1]]
        pinned, relations = self._pinned[here][acts], self._said[here][acts]
        everything = distinct(np.concatenate([by_sentence, by_bucket, by_content, pinned]))
        self._compared += len(everything)
        parts = [PairArrays.none()]
        said = dict(zip(pinned.tolist(), relations, strict=True))
        for at in range(0, len(everything), SCORED_AT_ONCE):
            codes = everything[at : at + SCORED_AT_ONCE]
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
        later, earlier = pair(codes)
        profiles, settings = self._profiles, self._settings
        shingles = profiles.shingles
        scored = score(
            np.stack([earlier, later], axis=1),
            settings,
            shared=shared,
            sentences=(profiles.sentences[earlier], profiles.sentences[later]),
            shingles=(shingles[earlier], shingles[later]),
            signature_jaccard=self._signature_jaccard(earlier, later),
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
        return _arrays(later, earlier, duplicate, rule, scored)[related]

    def _signature_jaccard(self, a: Places, b: Places) -> Shares:
        signature, shingles = self._profiles.signature, self._profiles.shingles
        found = np.zeros(len(a))
        signed = np.flatnonzero((shingles[a] > 0) & (shingles[b] > 0))
        found[signed] = jaccards(signature[a[signed]], signature[b[signed]])
        return found

    def _find_duplicates(self, start: int, duplicates: PairArrays) -> None:
        """Which of these articles have an earlier canonical one that they duplicate."""
        canonical = self._canonical
        canonical[duplicates.later[duplicates.earlier < start]] = False
        inside = duplicates.earlier >= start
        # By the later one: when it is looked at, all that is before it is decided.
        for later, earlier in zip(
            duplicates.later[inside].tolist(), duplicates.earlier[inside].tolist(), strict=True
        ):
            if canonical[earlier]:
                canonical[later] = False

    def _keep_originals(self, originals: PairArrays) -> None:
        """The marks of duplicates, and their best pairs."""
        order = np.lexsort((originals.earlier, -originals.score, originals.later))
        originals = originals[order]
        rank = _rank(originals.later)
        best = originals[rank == 0]
        self._original[best.later] = best.earlier
        self._score[best.later], self._rule[best.later] = best.score, best.rule
        self._kept.append(self._best(originals, rank))

    def _keep_similar(self, similar: PairArrays) -> None:
        """The best pairs of canonical articles with earlier ones, and of each the best match of all."""
        similar = similar[np.lexsort((similar.earlier, similar.rule, -similar.score, similar.later))]
        rank = _rank(similar.later)
        first = similar[rank == 0]  # every one of them is looked at for the first time
        self._score[first.later], self._rule[first.later] = first.score, first.rule
        self._kept.append(self._best(similar, rank))
        # Of earlier articles, the best of these; in a tie the one that is known stays, since it is earlier.
        similar = similar[np.lexsort((similar.later, similar.rule, -similar.score, similar.earlier))]
        best = similar[_rank(similar.earlier) == 0]
        known, rule = self._score[best.earlier], self._rule[best.earlier]
        better = best[(best.score > known) | ((best.score == known) & (best.rule < rule))]
        self._score[better.earlier], self._rule[better.earlier] = better.score, better.rule
        stay = ~np.isin(self._best_match.earlier, better.earlier)
        self._best_match = PairArrays.joined([self._best_match[stay], better])

    def _best(self, ranked: PairArrays, rank: npt.NDArray[np.int64]) -> PairArrays:
        """Of the pairs of each later article those that are kept: the best, and pinned ones."""
        return ranked[(rank < self._settings.similar_pairs) | (ranked.rule == CODE[Rule.PINNED])]


def _arrays(later: Places, earlier: Places, duplicate: Flags, rule: Codes, scored: Scored) -> PairArrays:
    return PairArrays(
        later,
        earlier,
        duplicate,
        rule,
        scored.score,
        scored.sentence_jaccard,
        scored.signature_jaccard,
        scored.containment,
    )


def _rank(groups: Places) -> npt.NDArray[np.int64]:
    """The place of each member in its group; the members of a group stand side by side."""
    _, sizes = runs(groups)
    return ranges(0, sizes)
