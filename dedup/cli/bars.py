"""Progress bars in a terminal. This module is imported at first use, since Rich's bars load slowly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from dedup.base.progress import Steps
from dedup.base.words import size, whole
from dedup.cli.output import PrintableConsole

NARROWEST_BAR = 72
"""Minimum width of a terminal for a whole bar on one line; a narrower terminal shows only amounts."""


class ProgressBar:
    """Progress of a command, with one bar for each stage."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None
        self._steps = Steps(None)

    def start(self, stage: str, total: int | None) -> None:
        if self._task is not None:
            self._progress.stop_task(self._task)
        self._task, self._steps = self._progress.add_task(stage, total=total), Steps(total)

    def advance(self, count: int, total: int | None = None) -> None:
        if self._task is None:
            return
        self._steps.advance(count, total)
        if self._steps.total is not None:
            self._progress.update(self._task, total=self._steps.total)
        self._progress.advance(self._task, count)


class _Words(ProgressColumn):
    def __init__(self, words: Callable[[Task], str]) -> None:
        super().__init__()
        self._words = words

    def render(self, task: Task) -> Text:
        return Text(self._words(task))


@contextmanager
def bars(unit: str) -> Iterator[ProgressBar]:
    """Show bars on stderr, with stage, amount, rate and time left. `unit`: as in `progress_bar`."""
    shown = size if unit == "bytes" else whole

    def done(task: Task) -> str:
        return shown(task.completed) + ("" if task.total is None else f" / {shown(task.total)}")

    def rate(task: Task) -> str:
        speed = task.finished_speed or task.speed or 0
        # A rate below one per second is not shown, since it would be rounded to 0/s.
        return f"{shown(speed)}/s" if speed >= 1 else ""

    console = PrintableConsole(stderr=True)
    columns: list[ProgressColumn] = [TextColumn("{task.description:<14}"), _Words(done)]
    if console.width >= NARROWEST_BAR:
        columns.insert(1, BarColumn(bar_width=24))
        columns += [_Words(rate), TimeRemainingColumn(elapsed_when_finished=True)]
    with Progress(*columns, console=console) as progress:
        yield ProgressBar(progress)
