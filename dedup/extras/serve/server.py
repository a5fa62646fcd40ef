"""Run uvicorn with three protections that it lacks. Requests whose end is ambiguous are refused. Heads and
requests have time limits. If the maximum of connections is open, a new connection replaces a waiting one.
"""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, cast

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from dedup.base.printable import as_json
from dedup.extras.serve.endpoints import PROBLEM
from dedup.extras.serve.guard import ProblemError
from dedup.extras.serve.limits import HEAD_BYTES, HEAD_SECONDS, MAX_CONNECTIONS, REQUEST_SECONDS, client_key
from dedup.extras.serve.sockets import BACKLOG

GRACE_SECONDS = 7  # Time for unfinished requests when the server stops; the whole stop may take ten seconds

# Patterns of request heads, in lower case, that h11 accepts but a proxy may understand differently. If
# h11 and the proxy disagree about the end of a request, an attacker can smuggle a request past the proxy.
AMBIGUOUS = (
    (rb"\n[ \t]", "a header is folded over two lines"),
    (rb"\ncontent-length:(.*,|(?s:.*)\ncontent-length:)", "Content-Length is sent more than once"),
    (
        rb"(?s)\n(content-length:.*\ntransfer-encoding|transfer-encoding:.*\ncontent-length):",
        "Content-Length and Transfer-Encoding exclude each other: send one of them",
    ),
    (rb"^.*http/1\.0\r?\n(?s:.*\n)?transfer-encoding:", "HTTP/1.0 has no Transfer-Encoding"),
)


class Framing(h11.Connection):
    """Parse the requests of a connection, and refuse ambiguous heads. `ambiguous`: the reason, or None."""

    ambiguous: str | None = None

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        # The event has the head only as h11 has parsed it, but the check needs the original bytes.
        before = self.trailing_data[0] if self.their_state is h11.IDLE else b""
        event = super().next_event()
        if isinstance(event, h11.Request):
            head = before[: len(before) - len(self.trailing_data[0])].lower()
            self.ambiguous = next((said for form, said in AMBIGUOUS if re.search(form, head)), None)
            if self.ambiguous:
                raise h11.RemoteProtocolError(self.ambiguous)
        return event


class ClientConnection(H11Protocol):
    """A connection with a time limit for each head and each request.

    A stream finds its connection in the `state` of the request. The stream calls `allow` to prolong the
    limit, and ends when `ending` is done, which means that the server stops.
    """

    client_key = ""
    waits_since = 0.0  # when the server began to wait for the client, by the event loop's clock
    _alarm: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn: Framing = Framing(h11.SERVER, HEAD_BYTES)
        self.ending: asyncio.Future[None] = self.loop.create_future()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.allow(HEAD_SECONDS)
        self.client_key = client_key(self.client[0] if self.client else None)
        self.waits_since = self.loop.time()
        if len(self.connections) > MAX_CONNECTIONS:
            others = [one for one in cast("set[ClientConnection]", self.connections) if one is not self]
            (_first_to_close(others) or self)._abort()

    @property
    def waits(self) -> bool:
        """True if the server waits for the client to send a request, or to read an answer."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

    @property
    def idle(self) -> bool:
        """True if all requests have been answered and the connection is only kept open."""
        return self.cycle is not None and self.cycle.response_complete and not self.conn.trailing_data[0]

    def connection_lost(self, exc: Exception | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            self.allow(REQUEST_SECONDS)
            # The application starts in a later turn of the event loop, so it finds the connection in its
            # scope.
            self.scope["state"]["connection"] = self

    def on_response_complete(self) -> None:
        self.allow(HEAD_SECONDS)
        self.waits_since = self.loop.time()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Answer invalid HTTP with a problem in JSON, unless an answer has already begun."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            detail = self.conn.ambiguous or "this is not a valid HTTP request"
            body = as_json(ProblemError(400, detail).body()).encode()
            head = f"400 Bad Request\r\nContent-Type: {PROBLEM}\r\nContent-Length: {len(body)}"
            self.transport.write(f"HTTP/1.1 {head}\r\nConnection: close\r\n\r\n".encode() + body)
        self.transport.close()

    def shutdown(self) -> None:
        if not self.ending.done():
            self.ending.set_result(None)
        super().shutdown()

    def allow(self, seconds: float) -> None:
        """Close the connection after `seconds`, unless a later call sets another time limit."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self.loop.call_later(seconds, self._abort)

    def _abort(self) -> None:
        # `abort` takes effect later, in the event loop. Until then, the connection would count as open.
        self.connections.discard(self)
        self.transport.abort()


def _first_to_close(held: list[ClientConnection]) -> ClientConnection | None:
    """Return the connection to close for a new one, or None if no connection waits for its client."""
    waiting = [one for one in held if one.waits]
    # A client that opens hundreds of connections must not displace other clients. So the client with the
    # most waiting connections loses one: an idle connection first, then the one that has waited longest.
    counts = Counter(one.client_key for one in waiting)
    return min(
        waiting, key=lambda one: (-counts[one.client_key], not one.idle, one.waits_since), default=None
    )


class _Server(uvicorn.Server):
    """A uvicorn server that ends when `stop` returns True."""

    capture_signals = staticmethod(nullcontext)  # type: ignore[assignment]  # the command handles signals

    def __init__(self, config: uvicorn.Config, stop: Callable[[], bool]) -> None:
        super().__init__(config)
        self._stop = stop

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self._stop()


def serve(
    app: ASGIApp, sockets: list[socket.socket], stop: Callable[[], bool], *, lifespan: bool = False
) -> None:
    """Answer requests on bound sockets until `stop` returns True; then finish open requests and close.

    `lifespan`: tell the application of its start and end, as ASGI defines.
    """
    config = uvicorn.Config(
        app,
        http=ClientConnection,
        ws="none",
        lifespan="on" if lifespan else "off",
        loop="asyncio",
        log_config=None,
        log_level=logging.ERROR,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    asyncio.run(_Server(config, stop).serve(sockets=sockets))
