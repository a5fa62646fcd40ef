"""Faults on demand: the N-th call of some functions fails.

A test runs with N = 1, 2, 3 and so on until a run meets no fault, so that every call has failed once.
"""

from __future__ import annotations

import builtins
import io
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

WATCHDOG_SECONDS = 60.0


class Faults:
    """A counter of calls that fails the N-th call, or all calls from the N-th on.

    Attributes:
        hits: number of failed calls.
    """

    def __init__(self, at: int, error: Callable[[], BaseException], *, lasting: bool = False) -> None:
        self._at, self._error, self._lasting = at, error, lasting
        self._calls, self._lock = 0, threading.Lock()
        self.hits = 0

    def call(self) -> None:
        """Count a call.

        Raises:
            BaseException: this call was chosen to fail.
        """
        with self._lock:
            self._calls += 1
            if self._calls == self._at or (self._lasting and self._calls > self._at):
                self.hits += 1
                raise self._error()

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that counts the call and may fail before it calls the given function."""

        def faulty(*given: Any, **options: Any) -> Any:
            self.call()
            return function(*given, **options)

        return faulty


@contextmanager
def failing(faults: Faults, places: Sequence[tuple[Any, str]]) -> Iterator[None]:
    """Count calls of these functions within the block, and fail the chosen calls."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in places:
            patch.setattr(owner, name, faults.wrap(getattr(owner, name)))
        yield


class _File:
    """An open file that counts every operation."""

    COUNTED = frozenset({"read", "readinto", "write", "flush", "seek", "tell", "close"})

    def __init__(self, file: Any, faults: Faults) -> None:
        self._file, self._faults = file, faults

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._file, name)
        return self._faults.wrap(found) if name in self.COUNTED else found

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


@contextmanager
def failing_files(faults: Faults, folder: Path) -> Iterator[None]:
    """Count operations on the files of a folder within the block, including openings, and fail the chosen
    operations."""
    real = io.open

    def opened(file: Any, *given: Any, **options: Any) -> Any:
        inside = isinstance(file, str | os.PathLike) and Path(file).absolute().is_relative_to(folder)
        if not inside:
            return real(file, *given, **options)
        faults.call()
        return _File(real(file, *given, **options), faults)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(io, "open", opened)
        patch.setattr(builtins, "open", opened)
        yield


class Hang(BaseException):
    """Raised if a run does not end."""


def watched(run: Callable[[], Any]) -> BaseException | None:
    """Run something in a thread; return the error that it raised, or None.

    Raises:
        Hang: the run takes longer than the watchdog allows.
    """
    raised: list[BaseException] = []

    def guarded() -> None:
        try:
            run()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    thread.join(WATCHDOG_SECONDS)
    if thread.is_alive():
        raise Hang
    return raised[0] if raised else None


def sampled() -> Iterator[int]:
    """Yield the numbers of the calls that fail, with growing gaps: 1, 2, 3, 5, 8, 13, …."""
    last, found = 1, 1
    while True:
        yield found
        last, found = found, last + found


def everywhere() -> Iterator[int]:
    """Yield the numbers of all calls: 1, 2, 3, 4, …."""
    found = 0
    while True:
        found += 1
        yield found
