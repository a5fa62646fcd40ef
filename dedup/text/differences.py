"""What two texts share and what each has alone: sentences first, then words within what remains.

A sentence counts as shared wherever the other text has it, as it does for methods that compare sets of
sentences. The words of the other sentences are aligned in order by their longest common subsequence
(Hyyrö 2004, by rapidfuzz). Two words are the same if their normal forms are: case and punctuation do not
make a difference. `twins` finds which sentence of one text is a version of which of the other. It knows
nothing of HTML or terminals: the lab's report, `review` and `explain` show what
it finds.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from rapidfuzz.distance import LCSseq

from dedup.text.normalize import words

MAX_ALIGNED_WORDS = 25_000
"""Of the words of each text that are in no shared sentence, so many are aligned: a matrix of 78 MB and less
than a second. The ones behind them count as not shared. English prose of 150,000 characters has fewer."""

TWIN_WORDS = 0.5
"""Share of their words that two sentences have in common at least to be versions of one sentence. Two others
on one event share its names and the little words, which is less as a rule."""

WIDESPREAD = 50
"""A word that more sentences of a text have finds no twin there, so the work grows with the length of the
text and not with its square."""

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"\s*(?:[{_IDEOGRAPHS}]|[^\s{_IDEOGRAPHS}]+)\s*|\s+")
_SENTENCE_END = re.compile(
    "[.!?\u2026\u0964\u06d4\u061f][\"')\\]\u2019\u201d\u00bb]*\\s+|[\u3002\uff01\uff1f]|\n\\s*\n"
)


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text, with the spaces around it."""

    text: str
    shared: bool


@dataclass(slots=True)
class _Word:
    text: str
    normal: str
    shared: bool = False


_Sentence = list[_Word]


def differences(a: str, b: str) -> tuple[list[Segment], list[Segment]]:
    """The segments of both texts in reading order; joined, those of a side are its text.

    >>> differences("Rain fell on Monday.", "Rain fell on Tuesday.")[1]
    [Segment(text='Rain fell on ', shared=True), Segment(text='Tuesday.', shared=False)]
    """
    if b < a:  # one order for both calls: of several longest alignments the same one is taken
        return differences(b, a)[::-1]
    first, second = _sentences(a), _sentences(b)
    both = {_normal(s) for s in first} & {_normal(s) for s in second}
    _align(_mark_sentences(first, both), _mark_sentences(second, both))
    return _segments(first), _segments(second)


def _sentences(text: str) -> list[_Sentence]:
    """The sentences of a text as words; sentence ends are guessed plainly, since words are compared after."""
    found: list[_Sentence] = []
    start = 0
    for stop in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        sentence = list(_words(text[start:stop]))
        if found and not _normal(sentence):
            found[-1] += sentence  # stray marks belong to the sentence before them
        elif sentence:
            found.append(sentence)
        start = stop
    return found


def _words(text: str) -> Iterator[_Word]:
    """The words of a text with what surrounds them; a mark that stands alone belongs to the word before."""
    held: _Word | None = None
    for piece in _WORD.findall(text):
        word = _Word(piece, " ".join(words(piece)))
        if held and not (held.normal and word.normal):
            held = _Word(held.text + word.text, held.normal or word.normal)
            continue
        if held:
            yield held
        held = word
    if held:
        yield held


def _normal(sentence: _Sentence) -> tuple[str, ...]:
    return tuple(word.normal for word in sentence if word.normal)


def _mark_sentences(sentences: list[_Sentence], both: set[tuple[str, ...]]) -> list[_Word]:
    """Mark the words of the sentences that both texts have; returns the words of the others."""
    others: list[_Word] = []
    for sentence in sentences:
        if _normal(sentence) in both:
            for word in sentence:
                word.shared = True
        else:
            others += sentence
    return others


def _align(a: list[_Word], b: list[_Word]) -> None:
    """Mark the words of the longest common subsequence, without matches that only chance explains.

    A run of shared words that is shorter than what was replaced before it, and than what was replaced
    after it, is such a match: "of the" amid two sentences with nothing in common.
    """
    a, b = a[:MAX_ALIGNED_WORDS], b[:MAX_ALIGNED_WORDS]
    numbers: dict[str, int] = {}
    rows = [[numbers.setdefault(word.normal, len(numbers)) for word in side] for side in (a, b)]
    runs = [op for op in LCSseq.opcodes(*rows) if op.tag == "equal"]
    ends = [(0, 0), *((op.src_end, op.dest_end) for op in runs)]
    starts = [*((op.src_start, op.dest_start) for op in runs), (len(a), len(b))]
    gaps = [max(i - k, j - m) for (i, j), (k, m) in zip(starts, ends, strict=True)]
    for op, (before, after) in zip(runs, pairwise(gaps), strict=True):
        if op.src_end - op.src_start >= min(before, after):
            for word in (*a[op.src_start : op.src_end], *b[op.dest_start : op.dest_end]):
                word.shared = True


def _segments(sentences: Iterable[_Sentence]) -> list[Segment]:
    every = (word for sentence in sentences for word in sentence)
    return [
        Segment("".join(word.text for word in run), shared)
        for shared, run in groupby(every, key=lambda word: word.shared)
    ]


def twins(a: Sequence[str], b: Sequence[str]) -> list[tuple[int | None, int | None]]:
    """Which sentence of `b` is a version of which of `a`, by their places in the two; None for no version.

    The most alike are paired first, wherever they stand; each sentence has one twin at most. The pairs come
    in the order of `a`, then what is left of `b` in its order.

    >>> twins(["Rain fell on Monday.", "It was cold."], ["Boats sank.", "Rain fell on Tuesday."])
    [(0, 1), (1, None), (None, 0)]
    """
    first, second = ([frozenset(words(sentence)) for sentence in side] for side in (a, b))
    holders: dict[str, list[int]] = defaultdict(list)
    for j, sentence in enumerate(second):
        for word in sentence:
            holders[word].append(j)
    alike: list[tuple[float, int, int]] = []
    for i, sentence in enumerate(first):
        held = (holders.get(word, ()) for word in sentence)
        for j in {j for places in held if len(places) <= WIDESPREAD for j in places}:
            share = 2 * len(sentence & second[j]) / (len(sentence) + len(second[j]))
            if share >= TWIN_WORDS:
                alike.append((-share, i, j))
    twin_of: dict[int, int] = {}
    taken: set[int] = set()
    for _, i, j in sorted(alike):
        if i not in twin_of and j not in taken:
            twin_of[i] = j
            taken.add(j)
    left = [(None, j) for j in range(len(b)) if j not in taken]
    return [*((i, twin_of.get(i)) for i in range(len(a))), *left]
