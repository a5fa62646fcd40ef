"""Tables on stdout that fit: ids and numbers stay whole, words are folded at spaces.

In a terminal too narrow for what stays whole, every row becomes lines `name: value`. Where stdout is no
terminal every row is one line, whatever its length.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from dedup.base.printable import printable
from dedup.cli.console import console

GAP = 2  # Spaces between two columns

LONGEST_WORD = 24
"""Terminal cells. A longer word, such as an address or a Chinese sentence, is broken where it must be."""

NARROWEST_WORDS = 12  # Terminal cells of a column of folded words: in fewer nobody can read them
IDS = frozenset({"id", "a", "b", "duplicate_of", "hash"})  # Headings of columns of ids
_WHOLE = IDS | {"status", "method"}  # Headings of columns that are never folded, whichever table has them

_STYLES = {"unique": "green", "similar": "yellow", "duplicate": "cyan", "pending": "dim", "failed": "red"}

_LINE_ENDS = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class _Column:
    """A column as it is laid out."""

    name: str
    right: bool  # aligned to the right, as numbers are
    whole: bool  # never folded
    widest: int  # terminal cells of its widest cell or its heading


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    numbers: Iterable[str] = (),
    *,
    ids: Iterable[str] = (),
    raw: bool = False,
) -> None:
    """A table on stdout. `numbers` are aligned right and never folded; `ids`, beside `IDS`, are never folded.

    If all headings are empty, none are shown. `raw` lets through what could drive the terminal.
    """
    right, whole = frozenset(numbers), _WHOLE | frozenset(ids)
    cells = [[_one_line(cell(value, raw=raw)) for value in row] for row in rows]
    laid = []
    for place, name in enumerate(map(printable, columns)):
        widest = max([cell_len(name), *(cell_len(row[place].plain) for row in cells)])
        laid.append(_Column(name, columns[place] in right, columns[place] in right | whole, widest))
    heading = [[Text(column.name, style="bold") for column in laid]] if any(columns) else []
    if not sys.stdout.isatty():
        # Written as it is: the cells are harmless already, and Rich would take minutes for a whole corpus.
        widths = [column.widest for column in laid]
        if title:
            sys.stdout.write(printable(title) + "\n")
        for row in [*heading, *cells]:
            sys.stdout.write(_joined(row, laid, widths).plain + "\n")
        return
    screen = console(raw=raw)
    if title:
        screen.print(Text(printable(title), style="bold"), soft_wrap=True)
    fitting = _widths(laid, [*heading, *cells], screen.width)
    lines: Iterator[Text]
    if fitting:
        lines = (line for row in [*heading, *cells] for line in _folded(row, laid, fitting, screen))
    else:
        lines = _records(cells, laid, screen)
    for line in lines:
        screen.print(line, soft_wrap=True)


def cell(value: Any, *, raw: bool = False) -> Text:
    """A value as a table shows it: printable unless raw; markup is not read."""
    if value is None:
        return Text("")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, float):
        return Text(f"{value:.3f}")
    if isinstance(value, int):
        return Text(f"{value:,}")
    if isinstance(value, datetime):
        return Text(f"{value:%Y-%m-%d %H:%M}")
    text = str(value) if raw else printable(str(value))
    return Text(text, style=_STYLES.get(text, ""))


def _one_line(text: Text) -> Text:
    """Without line ends, which only raw cells have."""
    return Text(_LINE_ENDS.sub(" ", text.plain), style=text.style) if _LINE_ENDS.search(text.plain) else text


def _widths(columns: Sequence[_Column], rows: Sequence[Sequence[Text]], width: int) -> list[int] | None:
    """Column widths with which a line fits, or None. Columns of words share what the others leave."""
    left = width - GAP * (len(columns) - 1) - sum(column.widest for column in columns if column.whole)
    least = {
        place: min(column.widest, max([NARROWEST_WORDS, *_words(row[place].plain for row in rows)]))
        for place, column in enumerate(columns)
        if not column.whole
    }
    if left < sum(least.values()):
        return None
    given: dict[int, int] = {}
    waiting = sorted(least, key=lambda place: columns[place].widest)
    while waiting:
        place = waiting.pop(0)
        spare = left - sum(least[other] for other in waiting)
        share = max(least[place], left // (len(waiting) + 1))
        given[place] = min(columns[place].widest, share, spare)
        left -= given[place]
    return [given.get(place, column.widest) for place, column in enumerate(columns)]


def _words(texts: Iterable[str]) -> Iterator[int]:
    """The widths of words that are not to be broken."""
    for text in texts:
        for word in text.split():
            if (wide := cell_len(word)) <= LONGEST_WORD:
                yield wide


def _folded(
    row: Sequence[Text], columns: Sequence[_Column], widths: Sequence[int], screen: Console
) -> Iterator[Text]:
    """A row as one or more lines of the terminal."""
    stacks = [
        [text] if column.whole else list(text.wrap(screen, width, overflow="fold"))
        for text, column, width in zip(row, columns, widths, strict=True)
    ]
    for number in range(max(map(len, stacks))):
        yield _joined([stack[number] if number < len(stack) else Text() for stack in stacks], columns, widths)


def _joined(row: Sequence[Text], columns: Sequence[_Column], widths: Sequence[int]) -> Text:
    """A line: cells padded to the widths of their columns, no space at the end."""
    line = Text()
    pad = 0
    for text, column, width in zip(row, columns, widths, strict=True):
        plain = text.plain.rstrip()
        short = width - cell_len(plain)
        if plain:
            line.append(" " * (pad + short if column.right else pad))
            line.append(plain, text.style)
            pad = GAP if column.right else short + GAP
        else:
            pad += width + GAP
    return line


def _records(rows: Sequence[Sequence[Text]], columns: Sequence[_Column], screen: Console) -> Iterator[Text]:
    """Rows as lines `name: value`, an empty line between two; empty cells are left out.

    What stays whole and does not fit beside its name has a line of its own, from the first column on.
    """
    indent = max((cell_len(column.name) + 2 for column in columns if column.name), default=0)
    for number, row in enumerate(rows):
        if number:
            yield Text()
        for text, column in zip(row, columns, strict=True):
            if not text.plain.strip():
                continue
            name = Text(f"{column.name}:" if column.name else "", style="bold")
            before = indent if column.name else 0
            room = screen.width - before
            fits = cell_len(text.plain) <= room
            if column.name and not fits and (column.whole or room < NARROWEST_WORDS):
                yield name
                name, before, room = Text(), 0, screen.width
            folded = [text] if fits or column.whole else text.wrap(screen, room, overflow="fold")
            for line in folded:
                pad = " " * (before - cell_len(name.plain))
                yield Text.assemble(name, pad, (line.plain.rstrip(), text.style))
                name = Text()
