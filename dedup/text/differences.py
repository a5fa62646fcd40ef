"""Mark the words that two versions of a passage share, and the added, removed and changed ones.

Words are aligned in order by their longest common subsequence (Hyyrö 2004, by rapidfuzz). Two words are the
same if their normal forms are. In misread texts each letter counts as a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby, pairwise

from rapidfuzz.distance import LCSseq

from dedup.text.normalize import LATE_MARKS, words

# Words of a passage that are aligned, with a matrix of 78 MB and in less than a second; the others count as
# not shared. English prose of 150,000 characters has fewer.
MAX_ALIGNED = 25_000

LITTLE = 4  # Letters: a shorter word, such as "of" or "the", may be in both passages by chance

_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"\s*(?:[{_IDEOGRAPHS}]|[^\s{_IDEOGRAPHS}]+)\s*|\s+")
_LETTER = re.compile(rf"\s*\S[{LATE_MARKS}]*\s*|\s+")


class Kind(Enum):
    """Kind of a piece of a text, compared with another text."""

    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text, with the spaces around it. CHANGED: the other text has other words there."""

    text: str
    kind: Kind

    @property
    def shared(self) -> bool:
        return self.kind is Kind.SAME


@dataclass(frozen=True, slots=True)
class Word:
    """A word with the spaces and marks around it, and its normal form, which is empty for mere marks."""

    text: str
    normal: str


Segments = tuple[Segment, ...]


def differences(a: str, b: str) -> tuple[Segments, Segments]:
    """Return the segments of two passages in reading order; joined, the segments of a side are its text."""
    return compared(list(word_list(a)), list(word_list(b)))


def word_list(text: str, *, letters: bool = False) -> Iterator[Word]:
    """Yield the words or letters of a text; joined they are the text. A lone mark joins the word before."""
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
    """Return the normal forms of words; equal passages have the same ones."""
    return tuple(word.normal for word in words if word.normal)


def whole(words: Iterable[Word], kind: Kind) -> Segments:
    """Return a passage as one segment, and an empty one as no segment."""
    text = "".join(word.text for word in words)
    return (Segment(text, kind),) if text else ()


def compared(a: Sequence[Word], b: Sequence[Word]) -> tuple[Segments, Segments]:
    """Return the `differences` of two passages, given their words."""
    one, other = normal(a), normal(b)
    if one == other:
        return whole(a, Kind.SAME), whole(b, Kind.SAME)
    # One order for compared(a, b) and compared(b, a): both take the same of several longest alignments.
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
    """Return the starts in a and in b, and the length, of runs of shared words, without chance matches."""
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
    # Chance explains a run of little words that is shorter than the replaced text on either side of it, such
    # as "of the" amid two sentences with nothing in common.
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
