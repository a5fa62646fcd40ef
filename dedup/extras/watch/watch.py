"""Poll feeds and news sitemaps, and submit their new entries.

    from dedup import watch
    watch.watch(["https://courier.example/feed"], stop=event.is_set)

Each version of an entry is submitted once. The corpus stores which entries were submitted (`feeds.py`). So if
a poll is killed, the next poll continues with the remaining entries. The logger is `dedup.watch`.
"""

from __future__ import annotations

import logging
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from dedup.base.answer import Answer
from dedup.base.errors import LASTING, DatabaseError, DedupError, InputError, is_about_input
from dedup.base.printable import printable
from dedup.base.timeouts import Timeouts, check_seconds
from dedup.base.times import back_off
from dedup.db.database import Database
from dedup.extras.watch import feeds as store
from dedup.extras.watch import polled, sitemaps
from dedup.extras.watch.entries import Submitter, Told
from dedup.extras.watch.fetching import HOST_SECONDS, Client
from dedup.extras.watch.reaching import FetchError, StoppedError
from dedup.files.entries import read_document
from dedup.files.record import describe_error
from dedup.settling import daemon
from dedup.settling.daemon import DOWN_SECONDS
from dedup.store import opening

__all__ = ["EVERY_SECONDS", "WatchReport", "watch"]

EVERY_SECONDS = 300.0
"""Default time between two polls of a feed."""

MAX_BACK_OFF_SECONDS = 21_600.0  # Each failure of a feed doubles the time between polls, up to this time
HOSTS_AT_ONCE = 8  # Maximum number of hosts that are polled at the same time
SLEEP_SECONDS = 0.1
MAX_PROBLEM_CHARACTERS = 1_000  # Maximum length of a stored message
READ_SECONDS = 30.0  # Maximum time to read the entries of an answer; there may be millions
PIECE_BYTES = 65_536  # Size of the pieces in which an answer is parsed

log = logging.getLogger("dedup.watch")


@dataclass(slots=True)
class WatchReport(Answer):
    """Numbers of polls and entries since the start.

    Attributes:
        polls: polls that succeeded, with or without new entries.
        failed: polls that failed.
        new: new entries, which were submitted.
        changed: changed entries, which were submitted again.
        refused: entries that cannot be stored as articles.
        left: entries whose page could not be read; the next poll tries again.
        problems: reason why the last poll failed, by address.
    """

    polls: int = 0
    failed: int = 0
    new: int = 0
    changed: int = 0
    refused: int = 0
    left: int = 0
    problems: dict[str, str] = field(default_factory=dict)


def watch(
    addresses: Iterable[str],
    url: str | None = None,
    *,
    stop: Callable[[], bool],
    schema: str | None = None,
    every: float = EVERY_SECONDS,
    once: bool = False,
    fetch: bool = False,
    told: Told | None = None,
    agent: str | None = None,
    host_seconds: float = HOST_SECONDS,
    timeouts: Timeouts | None = None,
) -> WatchReport:
    """Poll feeds and submit new and changed entries, until `stop` returns True or, with `once`, only once.

    Args:
        addresses: addresses of RSS, Atom or news sitemaps; `NAME=ADDRESS` also names the outlet.
        url, schema, timeouts: as for `Deduplicator`. If the database is down, wait; with `once`, raise.
        every: seconds between two polls of a feed.
        fetch: read the page of each entry whose feed has no full text.
        told: function called with each verdict and article, by only one thread at a time.
        agent: the name sent to servers as User-Agent.
        host_seconds: minimum seconds between two requests to a host.

    Raises:
        InputError: an address is invalid; the message names it.
        LoginError, RightsError, SchemaError: as by `dedup.worker.work`. With `once`, every DatabaseError.
    """
    check_seconds("the time between polls", every)
    named = [_named(address) for address in addresses]
    if once:
        database: Database | None = opening.connect(url, timeouts, schema)
    else:
        database = daemon.wait_for_database(
            lambda: opening.connect(url, timeouts, schema), stop, DOWN_SECONDS
        )
    if database is None:
        return WatchReport()
    try:
        watcher = _Watcher(database, named, stop, every, fetch, told, agent, host_seconds)
        words = f"{len(named)} feed{'s' * (len(named) != 1)}"
        log.info("watching %s", words, extra={"event": "started", "feeds": len(named)})
        watcher.run(once)
        log.info("watch stopped", extra={"event": "stopped"})
        return watcher.report
    finally:
        database.close()


@dataclass(frozen=True, slots=True)
class _Feed:
    address: str
    publication: str | None = None
    given: str = ""  # the address that the operator gave: of this feed, or of the index that lists it


def _named(given: str) -> _Feed:
    name, _, address = given.partition("=") if re.match(r"[^:/?#]*=", given) else ("", "", given)
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        usage = "write https://… or NAME=https://…; files are for `dedup load`"
        raise InputError(f"{given!r} is not the address of a feed: {usage}")
    if parts.username or parts.password:  # logs and the corpus would reveal the password
        raise InputError(f"an address at {parts.hostname} contains a user name or password: remove it")
    return _Feed(address.strip(), name.strip() or None, address.strip())


class _Watcher:
    def __init__(
        self,
        database: Database,
        named: Sequence[_Feed],
        stop: Callable[[], bool],
        every: float,
        fetch: bool,
        told: Told | None,
        agent: str | None,
        host_seconds: float,
    ) -> None:
        self.report = WatchReport()
        self._client = Client(stop=self.stopped, agent=agent, host_seconds=host_seconds)
        self._submitter = Submitter(database, self._client if fetch else None, self.stopped, told)
        self._database, self._stop, self._every, self._fetch = database, stop, every, fetch
        self._ending, self._once = False, False
        self._due = dict.fromkeys(named, 0.0)
        self._lock = Lock()
        self._down = 0

    def stopped(self) -> bool:
        return self._ending or self._stop()

    def run(self, once: bool) -> None:
        """Poll all feeds that are due, with a thread for each host."""
        self._once = once
        running: dict[str, Future[None]] = {}
        resume = 0.0
        with ThreadPoolExecutor(HOSTS_AT_ONCE, "dedup-watch") as threads:
            try:
                while not self.stopped():
                    for host in [host for host, future in running.items() if future.done()]:
                        resume = self._finished(running.pop(host)) or resume
                    now = time.monotonic()
                    if now >= resume:
                        for host, due in self._waiting(now, running).items():
                            running[host] = threads.submit(self._poll_all, due)
                    if once and not running and not any(due <= now for due in self._due.values()):
                        return
                    time.sleep(SLEEP_SECONDS)
            finally:
                self._ending = True

    def _waiting(self, now: float, running: dict[str, Future[None]]) -> dict[str, list[_Feed]]:
        """Return the feeds that are due, by host; hosts that are being polled are left out."""
        found: dict[str, list[_Feed]] = defaultdict(list)
        for feed, due in self._due.items():
            host = urlsplit(feed.address).netloc
            if due <= now and host not in running:
                found[host].append(feed)
        return found

    def _finished(self, future: Future[None]) -> float | None:
        """Raise the error of a host's polls; return None if the polls succeeded or were stopped.

        If the database is down, return the time of the next attempt; with `once`, raise.
        """
        try:
            future.result()
        except StoppedError:
            return None
        except LASTING:
            raise
        except DatabaseError as error:
            if self._once:
                raise
            if not self._down:
                extra = {"event": "down", "error": type(error).__name__}
                log.warning("%s; waiting for it", error, extra=extra)
            self._down += 1
            return time.monotonic() + back_off(*DOWN_SECONDS, self._down - 1)
        if self._down:
            log.info("the database is back after %d failed attempts", self._down, extra={"event": "up"})
            self._down = 0
        return None

    def _poll_all(self, due: Sequence[_Feed]) -> None:
        for feed in due:
            began = time.monotonic()
            self._poll(feed)
            self._due[feed] = float("inf") if self._once else began + self._every

    def _poll(self, feed: _Feed) -> None:
        """Poll a feed, and store the reason if the poll fails. During a pause, only report the pause."""
        try:
            with self._database.transaction() as cursor:
                state = store.feed(cursor, feed.address)
        except InputError as error:
            # The address, often from a sitemap index, is too long to be stored. So the problem is reported
            # under the address that the operator gave.
            log.warning("%s", error, extra={"event": "failed", "feed": feed.given})
            with self._lock:
                self.report.failed += 1
                self.report.problems[feed.given] = str(error)
            return
        if state.not_before and (wait := (state.not_before - datetime.now(UTC)).total_seconds()) > 0:
            problem = f"paused for {wait:.0f} s more: {state.problem}"
            with self._lock:
                self.report.problems[feed.address] = problem
            level = logging.INFO if self._once else logging.DEBUG
            log.log(level, "%s: %s", feed.address, problem, extra={"event": "left", "feed": feed.address})
            return
        try:
            self._read(feed, state)
        except (FetchError, InputError) as error:
            self._failed(feed, state, str(error), getattr(error, "pause", None))
        except DatabaseError as error:
            if not is_about_input(error):
                raise
            # The database works, but refuses a value of this feed.
            self._failed(feed, state, str(error), None)

    def _succeeded(self, feed: _Feed) -> None:
        with self._lock:
            self.report.polls += 1
            self.report.problems.pop(feed.address, None)

    def _failed(self, feed: _Feed, state: store.FeedState, problem: str, pause: float | None) -> None:
        problem = printable(problem)[:MAX_PROBLEM_CHARACTERS]
        again = back_off(self._every, MAX_BACK_OFF_SECONDS, state.failures)
        seconds = again if pause is None else pause
        with self._database.transaction() as cursor:
            store.failed(cursor, state.id, problem, seconds, asked=pause is not None)
        with self._lock:
            self.report.failed += 1
            self.report.problems[feed.address] = problem
        words = printable(problem if feed.address in problem else f"{feed.address}: {problem}")
        extra: dict[str, Any] = {"event": "failed", "feed": feed.address}
        # With `once`, the caller (such as cron) decides when the feed is polled again.
        if not self._once:
            words += f"; polled again in {seconds:.0f} s"
            extra["seconds"] = round(seconds, 3)
        log.warning("%s", words, extra=extra)

    def _read(self, feed: _Feed, state: store.FeedState) -> None:
        with _blame_feed(feed):
            answer = self._client.get(feed.address, feed.given, etag=state.etag, modified=state.modified)
        if answer.body is None:
            with self._database.transaction() as cursor:
                store.answered(cursor, state.id, [], state.etag, state.modified)
            self._succeeded(feed)
            return
        pieces = (answer.body[at : at + PIECE_BYTES] for at in range(0, len(answer.body), PIECE_BYTES))
        try:
            with _blame_feed(feed):
                document = read_document(feed.address, pieces, charset=answer.charset)
        except InputError:
            if named := polled.feeds_of_page(answer.url, answer.body):
                raise InputError(f"{feed.address} is a page; its feeds: {', '.join(named)}") from None
            raise
        document.entries = self._in_time(feed, document.entries)
        if document.root == "sitemapindex":
            if feed.address != feed.given:
                raise InputError(f"{feed.address} is an index of sitemaps within another index: not read")
            with _blame_feed(feed):
                children = sitemaps.children(document)
            if left := len(children[sitemaps.MAX_CHILDREN :]):
                words = "%s: %d of its %d recent sitemaps are not read; name them as feeds of their own"
                extra = {"event": "left", "feed": feed.address}
                log.warning(words, feed.address, left, len(children), extra=extra)
            for address in children[: sitemaps.MAX_CHILDREN]:
                if address != feed.address:
                    self._poll(replace(feed, address=address))
            # Store no ETag, so that each poll reads the index: sitemaps may change while the index does not.
            with self._database.transaction() as cursor:
                store.answered(cursor, state.id, [])
            self._succeeded(feed)
            return
        with _blame_feed(feed):
            entries = polled.entries(document, feed.publication, fetched=self._fetch)
        if document.root == "urlset" and entries and not self._fetch:
            raise InputError(f"{feed.address} is a sitemap without texts: add --fetch to read the pages")
        counts, ids = self._submitter.submit_all(feed.given, state.id, entries)
        self._log_counts(feed, counts, document.refused)
        # Store no ETag while entries are left: with an ETag, the next poll might get no entries (HTTP 304).
        done = not counts["left"] and not document.truncated
        validators = (answer.etag, answer.modified) if done else (None, None)
        with self._database.transaction() as cursor:
            store.answered(cursor, state.id, ids, *validators)
        self._succeeded(feed)
        if document.truncated:
            self._note_cut(feed, state, len(entries))

    def _in_time(self, feed: _Feed, entries: Iterator[Any]) -> Iterator[Any]:
        """Yield the entries of a document; raise InputError if parsing takes too long."""
        until = time.monotonic() + READ_SECONDS
        for entry in entries:
            if self.stopped():
                raise StoppedError("stopped between two entries")
            if time.monotonic() > until:
                raise InputError(f"{feed.address}: the feed takes longer than {READ_SECONDS:g} s to read")
            yield entry

    def _note_cut(self, feed: _Feed, state: store.FeedState, count: int) -> None:
        """Store that the answer of a feed was incomplete; the next poll reads the whole feed."""
        words = "1 entry was read" if count == 1 else f"{count} entries were read"
        problem = f"the feed breaks off; {words}"
        with self._database.transaction() as cursor:
            store.failed(cursor, state.id, problem, 0, asked=True)
        with self._lock:
            self.report.problems[feed.address] = problem
        log.warning("%s: %s", feed.address, problem, extra={"event": "cut", "feed": feed.address})

    def _log_counts(self, feed: _Feed, counts: dict[str, int], broken: Sequence[tuple[int, str]]) -> None:
        without_text = counts["refused"] and counts["refused"] == sum(counts.values())
        counts["refused"] += len(broken)
        with self._lock:
            for name in ("new", "changed", "refused", "left"):
                setattr(self.report, name, getattr(self.report, name) + counts[name])
        words = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
        level = logging.INFO if counts["new"] or counts["changed"] or counts["left"] else logging.DEBUG
        extra = {"event": "polled", "feed": feed.address, **counts}
        log.log(level, "%s: %s", feed.address, words, extra=extra)
        if broken:
            line, reason = broken[0]
            log.warning(
                "%s: %d of its entries cannot be read; the first, in line %d: %s",
                *(feed.address, len(broken), line, reason),
                extra={"event": "refused", "feed": feed.address},
            )
        if without_text:
            hint = "no entry has a readable text" if self._fetch else "no entry has a text: add --fetch"
            log.warning("%s: %s", feed.address, hint, extra={"event": "refused", "feed": feed.address})


@contextmanager
def _blame_feed(feed: _Feed) -> Iterator[None]:
    """Turn an unexpected error of a parser into InputError, so that only this feed fails."""
    try:
        yield
    except (DedupError, FetchError, StoppedError, MemoryError):
        raise
    except Exception as error:
        raise InputError(f"{feed.address}: {describe_error(error)}") from error
