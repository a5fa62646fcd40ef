"""Answers of strangers' servers, within bounds: of size, of time, of redirects, and of where they may lead.

A server is asked for one thing at a time, with a pause between two; one that asks for a pause (429, 503) gets
it. An address on the internet leads to none within the own network: only http and https are spoken, and a
host that was not named by the user must be a public one. Pages, unlike feeds that the user names, are read
only where robots.txt allows it.

urllib3, which asks, and Protego, which reads robots.txt, are imported when the first address is opened.
"""

from __future__ import annotations

import re
import socket
import time
import zlib
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import dedup
from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.base.text_codecs import text_codec

CONNECT_SECONDS, READ_SECONDS = 10.0, 20.0
TOTAL_SECONDS = 60.0  # For an answer with all its redirects, however slowly it drips
MAX_BYTES = 50_000_000  # Of an answer, unpacked: what sitemaps may have
MAX_PAGE_BYTES = 5_000_000  # Of a page; `dedup.base.html` refuses longer ones
MAX_REDIRECTS = 5
HOST_SECONDS = 1.0  # Between two requests to a host, or what its robots.txt says, up to
MOST_HOST_SECONDS = 30.0

PAUSE_SECONDS = 60.0  # For a host that is asked too often and does not say for how long
MAX_PAUSE_SECONDS = 86_400.0
ROBOTS_SECONDS = 86_400.0  # robots.txt is asked for again after a day
MAX_ROBOTS_BYTES = 500_000

ACCEPT = "application/rss+xml, application/atom+xml, application/xml;q=0.9, text/html;q=0.8, */*;q=0.5"
PAGES = ("text/html", "application/xhtml+xml", "text/plain")
WITHIN = "a host within the own network that was not named"
GZIP = b"\x1f\x8b"
_CHUNK = 65_536


class FetchError(Exception):
    """An answer cannot be had; the message says why.

    Attributes:
        status: of HTTP, if the server answered.
        pause: seconds that the server asked to wait; None if it did not.
    """

    def __init__(self, words: str, status: int | None = None, pause: float | None = None) -> None:
        super().__init__(words)
        self.status, self.pause = status, pause

    @property
    def passes(self) -> bool:
        """Whether to ask again may help."""
        return self.status is None or self.status in (408, 425, 429) or self.status >= 500


class StoppedError(Exception):
    """It was told to stop while it waited."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a server answered; without a body if nothing has changed (304)."""

    url: str  # where the redirects led
    body: bytes | None
    etag: str | None = None
    modified: str | None = None
    charset: str | None = None
    content_type: str = ""


@dataclass(slots=True)
class _Host:
    lock: Lock = field(default_factory=Lock)
    free_at: float = 0.0  # on the clock of `time.monotonic`
    seconds: float = HOST_SECONDS
    robots: Any = None
    robots_until: float = 0.0


class Client:
    """Asks servers, from any number of threads.

    Args:
        named: addresses that the user named, whose hosts need not be public.
        agent: the name it gives itself.
        stop: ends whatever waits, with a StoppedError.
        host_seconds: between two requests to a host.
    """

    def __init__(
        self,
        named: Collection[str],
        *,
        stop: Callable[[], bool],
        agent: str | None = None,
        host_seconds: float = HOST_SECONDS,
    ) -> None:
        self._named = {_place(address) for address in named}
        self._stop, self._host_seconds = stop, host_seconds
        self.agent = agent or f"newsdedup/{dedup.__version__}"
        self._hosts: dict[str, _Host] = {}
        self._managers: dict[tuple[str | None, bool], Any] = {}
        self._lock = Lock()

    def get(
        self, url: str, *, etag: str | None = None, modified: str | None = None, max_bytes: int | None = None
    ) -> Fetched:
        """The answer of an address. Raises FetchError, and StoppedError."""
        most = MAX_BYTES if max_bytes is None else max_bytes
        headers = {"User-Agent": self.agent, "Accept": ACCEPT, "Accept-Encoding": "gzip"}
        if etag:
            headers["If-None-Match"] = etag
        if modified:
            headers["If-Modified-Since"] = modified
        until = time.monotonic() + TOTAL_SECONDS
        for _ in range(MAX_REDIRECTS + 1):
            self._check(url)
            with _Turn(self._host(url), url, self._stop) as host:
                found = self._within(url, until, partial(self._ask, url, headers, most))
                if isinstance(found, FetchError) and found.pause is not None:
                    host.free_at = time.monotonic() + found.pause
            if isinstance(found, Exception):
                raise found
            if isinstance(found, Fetched):
                return found
            url = urljoin(url, found)
        raise FetchError(f"{url}: more than {MAX_REDIRECTS} redirects")

    def page(self, url: str) -> str:
        """A page, if robots.txt allows it. Raises as `get`; FetchError with status 403 if it does not."""
        self._check(url)
        if not self._allowed(url):
            raise FetchError(
                f"{url}: its robots.txt does not allow {self.agent.partition('/')[0]} there", 403
            )
        answer = self.get(url, max_bytes=MAX_PAGE_BYTES)
        if answer.content_type and not answer.content_type.startswith(PAGES):
            raise FetchError(f"{url}: no page but {answer.content_type}", 415)
        return _text(answer.body or b"", answer.charset)

    def _check(self, url: str) -> None:
        """Refuse what is neither http nor https, and hosts of the own network that nobody named."""
        parts = urlsplit(url)
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if parts.scheme not in ("http", "https") or not host or parts.username is not None:
            raise FetchError(
                f"{parts.scheme}://{host or ''}: no address of http or https without a password", 400
            )
        if _place(url) in self._named:
            return
        try:
            found = socket.getaddrinfo(host, port or parts.scheme, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            return  # a proxy may know it, or the request says so
        if not all(_is_public(address) for *_, address in found):
            raise FetchError(f"{url}: {WITHIN}", 403)

    def _allowed(self, url: str) -> bool:
        """What robots.txt says; where it cannot be read now, that the page is not to be read now."""
        parts = urlsplit(url)
        host = self._host(url)
        if time.monotonic() >= host.robots_until:
            from protego import Protego

            try:
                answer = self.get(f"{parts.scheme}://{parts.netloc}/robots.txt", max_bytes=MAX_ROBOTS_BYTES)
                rules = _text(answer.body or b"", "utf-8")
            except FetchError as error:
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
            return self._hosts.setdefault(_place(url), _Host(seconds=self._host_seconds))

    def _within(self, url: str, until: float, work: Callable[[], Any]) -> Any:
        """What a thread comes back with, or its error. One that is late is left alone: a socket that drips
        cannot be told to end.
        """
        box: SimpleQueue[Any] = SimpleQueue()

        def run() -> None:
            try:
                box.put(work())
            except Exception as error:
                box.put(error)

        Thread(target=run, name="dedup-fetch", daemon=True).start()
        while not self._stop():
            with suppress(Empty):
                return box.get(timeout=0.1)
            if time.monotonic() > until:
                return FetchError(f"{url}: no whole answer within {TOTAL_SECONDS:g} s")
        raise StoppedError("stopped while waiting for an answer")

    def _ask(self, url: str, headers: dict[str, str], max_bytes: int) -> Fetched | str:
        """One request: an answer, or where to ask instead."""
        import urllib3

        timeout = urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
        try:
            response = self._manager(url).request(
                "GET",
                url,
                headers=headers,
                timeout=timeout,
                redirect=False,
                retries=False,
                preload_content=False,
            )
            try:
                return _answer(url, response, max_bytes)
            finally:
                response.close()
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise FetchError(f"{url}: {_why(error)}") from None

    def _manager(self, url: str) -> Any:
        """What asks: directly, or through the proxy of the environment."""
        import urllib3

        parts = urlsplit(url)
        proxy = None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)
        named = _place(url) in self._named
        with self._lock:
            if (proxy, named) not in self._managers:
                manager = urllib3.ProxyManager(proxy) if proxy else urllib3.PoolManager()
                if not proxy and not named:
                    manager.pool_classes_by_scheme = _public_pools()
                self._managers[proxy, named] = manager
            return self._managers[proxy, named]


def _is_public(address: Sequence[Any]) -> bool:
    """Whether an address of a socket is on the internet."""
    return ip_address(str(address[0]).partition("%")[0]).is_global


def _public_pools() -> dict[str, Any]:
    """Pools of connections to public hosts only: a name may lead elsewhere than when it was looked up."""
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool

    def connect(connection: Any) -> None:
        super(type(connection), connection).connect()
        if not _is_public(connection.sock.getpeername()):
            connection.close()
            raise FetchError(f"{connection.host}: {WITHIN}", 403)

    def guarded(pool: Any) -> Any:
        public = type("Public", (pool.ConnectionCls,), {"connect": connect})
        return type("PublicPool", (pool,), {"ConnectionCls": public})

    return {"http": guarded(HTTPConnectionPool), "https": guarded(HTTPSConnectionPool)}


class _Turn:
    """A host, as soon as it may be asked; nobody else asks it meanwhile."""

    def __init__(self, host: _Host, url: str, stop: Callable[[], bool]) -> None:
        self._host, self._url, self._stop = host, url, stop

    def __enter__(self) -> _Host:
        while not self._host.lock.acquire(timeout=0.1):
            if self._stop():
                raise StoppedError("stopped while waiting for a turn")
        try:
            while (wait := self._host.free_at - time.monotonic()) > 0:
                if wait > MOST_HOST_SECONDS:
                    raise FetchError(f"{self._url}: its host asked for a pause", 429, wait)
                if self._stop():
                    raise StoppedError("stopped while waiting for a turn")
                time.sleep(min(wait, 0.1))
        except BaseException:
            self._host.lock.release()
            raise
        return self._host

    def __exit__(self, *_: object) -> None:
        self._host.free_at = max(self._host.free_at, time.monotonic() + self._host.seconds)
        self._host.lock.release()


def _answer(url: str, response: Any, max_bytes: int) -> Fetched | str:
    status, headers = response.status, response.headers
    if status == 304:
        return Fetched(url, None)
    if status in (301, 302, 303, 307, 308):
        if location := headers.get("Location"):
            return str(location)
        raise FetchError(f"{url}: a redirect to nowhere", status)
    if status != 200:
        pause = _pause(headers.get("Retry-After")) if status in (429, 503) else None
        raise FetchError(f"{url}: HTTP {status}", status, pause)
    body = bytearray()
    while chunk := response.read1(_CHUNK, decode_content=True):
        body += chunk
        if len(body) > max_bytes:
            raise FetchError(f"{url}: longer than {max_bytes:,} bytes", 413)
    if body.startswith(GZIP):  # a sitemap that is kept packed
        member = zlib.decompressobj(wbits=31)
        body = bytearray(member.decompress(bytes(body), max_bytes))
        if not member.eof:
            raise FetchError(f"{url}: longer than {max_bytes:,} bytes, or damaged", 413)
    kind = str(headers.get("Content-Type") or "").lower()
    charset = re.search(r"charset=\"?([\w.:-]+)", kind)
    return Fetched(
        url,
        bytes(body),
        headers.get("ETag"),
        headers.get("Last-Modified"),
        charset[1] if charset else None,
        kind,
    )


def _pause(given: str | None) -> float:
    """What Retry-After says, in seconds, at most a day; `PAUSE_SECONDS` if it says nothing."""
    seconds = PAUSE_SECONDS
    if given and given.strip().isdigit():
        seconds = float(given.strip()[:9])
    elif given:
        with suppress(ValueError, TypeError):
            seconds = (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 1.0), MAX_PAUSE_SECONDS)


def _why(error: Exception) -> str:
    """An error of the network, without the address of an object."""
    reason = getattr(error, "reason", None)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    named = reason if isinstance(reason, Exception) else error
    return (
        re.sub(r"^<[^>]*>:? ?|HTTPS?Connection(?:Pool)?\([^)]*\):? ?", "", str(named)) or type(named).__name__
    )


def _text(body: bytes, charset: str | None) -> str:
    """A page as text: in the encoding that HTTP names, or that it names itself."""
    declared = re.search(rb"<meta[^>]{0,200}?charset=[\"']?([\w.:-]{1,40})", body[:5_000], re.I)
    for name in (charset, declared and declared[1].decode("ascii", "replace")):
        if name and (codec := text_codec(name)):
            return body.decode(codec, "replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")


def _place(url: str) -> str:
    """Host and port: what is asked one thing at a time."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def need_packages() -> None:
    """Raises InputError: what `watch` needs is not installed."""
    try:
        import lxml  # noqa: F401
        import protego  # noqa: F401
        import trafilatura  # noqa: F401
        import urllib3  # noqa: F401
    except ImportError as error:
        raise InputError(f"watch needs {error.name}: run `{installing('watch')}`") from None
