"""How long work tells how far it has come. The command line shows it; the library is silent by default."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol


class Progress(Protocol):
    """Told how long work goes on; `SilentProgress` is the default."""

    def start(self, stage: str, total: int | None) -> None:
        """A stage begins; `total` is how much there is to do, such as articles, or None if nobody knows."""

    def advance(self, count: int, total: int | None = None) -> None:
        """So many more are done; `total` if it has changed."""


class SilentProgress:
    """Tells nobody."""

    def start(self, stage: str, total: int | None) -> None:
        pass

    def advance(self, count: int, total: int | None = None) -> None:
        pass


class Steps:
    """How far a stage is. Its total never shrinks, and no more is done than there is: what comes to be done
    meanwhile is added to it.
    """

    def __init__(self, total: int | None) -> None:
        self.done, self.total = 0, total

    def advance(self, count: int, total: int | None) -> None:
        self.done += count
        if self.total is not None or total is not None:
            self.total = max(self.done, self.total or 0, total or 0)


@dataclass(frozen=True, slots=True)
class Both:
    """Tells two."""

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
    """Add the time that the block takes to the seconds of its stage, however it ends."""
    started = perf_counter()
    try:
        yield
    finally:
        seconds[stage] = seconds.get(stage, 0.0) + perf_counter() - started
