"""Reports of the progress of long work. Commands show it; the library is silent by default."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol


class Progress(Protocol):
    """Interface that long work reports to; `SilentProgress` is the default."""

    def start(self, stage: str, total: int | None) -> None:
        """Begin a stage of `total` things, such as articles; None if their number is unknown."""

    def advance(self, count: int, total: int | None = None) -> None:
        """Add things that are done; `total` if it has changed."""


class SilentProgress:
    """Progress that nobody sees."""

    def start(self, stage: str, total: int | None) -> None:
        pass

    def advance(self, count: int, total: int | None = None) -> None:
        pass


class Steps:
    """Steps done of a stage, and their total, which never shrinks."""

    def __init__(self, total: int | None) -> None:
        self.done, self.total = 0, total

    def advance(self, count: int, total: int | None) -> None:
        self.done += count
        # Work can come in while a stage runs: then the total grows with the steps done.
        if self.total is not None or total is not None:
            self.total = max(self.done, self.total or 0, total or 0)


@dataclass(frozen=True, slots=True)
class Both:
    """Progress that is reported to two."""

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
    """Add the time of the block to the seconds of its stage, also if it raises."""
    started = perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + perf_counter() - started
