"""A run says that it lives, and how far it is: a row of `dedup.run`, kept fresh by a thread.

The thread has a connection of its own, so a long statement of the run does not silence it. It writes only
every few seconds, and whatever goes wrong with it does not touch the run. That the thread lives says nothing
of the run: it writes only if since the last time the run came further, the server did something for it, or
its process computed.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress

from dedup.base.errors import StuckError
from dedup.base.progress import Steps
from dedup.db.connection import served_at
from dedup.db.database import Cursor, Database, translated
from dedup.runs import runs
from dedup.runs.runs import Did, Owner, Run

BEAT_SECONDS = 5.0

COMPUTING = 0.1
"""The part of a core that a process takes at least while it computes; threads that only wait take a
hundredth."""

GRACE_SECONDS = 1.0
"""How long the row of another run is looked at before it is believed: the server needs a moment to notice
that a process was killed."""


class Heartbeat:
    """One run of a kind, as the database sees it. It is a `Progress`, and to be closed at the end."""

    def __init__(self, database: Database, what: str) -> None:
        self.other: Run | None = None  # the run that lives already, where `claim` found one
        self.taken_over: Run | None = None  # the one whose place this took
        self.superseded = False  # another run took the place of this one, which should end
        self.engine: str | None = None  # what settles, once that is known; told with the stage
        self._database, self.what = database, what
        self._run: int | None = None
        self._stage, self._steps, self._moved_at = "starting", Steps(0), time.monotonic()
        self._ended, self._news = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True, name="dedup-heartbeat")
        self._connection = database.connect()
        self._worker = threading.get_ident()
        self._told = self._looked = 0.0
        self._computed = time.process_time()

    def claim(self) -> bool:
        """Begin the run; False if another one lives. Raises StuckError: that one makes no progress."""
        with translated(self._database.location), self._connection.cursor(binary=True) as cursor:
            owner = self._owner(cursor)
        until = time.monotonic() + GRACE_SECONDS
        while True:
            with self._database.transaction() as cursor:
                found = runs.current(cursor, self.what)
            if found is None or found.gone:
                with self._database.transaction(settling=True) as cursor:
                    self._run = runs.claim(cursor, self.what, owner)
                if self._run is not None:
                    self.taken_over = found
                    # Without a thread to spare the lease lasts a minute; the run itself may do without.
                    with suppress(RuntimeError):
                        self._thread.start()
                    return True
            elif time.monotonic() > until:
                self.other = found
                if found.stuck:
                    raise StuckError(
                        f"{found.kind} has been running {found}, and came no further for"
                        f" {found.still_seconds / 60:.0f} minutes: it is probably stuck; end it with"
                        f" `kill {found.process_id}` on {found.host}, with `kill -9` if it stays,"
                        f" then run `dedup {self.what}` again"
                    )
                return False
            time.sleep(0.02)

    @property
    def run(self) -> int:
        assert self._run is not None
        return self._run

    def start(self, stage: str, total: int | None) -> None:
        self._stage, self._steps, self._moved_at = stage, Steps(total), time.monotonic()
        self._news.set()

    def advance(self, count: int, total: int | None = None) -> None:
        self._steps.advance(count, total)
        self._moved_at = time.monotonic()

    def end(self, outcome: str, error: str | None = None) -> None:
        """End the run. Where the database cannot be told, the next run sees that this one is gone."""
        if self._run is not None:
            with self._database.transaction() as cursor:
                runs.end(cursor, self._run, outcome, error)

    def add(self, did: Did) -> None:
        with self._database.transaction() as cursor:
            runs.add(cursor, self.run, did)

    def close(self) -> None:
        self._ended.set()
        self._news.set()
        if self._thread.is_alive():
            self._thread.join(1.0)
        with suppress(Exception):
            self._connection.close()

    def _beat(self) -> None:
        while not self._ended.wait(0.5):
            # A new stage is told at once, but not several of them in half a second.
            self._news.wait(BEAT_SECONDS)
            self._news.clear()
            with suppress(Exception):
                self._tell()

    def _tell(self) -> None:
        if self._connection.closed and not self._ended.is_set():
            self._connection = self._database.connect()
        with self._connection.cursor(binary=True) as cursor:
            owner, still = self._owner(cursor), time.monotonic() - self._moved_at
            assert self._run is not None
            if not self._ended.is_set() and self._works():
                stage = f"{self._stage}, {self.engine} engine" if self.engine else self._stage
                done, total = self._steps.done, self._steps.total or 0
                alive = runs.beat(cursor, self._run, owner, stage, done, total, still)
                self.superseded = not alive and not self._ended.is_set()

    def _works(self) -> bool:
        """Whether the run did anything since that was last told."""
        now, computed = time.monotonic(), time.process_time()
        part = (computed - self._computed) / max(now - self._looked, 0.1)
        self._looked, self._computed = now, computed
        moved = max(self._moved_at, served_at(self._worker))
        if moved <= self._told and part < COMPUTING:
            return False
        self._told = now
        return True

    def _owner(self, cursor: Cursor) -> Owner:
        session = runs.session(cursor)
        if self._connection.pooled:  # the session tells nothing
            return Owner(socket.gethostname(), os.getpid(), None, None)
        return Owner(socket.gethostname(), os.getpid(), *session)
