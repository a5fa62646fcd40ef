"""Run the loop of `dedup worker`, which settles articles within a second of their arrival.

After each pause or notification the worker asks the database whether anything waits (`runs/waiting.py`). Only
one worker works at a time, since during its run no other worker or backfill can start a run. If this worker
dies, one of the idle workers takes over. A run lasts as long as work keeps coming, so a busy period has one
row in `dedup.run`, not one per article.

If the database cannot be reached, the loop waits for it. The loop ends if `stop` returns True, the login is
refused, rights are missing, or the schema belongs to another program version.
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
from dedup.base.progress import Both, Progress, SilentProgress
from dedup.base.times import back_off
from dedup.db.database import Database
from dedup.runs import runs, waiting
from dedup.runs.heartbeat import Heartbeat
from dedup.runs.runs import Session
from dedup.runs.waiting import Listener, Waiting
from dedup.settling import sentences
from dedup.settling.backfill import BackfillOptions, BackfillReport, BackfillRun
from dedup.store import quotes

POLL_SECONDS = 1.0  # Pause before the next query for waiting work, unless a notification comes
IDLE_SECONDS = 60.0  # A run ends after this time without work
SEEN_SECONDS = 15.0  # Pause after which an idle worker stores again that it is alive

# Minimum pause between two runs that only count sentences: without it, every hook would start such a run.
COUNT_SECONDS = 5.0

# Seconds that an ending worker waits for its thread that fills the views `alteration` and `quote`. The thread
# stops after its present page of texts. If it is counting quotes, it is cut off: the next run counts again.
WORDS_SECONDS = 5.0

# First and longest pause before the next attempt to reach a database. The pause doubles each time, so work
# goes on soon after a short outage, and a long outage causes at most two attempts per minute.
DOWN_SECONDS = (1.0, 30.0)

log = logging.getLogger("dedup.worker")


@dataclass(frozen=True, slots=True)
class Pace:
    """Pauses of a worker in seconds; the constants of this module explain each pause."""

    poll: float = POLL_SECONDS
    idle: float = IDLE_SECONDS
    count: float = COUNT_SECONDS
    down: tuple[float, float] = DOWN_SECONDS


class Daemon:
    """A worker. When `stop` returns True, the worker finishes its present batch and ends."""

    def __init__(
        self,
        database: Database,
        options: BackfillOptions,
        stop: Callable[[], bool],
        pace: Pace | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._database, self._options, self._stop = database, options, stop
        self._pace, self._progress = pace or Pace(), progress or SilentProgress()
        self._listener = Listener(database)
        self._heartbeat: Heartbeat | None = None
        self._unended: tuple[int, str] | None = None  # id and outcome of a run whose end is not stored yet
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
        """Work until `stop` returns True. Raises the errors in `LASTING`, which waiting cannot end."""
        log.info("worker started on %s", self._database.location, extra={"event": "started"})
        orderly = False
        try:
            while not self._stop():
                pause = self._try_round()
                if pause:
                    self._listener.wait(pause, self._stop)
            orderly = True
        except Exception:
            orderly = True
            raise
        finally:
            # A person who forces an end, such as by a second Ctrl-C, must not wait for the database.
            self._release(record=orderly)
        log.info("worker stopped", extra={"event": "stopped"})

    def _try_round(self) -> float:
        """Settle everything that waits; return the seconds to wait before the next round."""
        try:
            again = self._settle_waiting()
        except LASTING:
            raise
        except StuckError as error:
            log.error("%s", error, extra={"event": "stuck"})
            return self._back_off()
        except (DatabaseError, MachineError) as error:
            if not self._down:
                _warn_down(error)
            return self._back_off()
        if self._down:
            log.info("working again after %d failed attempts", self._down, extra={"event": "up"})
            self._down = 0
        return 0.0 if again else self._pace.poll

    def _back_off(self) -> float:
        """End the run and close the listener; return the seconds to wait before the next attempt."""
        self._down += 1
        self._end_run("failed")
        self._listener.close()
        return back_off(*self._pace.down, self._down - 1)

    def _settle_waiting(self) -> bool:
        """Settle everything that waits, unless another run is at work. Return True if anything was done: more
        may have arrived, so the next round begins without a pause."""
        self._store_end()
        with self._database.transaction() as cursor:
            found = waiting.find_waiting(cursor)
        now = time.monotonic()
        # Begin with a round: unlike `find_waiting`, a round notices that the program was updated.
        if self._first:
            found = Waiting(True, found.counting, found.words)
        self._quiet = not found
        self._update_worker(now, idle=self._quiet)
        if found.words and not found.settling:
            self._start_sentences()
        if not found or (not found.settling and now - self._counted_at < self._pace.count):
            if self._heartbeat and (self._heartbeat.superseded or now - self._worked_at >= self._pace.idle):
                self._end_run("done")
            return False
        if not self._begin_run(now):
            return False
        did = self._run_round()
        if self._first:
            # Make the next round store at once that this worker is idle, not only after SEEN_SECONDS.
            self._first, self._seen_at = False, float("-inf")
        self._worked_at = self._counted_at = time.monotonic()
        return did

    def _start_sentences(self) -> None:
        # Use a thread: counting sentences reads the whole corpus, and new articles must not wait for that.
        if self._words and self._words.is_alive():
            return
        with self._database.transaction() as cursor:
            outlets = quotes.due(cursor)
        if outlets is not None:
            self._words = threading.Thread(
                target=self._keep_sentences, args=(outlets,), daemon=True, name="dedup-sentences"
            )
            self._words.start()

    def _keep_sentences(self, outlets: int) -> None:
        try:
            report = sentences.keep(
                self._database, outlets=outlets, stop=lambda: self._leaving.is_set() or self._stop()
            )
        except DedupError as error:
            # The worker continues after this error, and tries again at the next time of the schedule.
            log.warning("could not store the words of sentences: %s", error, extra={"event": "sentences"})
        else:
            log.info("stored the words of sentences: %s", report, extra={"event": "sentences"})

    def _begin_run(self, now: float) -> bool:
        """Begin a run, or continue the present run; return False if another process is at work."""
        if self._heartbeat and self._heartbeat.superseded:
            self._end_run("done")
        if self._heartbeat:
            return True
        with self._database.transaction() as cursor:
            other = runs.find_current(cursor, "worker")
        if other and not other.gone:
            if self._other != other.id:
                log.info("standing by: a run is at work %s", other, extra={"event": "standing by"})
                self._other, self._stuck = other.id, False
            if other.stuck and not self._stuck:
                minutes = other.still_seconds / 60
                words = "the run has made no progress for %.0f minutes: %s"
                log.warning(words, minutes, other, extra={"event": "stuck"})
                self._stuck = True
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

    def _run_round(self) -> bool:
        assert self._heartbeat
        report = BackfillReport()
        started = time.monotonic()
        try:
            progress, stop = self._progress, self._stop
            BackfillRun(self._database, report, self._heartbeat, self._options, progress, stop).run()
        finally:
            for line in report.problems:
                if line not in self._problems:
                    log.warning("%s", line, extra={"event": "attached table"})
            self._problems = report.problems
            if report.settled or report.fingerprinted or report.failed or report.archived:
                logs.settled(report, time.monotonic() - started)
        self._heartbeat.engine = None
        Both(self._heartbeat, self._progress).start("waiting for articles", 0)
        return bool(report.settled or report.fingerprinted or report.failed)

    def _update_worker(self, now: float, *, idle: bool) -> None:
        session = self._listener.session()
        if now - self._seen_at < SEEN_SECONDS and session == self._session:
            return
        with self._database.transaction() as cursor:
            if self._worker is None or not runs.see_worker(cursor, self._worker, idle=idle, session=session):
                self._worker = runs.begin_worker(cursor, socket.gethostname(), os.getpid())
                runs.see_worker(cursor, self._worker, idle=idle, session=session)
        self._seen_at, self._session = now, session

    def _end_run(self, outcome: str, *, record: bool = True) -> None:
        heartbeat, self._heartbeat = self._heartbeat, None
        if heartbeat and record:
            self._unended = heartbeat.run, outcome
        with suppress(DatabaseError):  # after an outage the next round stores the end
            if record:
                self._store_end()
        if heartbeat:
            heartbeat.close()

    def _store_end(self) -> None:
        """Store the end of the last run, unless it is stored."""
        if self._unended:
            with self._database.transaction() as cursor:
                runs.end(cursor, *self._unended, None)
            self._unended = None

    def _release(self, *, record: bool) -> None:
        """End the run and the worker, and close the connections. `record`: store the ends in the database."""
        self._leaving.set()
        if record and self._words:
            self._words.join(WORDS_SECONDS)
        record = record and not self._down
        self._end_run("done" if self._quiet else "stopped" if self._stop() else "failed", record=record)
        self._listener.close()
        if self._worker is not None and record:
            with suppress(DatabaseError), self._database.transaction() as cursor:
                runs.end_worker(cursor, self._worker)


def wait_for_database(
    open_: Callable[[], Database], stop: Callable[[], bool], down: tuple[float, float]
) -> Database | None:
    """Wait until a database can be opened; return None if told to stop. Raises the errors in `LASTING`."""
    failures = 0
    while not stop():
        try:
            return open_()
        except LASTING:
            raise
        except DatabaseError as error:
            if not failures:
                _warn_down(error)
            until = time.monotonic() + back_off(*down, failures)
            failures += 1
            while not stop() and time.monotonic() < until:
                time.sleep(0.1)
    return None


def _warn_down(error: DedupError) -> None:
    log.warning("%s; waiting for it", error, extra={"event": "down", "error": type(error).__name__})
