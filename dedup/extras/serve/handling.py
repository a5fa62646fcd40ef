"""Bounds on the work for requests: threads, seconds, and bytes of bodies."""

from __future__ import annotations

import asyncio
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Callable, Collection
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from threading import Thread
from typing import NamedTuple, TypeVar
from urllib.parse import parse_qsl

from starlette.requests import Request

from dedup.base.errors import BusyError, CollisionError, DatabaseError
from dedup.extras.serve.guard import BUSY_SECONDS, LOG, ProblemError
from dedup.extras.serve.limits import THREADS, Limits, Room

MAX_FIELDS = 16  # Of a query, or of a form
_Value = TypeVar("_Value")


async def in_thread(free: asyncio.Semaphore, work: Callable[[], _Value], seconds: float) -> _Value:
    """Do work in a thread and return its result; raise TimeoutError if it takes longer. It may still end."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(seconds):
        await free.acquire()
        done: Future[_Value] = Future()
        # Then the future cannot be cancelled: a caller that goes away must not make `set_result` raise.
        done.set_running_or_notify_cancel()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(free.release)

        # A daemon: work that never ends must not keep the process alive. A pool's threads would.
        try:
            Thread(target=run, daemon=True, name="dedup-serve").start()
        except BaseException:
            free.release()
            raise
        return await asyncio.wrap_future(done)


class RequestBody(NamedTuple):
    media_type: str
    content: bytes  # without a byte order mark


class Handling:
    """The bounds that all requests of a server share; `place` (host and database) is for the log."""

    def __init__(self, limits: Limits, place: str) -> None:
        self._limits, self._place = limits, place
        self._free = asyncio.Semaphore(THREADS)
        self.requests = Room(limits.requests, "too many requests are being worked on; send it again")
        self._bytes = Room(
            limits.bodies * limits.body_bytes, "too many large bodies at this moment; send it again"
        )
        self._outage = ""

    async def run(self, work: Callable[[], _Value]) -> _Value:
        """Do work in a thread, within the bounds, and return its result."""
        try:
            with self.requests.one():
                found = await in_thread(self._free, work, self._limits.work_seconds)
        except TimeoutError:
            words = f"this took longer than {self._limits.work_seconds:g} s; ask whether it was done"
            raise ProblemError(503, words, BUSY_SECONDS) from None
        except DatabaseError as error:
            self.note(error)
            raise
        self.note(None)
        return found

    def note(self, error: DatabaseError | None) -> None:
        """Log an outage when it begins and when it ends."""
        if isinstance(error, BusyError | CollisionError):
            return  # others who hold a lock are no outage
        words = str(error or "")
        if words and not self._outage:
            LOG.error("%s; requests are answered with 503", words)
        elif self._outage and not words:
            LOG.warning("%s answers again", self._place)
        self._outage = words

    @asynccontextmanager
    async def body(self, request: Request, *media_types: str) -> AsyncIterator[RequestBody]:
        """Yield the body of a request, which counts as held until the block ends, or raise ProblemError."""
        given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        # JSON also keeps out pages of other sites: their browsers would send a preflight (CORS) first.
        if given not in media_types:
            listed = " or ".join(f"`Content-Type: {one}`" for one in media_types)
            raise ProblemError(415, f"send the header {listed}")
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise ProblemError(415, "send the body as it is, without Content-Encoding")
        most = self._limits.body_bytes
        length = request.headers.get("content-length", "")
        if length and int(length) > most:  # h11 lets only digits pass, 20 at most
            raise ProblemError(413, f"the body has {int(length):,} bytes, the limit is {most:,}")
        chunks = bytearray()
        try:
            try:
                async with asyncio.timeout(self._limits.body_seconds):
                    async for chunk in request.stream():
                        if len(chunks) + len(chunk) > most:
                            raise ProblemError(413, f"the body has more than {most:,} bytes")
                        self._bytes.take(len(chunk))
                        chunks += chunk
            except TimeoutError:
                words = f"the body did not come within {self._limits.body_seconds:g} s"
                raise ProblemError(408, words) from None
            yield RequestBody(given, bytes(chunks).removeprefix(BOM_UTF8))
        finally:
            self._bytes.taken -= len(chunks)


def fields_of(raw: bytes, known: Collection[str], where: str) -> dict[str, str]:
    """Return the fields of `where` ("the query"); raise ProblemError for an unknown or a repeated field."""
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise ProblemError(400, f"{where} is not UTF-8, or has more than {MAX_FIELDS} fields") from None
    given = dict(pairs)
    if len(given) < len(pairs):
        raise ProblemError(400, f"a parameter of {where} is given twice")
    if unknown := given.keys() - set(known):
        listed = ", ".join(sorted(known)) or "none"
        raise ProblemError(400, f"unknown parameter {min(unknown)[:40]!r}; this address takes {listed}")
    return given
