"""Two texts side by side as a page shows them: the rows of `text/alignment.py`, long stretches folded or cut.

How they look is in `templates/components.html.j2` (macro `comparison`) and `templates/comparison.css`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from dedup.text.alignment import AlignedRow, Kind, Passage, align, align_letters, reflowed

SHOWN, OPENED, SIDE = 1_000, 6_000, 20_000
"""Characters: of a longer segment only the ends are shown; a longer stretch that both texts have is left out,
not folded; of a longer text the rest is left out. An editor reads a page, and a browser opens it at once."""

HEAD, TAIL = 240, 160  # Characters that remain of a long segment, at its start and its end

FOLDED_ROWS = 4
"""Rows that both texts have are folded if so many stand between the ones that stay beside a difference."""


@dataclass(frozen=True, slots=True)
class ShownPart:
    """What is shown of a segment: its text, or how many characters of it are left out (`cut`, else 0)."""

    text: str
    kind: Kind
    cut: int = 0


@dataclass(frozen=True, slots=True)
class TextCell:
    parts: tuple[ShownPart, ...]
    opens: bool
    elsewhere: bool
    common: bool


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """A passage beside its version; None where there is none."""

    a: TextCell | None
    b: TextCell | None
    same: bool


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that are shown, or folded behind a click; `cut`: characters left out instead of lines, else 0."""

    lines: tuple[ComparedLine, ...]
    folded: bool = False
    cut: int = 0
    same: bool = False


def compare(a: str, b: str, common: Iterable[str] = (), *, letters: bool = False) -> list[Block]:
    """Two texts as blocks in reading order, bounded in size; `common` sentences are grey. `letters`: of one
    text of which a machine misread letters, which are compared one by one."""
    found: list[Block] = []
    a, b, shown = reflowed(a), reflowed(b), 0
    rows = align_letters(a, b) if letters else align(a, b, common)
    left = sum(map(_characters, rows))
    for same, group in groupby(rows, key=lambda row: row.same):
        stretch = list(group)
        # What both texts have is folded, except beside a difference.
        middle = stretch[1:-1] if same and len(stretch) >= FOLDED_ROWS + 2 else []
        ends = (stretch[:1], middle, stretch[-1:]) if middle else (stretch, [], [])
        for number, piece in enumerate(ends):
            size = sum(map(_characters, piece))
            folded = number == 1
            if not piece:
                continue
            if folded and size > OPENED:
                found.append(Block((), cut=size, same=True))
                left -= size
                continue
            lines: list[ComparedLine] = []
            for row in piece:
                if shown > SIDE:
                    break
                line = ComparedLine(_cell(row.a), _cell(row.b), row.same)
                lines.append(line)
                sides = [side.parts if side else () for side in (line.a, line.b)]
                shown += max(sum(len(part.text) for part in parts) for parts in sides)
                left -= _characters(row)
            if lines:
                found.append(Block(tuple(lines), folded=folded, same=same))
            if shown > SIDE:
                return [*found, Block((), cut=left)] if left else found
    return found


def _characters(row: AlignedRow) -> int:
    return max(len(side.text) if side else 0 for side in (row.a, row.b))


def _cell(passage: Passage | None) -> TextCell | None:
    if passage is None:
        return None
    parts = tuple(part for segment in passage.segments for part in _parts(segment.text, segment.kind))
    return TextCell(_bounded(parts), passage.opens, passage.elsewhere, passage.common)


def _parts(text: str, kind: Kind) -> Iterator[ShownPart]:
    if len(text) <= SHOWN:
        yield ShownPart(text, kind)
        return
    start, stop = _word_end(text, HEAD), _word_end(text, len(text) - TAIL)
    yield ShownPart(text[:start], kind)
    yield ShownPart("", kind, cut=stop - start)
    yield ShownPart(text[stop:], kind)


def _bounded(parts: tuple[ShownPart, ...]) -> tuple[ShownPart, ...]:
    """The parts of one passage; what goes beyond the size of a side is left out."""
    shown = 0
    for number, part in enumerate(parts):
        shown += len(part.text)
        if shown > SIDE:
            rest = sum(len(p.text) + p.cut for p in parts[number:])
            return (*parts[:number], ShownPart("", Kind.CHANGED, cut=rest))
    return parts


def _word_end(text: str, place: int) -> int:
    """The end of the word at a place, if it is near."""
    space = text.find(" ", place, place + TAIL // 2)
    return place if space < 0 else space + 1
