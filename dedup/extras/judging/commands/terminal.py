"""The whole screen of a terminal: keys in, frames out, and left as it was found however it ends."""

from __future__ import annotations

import codecs
import io
import os
import re
import select
import signal
import sys
import termios
import tty
from contextlib import suppress
from types import FrameType
from typing import Any

from rich.text import Text

from dedup.base.errors import InputError
from dedup.cli import signals
from dedup.cli.output import PrintableConsole

_OPEN = "\x1b[?1049h\x1b[?25l"  # the other screen, no cursor
_CLOSE = "\x1b[?25h\x1b[?1049l"
_KEY = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z])|[\s\S]")
_PARTIAL = re.compile(r"\x1b(?:\[[0-9;]*|O)?")
_PATIENCE_SECONDS = 0.05
"""How long the rest of a key's sequence may take; over a slow line it comes in pieces."""

_NAMES = {
    "\x1b[A": "up", "\x1bOA": "up", "\x1b[B": "down", "\x1bOB": "down",
    "\x1b[5~": "pageup", "\x1b[6~": "pagedown",
    "\x1b[H": "home", "\x1bOH": "home", "\x1b[1~": "home",
    "\x1b[F": "end", "\x1bOF": "end", "\x1b[4~": "end",
    " ": "space", "\n": "enter", "\r": "enter", "\x1a": "suspend", "\x04": "stop",
}  # fmt: skip


class Terminal:
    """The terminal of stdin and stdout, as a context. Raises InputError if there is none."""

    def __init__(self, instead: str) -> None:
        if not (sys.stdin.isatty() and sys.stdout.isatty()) or os.environ.get("TERM") in ("dumb", "unknown"):
            raise InputError(f"this needs a terminal; without one, {instead}")
        self._in, self._out = sys.stdin.fileno(), sys.stdout.fileno()
        self._read = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._saved: Any = None
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Terminal:
        # Signals come as bytes through a pipe that is waited for together with the keyboard.
        self._signals, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._woken = signal.set_wakeup_fd(self._wake)
        for number in (*signals.STOPPING, signal.SIGWINCH):
            self._handlers[number] = signal.signal(number, _note)
        self._saved = termios.tcgetattr(self._in)
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(termios.error):  # the terminal is gone
            self._close()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._woken)
        os.close(self._signals)
        os.close(self._wake)

    def size(self) -> tuple[int, int]:
        columns, lines = os.get_terminal_size(self._out)
        return columns, lines

    def show(self, rows: list[Text]) -> None:
        """Fill the screen with rows, each cut at the last column but one."""
        columns, lines = self.size()
        frame = io.StringIO()
        width = max(columns - 1, 1)
        console = PrintableConsole(file=frame, force_terminal=True, width=width, highlight=False)
        for number in range(lines):
            # Each line is addressed: nothing scrolls, and nothing flickers.
            frame.write(f"\x1b[{number + 1};1H")
            if number < len(rows):
                console.print(rows[number], end="", no_wrap=True, overflow="crop", crop=True)
            frame.write("\x1b[K")
        self._write(frame.getvalue())

    def key(self) -> str:
        """The next key: a character, or the name of a key.

        Or "resize" when the window has another size, "stop" at SIGTERM, SIGHUP or the end of the input.
        """
        while not self._read:
            ready = select.select([self._in, self._signals], [], [])[0]
            if self._signals in ready:
                came = os.read(self._signals, 1024)
                if any(number in came for number in signals.STOPPING):
                    return "stop"
                if signal.SIGWINCH in came:
                    return "resize"
            elif not self._fill():
                return "stop"
        while _PARTIAL.fullmatch(self._read) and select.select([self._in], [], [], _PATIENCE_SECONDS)[0]:
            if not self._fill():
                break
        match = _KEY.match(self._read)
        assert match is not None
        self._read = self._read[match.end() :]
        name = _NAMES.get(match[0], match[0])
        if name == "suspend":
            self._close()
            os.kill(os.getpid(), signal.SIGTSTP)
            self._open()
            return "resize"
        return name

    def _fill(self) -> bool:
        """Read what was typed; false if there was nothing."""
        try:
            typed = os.read(self._in, 4096)
        except OSError:  # the terminal is gone
            return False
        self._read += self._decoder.decode(typed)
        return bool(typed)

    def _open(self) -> None:
        tty.setcbreak(self._in, termios.TCSADRAIN)  # Ctrl-C stays a signal
        mode = termios.tcgetattr(self._in)
        # Ctrl-Z comes as a key, so that the screen can be put back before the program stops.
        mode[6][termios.VSUSP] = bytes([os.fpathconf(self._in, "PC_VDISABLE") & 0xFF])
        termios.tcsetattr(self._in, termios.TCSADRAIN, mode)
        self._write(_OPEN)

    def _close(self) -> None:
        self._write(_CLOSE)
        termios.tcsetattr(self._in, termios.TCSADRAIN, self._saved)

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _note(number: int, _frame: FrameType | None) -> None:
    """The signal has written its number to the pipe already."""
    if number in signals.STOPPING:
        signals.note(number)
