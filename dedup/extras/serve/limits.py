"""The bounds of the HTTP service, and what counts against them. No HTTP here."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dedup.files.record import MAX_RECORD_BYTES

MAX_CONNECTIONS = 400
"""Open at a time; then one that waits for its client gives way. A process may usually open 1,024 files."""

HEAD_BYTES = 16_384
"""Of the request line and the headers together. Two ids of 1,024 bytes take 6,144 in a query."""

HEAD_SECONDS = 10.0
"""For the whole head of a request to come, or for the next one on a connection that is kept open."""

DATABASE_SECONDS = 5.0
"""At most, for a lock or for one statement: shorter than the work, so that an answer says what happened."""

REQUEST_SECONDS = 90.0
"""All of it together, the answer's way to a slow reader included; then the connection is cut."""

MAX_CLIENTS = 10_000  # Of which the rate is kept in mind

THREADS = 8
"""That work at a time. A `Deduplicator` has ten connections; the health check needs one of the others."""


@dataclass(frozen=True, slots=True)
class Limits:
    body_bytes: int = MAX_RECORD_BYTES  # of a request's body
    bodies: int = 4  # so many bodies of that size may be held at a time
    rate: float = 100.0  # requests a second of one client, which may come all at once
    requests: int = 32  # that are worked on, or wait for a thread
    body_seconds: float = 30.0  # for the whole body to come; 16 MiB at 5 Mbit/s
    work_seconds: float = 20.0  # from the body to the answer, the wait for a thread included
    batch_articles: int = 1_000
    batch_seconds: float = 10.0  # of one batch; what is not reached is left, and the answer says so
    changes: int = 10_000  # in one answer; 2 MB


class Rates:
    """A token bucket for every client: it fills with `rate` a second, and holds what comes in one second."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._room = max(1.0, rate)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Take one; returns 0, or the seconds until there is one."""
        now = self._clock()
        left, at = self._buckets.pop(client, (self._room, now))
        left = min(self._room, left + (now - at) * self._rate)
        allowed = left >= 1
        self._buckets[client] = (left - 1 if allowed else left, now)
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate


def client_key(host: str | None) -> str:
    """Whom an address belongs to: of IPv6 the network of 64 bits, which one client may have all of."""
    try:
        address = ipaddress.ip_address((host or "").partition("%")[0])
    except ValueError:
        return "local"  # a socket in the file system
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


class FullError(Exception):
    """There is no room now; the message says of what."""


@dataclass(slots=True)
class Room:
    """A count that stays below a bound: of requests, or of bytes that are held."""

    most: int
    words: str = ""  # of the FullError
    taken: int = 0

    def take(self, count: int) -> None:
        """Take some, or raise FullError and take nothing."""
        if self.taken + count > self.most:
            raise FullError(self.words)
        self.taken += count

    @contextmanager
    def one(self) -> Iterator[None]:
        self.take(1)
        try:
            yield
        finally:
            self.taken -= 1
