"""Decide the marks and pairs of many articles, with arrays (docs/semantics.md, sections 3 to 5).

`oracle.py` has the same rules in their simplest form. Articles *inside* are decided; articles *outside* keep
their marks. `../settling/settle.py` decides a batch; `../settling/memory/` decides a whole corpus.

Articles are decided in canonical order, in steps whose comparisons fit in memory. Each article is compared
with the earlier articles of its step and with the originals of earlier steps, so that the work grows with the
number of stories, not of copies.
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

COMPARED_AT_ONCE = 4_000_000  # Maximum comparisons per step (100 MB); a step has at least one article

# Whenever this share of all articles has newly become duplicates, further comparisons leave the duplicates
# out. This is not done after each step, because it indexes all entries again (`Groups.drop`).
GONE_SHARE = 0.02

NOBODY = -1


@dataclass(slots=True)
class Profiles:
    """Compared data of n articles in canonical order.

    Attributes:
        content_hash: shape (n,).
        sentences: shape (n,): number of counted sentences, without common sentences.
        common: shape (n,): number of common sentences.
        shingles: shape (n,): number of distinct shingles.
        signature: shape (n, k); rows of articles without shingles are ignored.
        published: shape (n,): see `marks.published_second`.
        shared: keys that several articles have: sentences, buckets, contents of articles without buckets.
        pins: pinned relations by the places of the two articles, the later article first.
    """

    content_hash: Bigints
    sentences: Counts
    common: Counts
    shingles: Counts
    signature: npt.NDArray[np.uint8]
    published: Bigints
    shared: tuple[Entries, Entries, Entries]
    pins: Mapping[tuple[int, int], Relation] = field(default_factory=dict)


@dataclass(slots=True)
class BestMatches:
    """The best match of each of n articles, each attribute of shape (n,).

    Attributes:
        score, rule: score and rule of the pair with the best match; the score is -1 without a best match.
        place: place of the best match, because of equal matches the first one counts. A match that is not
            among the n articles has a fraction, such as 3.5 (between 3 and 4), or -1 (before all) if unknown.
    """

    score: Shares
    rule: Codes
    place: npt.NDArray[np.float64]

    @classmethod
    def none(cls, size: int) -> BestMatches:
        return cls(np.full(size, -1.0), np.zeros(size, np.int8), np.full(size, -1.0))


@dataclass(slots=True)
class Outside:
    """Division of n articles into articles to decide (inside) and other articles (outside).

    Attributes:
        inside: shape (n,): True for articles that are decided.
        canonical: shape (n,): True for originals outside. Duplicates outside are not compared.
        best: best matches of articles outside. An infinite score, which no pair exceeds, prevents a change.
    """

    inside: Flags
    canonical: Flags
    best: BestMatches


@dataclass(slots=True)
class PairArrays(Columns):
    """Pairs with their relation and scores, each attribute of shape (m,).

    Attributes:
        later, earlier: places of the two articles.
        duplicate: True for the relation duplicate, False for similar.
        rule: place of the rule in `rules.pairs.RULES`.
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
        """Return one integer for each pair, made by `code`."""
        return code(self.later, self.earlier)

    def united(self, others: PairArrays) -> tuple[PairArrays, Flags]:
        """Return the union of these pairs and `others`, and a flag for each pair: True if in `others`."""
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
    """The result for n articles; places are in canonical order.

    Attributes:
        original: shape (n,): place of the original of a duplicate inside; NOBODY for other articles.
        score, rule: shape (n,): score and rule of the pair with the original or, for an original, with the
            best match; the score is -1 without such a pair. The rule is a place in `rules.pairs.RULES`.
        best_place: shape (n,): place of the best match, as in `BestMatches`.
        pairs: m pairs to store: of articles inside, the best and the pinned pairs with earlier articles; and
            pairs with new best matches.
        best_match: shape (m,): True for `pairs` whose later article is the best match of the earlier one.
        across: pairs of an original inside and an original outside.
        component: shape (n,): lowest place in the connected component; shape (0,) if any article is outside.
        compared: number of scored pairs.
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
    """Decide the articles inside, by default all. `progress`: called with the number of articles per step."""
    if outside is None:
        size = len(profiles.content_hash)
        everything = np.ones(size, np.bool_)
        outside = Outside(everything, ~everything, BestMatches.none(size))
    return _Decider(profiles, settings, outside, at_once).all(progress)


class ComparedArrays:
    """Comparisons of articles inside with each other and with originals outside.

    Attributes:
        number: shape (n,): number of the article at each place. Articles outside have the lowest numbers.
        place: shape (n,): place of the article with each number.
        compared: number of scored pairs.
    """

    def __init__(self, profiles: Profiles, settings: Settings, inside: Flags, at_once: int) -> None:
        self._profiles, self._settings, self._at_once = profiles, settings, at_once
        self._size, self._first = len(inside), int(np.count_nonzero(~inside))
        # Articles outside get the lowest numbers, and articles inside the numbers after them; both groups are
        # in canonical order. So an article inside is compared only with articles of lower numbers.
        self.place = np.argsort(inside, kind="stable").astype(np.int32)
        self.number = np.empty(self._size, np.int32)
        self.number[self.place] = np.arange(self._size, dtype=np.int32)
        self.compared = 0
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
        """Yield one range of article numbers per step: articles whose comparisons fit in memory together."""
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
        """Leave articles out of all further comparisons. `gone`: True at the places of these articles."""
        for kind in self._kinds:
            if kind:
                kind.drop(gone[self.place])

    def related(self, start: int, stop: int, among: Flags) -> PairArrays:
        """Return the related pairs of articles numbered `start` to `stop` - 1 with articles of lower numbers.

        `among`: True at the places of the allowed articles of lower numbers.
        """
        acts = among[self.place]
        by_sentence, by_bucket, by_content = (
            kind.earlier(start, stop, acts) if kind else np.empty(0, np.int64) for kind in self._kinds
        )
        by_sentence = np.sort(by_sentence)
        starts, shared = runs(by_sentence)
        by_sentence = by_sentence[starts]
        by_bucket = distinct(by_bucket)
        first, last = np.searchsorted(self._pinned, [start << 32, stop << 32]).tolist()
        # Ignore pins with articles that are not in `among`, such as copies: these are not compared.
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
        shingles, common, published = profiles.shingles, profiles.common, profiles.published
        scored = score(
            np.stack([earlier, later], axis=1),
            settings,
            shared=shared,
            sentences=(profiles.sentences[earlier], profiles.sentences[later]),
            common=(common[earlier], common[later]),
            shingles=(shingles[earlier], shingles[later]),
            signatures=(profiles.signature[earlier], profiles.signature[later]),
            published=(published[earlier], published[later]),
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
        # Only originals are compared with later articles, so an article inside counts as an original until it
        # is decided.
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
        # All articles of a step are compared before the first is decided, so all count as originals. Pairs
        # whose earlier article becomes a duplicate in this step are dropped below.
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
        """Clear the flag `canonical` of each article that duplicates an earlier original."""
        canonical, number = self._canonical, self._comparison.number
        # Ignore pairs whose later article is outside (numbered below `start`) and so keeps its mark.
        duplicates = duplicates[number[duplicates.later] >= start]
        here = number[duplicates.earlier] >= start
        canonical[duplicates.later[~here]] = False
        # The pairs are sorted by the later article, so all earlier articles are already decided.
        for later, earlier in zip(
            duplicates.later[here].tolist(), duplicates.earlier[here].tolist(), strict=True
        ):
            if canonical[earlier]:
                canonical[later] = False

    def _keep_originals(self, originals: PairArrays) -> None:
        """Set the marks of duplicates, and store their best pairs with originals."""
        if not len(originals):
            return
        order = np.lexsort((originals.earlier, -originals.score, originals.later))
        originals = originals[order]
        best = originals[begins_run(originals.later)]
        self._original[best.later] = best.earlier
        self._score[best.later], self._rule[best.later] = best.score, best.rule
        self._keep(originals)

    def _keep_similar(self, similar: PairArrays) -> None:
        """Store the best pairs of each original with earlier originals; update the best matches of both.

        `similar`: pairs of originals that are similar.
        """
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
        """Replace the best match of each article that has a better pair in `ranked`; return the better pairs.

        `ranked`: pairs grouped by `article`, the best pair of each article first. `article`, `other`: the
        two articles of each pair.
        """
        first = begins_run(article)
        best, article, other = ranked[first], article[first], other[first]
        score, rule = self._score[article], self._rule[article]
        tie = (best.rule < rule) | ((best.rule == rule) & (other < self._best_place[article]))
        better = (best.score > score) | ((best.score == score) & tie)
        best, article = best[better], article[better]
        self._score[article], self._rule[article] = best.score, best.rule
        self._best_place[article] = other[better]
        return best

    def _keep(self, ranked: PairArrays) -> None:
        """Store the best and the pinned pairs of each later article; `ranked` has the best pairs first."""
        _, sizes = runs(ranked.later)
        best = ranges(0, sizes) < self._settings.similar_pairs
        self._kept.append(ranked[best | (ranked.rule == CODE[Rule.PINNED])])
