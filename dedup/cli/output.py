"""How the command line looks: tables, JSON, progress bars and words. Results on stdout, words on stderr.

Whatever is shown passes through `dedup.printable`, so that no stranger's text drives a terminal; the option
`--raw` of some commands opts out. Knows no command.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import datetime
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from dedup.printable import as_json, guarded, printable_lines
from dedup.printable import printable as printable

NARROWEST_TABLE = 100
"""Width of tables where stdout is not a terminal."""

_STYLES = {
    "unique": "green",
    "similar": "yellow",
    "duplicate": "cyan",
    "pending": "dim",
    "failed": "red",
}


_WHOLE = ("status", "method")
"""Headings of columns of words that are never folded."""


class PrintableConsole(Console):
    """A console that shows nothing but printable text, whatever it is given."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable_lines(segment.text), segment.style)


def console(*, raw: bool = False) -> Console:
    """Where results go.

    Args:
        raw: let through what could drive the terminal.
    """
    kind = Console if raw else PrintableConsole
    return kind(width=None if sys.stdout.isatty() else NARROWEST_TABLE, highlight=False)


def say(words: str) -> None:
    """One line for people, on stderr."""
    PrintableConsole(stderr=True, highlight=False).print(Text(printable(words)), soft_wrap=True)


def write_json(value: Any, *, indent: int | None = 2) -> None:
    """A value as JSON on stdout."""
    sys.stdout.write(as_json(value, indent=indent, default=_plain) + "\n")


def write_jsonl(rows: Iterable[Mapping[str, Any]], to: TextIO, *, raw: bool = False) -> int:
    """Rows as JSON, one a line; returns how many.

    Args:
        raw: do not escape what JSON does not need escaped.
    """
    count = 0
    for row in rows:
        line = json.dumps(row, ensure_ascii=False, default=_plain) if raw else as_json(row, default=_plain)
        to.write(line + "\n")
        count += 1
    return count


def write_csv(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], to: TextIO, *, raw: bool = False
) -> int:
    """Rows as CSV with a header; returns how many.

    Args:
        raw: the cells as they are, neither printable nor guarded against spreadsheets that run them.
    """
    writer = csv.DictWriter(to, columns, lineterminator="\n")
    writer.writeheader()
    count = 0
    for row in rows:
        cells = {name: guarded(cell) if isinstance(cell, str) else cell for name, cell in row.items()}
        writer.writerow(row if raw else cells)
        count += 1
    return count


def table(
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    numbers: Iterable[str] = (),
    *,
    raw: bool = False,
) -> None:
    """A table on stdout.

    Args:
        columns: headings; long cells of the others are folded.
        numbers: headings of columns that are aligned to the right and never folded.
        raw: let through what could drive the terminal.
    """
    right = set(numbers)
    if title:
        console().print(Text(printable(title), style="bold"), soft_wrap=True)
    shown = Table(header_style="bold", box=None, show_header=any(columns))
    for column in columns:
        shown.add_column(
            column,
            justify="right" if column in right else "left",
            no_wrap=column in right or column in _WHOLE,
            overflow="fold",
        )
    for row in rows:
        shown.add_row(*(cell(value, raw=raw) for value in row))
    console(raw=raw).print(shown)


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


def size(count: int) -> str:
    """Bytes for people."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1000
    raise AssertionError


class ProgressBar:
    """Shows long work on stderr, and nothing where stderr is not a terminal."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: Any = None

    def start(self, stage: str, total: int | None) -> None:
        """A stage begins."""
        if self._task is not None:
            self._progress.stop_task(self._task)
        self._task = self._progress.add_task(stage, total=total)

    def advance(self, count: int, total: int | None = None) -> None:
        """So many more are done."""
        if total is not None:
            self._progress.update(self._task, total=total)
        self._progress.advance(self._task, count)


class _Rate(ProgressColumn):
    """Articles, or bytes, a second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed or speed < 1:  # few and slow things, such as methods: a rate tells nothing
            return Text("")
        return Text(f"{size(int(speed))}/s" if self._unit == "bytes" else f"{speed:,.0f}/s")


class _Done(ProgressColumn):
    """How much is done, of how much."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        def show(count: float) -> str:
            return size(int(count)) if self._unit == "bytes" else f"{count:,.0f}"

        total = "" if task.total is None else f" / {show(task.total)}"
        return Text(show(task.completed) + total)


@contextmanager
def progress_bar(unit: str = "articles") -> Iterator[ProgressBar]:
    """Progress of long work: what, a bar, how much, how fast, how long still.

    Args:
        unit: "articles" or "bytes".
    """
    progress = Progress(
        TextColumn("{task.description:<14}"),
        BarColumn(bar_width=24),
        _Done(unit),
        _Rate(unit),
        TimeRemainingColumn(elapsed_when_finished=True),
        console=PrintableConsole(stderr=True),
        disable=not sys.stderr.isatty(),
    )
    with progress:
        yield ProgressBar(progress)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
