"""Progress of long work on stderr: bars in a terminal, or else lines with a timestamp."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from threading import Event, Lock, Thread

from dedup.base.progress import Progress, Steps
from dedup.base.words import size
from dedup.cli.output import say

LINE_SECONDS = 10.0
"""Seconds between two lines of progress: 3,000 lines in a night. A shorter stage prints no line."""

RATE_LINES = 6  # Number of lines over which the rate is averaged: one minute, so a slow batch matters little


@contextmanager
def progress_bar(unit: str = "articles") -> Iterator[Progress]:
    """Show progress in a unit such as "articles"; the unit "bytes" is shown as kB, MB and GB."""
    if sys.stderr.isatty():
        from dedup.cli.bars import bars

        with bars(unit) as shown:
            yield shown
        return
    lines = ProgressLines(unit)
    over = Event()

    def listen() -> None:
        while not over.wait(lines.due()):
            lines.tick()

    # A thread writes the lines, because a stage with one long step must not look dead.
    thread = Thread(target=listen, name="progress", daemon=True)
    thread.start()
    try:
        yield lines
    finally:
        over.set()
        thread.join()
        lines.end()


class ProgressLines:
    """Progress as a line every `LINE_SECONDS`, and a last line for each stage that took this time or more."""

    def __init__(
        self,
        unit: str = "articles",
        *,
        write: Callable[[str], None] = say,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._unit, self._write, self._clock, self._now = unit, write, clock, now
        # The lock is needed because the thread of the work and the thread of the lines both write.
        self._lock = Lock()
        self._stage: str | None = None
        self._steps = Steps(None)
        self._started = self._told = clock()
        self._seen: deque[tuple[float, int]] = deque(maxlen=RATE_LINES)

    def start(self, stage: str, total: int | None) -> None:
        with self._lock:
            self._end_stage()
            self._stage, self._steps = stage, Steps(total)
            self._started = self._clock()
            self._seen.clear()
            self._seen.append((self._started, 0))

    def advance(self, count: int, total: int | None = None) -> None:
        with self._lock:
            self._steps.advance(count, total)
        self.tick()

    def tick(self) -> None:
        with self._lock:
            time_ = self._clock()
            if self._stage is None or time_ - self._told < LINE_SECONDS:
                return
            words = [self._how_far()]
            since, before = self._seen[0]
            rate = (self._steps.done - before) / max(time_ - since, 1e-9)
            left = None if self._steps.total is None else self._steps.total - self._steps.done
            if left == 0:
                words.append("finishing")
            else:
                words.append(f"{self._amount(rate)}/s")
                if left and rate > 0:
                    words.append(f"about {duration(left / rate)} left")
            self._seen.append((time_, self._steps.done))
            self._line(", ".join(words))

    def due(self) -> float:
        """Return the seconds until the next line."""
        with self._lock:
            return max(self._told + LINE_SECONDS - self._clock(), LINE_SECONDS / 100)

    def end(self) -> None:
        """End the last stage; no line is written afterwards."""
        with self._lock:
            self._end_stage()
            self._stage = None

    def _end_stage(self) -> None:
        seconds = self._clock() - self._started
        if self._stage is None or seconds < LINE_SECONDS:
            return
        if self._steps.total is not None and self._steps.done < self._steps.total:
            self._line(f"ended after {duration(seconds)}, {self._how_far()}")
        else:
            rate = self._amount(self._steps.done / seconds)
            self._line(f"{self._counted(self._steps.done)} in {duration(seconds)}, {rate}/s")

    def _how_far(self) -> str:
        if self._steps.total is None:
            return self._counted(self._steps.done)
        return f"{self._amount(self._steps.done)} of {self._counted(self._steps.total)}"

    def _counted(self, count: float) -> str:
        return self._amount(count) if self._unit == "bytes" else f"{self._amount(count)} {self._unit}"

    def _amount(self, count: float) -> str:
        if self._unit == "bytes":
            return size(int(count))
        return f"{count:,.0f}" if count >= 10 or count == int(count) else f"{count:,.1f}"

    def _line(self, words: str) -> None:
        self._told = self._clock()
        # The work continues even if the program that read stderr has ended.
        with suppress(OSError, ValueError):
            self._write(f"{self._now():%Y-%m-%dT%H:%M:%SZ} {self._stage}: {words}")


def duration(seconds: float) -> str:
    """Return a time span in words, such as `19 s`, `12 min` or `3 h 10 min`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60:,} h {minutes % 60} min"
