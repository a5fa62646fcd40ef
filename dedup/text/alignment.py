"""Align two texts by sentences. A row has a sentence and its version in the other text, or a sentence alone.

Equal sentences are paired first, then similar sentences, then the parts of split or merged sentences.
A sentence that moved is shown in two rows: at its place in the first text, and at its place in the second.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, islice

from rapidfuzz.distance import LCSseq

from dedup.text.clean import blocks
from dedup.text.differences import (
    MAX_ALIGNED,
    Kind,
    Segment,
    Segments,
    Word,
    compared,
    normal,
    shared_runs,
    whole,
    word_list,
)
from dedup.text.normalize import words

# Minimum share of words that two versions of a sentence have in common. Different sentences on one event
# usually share only names and short words, and stay below this minimum.
TWIN_WORDS = 0.5
# A word in more sentences than this is not used to find versions: the work would become quadratic.
WIDESPREAD = 50
MIN_SENTENCE = 12  # Minimum characters; a shorter piece, such as "Mr. ", is joined to the next piece
# Maximum number of adjacent pieces that are joined to find a common sentence. Common sentences come from
# Punkt. This module also splits after abbreviations, so such a sentence may be in several pieces here.
COMMON_PIECES = 4
# Misread texts are aligned in steps of this many letters, so that time grows linearly. A step keeps the first
# half of its alignment, and the next step aligns the second half again. The second half is needed to find
# where a text goes on that lacks up to 5,000 letters.
WINDOW_LETTERS = 10_000
# Cut misread sentences after at most 500 characters, since the periods between them may be misread.
_PIECE = re.compile(r".{1,500}(?:\s|$)|.{1,500}", re.DOTALL)

_SENTENCE_END = re.compile(
    r"\n\s*\n\s*"
    r"|(?P<plain>[.!?\u2026\u0964\u06d4\u061f][\"')\]\u2019\u201d\u00bb]*\s+(?=[\"'(\[\u201c\u2018\u00ab]*[^\W_a-z]))"
    r"|[\u3002\uff01\uff1f][\u300d\u300f\uff09\u201d\u2019]*\s*"
)


@dataclass(frozen=True, slots=True)
class Passage:
    """One or more adjacent sentences of a text, in the original wording."""

    segments: Segments = field(repr=False)  # The text of the passage in pieces, with the spaces after it
    opens: bool  # True if the passage begins a paragraph
    elsewhere: bool = False  # True if the passage's version in the other text is in a different row
    common: bool = False  # True for a common sentence, which comparisons ignore

    @property
    def text(self) -> str:
        return "".join(segment.text for segment in self.segments)

    @property
    def different(self) -> bool:
        """True if the passage has words that the other version lacks."""
        return not all(segment.shared for segment in self.segments)


@dataclass(frozen=True, slots=True)
class AlignedRow:
    """A passage of the first text and its version in the second text; None for a missing passage."""

    a: Passage | None
    b: Passage | None

    @property
    def same(self) -> bool:
        """True if both passages have the same words."""
        return self.a is not None and self.b is not None and not (self.a.different or self.b.different)


def reflowed(text: str) -> str:
    """Return a text with each paragraph on one line, and a blank line between paragraphs."""
    return "\n\n".join(blocks(text))


def align(a: str, b: str, common: Iterable[str] = ()) -> list[AlignedRow]:
    """Return the rows of two texts in reading order. The passages of a text together are the whole text."""
    sides = _sentences(a), _sentences(b)
    # Pair the texts in a fixed order, so that align(a, b) mirrors align(b, a).
    pairs = _pairs(*sides) if a <= b else [(j, i) for i, j in _pairs(*sides[::-1])]
    pairs.sort(key=lambda pair: pair[0].start)
    normal_forms = frozenset(" ".join(words(sentence)) for sentence in common)
    views = tuple(
        _Side(side, {normal(s.words) for s in other}, _common(side, normal_forms), kind)
        for side, other, kind in ((*sides, Kind.REMOVED), (*sides[::-1], Kind.ADDED))
    )
    for one, other in pairs:
        said = (
            [w for n in place for w in side[n].words] for side, place in zip(sides, (one, other), strict=True)
        )
        made = compared(*said)
        for view, place, segments in zip(views, (one, other), made, strict=True):
            view.paired[place.start] = (place, segments)
    rows: list[AlignedRow] = []
    for one, other in _in_order(pairs, sides[0]):
        rows += [AlignedRow(passage, None) for passage in views[0].until(one.start)]
        rows += [AlignedRow(None, passage) for passage in views[1].until(other.start)]
        rows.append(AlignedRow(views[0].next(elsewhere=False), views[1].next(elsewhere=False)))
    rows += [AlignedRow(passage, None) for passage in views[0].until(len(sides[0]))]
    return rows + [AlignedRow(None, passage) for passage in views[1].until(len(sides[1]))]


def align_letters(a: str, b: str) -> list[AlignedRow]:
    """Align two texts with misread letters: each row is a sentence of `a` and its counterpart in `b`."""
    # Use only the sentence ends of `a`: periods may be misread, so the ends of `b` may differ.
    left = deque(
        (list(word_list(piece, letters=True)), sentence.opens and not number)
        for sentence in _sentences(a)
        for number, piece in enumerate(_PIECE.findall("".join(word.text for word in sentence.words)))
    )
    other = list(word_list(b, letters=True))
    rows: list[AlignedRow] = []
    while left:
        window = list(islice(chain.from_iterable(said for said, _ in left), WINDOW_LETTERS))
        runs = shared_runs(window, other[:WINDOW_LETTERS])
        at = cut = 0
        while left and at <= WINDOW_LETTERS / 2:
            said, opens = left.popleft()
            at += len(said)
            stop = _beside(runs, at) if left else len(other)
            one, two = compared(said, other[cut:stop])
            rows.append(AlignedRow(Passage(one, opens), Passage(two, opens) if two else None))
            cut = stop
        other = other[cut:]
    return rows if rows or not other else [AlignedRow(None, Passage(whole(other, Kind.ADDED), True))]


def _beside(runs: Sequence[tuple[int, int, int]], place: int) -> int:
    """Return the place in `b` that corresponds to `place` in `a`, by the shared runs before and after it."""
    found = place
    for i, j, _ in runs:
        if i >= place:
            return min(found, j)
        found = j + place - i
    return found


def twins(a: Sequence[str], b: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Pair the sentences of `a` with their versions in `b`; return positions, None for a missing version.

    The most similar are paired first. Pairs are in the order of `a`; the unpaired sentences of `b` follow.

    >>> twins(["Rain fell on Monday.", "It was cold."], ["Boats sank.", "Rain fell on Tuesday."])
    [(0, 1), (1, None), (None, 0)]
    """
    first, second = ({i: frozenset(normal(word_list(s))) for i, s in enumerate(side)} for side in (a, b))
    twin_of = dict(_most_alike(first, second, [0] * len(a), [0] * len(b)))
    taken = set(twin_of.values())
    left = [(None, j) for j in range(len(b)) if j not in taken]
    return [*((i, twin_of.get(i)) for i in range(len(a))), *left]


@dataclass(frozen=True, slots=True)
class _Sentence:
    words: list[Word]
    opens: bool


def _sentences(text: str) -> list[_Sentence]:
    """Split a text into sentences, with the same rule for all languages."""
    found: list[_Sentence] = []
    start, opens = 0, True
    ends = [(m.end(), m[0].count("\n") > 1, m["plain"]) for m in _SENTENCE_END.finditer(text)]
    for stop, paragraph, plain in [*ends, (len(text), True, None)]:
        if plain and not paragraph and stop - start < MIN_SENTENCE:
            continue
        sentence = _Sentence(list(word_list(text[start:stop])), opens)
        if found and not normal(sentence.words):
            found[-1].words.extend(sentence.words)  # Punctuation alone belongs to the sentence before it
        elif sentence.words:
            if found and not normal(found[0].words):
                sentence = _Sentence([*found.pop().words, *sentence.words], True)
            found.append(sentence)
        start, opens = stop, paragraph
    return found


_Places = tuple[range, range]  # Sentence numbers of a pair: in the first text, in the second text


def _pairs(a: list[_Sentence], b: list[_Sentence]) -> list[_Places]:
    keys = [normal(s.words) for s in a], [normal(s.words) for s in b]
    equal, anchors = _equal(*keys)
    # Do not look for similar versions of a sentence that is in both texts, even if one text repeats it.
    both = set(keys[0]) & set(keys[1])
    sets = tuple({i: frozenset(key) for i, key in enumerate(side) if key not in both} for side in keys)
    gaps = [_gaps(len(side), [pair[n] for pair in anchors]) for n, side in enumerate(keys)]
    alike = _most_alike(sets[0], sets[1], *gaps)
    free = [sets[n].keys() - {pair[n] for pair in alike} for n in (0, 1)]
    whole_ones = [(range(i, i + 1), range(j, j + 1)) for i, j in equal]
    return whole_ones + [_with_halves(i, j, sets, free) for i, j in sorted(alike)]


def _equal(
    a: list[tuple[str, ...]], b: list[tuple[str, ...]]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return two lists of pairs of equal sentences: all pairs; and the pairs in equal order in both texts."""
    numbers: dict[tuple[str, ...], int] = {}
    rows = [[numbers.setdefault(key, len(numbers)) for key in side] for side in (a, b)]
    anchors = [
        (op.src_start + n, op.dest_start + n)
        for op in LCSseq.opcodes(*(row[:MAX_ALIGNED] for row in rows))
        if op.tag == "equal"
        for n in range(op.src_end - op.src_start)
    ]
    taken = [{pair[n] for pair in anchors} for n in (0, 1)]
    waiting: dict[int, deque[int]] = defaultdict(deque)
    for j, number in enumerate(rows[1]):
        if j not in taken[1]:
            waiting[number].append(j)
    moved = [
        (i, waiting[number].popleft())
        for i, number in enumerate(rows[0])
        if i not in taken[0] and waiting.get(number)
    ]
    return anchors + moved, anchors


def _gaps(count: int, anchors: Iterable[int]) -> list[int]:
    fixed = set(anchors)
    return list(accumulate((number in fixed for number in range(count - 1)), initial=0)) if count else []


_Words = dict[int, frozenset[str]]  # The words of each sentence, by sentence number


def _most_alike(a: _Words, b: _Words, a_gaps: list[int], b_gaps: list[int]) -> list[tuple[int, int]]:
    """Pair versions of sentences, the most similar first; of equally similar pairs, the nearest first."""
    holders: dict[str, list[int]] = defaultdict(list)
    for j, sentence in b.items():
        for word in sentence:
            holders[word].append(j)
    alike: list[tuple[float, int, int, int]] = []
    for i, sentence in a.items():
        held = [places for word in sentence if (places := holders.get(word))]
        rare = Counter(j for places in held if len(places) <= WIDESPREAD for j in places)
        others = sum(len(places) > WIDESPREAD for places in held)
        for j, count in rare.items():
            size = len(sentence) + len(b[j])
            if 2 * (count + others) >= TWIN_WORDS * size:
                share = 2 * len(sentence & b[j]) / size
                if share >= TWIN_WORDS:
                    alike.append((-share, abs(a_gaps[i] - b_gaps[j]), i, j))
    found: list[tuple[int, int]] = []
    taken: tuple[set[int], set[int]] = set(), set()
    for _, _, i, j in sorted(alike):
        if i not in taken[0] and j not in taken[1]:
            found.append((i, j))
            taken[0].add(i)
            taken[1].add(j)
    return found


def _with_halves(i: int, j: int, sets: tuple[_Words, ...], free: list[set[int]]) -> _Places:
    """Add adjacent sentences to a pair as long as its two sides get more similar."""
    places = [range(i, i + 1), range(j, j + 1)]
    sides = [sets[0][i], sets[1][j]]
    for n in (0, 1):
        for way in (1, -1):
            while True:
                number = places[n].stop if way > 0 else places[n].start - 1
                if number not in free[n]:
                    break
                longer = sides[n] | sets[n][number]
                if _likeness(longer, sides[1 - n]) <= _likeness(*sides):
                    break
                sides[n] = longer
                places[n] = range(min(places[n].start, number), max(places[n].stop, number + 1))
                free[n].discard(number)
    return places[0], places[1]


def _likeness(a: frozenset[str], b: frozenset[str]) -> float:
    return 2 * len(a & b) / (len(a) + len(b))


def _in_order(pairs: list[_Places], a: list[_Sentence]) -> list[_Places]:
    """Choose pairs in the same order in both texts, with the most words in all; `pairs` is sorted by `a`."""
    ranks = {start: n for n, start in enumerate(sorted(pair[1].start for pair in pairs), 1)}
    # A Fenwick tree finds the chain of pairs with the most words in O(log n), so all pairs take O(n log n).
    best = [(0, -1)] * (len(pairs) + 1)
    before: list[int] = []
    for number, (one, other) in enumerate(pairs):
        rank, heaviest = ranks[other.start] - 1, (0, -1)
        while rank:
            heaviest = max(heaviest, best[rank])
            rank &= rank - 1
        before.append(heaviest[1])
        chain = (heaviest[0] + 1 + sum(len(a[i].words) for i in one), number)
        rank = ranks[other.start]
        while rank <= len(pairs):
            best[rank] = max(best[rank], chain)
            rank += rank & -rank
    last = max(best)[1]
    found: list[_Places] = []
    while last >= 0:
        found.append(pairs[last])
        last = before[last]
    return found[::-1]


def _common(sentences: list[_Sentence], normal_forms: frozenset[str]) -> set[int]:
    """Return the numbers of the sentences that are common sentences or pieces of a common sentence."""
    found: set[int] = set()
    if not normal_forms:
        return found
    texts = ["".join(word.text for word in sentence.words) for sentence in sentences]
    for first in range(len(texts)):
        for stop in range(first + 1, min(first + COMMON_PIECES, len(texts)) + 1):
            if " ".join(words("".join(texts[first:stop]))) in normal_forms:
                found.update(range(first, stop))
    return found


class _Side:
    def __init__(
        self, sentences: list[_Sentence], others: set[tuple[str, ...]], common: set[int], alone: Kind
    ) -> None:
        self._sentences, self._others, self._common, self._alone = sentences, others, common, alone
        self._at = 0
        self.paired: dict[int, tuple[range, Segments]] = {}

    def until(self, stop: int) -> Iterator[Passage]:
        """Yield the passages before sentence `stop`. Each gets a row without a passage of the other text."""
        while self._at < stop:
            yield self.next(elsewhere=True)

    def next(self, *, elsewhere: bool) -> Passage:
        first = self._sentences[self._at]
        place, segments = self.paired.get(self._at, (range(self._at, self._at + 1), ()))
        if not segments:
            # The other text may have an equal sentence, but that sentence is already paired: this text
            # repeats the sentence more often.
            elsewhere = normal(first.words) in self._others
            segments = whole(first.words, Kind.SAME if elsewhere else self._alone)
        self._at = place.stop
        return Passage(segments, first.opens, elsewhere, all(n in self._common for n in place))


__all__ = ["AlignedRow", "Kind", "Passage", "Segment", "align", "align_letters", "reflowed", "twins"]
