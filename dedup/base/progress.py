"""Report the progress of long work. Commands show progress; by default the library does not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol


class Progress(Protocol):
    """Receiver of the progress of long work; `SilentProgress` is the default."""

    def start(self, stage: str, total: int | None) -> None:
        """Begin a stage with `total` steps, such as articles; None if the number of steps is unknown."""

    def advance(self, count: int, total: int | None = None) -> None:
        """Add `count` finished steps; `total` is the new number of steps, if it has changed."""


class SilentProgress:
    """Receiver that ignores all progress."""

    def start(self, stage: str, total: int | None) -> None:
        pass

    def advance(self, count: int, total: int | None = None) -> None:
        pass


class Steps:
    """Counter of the finished steps and of all steps of a stage. The number of all steps never shrinks."""

    def __init__(self, total: int | None) -> None:
        self.done, self.total = 0, total

    def advance(self, count: int, total: int | None) -> None:
        self.done += count
        # New work can arrive while a stage runs: raise the total at least to the number of finished steps.
        if self.total is not None or total is not None:
            self.total = max(self.done, self.total or 0, total or 0)


@dataclass(frozen=True, slots=True)
class Both:
    """Receiver that passes all progress to two other receivers."""

    first: Progress
    second: Progress

    def start(self, stage: str, total: int | None) -> None:
        self.first.start(stage, total)
        self.second.start(stage, total)

    def advance(self, count: int, total: int | None = None) -> None:
        self.first.advance(count, total)
        self.second.advance(count, total)


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    """Add the duration of the `with` block to `seconds[stage]`, even if the block raises an error."""
    started = perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + perf_counter() - started
