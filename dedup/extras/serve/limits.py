"""The bounds of the HTTP service, and the counters that keep them. No HTTP here."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dedup.files.record import MAX_RECORD_BYTES

MAX_CONNECTIONS = 400  # Open ones; a process may usually open 1,024 files
HEAD_BYTES = 16_384  # Of request line and headers; two ids of 1,024 bytes take 6,144 in a query
HEAD_SECONDS = 10.0  # For the whole head of a request, and between requests on a connection kept open
REQUEST_SECONDS = 90.0  # For a whole request, with the answer's way to a slow reader
MAX_CLIENTS = 10_000  # Clients whose rate is remembered
# For a lock or a statement. Shorter than `work_seconds`, so that the answer can say what happened.
DATABASE_SECONDS = 5.0
# A `Deduplicator` has ten connections, and the health check needs one besides the threads.
THREADS = 8


@dataclass(frozen=True, slots=True)
class Limits:
    body_bytes: int = MAX_RECORD_BYTES  # of a request's body
    bodies: int = 4  # bodies of that size that may be held at a time
    rate: float = 100.0  # requests a second of one client; they may come all at once
    requests: int = 32  # in work, or waiting for a thread
    body_seconds: float = 30.0  # for the whole body; 16 MiB at 5 Mbit/s
    work_seconds: float = 20.0  # from the body to the answer, with the wait for a thread
    batch_articles: int = 1_000
    batch_seconds: float = 10.0  # of one batch; the answer says how many articles are left
    changes: int = 10_000  # in one answer; 2 MB


class Rates:
    """A token bucket for every client: it gets `rate` tokens a second, and never holds more than that."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._room = max(1.0, rate)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Take a token and return 0, or return the seconds until there is one."""
        now = self._clock()
        left, at = self._buckets.pop(client, (self._room, now))
        left = min(self._room, left + (now - at) * self._rate)
        allowed = left >= 1
        self._buckets[client] = (left - 1 if allowed else left, now)
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate


def client_key(host: str | None) -> str:
    """Return the client of an address: in IPv6 the network of 64 bits, as one client may have all of it."""
    try:
        address = ipaddress.ip_address((host or "").partition("%")[0])
    except ValueError:
        return "local"  # a socket in the file system
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


class FullError(Exception):
    """The room is full; the message says which one."""


@dataclass(slots=True)
class Room:
    """A bounded count of requests, or of bytes that are held."""

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
