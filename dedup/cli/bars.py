"""The progress bars of a terminal, imported when one is shown: Rich's are slow to import."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from dedup.base.progress import Steps
from dedup.base.words import size
from dedup.cli.output import PrintableConsole

NARROWEST_BAR = 72
"""Columns of a terminal in which everything has room on one line; in fewer only how much is done is shown."""


class ProgressBar:
    """Shows long work as a bar for each stage."""

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


class _Counted(ProgressColumn):
    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def _shown(self, count: float) -> str:
        return size(int(count)) if self._unit == "bytes" else f"{count:,.0f}"


class _Rate(_Counted):
    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        if not speed or speed < 1:  # few and slow things, such as methods: a rate tells nothing
            return Text("")
        return Text(f"{self._shown(speed)}/s")


class _Done(_Counted):
    def render(self, task: Task) -> Text:
        total = "" if task.total is None else f" / {self._shown(task.total)}"
        return Text(self._shown(task.completed) + total)


@contextmanager
def bars(unit: str) -> Iterator[ProgressBar]:
    """Bars on stderr while it lasts: what, a bar, how much, how fast, how long still. `unit` as for
    `progress_bar`.
    """
    console = PrintableConsole(stderr=True)
    columns: list[ProgressColumn] = [
        TextColumn("{task.description:<14}"),
        BarColumn(bar_width=24),
        _Done(unit),
        _Rate(unit),
        TimeRemainingColumn(elapsed_when_finished=True),
    ]
    if console.width < NARROWEST_BAR:
        columns = [columns[0], columns[2]]
    progress = Progress(*columns, console=console)
    with progress:
        yield ProgressBar(progress)
