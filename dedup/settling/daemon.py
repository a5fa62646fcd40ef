"""What arrives is settled within a second, for years: the loop of `dedup worker` around the backfill.

Every poll, and every notification before it, asks the database whether anything waits (`runs/waiting.py`).
Of all workers one works at a time, the one that holds the run that a backfill would hold; the others stand by
and take over when it is gone. A run goes on for as long as work keeps coming, so that there is one row for a
working period and not for every article.

A database that is away is waited for. What ends the loop is `stop`, a refused login, a lack of rights, or a
schema that is not this program's.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from dedup.base import logs
from dedup.base.errors import LASTING, DatabaseError, DedupError, MachineError, StuckError
from dedup.base.progress import SilentProgress
from dedup.base.times import back_off
from dedup.db.database import Database
from dedup.runs import runs, waiting
from dedup.runs.heartbeat import Heartbeat
from dedup.runs.runs import Session
from dedup.runs.waiting import Listener, Waiting
from dedup.settling import sentences
from dedup.settling.backfill import BackfillOptions, BackfillReport, Work
from dedup.store import quotes

POLL_SECONDS = 1.0  # How long an article waits at most that no notification told of
IDLE_SECONDS = 60.0  # A run ends when nothing came for so long
SEEN_SECONDS = 15.0  # How often a worker that waits says that it lives

COUNT_SECONDS = 5.0
"""How often sentences are counted where nothing else waits: a hook settles by itself, and may do so often."""

WORDS_SECONDS = 5.0
"""How long who ends waits for the words of sentences: they come page by page. A count may go on longer, and
has written nothing."""

DOWN_SECONDS = (1.0, 30.0)
"""Pauses before a database that is away is asked again: the first, doubled each time up to the second."""

log = logging.getLogger("dedup.worker")


@dataclass(frozen=True, slots=True)
class Pace:
    """How often things happen, in seconds; see the constants of this module."""

    poll: float = POLL_SECONDS
    idle: float = IDLE_SECONDS
    count: float = COUNT_SECONDS
    down: tuple[float, float] = DOWN_SECONDS


class Daemon:
    """A worker; `run` is its life. When `stop` says so, the batch in hand is finished and the life ends."""

    def __init__(
        self,
        database: Database,
        options: BackfillOptions,
        stop: Callable[[], bool],
        pace: Pace | None = None,
    ) -> None:
        self._database, self._options, self._stop = database, options, stop
        self._pace = pace or Pace()
        self._listener = Listener(database)
        self._heartbeat: Heartbeat | None = None
        self._worker: int | None = None
        self._session: Session | None = None
        self._words: threading.Thread | None = None
        self._leaving = threading.Event()
        self._seen_at = self._worked_at = self._counted_at = float("-inf")
        self._first, self._quiet = True, False
        self._other: int | None = None
        self._stuck = False
        self._down = 0
        self._problems: list[str] = []

    def run(self) -> None:
        """Work until told to stop. Raises one of `LASTING`: the database is there, and refuses."""
        log.info("worker started on %s", self._database.location, extra={"event": "started"})
        told = False
        try:
            while not self._stop():
                pause = self._once()
                if pause:
                    self._listener.wait(pause, self._stop)
            told = True
        except Exception:
            told = True
            raise
        finally:  # whoever ends it by force does not wait for the database
            self._leave(tell=told)
        log.info("worker stopped", extra={"event": "stopped"})

    def _once(self) -> float:
        """Do what there is to do; returns for how long nothing need be done."""
        try:
            again = self._work()
        except LASTING:
            raise
        except StuckError as error:
            log.error("%s", error, extra={"event": "stuck"})
            return self._failed()
        except (DatabaseError, MachineError) as error:
            if not self._down:
                log.warning(
                    "%s; waiting for it", error, extra={"event": "down", "error": type(error).__name__}
                )
            return self._failed()
        if self._down:
            log.info("going on after %d failed attempts", self._down, extra={"event": "up"})
            self._down = 0
        return 0.0 if again else self._pace.poll

    def _failed(self) -> float:
        """Let go of everything; returns for how long to wait before the next attempt."""
        self._down += 1
        self._end("failed")
        self._listener.close()
        return back_off(*self._pace.down, self._down - 1)

    def _work(self) -> bool:
        """Settle what waits, if this worker is the one to do so; says whether to look again at once."""
        with self._database.transaction() as cursor:
            found = waiting.look(cursor)
        now = time.monotonic()
        if self._first:  # a program of another revision shows in no table
            found = Waiting(True, found.counting, found.words)
        self._quiet = not found
        self._be_seen(now, idle=self._quiet)
        if found.words and not found.settling:
            self._keep_words()
        if not found or (not found.settling and now - self._counted_at < self._pace.count):
            if self._heartbeat and (self._heartbeat.superseded or now - self._worked_at >= self._pace.idle):
                self._end("done")
            return False
        if not self._begin(now):
            return False
        did = self._round()
        if self._first:
            self._first, self._seen_at = False, float("-inf")  # it is soon seen to be idle
        self._worked_at = self._counted_at = time.monotonic()
        return did

    def _keep_words(self) -> None:
        """Keep the words of sentences in a thread of its own: counting them reads the whole corpus, and what
        arrives meanwhile waits for none of it.
        """
        if self._words and self._words.is_alive():
            return
        with self._database.transaction() as cursor:
            outlets = quotes.due(cursor)
        if outlets is not None:
            self._words = threading.Thread(
                target=self._kept, args=(outlets,), daemon=True, name="dedup-sentences"
            )
            self._words.start()

    def _kept(self, outlets: int) -> None:
        try:
            report = sentences.keep(
                self._database, outlets=outlets, stop=lambda: self._leaving.is_set() or self._stop()
            )
        except DedupError as error:  # it is tried again when it is due again
            log.warning("kept no words of sentences: %s", error, extra={"event": "sentences"})
        else:
            log.info("kept the words of sentences: %s", report, extra={"event": "sentences"})

    def _begin(self, now: float) -> bool:
        """Begin a run, or go on with the one there is; False if another worker or a backfill is at work."""
        if self._heartbeat and self._heartbeat.superseded:
            self._end("done")
        if self._heartbeat:
            return True
        with self._database.transaction() as cursor:
            other = runs.current(cursor, "worker")
        if other and not other.gone:
            self._stand_by(other)
            return False
        heartbeat = Heartbeat(self._database, "worker")
        try:
            claimed = heartbeat.claim()
        except BaseException:
            heartbeat.close()
            raise
        if not claimed:
            heartbeat.close()
            return False
        if heartbeat.taken_over:
            log.warning(
                "took over from a run that is gone: %s", heartbeat.taken_over, extra={"event": "taken over"}
            )
        self._heartbeat, self._worked_at, self._other = heartbeat, now, None
        return True

    def _stand_by(self, other: runs.Run) -> None:
        if self._other != other.id:
            log.info("standing by: a run is at work %s", other, extra={"event": "standing by"})
            self._other, self._stuck = other.id, False
        if other.stuck and not self._stuck:
            minutes = other.still_seconds / 60
            log.warning(
                "the run came no further for %.0f minutes: %s", minutes, other, extra={"event": "stuck"}
            )
            self._stuck = True

    def _round(self) -> bool:
        """Settle all that waits; says whether that was anything."""
        assert self._heartbeat
        report = BackfillReport()
        started = time.monotonic()
        try:
            Work(self._database, report, self._heartbeat, self._options, SilentProgress(), self._stop).all()
        finally:
            self._tell(report, time.monotonic() - started)
        self._heartbeat.engine = None
        self._heartbeat.start("waiting for articles", 0)
        return bool(report.settled or report.fingerprinted or report.failed)

    def _tell(self, report: BackfillReport, seconds: float) -> None:
        for line in report.problems:
            if line not in self._problems:
                log.warning("%s", line, extra={"event": "attached table"})
        self._problems = report.problems
        if report.settled or report.fingerprinted or report.failed or report.archived:
            logs.settled(report, seconds)

    def _be_seen(self, now: float, *, idle: bool) -> None:
        session = self._listener.session()
        if now - self._seen_at < SEEN_SECONDS and session == self._session:
            return
        with self._database.transaction() as cursor:
            if self._worker is None or not runs.see_worker(cursor, self._worker, idle=idle, session=session):
                self._worker = runs.begin_worker(cursor, socket.gethostname(), os.getpid())
                runs.see_worker(cursor, self._worker, idle=idle, session=session)
        self._seen_at, self._session = now, session

    def _end(self, outcome: str, *, tell: bool = True) -> None:
        heartbeat, self._heartbeat = self._heartbeat, None
        if heartbeat:
            with suppress(DatabaseError):  # the next one sees that this is gone
                if tell:
                    heartbeat.end(outcome)
            heartbeat.close()

    def _leave(self, *, tell: bool) -> None:
        """Let go of everything, and say so where the database can be told."""
        self._leaving.set()
        if tell and self._words:
            self._words.join(WORDS_SECONDS)
        tell = tell and not self._down
        self._end("done" if self._quiet else "stopped" if self._stop() else "failed", tell=tell)
        self._listener.close()
        if self._worker is not None and tell:
            with suppress(DatabaseError), self._database.transaction() as cursor:
                runs.end_worker(cursor, self._worker)


def wait_for(
    open_: Callable[[], Database], stop: Callable[[], bool], down: tuple[float, float]
) -> Database | None:
    """Open a database, as soon as that can be done; None if it is to stop before. Raises as `Daemon.run`."""
    failures = 0
    while not stop():
        try:
            return open_()
        except LASTING:
            raise
        except DatabaseError as error:
            if not failures:
                log.warning(
                    "%s; waiting for it", error, extra={"event": "down", "error": type(error).__name__}
                )
            until = time.monotonic() + back_off(*down, failures)
            failures += 1
            while not stop() and time.monotonic() < until:
                time.sleep(0.1)
    return None
