"""Two texts as rows of a given width, side by side or one below the other, what differs marked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from rich.console import Console
from rich.text import Text

from dedup.cli.output import printable
from dedup.text.alignment import Passage, Segment, align, reflowed

GAP, GAP_BETWEEN_DIFFERENT = " │ ", " ┃ "  # What stands between the columns

ALONE = "bold underline yellow"
"""Style of what the other text does not have; where there are no colours it is still bold and underlined."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the page; `different` if something stands on it that only one text has."""

    text: Text
    different: bool


class Page:
    """Two texts, ready to be set at any width."""

    def __init__(self, a: str, b: str) -> None:
        self._aligned = align(reflowed(a), reflowed(b))

    def side_by_side(self, width: int) -> list[Row]:
        column = (width - len(GAP)) // 2
        rows: list[Row] = []
        for row in self._aligned:
            if rows and ((row.a and row.a.opens) or (row.b and row.b.opens)):
                rows.append(Row(beside(Text(), Text(), column), False))
            left, right = (_wrapped(side, column) for side in (row.a, row.b))
            different = bool((row.a and row.a.different) or (row.b and row.b.different))
            rows += [
                Row(beside(x or Text(), y or Text(), column, different), different)
                for x, y in zip_longest(left, right)
            ]
        return rows

    def stacked(self, width: int, between: Text) -> list[Row]:
        """Rows of one column, the second text below the first and a line between them."""
        sides = [row.a for row in self._aligned], [row.b for row in self._aligned]
        first, second = ([*_stack(filter(None, side), width)] for side in sides)
        return [*first, Row(Text(), False), Row(between, False), Row(Text(), False), *second]


def marked(segments: Iterable[Segment], around: tuple[str, str] | None = None) -> Text:
    """A passage with what the other text does not have in a style, or between two marks."""
    text = Text()
    for segment in segments:
        shown = printable(segment.text)
        if segment.shared or shown.isspace():
            text.append(shown)
            continue
        words = shown.strip()
        before, _, after = shown.partition(words)
        text.append(before)
        text.append(f"{around[0]}{words}{around[1]}" if around else words, None if around else ALONE)
        text.append(after)
    return text


_WRAPPER = Console(width=1_000)  # What Rich wants to see before it wraps a text


def _wrapped(passage: Passage | None, width: int) -> list[Text]:
    if not passage:
        return []
    text = marked(passage.segments)
    text.rstrip()
    return list(text.wrap(_WRAPPER, width))


def beside(left: Text, right: Text, width: int, different: bool = False) -> Text:
    """Two lines as one row; `width` is that of a column."""
    left, right = left.copy(), right.copy()
    left.truncate(width, pad=True)
    right.truncate(width)
    gap = (GAP_BETWEEN_DIFFERENT, "yellow") if different else (GAP, "dim")
    return Text.assemble(left, gap, right)


def _stack(passages: Iterable[Passage], width: int) -> Iterator[Row]:
    for number, passage in enumerate(passages):
        if passage.opens and number:
            yield Row(Text(), False)
        for line in _wrapped(passage, width):
            yield Row(line, passage.different)
