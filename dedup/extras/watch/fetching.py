"""Fetch feeds and pages from servers, with limits on size, time and redirects.

A host gets one request at a time, with a pause after each request. With status 429 or 503, the server chooses
the pause. Pages, unlike feeds that the user names, are read only if robots.txt allows it. `reaching.py`
decides which addresses requests may reach.
"""

from __future__ import annotations

import re
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any
from urllib.parse import urljoin

import urllib3
from protego import Protego

import dedup
from dedup.base.article import storable
from dedup.extras.watch.reaching import FetchError, RequestLine, StoppedError, opened, parts_of, place
from dedup.files.source import declared_codec

CONNECT_SECONDS, READ_SECONDS = 10.0, 20.0
TOTAL_SECONDS = 60.0  # Maximum time for an answer with its redirects; a server may send it byte by byte
MAX_BYTES = 50_000_000  # Maximum size of an unpacked answer; the sitemap protocol has this limit
MAX_PAGE_BYTES = 5_000_000  # Maximum size of a page; `dedup.base.html` refuses larger pages
MAX_REDIRECTS = 5
HOST_SECONDS = 1.0  # Minimum pause between two requests to a host; robots.txt may ask for a longer pause
MOST_HOST_SECONDS = 30.0  # Maximum pause that a request waits for; in a longer pause the request fails
PAUSE_SECONDS = 60.0  # Pause after 429 or 503 without Retry-After
MAX_PAUSE_SECONDS = 86_400.0
ROBOTS_SECONDS = 86_400.0  # Time after which robots.txt is read again
MAX_ROBOTS_BYTES = 500_000

ACCEPT = "application/rss+xml, application/atom+xml, application/xml;q=0.9, text/html;q=0.8, */*;q=0.5"
PAGES = ("text/html", "application/xhtml+xml", "text/plain")
GZIP = b"\x1f\x8b"
_CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class Fetched:
    """A successful answer of a server."""

    url: str  # address after redirects
    body: bytes | None  # None if the content has not changed (HTTP 304)
    etag: str | None = None
    modified: str | None = None
    charset: str | None = None
    content_type: str = ""


@dataclass(slots=True)
class _Host:
    lock: Lock = field(default_factory=Lock)
    free_at: float = 0.0  # earliest time of the next request, by `time.monotonic`
    seconds: float = HOST_SECONDS
    robots: Any = None
    robots_until: float = 0.0


class Client:
    """An HTTP client for any number of threads. A waiting call raises StoppedError if `stop` returns True."""

    def __init__(
        self, *, stop: Callable[[], bool], agent: str | None = None, host_seconds: float = HOST_SECONDS
    ) -> None:
        self._stop, self._host_seconds = stop, host_seconds
        self.agent = agent or f"newsdedup/{dedup.__version__}"
        self._hosts: dict[str, _Host] = {}
        self._lock = Lock()

    def get(
        self,
        url: str,
        typed: str | None = None,
        *,
        etag: str | None = None,
        modified: str | None = None,
        max_bytes: int | None = None,
    ) -> Fetched:
        """Fetch `url`. `typed`: the feed address that the user typed, whose host may be in a private network.

        Raises FetchError or StoppedError.
        """
        most = MAX_BYTES if max_bytes is None else max_bytes
        headers = {"User-Agent": self.agent, "Accept": ACCEPT, "Accept-Encoding": "gzip"}
        if etag:
            headers["If-None-Match"] = etag
        if modified:
            headers["If-Modified-Since"] = modified
        left = TOTAL_SECONDS
        for _ in range(MAX_REDIRECTS + 1):
            parts_of(url)
            host = self._host(url)
            with _turn(host, url, self._stop):
                began = time.monotonic()
                found = self._within(url, left, partial(_ask, url, typed, headers, most))
                left -= time.monotonic() - began
                if isinstance(found, FetchError) and found.pause is not None:
                    host.free_at = time.monotonic() + found.pause
            if isinstance(found, FetchError):
                raise found
            if isinstance(found, Fetched):
                return found
            url = found
        raise FetchError(f"{url}: more than {MAX_REDIRECTS} redirects")

    def page(self, url: str, typed: str | None = None) -> str:
        """Fetch a page as text. Raises like `get`, and FetchError if robots.txt forbids the page."""
        if not self._allowed(url, typed):
            raise FetchError(f"{url}: robots.txt forbids this page for {self.agent.partition('/')[0]}", 403)
        answer = self.get(url, typed, max_bytes=MAX_PAGE_BYTES)
        if answer.content_type and not answer.content_type.startswith(PAGES):
            raise FetchError(f"{url}: not a page but {answer.content_type}", 415)
        return _text(answer.body or b"", answer.charset)

    def _allowed(self, url: str, typed: str | None) -> bool:
        parts = parts_of(url)
        host = self._host(url)
        if time.monotonic() >= host.robots_until:
            try:
                robots = f"{parts.scheme}://{parts.netloc}/robots.txt"
                answer = self.get(robots, typed, max_bytes=MAX_ROBOTS_BYTES)
                rules = _text(answer.body or b"", "utf-8")
            except FetchError as error:
                # After a temporary failure the rules are unknown, so raise. After a lasting failure, for
                # example because robots.txt is missing, all pages are allowed.
                if error.passes:
                    raise
                rules = ""
            host.robots = Protego.parse(rules)
            host.robots_until = time.monotonic() + ROBOTS_SECONDS
            delay = host.robots.crawl_delay(self.agent) or 0.0
            host.seconds = min(max(self._host_seconds, float(delay)), MOST_HOST_SECONDS)
        return bool(host.robots.can_fetch(url, self.agent))

    def _host(self, url: str) -> _Host:
        with self._lock:
            return self._hosts.setdefault(place(url), _Host(seconds=self._host_seconds))

    def _within(self, url: str, seconds: float, work: Callable[[RequestLine], Any]) -> Any:
        """Return the result of `work`, or a FetchError if `work` fails or takes longer than `seconds`."""
        # The work runs in a thread, since no timeout of urllib3 limits a whole answer. At the end all
        # connections of the request are cut, so that a late thread ends.
        box: SimpleQueue[Any] = SimpleQueue()
        line = RequestLine()

        def run() -> None:
            try:
                box.put(work(line))
            except FetchError as error:
                box.put(error)
            except Exception as error:
                # A hostile answer may make a library raise any exception.
                box.put(FetchError(f"{url}: {_why(error)}"))

        until = time.monotonic() + seconds
        Thread(target=run, name="dedup-fetch", daemon=True).start()
        try:
            while not self._stop():
                with suppress(Empty):
                    return box.get(timeout=0.1)
                if time.monotonic() > until:
                    return FetchError(f"{url}: no whole answer within {TOTAL_SECONDS:g} s")
            raise StoppedError("stopped while waiting for an answer")
        finally:
            line.cut()


def _ask(
    url: str, typed: str | None, headers: dict[str, str], max_bytes: int, line: RequestLine
) -> Fetched | str:
    """Send one request; return the answer, or the address to which the server redirects."""
    timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
    how = {"timeout": timeout, "redirect": False, "retries": False, "preload_content": False}
    with (
        opened(url, typed, line) as manager,
        closing(manager.request("GET", url, headers=headers, **how)) as response,
    ):
        return _answer(url, response, max_bytes)


@contextmanager
def _turn(host: _Host, url: str, stop: Callable[[], bool]) -> Iterator[None]:
    """Wait until a host may get a request; other requests to this host wait until the block ends."""
    while not host.lock.acquire(timeout=0.1):
        if stop():
            raise StoppedError("stopped while waiting for a turn")
    try:
        while (wait := host.free_at - time.monotonic()) > 0:
            if wait > MOST_HOST_SECONDS:
                raise FetchError(f"{url}: the host asked for a pause", 429, wait)
            if stop():
                raise StoppedError("stopped while waiting for a turn")
            time.sleep(min(wait, 0.1))
        try:
            yield
        finally:
            host.free_at = max(host.free_at, time.monotonic() + host.seconds)
    finally:
        host.lock.release()


def _answer(url: str, response: Any, max_bytes: int) -> Fetched | str:
    status, headers = response.status, response.headers
    if status == 304:
        return Fetched(url, None)
    if status in (301, 302, 303, 307, 308):
        with suppress(ValueError):
            if location := headers.get("Location"):
                return urljoin(url, str(location))
        raise FetchError(f"{url}: a redirect to nowhere", status)
    if status != 200:
        pause = _pause(headers.get("Retry-After")) if status in (429, 503) else None
        raise FetchError(f"{url}: HTTP {status}", status, pause)
    body = bytearray()
    while chunk := response.read1(_CHUNK, decode_content=True):
        body += chunk
        if len(body) > max_bytes:
            raise FetchError(f"{url}: longer than {max_bytes:,} bytes", 413)
    # A sitemap may be a gzip file without Content-Encoding. `max_bytes` also limits the unpacked file.
    if body.startswith(GZIP):
        member = zlib.decompressobj(wbits=31)
        body = bytearray(member.decompress(bytes(body), max_bytes))
        if not member.eof:
            raise FetchError(f"{url}: longer than {max_bytes:,} bytes, or damaged", 413)
    kind = str(headers.get("Content-Type") or "").lower()
    found = re.search(r"charset=\"?([\w.:-]+)", kind)
    charset = found[1] if found else None
    return Fetched(url, bytes(body), headers.get("ETag"), headers.get("Last-Modified"), charset, kind)


def _pause(given: str | None) -> float:
    """Return the seconds that the header Retry-After asks to wait (at most a day), or `PAUSE_SECONDS`."""
    seconds = PAUSE_SECONDS
    if given and re.fullmatch(r"\s*[0-9]+\s*", given):
        seconds = float(given.strip()[:9])
    elif given:
        with suppress(ValueError, TypeError, OverflowError):
            seconds = (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 1.0), MAX_PAUSE_SECONDS)


def _why(error: Exception) -> str:
    """Return the message of a network error, without representations of Python objects."""
    reason = getattr(error, "reason", None)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    named = reason if isinstance(reason, Exception) else error
    words = re.sub(r"^<[^>]*>:? ?|HTTPS?Connection(?:Pool)?\([^)]*\):? ?", "", str(named))
    return words or type(named).__name__


def _text(body: bytes, charset: str | None) -> str:
    """Decode a page with the encoding that HTTP or the page names, else UTF-8 or Windows-1252."""
    start = body[:5_000]
    declared = re.search(rb"<meta[^>]{0,200}?charset=[\"']?([\w.:-]{1,40})", start, re.I)
    for name in (charset, declared and declared[1].decode("ascii", "replace")):
        if name and (codec := declared_codec(name, start)):
            return storable(body.decode(codec, "replace"))
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")
