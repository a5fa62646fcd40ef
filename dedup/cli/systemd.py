"""Tell systemd the state of an endless command, by the protocol of sd_notify(3).

systemd sets `NOTIFY_SOCKET` for a unit with `Type=notify`, and `WATCHDOG_USEC` for one with `WatchdogSec=`.
The loop of a command asks its stop flag in each turn. `Notifier` is such a flag: it answers the watchdog only
when the thread of the loop asks, or reports progress.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from dedup.base.printable import printable
from dedup.base.progress import SilentProgress
from dedup.cli.signals import StopFlag

STATUS_SECONDS = 1.0  # Minimum time between two messages about the status; a busy worker changes it often
STATUS_CHARACTERS = 400  # Maximum length of a status, which `systemctl status` shows in one line
SEND_SECONDS = 1.0  # Maximum wait for a queue of systemd that is full
# Turn of the loop in which systemd is told that the command is ready. A turn begins when the loop asks its
# stop flag. The first turn opens the database. In the second turn the database is open, or the loop waits for
# the database. After a refused login there is no second turn.
READY_TURN = 2


class Notifier(StopFlag, SilentProgress):
    """The stop flag and the `Progress` of a loop in one object, which tells systemd that the loop runs.

    `asked`: the flag that signals set. Without `NOTIFY_SOCKET` nothing is sent.
    """

    def __init__(self, asked: StopFlag) -> None:
        self._asked, self._thread, self._turns = asked, threading.get_ident(), 0
        self._ready = self._stopping = False
        self._status = self._sent_status = ""
        self._sent_at = self._status_at = float("-inf")
        # Child processes, such as the embedded server, must not report to systemd: remove the variables.
        names = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
        address, period, process_id = (os.environ.pop(name, "") for name in names)
        self._period = float("inf")  # seconds between two answers to the watchdog
        if period.isdecimal() and process_id in ("", str(os.getpid())):
            # sd_notify(3) asks for an answer after half of the time that systemd waits.
            self._period = int(period) / 2_000_000
        self._socket: socket.socket | None = None
        if address.startswith(("/", "@")):
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.settimeout(SEND_SECONDS)
            # A socket without a file (abstract) is written with @ for the NUL at its start.
            self._address = f"\0{address[1:]}" if address[0] == "@" else address

    @property
    def late(self) -> bool:  # type: ignore[override]
        return self._asked.late

    def is_set(self) -> bool:
        """Return whether the loop has to end, and tell systemd that the loop asked."""
        if threading.get_ident() == self._thread:
            self._turns += 1
            self._beat()
        return self._asked.is_set()

    def set(self) -> None:
        self._asked.set()

    def start(self, stage: str, total: int | None) -> None:  # noqa: ARG002 - as in `Progress`
        self.say(stage)
        self._beat()

    def advance(self, count: int, total: int | None = None) -> None:  # noqa: ARG002 - as in `Progress`
        self._beat()

    def say(self, words: str) -> None:
        """Let `systemctl status` show these words, from the next turn of the loop on."""
        self._status = printable(words)[:STATUS_CHARACTERS]

    def close(self) -> None:
        if self._socket:
            if not self._stopping:
                self._send("STOPPING=1")
            self._socket.close()

    def _beat(self) -> None:
        if not self._socket or self._turns < READY_TURN or threading.get_ident() != self._thread:
            return
        now, lines = time.monotonic(), []
        if not self._ready:
            self._ready = True
            lines.append("READY=1")
        if self._asked.is_set() and not self._stopping:
            self._stopping = True
            lines.append("STOPPING=1")
            self.say("stopping")
        if self._status != self._sent_status and (lines or now - self._status_at >= STATUS_SECONDS):
            lines.append(f"STATUS={self._status}")
            self._sent_status, self._status_at = self._status, now
        if lines or now - self._sent_at >= self._period:
            self._sent_at = now
            self._send(*lines, "WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        assert self._socket
        # Work goes on if a message fails. If a watchdog gets no answer, systemd ends this process.
        with suppress(OSError):
            self._socket.sendto("\n".join(lines).encode(), self._address)


class _Events(logging.Handler):
    """Log handler that shows the latest event as the status of the service."""

    def __init__(self, notifier: Notifier) -> None:
        super().__init__(logging.INFO)
        self._notifier = notifier

    def emit(self, record: logging.LogRecord) -> None:
        # Lines about single requests are no events, and say nothing about the state of the server.
        if hasattr(record, "event") or record.levelno >= logging.WARNING:
            self._notifier.say(record.getMessage())


@contextmanager
def notifying(asked: StopFlag) -> Iterator[Notifier]:
    """Yield a flag for the loop of this thread; logs must be configured before. See `Notifier`."""
    notifier, log = Notifier(asked), logging.getLogger("dedup")
    events = _Events(notifier)
    log.addHandler(events)
    try:
        yield notifier
    finally:
        log.removeHandler(events)
        notifier.close()
