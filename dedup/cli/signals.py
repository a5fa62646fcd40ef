"""Ctrl-C, SIGTERM and SIGHUP: how a command ends after these signals, and with which exit code.

A command that stops before its work is done exits with 128 plus the number of the signal, as shells do: 130
for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.

- By default each of the three signals raises KeyboardInterrupt: finished work is kept.
- Within `stopping`, SIGTERM and SIGHUP set a flag. The command finishes its batch, reads the flag, and calls
  `unfinished` if work is left. After `STOP_SECONDS` the command is ended, even while it waits for a lock.
- Within `leaving`, for endless commands, Ctrl-C sets the flag too, a second signal ends the command at once,
  and the limit is `LEAVE_SECONDS`.
- A command that fails after a signal says why, and exits with the code of the signal.
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
"""Signals that ask a command to end soon; Ctrl-C ends a command at once."""

STOP_SECONDS = 20.0
"""Maximum seconds for the current batch. A batch takes far less, and orchestrators kill after 30 seconds."""

LEAVE_SECONDS = 5.0
"""Maximum seconds for the current batch of an endless command. The command must end within ten
seconds, and cancelling a statement on a server that does not answer may take up to five more."""


class StopFlag:
    """A flag that a signal sets. `late`: true if the command took too long and is being ended."""

    # A `threading.Event` is not used: a second signal during `Event.set` would wait for its lock for ever.
    late = False
    _set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True


_Handler = Callable[[int, FrameType | None], None]


class _Came:
    asked: int | None = None  # Number of the last signal, if any came
    ending = False  # True while the command is ending: further signals must not disturb the cleanup


def listen() -> None:
    """Let the first Ctrl-C, SIGTERM or SIGHUP raise KeyboardInterrupt from now on."""
    _handle(_end, signal.SIGINT, *STOPPING)


def ignore() -> None:
    """Ignore Ctrl-C, SIGTERM and SIGHUP from now on, since the exit code is decided."""
    for number in (signal.SIGINT, *STOPPING):
        signal.signal(number, signal.SIG_IGN)


def forget() -> None:
    _Came.asked, _Came.ending = None, False


def asked_to_stop() -> bool:
    return _Came.asked is not None


def exit_code(default: int = signal.SIGTERM) -> int:
    """Return the exit code of an unfinished command: 128 plus the last signal's number, or `default`."""
    return 128 + (_Came.asked or default)


def unfinished() -> NoReturn:
    """End a stopped command whose work is not finished, with the exit code of the signal."""
    raise typer.Exit(exit_code())


def stopping() -> AbstractContextManager[StopFlag]:
    """Return a flag that SIGTERM and SIGHUP set; the command should then finish its batch and end."""
    return _asked(STOPPING, STOP_SECONDS)


def leaving() -> AbstractContextManager[StopFlag]:
    """Return a flag that Ctrl-C, SIGTERM and SIGHUP set; a second signal or a limit ends the command."""
    return _asked((signal.SIGINT, *STOPPING), LEAVE_SECONDS, once=True)


@contextmanager
def _asked(numbers: Sequence[signal.Signals], seconds: float, *, once: bool = False) -> Iterator[StopFlag]:
    """Yield a flag that a signal sets. The command ends `seconds` after the signal. `once`: a second signal
    ends the command at once."""
    flag = StopFlag()
    handler, timer = signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)

    def stop(number: int, frame: FrameType | None) -> None:
        if once and flag.is_set():
            _end(number, frame)
        note(number)
        # The time limit counts from the first signal, so later signals must not restart the alarm.
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
    # The alarm is not noted, because the signal before the alarm decides the exit code.
    if number != signal.SIGALRM:
        note(number)
    _Came.ending = True
    raise KeyboardInterrupt


def note(number: int) -> None:
    """Note the signal for the exit code; after SIGHUP, redirect output from the terminal to /dev/null."""
    _Came.asked = number
    if number != signal.SIGHUP:
        return
    # A write to a lost terminal fails, which would end the work that should still be finished.
    for stream in (1, 2):
        with suppress(OSError):
            if stat.S_ISCHR(os.fstat(stream).st_mode) and not os.isatty(stream):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream)
                os.close(nowhere)


def _handle(handler: _Handler, *numbers: signal.Signals) -> dict[signal.Signals, Any]:
    previous: dict[signal.Signals, Any] = {}
    for number in numbers:
        # `nohup` starts a program that ignores SIGHUP, and the program must continue to ignore it.
        if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
            continue
        previous[number] = signal.signal(number, handler)
    return previous
