"""Limit the work for requests: number of threads, time, and memory for bodies."""

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

from dedup.base.errors import DatabaseError
from dedup.base.logs import OutageLog
from dedup.extras.serve.guard import BUSY_SECONDS, LOG, ProblemError
from dedup.extras.serve.limits import THREADS, Limits, Room

MAX_FIELDS = 16  # Maximum number of fields in a query or a form
_Value = TypeVar("_Value")


async def in_thread(free: asyncio.Semaphore, work: Callable[[], _Value], seconds: float) -> _Value:
    """Run `work` in a thread and return the result. After `seconds`, raise TimeoutError; `work` continues."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(seconds):
        await free.acquire()
        done: Future[_Value] = Future()
        # A future marked as running cannot be cancelled: `set_result` works even if the caller has gone.
        done.set_running_or_notify_cancel()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)
            with suppress(RuntimeError):  # the event loop has ended
                loop.call_soon_threadsafe(free.release)

        # A daemon thread, unlike a thread of a pool, does not keep the process alive if its work never ends.
        try:
            Thread(target=run, daemon=True, name="dedup-serve").start()
        except BaseException:
            free.release()
            raise
        return await asyncio.wrap_future(done)


class RequestBody(NamedTuple):
    media_type: str
    content: bytes  # the body without a byte order mark


class Handling:
    """Enforce the limits that all requests of a server share. `place` names host and database in the log."""

    def __init__(self, limits: Limits, place: str) -> None:
        self._limits = limits
        self._free = asyncio.Semaphore(THREADS)
        self.requests = Room(limits.requests, "the server works on too many requests; send the request again")
        self._bytes = Room(
            limits.bodies * limits.body_bytes, "too many large bodies at this moment; send the request again"
        )
        self.outages = OutageLog(LOG, place, "requests are answered with 503")

    async def run(self, work: Callable[[], _Value]) -> _Value:
        """Run `work` in a thread, within the limits, and return the result."""
        with self.requests.one():
            return await self.run_with(self._free, work)

    async def run_with(self, free: asyncio.Semaphore, work: Callable[[], _Value]) -> _Value:
        """Run `work` as soon as `free` has a thread for it, and return the result."""
        try:
            found = await in_thread(free, work, self._limits.work_seconds)
        except TimeoutError:
            words = f"this took longer than {self._limits.work_seconds:g} s; check whether it was done"
            raise ProblemError(503, words, BUSY_SECONDS) from None
        except DatabaseError as error:
            self.outages.note(error)
            raise
        self.outages.note(None)
        return found

    @asynccontextmanager
    async def body(self, request: Request, *media_types: str) -> AsyncIterator[RequestBody]:
        """Yield the body of a request; raise ProblemError if it is refused.

        Until the caller's `with` block ends, the body counts towards the limit for all bodies in memory.
        """
        given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        # If only JSON is accepted, pages of other sites cannot send requests from a user's browser: before a
        # browser sends JSON to another site, it asks that site's server for permission (CORS).
        if given not in media_types:
            listed = " or ".join(f"`Content-Type: {one}`" for one in media_types)
            raise ProblemError(415, f"send the header {listed}")
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise ProblemError(415, "send the body as it is, without Content-Encoding")
        most = self._limits.body_bytes
        length = request.headers.get("content-length", "")
        if length and int(length) > most:  # `int` is fast: h11 allows at most 20 digits
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
                words = f"the body took longer than {self._limits.body_seconds:g} s to arrive"
                raise ProblemError(408, words) from None
            yield RequestBody(given, bytes(chunks).removeprefix(BOM_UTF8))
        finally:
            self._bytes.taken -= len(chunks)


def fields_of(raw: bytes, known: Collection[str], where: str) -> dict[str, str]:
    """Parse a query or form; raise ProblemError for unknown or repeated fields. `where`: name in messages."""
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise ProblemError(400, f"{where} is not UTF-8, or has more than {MAX_FIELDS} fields") from None
    given = dict(pairs)
    if len(given) < len(pairs):
        raise ProblemError(400, f"give each parameter of {where} only once")
    if unknown := given.keys() - set(known):
        listed = ", ".join(sorted(known)) or "none"
        raise ProblemError(400, f"unknown parameter {min(unknown)[:40]!r}; this address takes {listed}")
    return given
