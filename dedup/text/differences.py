"""Compare two versions of a passage: find shared, added, removed and changed words.

Words are aligned in order by the longest common subsequence (Hyyrö 2004, in rapidfuzz). Two words are equal
if the normal forms are equal. In misread texts, each letter counts as a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby, pairwise

from rapidfuzz.distance import LCSseq

from dedup.text.normalize import LATE_MARKS, words

# Maximum number of words aligned per passage, which takes under a second and 78 MB. Later words
# count as not shared. English prose of 150,000 characters has fewer words.
MAX_ALIGNED = 25_000

LITTLE = 4  # Minimum letters of a word; shorter words, such as "of", are often shared by chance

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"\s*(?:[{_IDEOGRAPHS}]|[^\s{_IDEOGRAPHS}]+)\s*|\s+")
_LETTER = re.compile(rf"\s*\S[{LATE_MARKS}]*\s*|\s+")


class Kind(Enum):
    """The kind of a segment: the same in both texts, added, removed, or changed."""

    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text, with the spaces around it. If CHANGED, the other text has different words there."""

    text: str
    kind: Kind

    @property
    def shared(self) -> bool:
        return self.kind is Kind.SAME


@dataclass(frozen=True, slots=True)
class Word:
    """A word with the spaces and punctuation around it; the normal form is empty for punctuation alone."""

    text: str
    normal: str


Segments = tuple[Segment, ...]


def differences(a: str, b: str) -> tuple[Segments, Segments]:
    """Return the segments of two passages in order; the joined segments of a passage are its whole text."""
    return compared(list(word_list(a)), list(word_list(b)))


def word_list(text: str, *, letters: bool = False) -> Iterator[Word]:
    """Yield the words or letters of a text, with all spaces; punctuation is part of the word before."""
    held: Word | None = None
    for piece in (_LETTER if letters else _WORD).findall(text):
        word = Word(piece, " ".join(words(piece)))
        if held and not (held.normal and word.normal):
            held = Word(held.text + word.text, held.normal or word.normal)
            continue
        if held:
            yield held
        held = word
    if held:
        yield held


def normal(words: Iterable[Word]) -> tuple[str, ...]:
    """Return the normal forms of words, which are the same for equal passages."""
    return tuple(word.normal for word in words if word.normal)


def whole(words: Iterable[Word], kind: Kind) -> Segments:
    """Return a passage as one segment; () for an empty passage."""
    text = "".join(word.text for word in words)
    return (Segment(text, kind),) if text else ()


def compared(a: Sequence[Word], b: Sequence[Word]) -> tuple[Segments, Segments]:
    """Return the segments of two passages, given as words; see `differences`."""
    one, other = normal(a), normal(b)
    if one == other:
        return whole(a, Kind.SAME), whole(b, Kind.SAME)
    # Of several longest alignments, compared(a, b) and compared(b, a) must choose the same: fix the order.
    runs = shared_runs(a, b) if one <= other else [(j, i, length) for i, j, length in shared_runs(b, a)]
    kinds = [Kind.SAME] * len(a), [Kind.SAME] * len(b)
    i = j = 0
    for start, beside, length in [*runs, (len(a), len(b), 0)]:
        both = start > i and beside > j
        kinds[0][i:start] = [Kind.CHANGED if both else Kind.REMOVED] * (start - i)
        kinds[1][j:beside] = [Kind.CHANGED if both else Kind.ADDED] * (beside - j)
        i, j = start + length, beside + length
    return _segments(a, kinds[0]), _segments(b, kinds[1])


def shared_runs(a: Sequence[Word], b: Sequence[Word]) -> list[tuple[int, int, int]]:
    """Return runs of shared words as (start in a, start in b, length), without matches by chance."""
    numbers: dict[str, int] = {}
    rows = [[numbers.setdefault(word.normal, len(numbers)) for word in side[:MAX_ALIGNED]] for side in (a, b)]
    runs = [
        (op.src_start, op.dest_start, op.src_end - op.src_start)
        for op in LCSseq.opcodes(*rows)
        if op.tag == "equal"
    ]
    ends = [(0, 0), *((i + length, j + length) for i, j, length in runs)]
    starts = [*((i, j) for i, j, _ in runs), (len(a), len(b))]
    gaps = [max(i - k, j - m) for (i, j), (k, m) in zip(starts, ends, strict=True)]
    # Drop a run of short words if the differing text before it and after it is longer than the run: two
    # unrelated sentences share runs such as "of the" by chance.
    return [
        (i, j, length)
        for (i, j, length), (before, after) in zip(runs, pairwise(gaps), strict=True)
        if length >= min(before, after) or any(len(word.normal) >= LITTLE for word in a[i : i + length])
    ]


def _segments(words: Sequence[Word], kinds: Sequence[Kind]) -> Segments:
    pieces = zip(words, kinds, strict=True)
    return tuple(
        Segment("".join(word.text for word, _ in run), kind)
        for kind, run in groupby(pieces, key=lambda piece: piece[1])
    )
