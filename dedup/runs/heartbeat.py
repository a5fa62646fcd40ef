"""Store the progress of a run in its row in `dedup.run` every few seconds, from a thread (the heartbeat).

The thread has its own connection, so that a long statement of the run does not stop the heartbeat, and an
error of the heartbeat does not stop the run. A live thread does not prove that the run works. So the thread
writes only if, since the last write, the run made progress, the server answered the run, or the process
computed.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress

from dedup.base.errors import StuckError
from dedup.base.progress import Steps
from dedup.db.connection import last_served
from dedup.db.database import Cursor, Database, translate_errors
from dedup.runs import runs
from dedup.runs.runs import Owner, Run, RunCounts

BEAT_SECONDS = 5.0
COMPUTING = 0.1  # Share of a core above which a process counts as computing; waiting threads use about 0.01
GRACE_SECONDS = 1.0  # Maximum wait for another run to end: the server notices a killed process late


class Heartbeat:
    """A run at work: writes progress and signs of life to its row in `dedup.run`. Call `close` at the end."""

    def __init__(self, database: Database, what: str) -> None:
        self.other: Run | None = None  # the live run that `claim` found
        self.taken_over: Run | None = None  # the dead run that this run replaced
        self.superseded = False  # whether another run replaced this run, which should then end
        self.engine: str | None = None  # name of the chosen engine; it is stored with the stage
        self._database, self.what = database, what
        self._run: int | None = None
        self._stage, self._steps, self._moved_at = "starting", Steps(0), time.monotonic()
        self._ended, self._news = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._keep_beating, daemon=True, name="dedup-heartbeat")
        self._connection = database.connect()
        self._worker = threading.get_ident()
        self._written_at = self._checked_at = 0.0
        self._computed = time.process_time()

    def claim(self) -> bool:
        """Begin the run; return False if another run is alive. Raises StuckError if that run is stuck."""
        with translate_errors(self._database.location), self._connection.cursor(binary=True) as cursor:
            owner = self._find_owner(cursor)
        until = time.monotonic() + GRACE_SECONDS
        while True:
            with self._database.transaction() as cursor:
                found = runs.find_current(cursor, self.what)
            if found is None or found.gone:
                with self._database.transaction(settling=True) as cursor:
                    self._run = runs.claim(cursor, self.what, owner)
                if self._run is not None:
                    self.taken_over = found
                    # Without a thread the run continues, but after a minute other processes consider it dead.
                    with suppress(RuntimeError):
                        self._thread.start()
                    return True
            elif time.monotonic() > until:
                self.other = found
                if found.stuck:
                    raise StuckError(
                        f"{found.kind} has been running {found}, and has made no progress for"
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
        if self._run is not None:
            with self._database.transaction() as cursor:
                runs.end(cursor, self._run, outcome, error)

    def add_counts(self, counts: RunCounts) -> None:
        with self._database.transaction() as cursor:
            runs.add_counts(cursor, self.run, counts)

    def close(self) -> None:
        self._ended.set()
        self._news.set()
        if self._thread.is_alive():
            self._thread.join(1.0)
        with suppress(Exception):
            self._connection.close()

    def _keep_beating(self) -> None:
        while not self._ended.wait(0.5):
            # Write a new stage at once, but not more often than every half second.
            self._news.wait(BEAT_SECONDS)
            self._news.clear()
            with suppress(Exception):
                self._write()

    def _write(self) -> None:
        if self._connection.closed and not self._ended.is_set():
            self._connection = self._database.connect()
        with self._connection.cursor(binary=True) as cursor:
            owner, still = self._find_owner(cursor), time.monotonic() - self._moved_at
            assert self._run is not None
            if not self._ended.is_set() and self._has_worked():
                stage = f"{self._stage}, {self.engine} engine" if self.engine else self._stage
                done, total = self._steps.done, self._steps.total or 0
                alive = runs.beat(cursor, self._run, owner, stage, done, total, still)
                self.superseded = not alive and not self._ended.is_set()

    def _has_worked(self) -> bool:
        """Return whether the run did anything since its last heartbeat."""
        now, computed = time.monotonic(), time.process_time()
        part = (computed - self._computed) / max(now - self._checked_at, 0.1)
        self._checked_at, self._computed = now, computed
        moved = max(self._moved_at, last_served(self._worker))
        if moved <= self._written_at and part < COMPUTING:
            return False
        self._written_at = now
        return True

    def _find_owner(self, cursor: Cursor) -> Owner:
        session = runs.find_session(cursor)
        # Behind a pooler a session outlives this process, so its end does not show that the run ended.
        if self._connection.pooled:
            return Owner(socket.gethostname(), os.getpid(), None, None)
        return Owner(socket.gethostname(), os.getpid(), *session)
