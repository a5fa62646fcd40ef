"""Work for requests within bounds: in threads, since it waits for a database, for so long, with bodies of so
many bytes.
"""

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

_Value = TypeVar("_Value")


async def in_thread(free: asyncio.Semaphore, work: Callable[[], _Value], seconds: float) -> _Value:
    """What the work returns, or raises. TimeoutError if it had no thread or did not end in time; it may still
    end. `free`: how many threads there may be, one for each piece of work.

    They are daemons, so work that does not end keeps no process alive; its thread counts until it ends.
    """
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(seconds):
        await free.acquire()
        done: Future[_Value] = Future()
        done.set_running_or_notify_cancel()  # who waits may go away; the work ends as it ends

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(free.release)

        try:
            Thread(target=run, daemon=True, name="dedup-serve").start()
        except BaseException:
            free.release()
            raise
        return await asyncio.wrap_future(done)


MAX_FIELDS = 16  # Of a query, or of a form


class RequestBody(NamedTuple):
    """Of a request; without a byte order mark."""

    media_type: str
    content: bytes


class Handling:
    """What the requests of one server share; `place` is host and database, for the log."""

    def __init__(self, limits: Limits, place: str) -> None:
        self._limits, self._place = limits, place
        self._free = asyncio.Semaphore(THREADS)
        self.requests = Room(limits.requests, "too many requests are being worked on; send it again")
        self._bytes = Room(
            limits.bodies * limits.body_bytes, "too many large bodies at this moment; send it again"
        )
        self._outage = ""

    async def worked(self, work: Callable[[], _Value]) -> _Value:
        """The result of work in a thread, within the bounds."""
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
            return  # others at work are no outage
        words = str(error or "")
        if words and not self._outage:
            LOG.error("%s; requests are answered with 503", words)
        elif self._outage and not words:
            LOG.warning("%s answers again", self._place)
        self._outage = words

    @asynccontextmanager
    async def body(self, request: Request, *media_types: str) -> AsyncIterator[RequestBody]:
        """The body of a request of one of these media types, which counts as held meanwhile; ProblemError if
        too large, too slow or of another kind.
        """
        given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        # This also keeps pages of other sites out: their browsers would ask first.
        if given not in media_types:
            listed = " or ".join(f"`Content-Type: {one}`" for one in media_types)
            raise ProblemError(415, f"send the header {listed}")
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise ProblemError(415, "send the body as it is, without Content-Encoding")
        most = self._limits.body_bytes
        length = request.headers.get("content-length", "")
        if length and int(length) > most:  # h11 lets no other pass than digits, and 20 of them
            raise ProblemError(413, f"the body has {int(length):,} bytes, the limit is {most:,}")
        chunks = bytearray()
        try:
            try:
                async with asyncio.timeout(self._limits.body_seconds):
                    async for chunk in request.stream():
                        if len(chunks) + len(chunk) > most:
                            words = f"the body has more than {most:,} bytes, which is the limit"
                            raise ProblemError(413, words)
                        self._bytes.take(len(chunk))
                        chunks += chunk
            except TimeoutError:
                words = f"the body did not come within {self._limits.body_seconds:g} s"
                raise ProblemError(408, words) from None
            yield RequestBody(given, bytes(chunks).removeprefix(BOM_UTF8))
        finally:
            self._bytes.taken -= len(chunks)


def fields_of(raw: bytes, known: Collection[str], where: str) -> dict[str, str]:
    """The fields of `where` ("the query"), each at most once; ProblemError if unknown, given twice or not
    UTF-8.
    """
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
