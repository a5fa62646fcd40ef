"""Two texts side by side, sentence beside sentence, what differs marked; or one below the other.

Knows no terminal: it makes rows of a given width.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from rich.console import Console
from rich.text import Text

from dedup.cli.output import printable
from dedup.text.clean import blocks
from dedup.text.differences import Segment, differences
from dedup.text.normalize import words

GAP, GAP_BETWEEN_DIFFERENT = " │ ", " ┃ "
"""What stands between the columns."""

ALONE = "bold underline yellow"
"""Style of what the other text does not have; where there are no colours it is still bold and underlined."""

MIN_SENTENCE = 12
"""Characters: a shorter piece, such as "Mr. ", is no sentence of its own."""

SAME_SENTENCE = 0.3
"""Share of words from which two sentences are shown side by side, as versions of each other."""

MOST_COMPARED = 40_000
"""Pairs of unlike sentences that are compared to be set side by side, a third of a second; of more, the first
stands beside the first."""

_SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*\s+(?=[\"'“‘(\[]*[^\W_a-z])|[。！？]")


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the page.

    Attributes:
        different: whether something stands on it that only one text has.
    """

    text: Text
    different: bool


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence with its style.

    Attributes:
        words: its normalised words, by which sentences are set side by side.
        opens: whether a paragraph begins with it.
    """

    text: Text
    words: tuple[str, ...]
    opens: bool

    @property
    def different(self) -> bool:
        return any(span.style == ALONE for span in self.text.spans)


class Page:
    """Two texts, ready to be set at any width."""

    def __init__(self, a: str, b: str) -> None:
        texts = [[printable(block) for block in blocks(text)] for text in (a, b)]
        segments = differences(*("\n".join(side) for side in texts))
        self._a, self._b = (_sentences(*side) for side in zip(texts, segments, strict=True))
        self._aligned = list(_align(self._a, self._b))

    def side_by_side(self, width: int) -> list[Row]:
        """Rows of two columns."""
        column = (width - len(GAP)) // 2
        rows: list[Row] = []
        for one, other in self._aligned:
            if rows and ((one and one.opens) or (other and other.opens)):
                rows.append(Row(beside(Text(), Text(), column), False))
            left, right = (_wrapped(side, column) for side in (one, other))
            different = bool((one and one.different) or (other and other.different))
            rows += [
                Row(beside(x or Text(), y or Text(), column, different), different)
                for x, y in zip_longest(left, right)
            ]
        return rows

    def stacked(self, width: int, between: Text) -> list[Row]:
        """Rows of one column, the second text below the first and a line between them."""
        first, second = ([*_stack(side, width)] for side in (self._a, self._b))
        return [*first, Row(Text(), False), Row(between, False), Row(Text(), False), *second]


def _sentences(paragraphs: list[str], segments: list[Segment]) -> list[_Sentence]:
    styled = Text()
    for segment in segments:
        mark = "" if segment.shared else ALONE
        shown = segment.text.rstrip()
        styled.append(shown, mark).append(segment.text[len(shown) :])
    starts: list[int] = []
    opening: set[int] = set()
    at = 0
    for paragraph in paragraphs:
        opening.add(at)
        starts.append(at)
        for match in _SENTENCE_END.finditer(paragraph):
            start = at + match.end()
            if start - starts[-1] >= MIN_SENTENCE and match.end() < len(paragraph):
                starts.append(start)
        at += len(paragraph) + 1
    pieces: Iterable[Text] = styled.divide(starts[1:]) if starts else ()
    return [
        _Sentence(_trimmed(piece), tuple(words(piece.plain)), start in opening)
        for start, piece in zip(starts, pieces, strict=True)
    ]


def _trimmed(piece: Text) -> Text:
    piece = piece.copy()
    piece.rstrip()
    return piece


_Beside = tuple[_Sentence | None, _Sentence | None]


def _align(a: list[_Sentence], b: list[_Sentence]) -> Iterator[_Beside]:
    matcher = SequenceMatcher(None, [s.words for s in a], [s.words for s in b], autojunk=False)
    for kind, a_start, a_stop, b_start, b_stop in matcher.get_opcodes():
        left, right = a[a_start:a_stop], b[b_start:b_stop]
        if kind == "equal" or len(left) * len(right) > MOST_COMPARED:
            yield from zip_longest(left, right)
        else:
            yield from _pair_up(left, right)


def _pair_up(left: list[_Sentence], right: list[_Sentence]) -> Iterator[_Beside]:
    """Versions of a sentence beside each other, in order, so that the most words are beside their like."""
    like = [[_likeness(x, y) for y in right] for x in left]
    best = [[0.0] * (len(right) + 1) for _ in range(len(left) + 1)]
    for i in range(len(left) - 1, -1, -1):
        for j in range(len(right) - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + like[i][j])
    i = j = 0
    while i < len(left) or j < len(right):
        both = i < len(left) and j < len(right)
        if both and like[i][j] and best[i][j] == best[i + 1][j + 1] + like[i][j]:
            yield left[i], right[j]
            i, j = i + 1, j + 1
        elif i < len(left) and (j == len(right) or best[i][j] == best[i + 1][j]):
            yield left[i], None
            i += 1
        else:
            yield None, right[j]
            j += 1


def _likeness(x: _Sentence, y: _Sentence) -> float:
    one, other = set(x.words), set(y.words)
    share = 2 * len(one & other) / max(len(one) + len(other), 1)
    return share if share >= SAME_SENTENCE else 0.0


_WRAPPER = Console(width=1_000)
"""What Rich wants to see before it wraps a text."""


def _wrapped(sentence: _Sentence | None, width: int) -> list[Text]:
    return list(sentence.text.wrap(_WRAPPER, width)) if sentence else []


def beside(left: Text, right: Text, width: int, different: bool = False) -> Text:
    """Two lines as one row; `width` is that of a column."""
    left, right = left.copy(), right.copy()
    left.truncate(width, pad=True)
    right.truncate(width)
    gap = (GAP_BETWEEN_DIFFERENT, "yellow") if different else (GAP, "dim")
    return Text.assemble(left, gap, right)


def _stack(sentences: list[_Sentence], width: int) -> Iterator[Row]:
    for number, sentence in enumerate(sentences):
        if sentence.opens and number:
            yield Row(Text(), False)
        for line in _wrapped(sentence, width):
            yield Row(line, sentence.different)
