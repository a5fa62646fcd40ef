"""The server under the HTTP service: sockets, connections that take too long, and the end.

uvicorn waits for ever for the head of a request; this does not. Where all connections are taken, one that
waits for its client gives way.

HTTP/1.1 whose requests have one end, whoever counts.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from dedup.base.errors import InputError
from dedup.base.printable import as_json
from dedup.extras.serve.endpoints import PROBLEM
from dedup.extras.serve.guard import ProblemError
from dedup.extras.serve.limits import HEAD_BYTES, HEAD_SECONDS, MAX_CONNECTIONS, REQUEST_SECONDS, client_key


class Framing(h11.Connection):
    """The server's side of one connection; `ambiguous`: what was wrong with a refused head."""

    ambiguous: str | None = None

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        # h11 tells of the head what it has made of it, so the head as it came is looked at.
        before = self.trailing_data[0] if self.their_state is h11.IDLE else b""
        event = super().next_event()
        if isinstance(event, h11.Request):
            head = before[: len(before) - len(self.trailing_data[0])]
            self.ambiguous = ambiguity(head, event.http_version)
            if self.ambiguous:
                raise h11.RemoteProtocolError(self.ambiguous)
        return event


def ambiguity(head: bytes, version: bytes) -> str | None:
    """Why the head of a request, from its first line to the blank one, could be read in two ways; None if
    not.
    """
    lines = [line.removesuffix(b"\r") for line in head.split(b"\n")]
    if any(line.startswith((b" ", b"\t")) for line in lines):
        return "a header is folded over two lines"
    if any(b"\r" in line for line in lines):
        return "there is a carriage return within a line of the head"
    fields = [line.lower().partition(b":") for line in lines[1:]]
    lengths = [value for name, _, value in fields if name == b"content-length"]
    if len(lengths) > 1 or any(b"," in value for value in lengths):
        return "Content-Length is said more than once"
    if any(name == b"transfer-encoding" for name, _, _ in fields):
        if lengths:
            return "Content-Length and Transfer-Encoding exclude each other: send one of them"
        if version != b"1.1":
            return "HTTP/1.0 knows no Transfer-Encoding"
    return None


GRACE_SECONDS = 7  # For the requests in hand when the server is to end, of the ten seconds that it may take

BACKLOG = 128


class ClientConnection(H11Protocol):
    """A connection on which nothing lasts for ever, not even the head of a request. `client_key`: whom it
    belongs to, as the rates count. `waits_since`: when its client's turn began, by the clock of the event
    loop.
    """

    client_key = ""
    waits_since = 0.0
    _alarm: asyncio.TimerHandle | None = None
    _cut = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn: Framing = Framing(h11.SERVER, HEAD_BYTES)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._allow(HEAD_SECONDS)
        self.client_key = client_key(self.client[0] if self.client else None)
        self.waits_since = self.loop.time()
        # What is cut stays in the set until the event loop has come round.
        held = [one for one in cast("set[ClientConnection]", self.connections) if not one._cut]
        if len(held) > MAX_CONNECTIONS:
            (_least_missed([one for one in held if one is not self]) or self)._abort()

    @property
    def waits(self) -> bool:
        """Whether it is the client's turn: no request, half of one, or an answer that is not read."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

    @property
    def idle(self) -> bool:
        """Whether it had its answers, and is kept open for another request that has not begun."""
        return self.cycle is not None and self.cycle.response_complete and not self.conn.trailing_data[0]

    def connection_lost(self, exc: Exception | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            self._allow(REQUEST_SECONDS)

    def on_response_complete(self) -> None:
        self._allow(HEAD_SECONDS)
        self.waits_since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Answer what is no HTTP like every other problem."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()  # an answer has begun
            return
        detail = self.conn.ambiguous or "this is no valid HTTP request"
        body = as_json(ProblemError(400, detail).body()).encode()
        headers = [("content-type", PROBLEM), ("content-length", str(len(body))), ("connection", "close")]
        answer = h11.Response(status_code=400, headers=headers, reason=b"Bad Request")
        for event in (answer, h11.Data(body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _allow(self, seconds: float) -> None:
        """Cut the connection after this time, unless something else comes first."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self.loop.call_later(seconds, self._abort)

    def _abort(self) -> None:
        self._cut = True
        self.transport.abort()


def _least_missed(held: list[ClientConnection]) -> ClientConnection | None:
    """The connection that gives way to a new one: never one whose request is being worked on.

    Of the client that has most of them, since whoever takes all the room is to lose it; first what is only
    kept open, then what has waited longest.
    """
    waiting = [one for one in held if one.waits]
    counts = Counter(one.client_key for one in waiting)
    return min(
        waiting, key=lambda one: (-counts[one.client_key], not one.idle, one.waits_since), default=None
    )


class _Server(uvicorn.Server):
    """Ends when it is asked to; signals are the business of the command line."""

    def __init__(self, config: uvicorn.Config, stop: Callable[[], bool]) -> None:
        super().__init__(config)
        self._stop = stop

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self._stop()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(app: ASGIApp, sockets: list[socket.socket], stop: Callable[[], bool]) -> None:
    """Answer requests on bound sockets, closed in the end, until `stop`; those in hand are finished."""
    config = uvicorn.Config(
        app,
        http=ClientConnection,
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        log_level=logging.ERROR,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    asyncio.run(_Server(config, stop).serve(sockets=sockets))


def bind(
    host: str, port: int, *, loopback_only: bool, variable: str = "DEDUP_SERVE_TOKEN"
) -> list[socket.socket]:
    """Listen at every address of a host; port 0 takes any free one, at one address.

    With `loopback_only` other machines must not reach it; the message of the InputError names the `variable`
    for a token.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise InputError(
            f"there is no host {host!r}; give an address of this machine, such as 127.0.0.1"
        ) from None
    addresses = list(dict.fromkeys((family, address) for family, _, _, _, address in found))
    numbers = [ipaddress.ip_address(str(address[0]).partition("%")[0]) for _, address in addresses]
    if loopback_only and not all(number.is_loopback for number in numbers):
        raise InputError(
            f"other machines can reach {host}, so a token is needed: put a secret into a file"
            f" (`openssl rand -hex 32 > token`), give --token-file token, or set {variable}"
        )
    made: list[socket.socket] = []
    try:
        for family, address in addresses[:1] if port == 0 else addresses:
            # Named as TCP, or asyncio leaves Nagle's algorithm on: an answer would wait 40 ms for its body.
            listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            made.append(listener)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(address)
            listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        for listener in made:
            listener.close()
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"cannot listen on port {port} of {host}: {why}; choose another --port") from None
    return made


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def bind_unix(path: Path) -> socket.socket:
    """Listen at a socket in the file system, which only its owner may use; replaces one left by a killed
    server.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_stale(path)
        mask = os.umask(0o177)
        try:
            listener.bind(str(path))
        finally:
            os.umask(mask)
        listener.listen(BACKLOG)
    except (OSError, ValueError) as error:
        listener.close()
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError(f"cannot listen at {path}: {why}; choose another --unix") from None
    except InputError:
        listener.close()
        raise
    return listener


def _remove_stale(path: Path) -> None:
    if not path.exists():
        return
    if not stat.S_ISSOCK(path.stat().st_mode):
        raise InputError(f"{path} is there and is no socket; choose another --unix")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        try:
            trial.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise InputError(f"another server listens at {path}; stop it, or choose another --unix")


def unbind(path: Path) -> None:
    with suppress(OSError):
        path.unlink()
