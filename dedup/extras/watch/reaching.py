"""Restrict requests to public addresses, and open connections that other threads can cut.

Only http and https are allowed. Hosts must be public, except the host and port of the address that the user
typed, so that a feed cannot make this program reach other servers in the user's network.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from functools import cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from threading import Lock
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from dedup.base.printable import printable

WITHIN = "a host in your own network that you did not name"
UNKNOWN = "you did not name this host, and only the proxy may know its address: not read"

_UNICAST = ip_network("2000::/3")  # public IPv6 addresses
_NAT64 = ip_network("64:ff9b::/96")
_SPECIAL = (ip_network("192.0.0.0/24"), ip_network("192.88.99.0/24"))  # protocol assignments, 6to4 relays


class FetchError(Exception):
    """Raised if an address cannot be read; the message gives the reason and is printable."""

    def __init__(self, words: str, status: int | None = None, pause: float | None = None) -> None:
        super().__init__(printable(words))
        # status: HTTP status, None without an answer; pause: seconds that the server asked to wait, or None.
        self.status, self.pause = status, pause

    @property
    def passes(self) -> bool:
        """True if the same request may succeed later."""
        return self.status is None or self.status in (408, 425, 429) or self.status >= 500


class StoppedError(Exception):
    """Raised if the caller asks to stop while a request or an entry waits."""


class RequestLine:
    """Holds the connections of one request, so that another thread can cut them."""

    def __init__(self) -> None:
        self._sockets: list[socket.socket] | None = []  # None after `cut`
        self._lock = Lock()

    def hold(self, connected: socket.socket) -> None:
        """Add a connection; raise OSError after `cut`."""
        with self._lock:
            if self._sockets is None:
                connected.close()
                raise OSError("the request was given up")
            self._sockets.append(connected.dup())  # a copy, because TLS detaches the original

    def cut(self) -> None:
        """Close all connections, so that threads that read from them see the end of the data."""
        with self._lock:
            held, self._sockets = self._sockets or [], None
        for one in held:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


def parts_of(url: str) -> SplitResult:
    """Split an address; raise FetchError if it is not http or https, or contains a user name."""
    shown = "a link"
    with suppress(ValueError):
        parts = urlsplit(url)
        shown = f"{parts.scheme}://{parts.hostname or ''}"
        readable = url.isprintable() and (parts.port is None or parts.port > 0)
        if readable and parts.scheme in ("http", "https") and parts.hostname and parts.username is None:
            return parts
    raise FetchError(f"{shown}: must be an http or https address without a user name", 400)


def place(url: str) -> str:
    """Return host and port of an address; requests to the same host and port are sent one at a time."""
    return urlsplit(url).netloc.rpartition("@")[2].lower()


def opened(url: str, typed: str | None, line: RequestLine) -> Any:
    """Return a pool manager for an address or its proxy; raise FetchError for a forbidden address."""
    parts = parts_of(url)
    proxy = None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)
    named = typed is not None and place(url) == place(typed)
    if not named:
        _check(url, parts, proxied=proxy is not None)
    tls = _tls()
    manager: Any = (
        urllib3.ProxyManager(proxy, ssl_context=tls) if proxy else urllib3.PoolManager(ssl_context=tls)
    )
    manager.pool_classes_by_scheme = _pools(line, public=not (named or proxy))
    return manager


def _check(url: str, parts: SplitResult, *, proxied: bool) -> None:
    """Raise FetchError if a host is not public. `proxied`: also raise if the host's address is not found."""
    try:
        found = socket.getaddrinfo(parts.hostname, parts.port or parts.scheme, type=socket.SOCK_STREAM)
    except (OSError, ValueError) as error:
        if not proxied:
            return  # the request itself will fail, with a better message
        later = isinstance(error, socket.gaierror) and error.errno == socket.EAI_AGAIN
        raise FetchError(f"{url}: {UNKNOWN}", None if later else 403) from None
    if not all(_is_public(str(address[0])) for *_, address in found):
        raise FetchError(f"{url}: {WITHIN}", 403)


def _is_public(given: str) -> bool:
    address = ip_address(given.partition("%")[0])
    if isinstance(address, IPv6Address):
        # An IPv6 address that contains an IPv4 address leads to the IPv4 address, which may be private.
        held = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            held = IPv4Address(int(address) & 0xFFFFFFFF)
        return address.is_global and address in _UNICAST if held is None else _is_public(str(held))
    return address.is_global and not address.is_multicast and not any(address in one for one in _SPECIAL)


def _pools(line: RequestLine, *, public: bool) -> dict[str, Any]:
    """Return pool classes that add each connection to `line`. `public`: refuse hosts that are not public."""

    def _new_conn(connection: Any) -> socket.socket:
        made: socket.socket = super(type(connection), connection)._new_conn()
        # DNS may now return a different address than in `_check`, so the connected address is checked, too.
        if public and not _is_public(made.getpeername()[0]):
            made.close()
            raise FetchError(f"{connection.host}: {WITHIN}", 403)
        line.hold(made)
        return made

    def held(pool: Any) -> Any:
        connection = type("HeldConnection", (pool.ConnectionCls,), {"_new_conn": _new_conn})
        return type("HeldPool", (pool,), {"ConnectionCls": connection})

    return {"http": held(urllib3.HTTPConnectionPool), "https": held(urllib3.HTTPSConnectionPool)}


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
