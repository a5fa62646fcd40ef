"""Ctrl-C, SIGTERM and SIGHUP: how a command ends, and the exit code it then has.

A command that is stopped before its work is done ends with 128 and the number of the signal, as shells show
it: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP. There are four ways:

- By default each of the three ends the command at once by a KeyboardInterrupt: what was finished is kept.
- Within `stopping`, SIGTERM and SIGHUP set a flag. The command finishes the batch in hand, looks at the
  flag, and calls `unfinished` if that leaves work to do; if all was done it ends as ever, with 0.
  One that waits for a line of input or for a lock meanwhile is ended after `STOP_SECONDS`.
- Within `leaving`, for a command that has no end of its own, Ctrl-C is as SIGTERM, and a second signal ends
  the command at once. One that is not done after `LEAVE_SECONDS` is ended too.
- A command that fails after it was asked to stop, for instance because the lock it waited for stayed taken,
  says why, and ends with the code of the signal.

A SIGHUP that was ignored from the start, as by `nohup`, stays ignored. Nothing here prints; `main.py` does.
"""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

import typer

STOPPING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that ask a command to come to an end; Ctrl-C wants it at once."""

STOP_SECONDS = 20.0
"""For the batch in hand. Far more than a batch takes, and less than the 30 seconds after which orchestrators
kill what they have asked to stop."""

LEAVE_SECONDS = 5.0
"""For the batch in hand of a command that has promised to be gone within ten: to cancel a statement of a
server that does not answer may take the rest."""


class StopFlag:
    """Set when a signal asked the command to come to an end; `late` if it took too long and is being ended.

    No `threading.Event`: its lock is taken by `set`; a second signal in the middle of that waits for ever.
    """

    late = False
    _set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True


_Handler = Callable[[int, FrameType | None], None]


class _Came:
    """What came to this process since `forget`."""

    asked: int | None = None  # The last signal, if any
    ending = False  # Whether the command is being ended: further signals must not disturb the tidying up


def listen() -> None:
    """From here on each of the three signals ends the command by a KeyboardInterrupt, once."""
    _handle(_end, signal.SIGINT, *STOPPING)


def ignore() -> None:
    """From here on none of them does anything: the exit code is known."""
    for number in (signal.SIGINT, *STOPPING):
        signal.signal(number, signal.SIG_IGN)


def forget() -> None:
    _Came.asked, _Came.ending = None, False


def asked_to_stop() -> bool:
    """Whether a signal came since the command began."""
    return _Came.asked is not None


def exit_code(default: int = signal.SIGTERM) -> int:
    """The exit code of a command that is not done: 128 and the signal that came, or `default`."""
    return 128 + (_Came.asked or default)


def unfinished() -> NoReturn:
    """End the command, which was asked to stop and has said how to go on, with the exit code that says so."""
    raise typer.Exit(exit_code())


def stopping() -> AbstractContextManager[StopFlag]:
    """A flag that SIGTERM and SIGHUP set: finish the batch in hand, then `unfinished` if work is left."""
    return _asked(STOPPING, STOP_SECONDS)


def leaving() -> AbstractContextManager[StopFlag]:
    """A flag that Ctrl-C, SIGTERM and SIGHUP set; a second signal, or too much time, ends the command."""
    return _asked((signal.SIGINT, *STOPPING), LEAVE_SECONDS, once=True)


@contextmanager
def _asked(numbers: Sequence[signal.Signals], seconds: float, *, once: bool = False) -> Iterator[StopFlag]:
    """A flag that signals set. The command is ended after so many seconds, or by a second signal (`once`)."""
    flag = StopFlag()
    handler, timer = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)

    def stop(number: int, frame: FrameType | None) -> None:
        if once and flag.is_set():
            _end(number, frame)
        note(number)
        if not flag.is_set():
            flag.set()
            signal.signal(signal.SIGALRM, end)
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def end(number: int, frame: FrameType | None) -> None:
        flag.late = True
        _end(number, frame)

    previous = _handle(stop, *numbers)
    try:
        yield flag
    finally:
        for number, before in previous.items():
            signal.signal(number, before)
        if flag.is_set():
            signal.setitimer(signal.ITIMER_REAL, *timer)
            signal.signal(signal.SIGALRM, handler)


def _end(number: int, _frame: FrameType | None) -> None:
    if _Came.ending:
        return
    if number != signal.SIGALRM:  # which only follows another signal
        note(number)
    _Came.ending = True
    raise KeyboardInterrupt


def note(number: int) -> None:
    """Remember which signal came, for the exit code; words to a terminal that it took away go nowhere."""
    _Came.asked = number
    if number != signal.SIGHUP:
        return
    for stream in (1, 2):  # writing there would fail, and take the work with it
        with suppress(OSError):
            if stat.S_ISCHR(os.fstat(stream).st_mode) and not os.isatty(stream):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream)
                os.close(nowhere)


def _handle(handler: _Handler, *numbers: signal.Signals) -> dict[signal.Signals, Any]:
    """Handle signals; returns who did so before."""
    previous: dict[signal.Signals, Any] = {}
    for number in numbers:
        if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
            continue
        previous[number] = signal.signal(number, handler)
    return previous
