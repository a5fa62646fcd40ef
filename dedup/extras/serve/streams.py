"""Send changed marks as server-sent events, which `EventSource` of browsers and many other clients read.

A stream keeps a cursor, and asks the database for later changes once a second. It holds one page of changes,
so a slow reader delays only its own stream. All streams share one thread for their questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from starlette.types import Receive, Scope, Send

from dedup import MarkChange
from dedup.base.printable import as_json
from dedup.extras.serve.guard import HEADERS, LOG, OUTAGE_SECONDS, ProblemError, log_place, problem_of
from dedup.extras.serve.handling import Handling
from dedup.extras.serve.limits import REQUEST_SECONDS, Room

EVENTS = "text/event-stream"
PAGE = 200  # Maximum number of changes per question; at most 1 MB, if ids have their full length
POLL_SECONDS = 1.0  # Time between two questions, if the last answer had no full page
HEARTBEAT_SECONDS = 15.0  # Time without an event after which a comment is sent; proxies cut idle connections
HEARTBEAT = b":\n\n"
BEGINNING = b"retry: 2000\n\n"  # `EventSource` waits these milliseconds before it connects again
# X-Accel-Buffering tells nginx not to collect events before it sends them on.
STREAM_HEADERS = {**HEADERS, "Content-Type": EVENTS, "X-Accel-Buffering": "no"}

Ask = Callable[[str | None, int], Sequence[MarkChange]]  # Takes a cursor and a limit; returns later changes
Tell = Callable[[MarkChange], dict[str, object]]  # Returns the members of a change in JSON


class Kept(Protocol):
    """The connection of a stream; see `ClientConnection`."""

    ending: asyncio.Future[None]

    def allow(self, seconds: float) -> None: ...


class Streams:
    """The streams of a server. `place`: host and database, which clients must not learn."""

    def __init__(self, ask: Ask, tell: Tell, handling: Handling, most: int, place: str) -> None:
        self.open = Room(most, f"the server already sends {most} streams; ask without a stream, or later")
        self._ask, self._tell, self._handling, self._place = ask, tell, handling, place
        self._free = asyncio.Semaphore(1)

    async def page(self, since: str | None) -> Sequence[MarkChange]:
        return await self._handling.run_with(self._free, lambda: self._ask(since, PAGE))

    async def later_page(self, since: str | None) -> Sequence[MarkChange] | ProblemError:
        """Return the next changes, or the problem that prevents them."""
        try:
            return await self.page(since)
        except ProblemError as error:
            return error
        except Exception as error:
            problem = problem_of(error, self._place)
            if problem.status == 500:
                log_place(LOG, error)
            return problem

    def events(self, found: Sequence[MarkChange]) -> bytes:
        return "".join(f"id: {one.cursor}\ndata: {as_json(self._tell(one))}\n\n" for one in found).encode()


class StreamAnswer:
    """The answer to a request for a stream: the changes after `since`, until client or server ends."""

    def __init__(self, streams: Streams, since: str | None) -> None:
        self._streams, self._since = streams, since

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection: Kept = scope["state"]["connection"]
        with self._streams.open.one():
            # The head is not sent yet, so an error here gets an answer as for any request.
            found = await self._streams.page(self._since)
            headers = [(name.lower().encode(), value.encode()) for name, value in STREAM_HEADERS.items()]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            gone = asyncio.create_task(_wait_until_gone(receive))
            try:
                if scope["method"] != "HEAD":
                    await self._send_changes(found, connection, gone, send)
            finally:
                gone.cancel()
            await send({"type": "http.response.body", "body": b""})

    async def _send_changes(
        self, found: Sequence[MarkChange], connection: Kept, gone: asyncio.Task[None], send: Send
    ) -> None:
        loop = asyncio.get_running_loop()

        async def write(body: bytes) -> None:
            # Limit the time that the client has to read, because `send` waits for a slow reader.
            connection.allow(REQUEST_SECONDS)
            await send({"type": "http.response.body", "body": body, "more_body": True})

        since, sent_at, pause = self._since, loop.time(), POLL_SECONDS
        await write(BEGINNING)
        while True:
            if found:
                await write(self._streams.events(found))
                since, sent_at = found[-1].cursor, loop.time()
            elif loop.time() - sent_at >= HEARTBEAT_SECONDS:
                await write(HEARTBEAT)
                sent_at = loop.time()
            wait = 0.0 if len(found) == PAGE else pause
            ends = {gone, connection.ending}
            if (await asyncio.wait(ends, timeout=wait, return_when=asyncio.FIRST_COMPLETED))[0]:
                return
            answer = await self._streams.later_page(since)
            if not isinstance(answer, ProblemError):
                found, pause = answer, POLL_SECONDS
            elif answer.status == 503:
                # Keep the stream open during the outage: after status 503 `EventSource` gives up for ever.
                found, pause = (), OUTAGE_SECONDS
            else:
                await write(f"event: problem\ndata: {as_json(answer.body())}\n\n".encode())
                return


async def _wait_until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
