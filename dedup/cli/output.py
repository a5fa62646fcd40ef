"""How the command line looks: tables, JSON, progress bars and words. Results on stdout, words on stderr.

Knows no command.
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

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

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


def console() -> Console:
    """Where results go."""
    return Console(width=None if sys.stdout.isatty() else NARROWEST_TABLE, highlight=False)


def say(words: str) -> None:
    """A line for people, on stderr."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(escape(words))


def write_json(value: Any, *, indent: int | None = 2) -> None:
    """A value as JSON on stdout."""
    sys.stdout.write(json.dumps(value, indent=indent, ensure_ascii=False, default=_plain) + "\n")


def write_jsonl(rows: Iterable[Mapping[str, Any]], to: TextIO) -> int:
    """Rows as JSON, one a line; returns how many."""
    count = 0
    for row in rows:
        to.write(json.dumps(row, ensure_ascii=False, default=_plain) + "\n")
        count += 1
    return count


def write_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], to: TextIO) -> int:
    """Rows as CSV with a header; returns how many."""
    writer = csv.DictWriter(to, columns, lineterminator="\n")
    writer.writeheader()
    count = 0
    for row in rows:
        writer.writerow(row)
        count += 1
    return count


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], numbers: Iterable[str] = ()
) -> None:
    """A table on stdout.

    Args:
        columns: headings; long cells of the others are folded.
        numbers: headings of columns that are aligned to the right and never folded.
    """
    right = set(numbers)
    if title:
        console().print(Text(title, style="bold"), soft_wrap=True)
    shown = Table(header_style="bold", box=None, show_header=any(columns))
    for column in columns:
        shown.add_column(
            column,
            justify="right" if column in right else "left",
            no_wrap=column in right or column in _WHOLE,
            overflow="fold",
        )
    for row in rows:
        shown.add_row(*(cell(value) for value in row))
    console().print(shown)


def cell(value: Any) -> Text:
    """A value as a table shows it; control characters are made visible, markup is not read."""
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
    text = printable(str(value))
    return Text(text, style=_STYLES.get(text, ""))


def printable(text: str) -> str:
    """A text without control characters, which could drive the terminal."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in text)


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
        console=Console(stderr=True),
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
