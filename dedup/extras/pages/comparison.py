"""Show two texts side by side, aligned by `text/alignment.py`, with long equal parts folded or cut."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from dedup.text.alignment import AlignedRow, Kind, Passage, align, align_letters, reflowed

# Limits in characters (FOLDED_ROWS: in rows), so that editors can read a page and browsers open it fast.
SHOWN = 1_000  # Maximum length of a segment shown whole; of a longer segment only both ends are shown
OPENED = 6_000  # Maximum length of an equal stretch that is folded; a longer stretch is left out
SIDE = 20_000  # Maximum length shown of a text; the rest is left out
HEAD, TAIL = 240, 160  # Characters shown at each end of a segment longer than SHOWN
FOLDED_ROWS = 4  # Fewer equal rows than this are not folded; rows next to differences do not count


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A piece of a segment: either a text that is shown, or `cut` > 0, the number of characters left out."""

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
    """A passage of text a beside its version in text b; a side is None if its text lacks the passage."""

    a: TextCell | None
    b: TextCell | None
    same: bool


@dataclass(frozen=True, slots=True)
class Block:
    """Lines, shown or folded behind a click. Without lines, `cut` is the number of characters left out."""

    lines: tuple[ComparedLine, ...]
    folded: bool = False
    cut: int = 0
    same: bool = False


def compare(a: str, b: str, common: Iterable[str] = (), *, letters: bool = False) -> list[Block]:
    """Align two texts; return blocks in reading order. `letters`: by letters, for misread (OCR) texts."""
    found: list[Block] = []
    a, b, shown = reflowed(a), reflowed(b), 0
    rows = align_letters(a, b) if letters else align(a, b, common)
    left = sum(map(_characters, rows))
    for same, group in groupby(rows, key=lambda row: row.same):
        stretch = list(group)
        # Rows next to a difference are not folded, because they show the context of the difference.
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
    # `compare` stops only between passages, so a passage that is longer than a whole side is cut here.
    shown = 0
    for number, part in enumerate(parts):
        shown += len(part.text)
        if shown > SIDE:
            rest = sum(len(p.text) + p.cut for p in parts[number:])
            return (*parts[:number], ShownPart("", Kind.CHANGED, cut=rest))
    return parts


def _word_end(text: str, place: int) -> int:
    """Return the index after the next space if the space is near `place`, else `place`."""
    space = text.find(" ", place, place + TAIL // 2)
    return place if space < 0 else space + 1
