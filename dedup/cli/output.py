"""Output of the commands: results on stdout (tables, JSON, CSV), messages on stderr.

All output passes through `dedup.base.printable`, except with `--raw`: an article must not control a terminal.
Tables fold texts at spaces, but never fold ids and numbers. If a terminal is too narrow for a table, each row
becomes several lines `name: value`. Without a terminal each row is one line.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TextIO

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from dedup.base import config
from dedup.base.answer import Answer, plain
from dedup.base.printable import as_json, guarded, printable_lines
from dedup.base.printable import printable as printable
from dedup.base.words import moment
from dedup.base.words import size as size

UNBOUNDED = 1_000_000_000  # Width if stdout is not a terminal: programs need whole lines

_COMMANDS = re.compile(
    r"(?<=`)dedup (?P<schema>--schema \w+ )?(?!--)|(?:(?<=[:,&] )|(?<=then ))dedup (?=[a-z])"
)
"""Pattern of commands in messages: in backticks, or after words such as "next:"."""

GAP = 2  # Number of spaces between two columns

LONGEST_WORD = 24
"""A word of at most this many terminal cells is never broken; a longer word, such as a URL, may be broken."""

NARROWEST_WORDS = 12  # Minimum terminal cells of a column of folded texts; fewer are unreadable
IDS = frozenset({"id", "a", "b", "duplicate_of", "hash"})  # Headings of columns that hold ids
_WHOLE = IDS | {"status", "method"}  # Headings of columns that are never folded in any table

_STYLES = {"unique": "green", "similar": "yellow", "duplicate": "cyan", "pending": "dim", "failed": "red"}

_LINE_ENDS = re.compile(r"[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")


class PrintableConsole(Console):
    """Console that shows only printable text."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable_lines(segment.text), segment.style)


def console(*, raw: bool = False) -> Console:
    """Return a console for results. `raw`: print control characters unchanged."""
    kind = Console if raw else PrintableConsole
    return kind(width=None if sys.stdout.isatty() else UNBOUNDED, highlight=False)


def say(words: str) -> None:
    """Print a message on stderr, after earlier output on stdout."""
    # A full disk or a closed pipe is not an error here, because the command itself will report it.
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    PrintableConsole(stderr=True, highlight=False).print(Text(printable(addressed(words))), soft_wrap=True)


def addressed(words: str) -> str:
    """Return a message whose commands have the options that name the corpus of this command."""
    return _COMMANDS.sub(_repeat_options, words) if config.options else words


def _repeat_options(command: re.Match[str]) -> str:
    """Return the beginning of a command in a message, with the options that name the same corpus."""
    words = "dedup "
    if config.URL_VARIABLE in config.options:
        url = os.environ[config.URL_VARIABLE]
        # Another role, and so another address, is needed to grant rights: leave out this address.
        secret = config.has_password(url) or command.string[command.end() :].startswith("grant ")
        words += f"--database {'…' if secret else shlex.quote(url)} "
    if config.SCHEMA_VARIABLE in config.options:
        return f"{words}--schema {os.environ[config.SCHEMA_VARIABLE]} "
    return words + (command["schema"] or "")


def write_text(text: str) -> None:
    """Print text on stdout unchanged, for another program."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def write_json(value: Any, *, indent: int | None = 2) -> None:
    sys.stdout.write(as_json(value, indent=indent, default=_plain) + "\n")


def write_jsonl(rows: Iterable[Mapping[str, Any]], to: TextIO, *, raw: bool = False) -> int:
    """Write rows as JSON lines; return the number of rows. `raw`: escape as little as JSON allows."""
    count = 0
    for row in rows:
        line = json.dumps(row, ensure_ascii=False, default=_plain) if raw else as_json(row, default=_plain)
        to.write(line + "\n")
        count += 1
    return count


def write_csv(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], to: TextIO, *, raw: bool = False
) -> int:
    """Write rows as CSV with a header; return the number of rows. `raw`: write formulas unchanged."""
    # Cells are guarded, because a text may begin like a formula, which a spreadsheet would run.
    writer = csv.DictWriter(to, columns, lineterminator="\n")
    writer.writeheader()
    count = 0
    for row in rows:
        cells = {name: guarded(cell) if isinstance(cell, str) else cell for name, cell in row.items()}
        writer.writerow(row if raw else cells)
        count += 1
    return count


def _plain(value: Any) -> Any:
    found = plain(value)
    if found is value:
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return found


@dataclass(frozen=True, slots=True)
class _Column:
    name: str
    right: bool  # true if aligned right, like numbers
    whole: bool  # true if cells are never folded
    widest: int  # terminal cells of the widest cell or the heading


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    numbers: Iterable[str] = (),
    *,
    ids: Iterable[str] = (),
    raw: bool = False,
) -> None:
    """Print a table. `numbers`: columns that are aligned right and never folded. `ids`: columns never folded.

    Empty headings are not shown. `raw`: print control characters unchanged.
    """
    right, whole = frozenset(numbers), _WHOLE | frozenset(ids)
    cells = [[cell(value, raw=raw) for value in row] for row in rows]
    laid = []
    for place, name in enumerate(map(printable, columns)):
        widest = max([cell_len(name), *(cell_len(row[place].plain) for row in cells)])
        laid.append(_Column(name, columns[place] in right, columns[place] in right | whole, widest))
    heading = [[Text(column.name, style="bold") for column in laid]] if any(columns) else []
    if not sys.stdout.isatty():
        # Rich is not needed for printable cells, and would take minutes for a whole corpus.
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


def listed(
    found: Sequence[Answer],
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    numbers: Iterable[str] = (),
    *,
    json: bool,
) -> None:
    """Print answers as JSON, or their rows as a table."""
    if json:
        write_json([one.as_dict() for one in found])
    else:
        table(title, columns, rows, numbers)


def cell(value: Any, *, raw: bool = False) -> Text:
    """Return a value as the text of a cell, on one line; without `raw` only printable characters."""
    if value is None:
        return Text("")
    # This test comes before the test for int, because a bool is an int too.
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, float):
        return Text(f"{value:.3f}")
    if isinstance(value, int):
        return Text(f"{value:,}")
    if isinstance(value, datetime):
        return Text(moment(value))
    text = _LINE_ENDS.sub(" ", str(value)) if raw else printable(str(value))
    # The cell is a Text, because Rich would read [brackets] in a str as markup.
    return Text(text, style=_STYLES.get(text, ""))


def _widths(columns: Sequence[_Column], rows: Sequence[Sequence[Text]], width: int) -> list[int] | None:
    """Return column widths with which each row fits on one line; None if there are no such widths."""
    left = width - GAP * (len(columns) - 1) - sum(column.widest for column in columns if column.whole)
    least = {
        place: min(column.widest, max([NARROWEST_WORDS, *(wide for wide in words if wide <= LONGEST_WORD)]))
        for place, column in enumerate(columns)
        if not column.whole
        for words in [[cell_len(word) for row in rows for word in row[place].plain.split()]]
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


def _folded(
    row: Sequence[Text], columns: Sequence[_Column], widths: Sequence[int], screen: Console
) -> Iterator[Text]:
    stacks = [
        [text] if column.whole else list(text.wrap(screen, width, overflow="fold"))
        for text, column, width in zip(row, columns, widths, strict=True)
    ]
    for number in range(max(map(len, stacks))):
        yield _joined([stack[number] if number < len(stack) else Text() for stack in stacks], columns, widths)


def _joined(row: Sequence[Text], columns: Sequence[_Column], widths: Sequence[int]) -> Text:
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
    """Yield lines `name: value` for each row, and an empty line between rows; skip empty cells."""
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
            # If an id does not fit beside its name, put it on the next line, for a user to copy the whole id.
            if column.name and not fits and (column.whole or room < NARROWEST_WORDS):
                yield name
                name, before, room = Text(), 0, screen.width
            folded = [text] if fits or column.whole else text.wrap(screen, room, overflow="fold")
            for line in folded:
                pad = " " * (before - cell_len(name.plain))
                yield Text.assemble(name, pad, (line.plain.rstrip(), text.style))
                name = Text()
