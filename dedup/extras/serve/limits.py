"""Define the limits of the HTTP service, and the counters that enforce them. This module has no HTTP code."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dedup.files.record import MAX_RECORD_BYTES

MAX_CONNECTIONS = 400  # Maximum number of open connections; a process may usually open 1,024 files
HEAD_BYTES = 16_384  # Maximum for request line and headers; a query with two long ids takes 6,144 bytes
HEAD_SECONDS = 10.0  # Maximum time for the head of a request, and between two requests on a connection
REQUEST_SECONDS = 90.0  # Maximum time for a whole request, including a client that reads slowly
MAX_CLIENTS = 10_000  # Maximum number of clients whose request rate is remembered
# Maximum time for a lock or a statement. It is below `work_seconds`, so that the answer can name the cause.
DATABASE_SECONDS = 5.0
# A `Deduplicator` has ten connections: the threads must leave one each for the health check, the metrics and
# the streams.
THREADS = 7


@dataclass(frozen=True, slots=True)
class Limits:
    body_bytes: int = MAX_RECORD_BYTES  # maximum size of a request's body
    bodies: int = 4  # maximum size of all bodies in memory, in multiples of `body_bytes`
    rate: float = 100.0  # maximum requests per second and client; all may arrive at the same moment
    requests: int = 32  # maximum number of requests in work or waiting for a thread
    body_seconds: float = 30.0  # maximum time to receive the whole body; enough for 16 MiB at 5 Mbit/s
    work_seconds: float = 20.0  # maximum time to answer a received request, with the wait for a thread
    batch_articles: int = 1_000  # maximum number of articles in a batch
    batch_seconds: float = 10.0  # a batch stops after this time; the answer says how many articles are left
    ids: int = 10_000  # maximum number of ids in a body
    changes: int = 10_000  # maximum number of changes in an answer; about 2 MB
    streams: int = 32  # maximum number of streams of changes; each asks the database once a second


class Rates:
    """A token bucket for every client. A bucket gets `rate` tokens per second.

    It holds at most `rate` tokens, or one if `rate` is lower.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._room = max(1.0, rate)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str) -> float:
        """Take a token and return 0; if the bucket is empty, return the seconds until it has a token."""
        now = self._clock()
        left, at = self._buckets.pop(client, (self._room, now))
        left = min(self._room, left + (now - at) * self._rate)
        allowed = left >= 1
        self._buckets[client] = (left - 1 if allowed else left, now)
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self._rate


def client_key(host: str | None) -> str:
    """Return the key of a client: its IPv4 address, or its IPv6 /64 network (usually one client's)."""
    try:
        address = ipaddress.ip_address((host or "").partition("%")[0])
    except ValueError:
        return "local"  # a Unix socket has no address
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is None:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)


class FullError(Exception):
    """Raised if a `Room` is full; the message says which limit was reached."""


@dataclass(slots=True)
class Room:
    """Count the requests in work, or the bytes in memory, up to a maximum."""

    most: int
    words: str = ""  # message of the FullError that `take` raises
    taken: int = 0

    def take(self, count: int) -> None:
        """Add to the count; raise FullError and add nothing if the maximum would be exceeded."""
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
