"""The endpoints of the HTTP door: a request becomes a question to a `Deduplicator`, its answer JSON.

What every request passes before is in `guard.py`, what there is to ask in `operations.py`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from codecs import BOM_UTF8
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from dedup.article import Article
from dedup.deduplicator import Deduplicator
from dedup.errors import BusyError, CollisionError, DatabaseError, NotFoundError
from dedup.files.body import RefusedError, read_article
from dedup.printable import as_json
from dedup.serve.answers import explanation, marked, repaired, story
from dedup.serve.guard import HEADERS, Access, Guard
from dedup.serve.limits import THREADS, FullError, Limits, Room
from dedup.serve.openapi import document
from dedup.serve.operations import JSON, LINES, OPERATIONS, Operation
from dedup.serve.problems import BUSY_SECONDS, OUTAGE_SECONDS, ProblemError, problem_of
from dedup.serve.threads import Threads
from dedup.verdict import Verdict

LOG = logging.getLogger("dedup.serve")

HEALTH_SECONDS = 1.0
"""How long an answer of the health check holds: whoever asks more often costs nothing."""

MAX_PARAMETERS = 8

_Value = TypeVar("_Value")


def make_app(
    dd: Deduplicator, limits: Limits, access: Access, *, texts: bool = False, log_requests: bool = False
) -> ASGIApp:
    """The application.

    Args:
        texts: whether words of articles may be told.
        log_requests: a line in the log for every request.
    """
    service = Service(dd, limits, texts=texts)
    return Guard(service.router(), limits, access, dd.place, log_requests=log_requests)


class Service:
    """Answers requests. Each operation is a method of its name."""

    def __init__(self, dd: Deduplicator, limits: Limits, *, texts: bool) -> None:
        self._dd, self._limits, self._texts = dd, limits, texts
        self._threads = Threads(THREADS)
        self._requests = Room(limits.requests)
        self._bytes = Room(limits.bodies * limits.body_bytes)
        self._probe = Probe(dd, limits)
        self._outage = ""

    def router(self) -> Router:
        """The routes of all operations."""
        paths: dict[str, dict[str, Operation]] = {}
        for operation in OPERATIONS:
            paths.setdefault(operation.path, {})[operation.method] = operation
        routes = [Route(path, self._endpoint(found), methods=[*found]) for path, found in paths.items()]
        return Router(routes, redirect_slashes=False)

    def _endpoint(self, by_method: dict[str, Operation]) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            operation = by_method.get("GET" if request.method == "HEAD" else request.method)
            if operation is None:
                raise HTTPException(405, headers={"Allow": ", ".join(by_method)})
            answer = getattr(self, operation.name)
            return _json(await answer(request, _query(request, operation)))

        return endpoint

    # The operations.

    async def submit(self, request: Request, query: dict[str, Any]) -> dict[str, Any]:
        """A verdict on the article in the body."""
        with await self._body(request, JSON) as body:
            return await self._worked(lambda: self._judged(body.take(), query["store"]))

    async def submit_lines(self, request: Request, query: dict[str, Any]) -> dict[str, Any]:
        """Verdicts on the articles in the lines of the body, as far as time allows."""
        with await self._body(request, LINES) as body:
            return await self._worked(lambda: self._batch(body.take(), query["store"]))

    async def mark(self, _request: Request, query: dict[str, Any]) -> dict[str, Any]:
        """An article with its mark."""
        self._may_tell(query["text"])
        source_id: str = query["source_id"]
        found = await self._worked(lambda: self._dd.get(source_id))
        if found is None:
            raise NotFoundError.of(source_id)
        return marked(found, text=query["text"])

    async def delete(self, _request: Request, query: dict[str, Any]) -> dict[str, Any]:
        """Delete an article."""
        source_id: str = query["source_id"]
        if not await self._worked(lambda: self._dd.delete(source_id)):
            raise NotFoundError.of(source_id)
        return {"deleted": source_id}

    async def story(self, _request: Request, query: dict[str, Any]) -> dict[str, Any]:
        """The story of an article."""
        return story(await self._worked(lambda: self._dd.story(query["source_id"])), query["limit"])

    async def explain(self, _request: Request, query: dict[str, Any]) -> dict[str, Any]:
        """Two articles compared."""
        self._may_tell(query["text"])
        found = await self._worked(lambda: self._dd.explain(query["a"], query["b"]))
        return explanation(found, text=query["text"])

    async def health(self, _request: Request, _query: dict[str, Any]) -> dict[str, Any]:
        """The state of the database."""
        await self._probe.check()
        return {"status": "ok"}

    async def ready(self, _request: Request, _query: dict[str, Any]) -> dict[str, Any]:
        """The state of the database, and whether there is room."""
        if self._requests.full:
            raise _too_many()
        await self._probe.check()
        return {"status": "ok"}

    async def openapi(self, _request: Request, _query: dict[str, Any]) -> dict[str, Any]:
        """The description of all this."""
        return document()

    # What they share.

    def _judged(self, body: bytes, store: bool, what: str = "body") -> dict[str, Any]:
        article, flaws = read_article(body, what)
        return {**self._verdict(article, store).as_dict(), "repairs": repaired(flaws)}

    def _verdict(self, article: Article, store: bool) -> Verdict:
        return self._dd.submit(article) if store else self._dd.lookup(article)

    def _batch(self, body: bytes, store: bool) -> dict[str, Any]:
        lines = body.removesuffix(b"\n").split(b"\n")
        if len(lines) > self._limits.batch_lines:
            raise ProblemError(
                413, f"the batch has {len(lines):,} lines, the limit is {self._limits.batch_lines:,}"
            )
        deadline = time.monotonic() + self._limits.batch_seconds
        verdicts: list[dict[str, Any]] = []
        why = None
        for line in lines:
            if verdicts and time.monotonic() > deadline:
                why = f"the rest was not reached in {self._limits.batch_seconds:g} s"
                break
            try:
                verdicts.append(self._judged(line, store, "line"))
            except RefusedError as error:
                refused = Verdict(error.source_id, "refused", None, None, str(error))
                verdicts.append({**refused.as_dict(), "repairs": []})
            except DatabaseError as error:
                if not verdicts:
                    raise
                self._note(error)
                why = problem_of(error, self._dd.place).detail
                break
        return {"verdicts": verdicts, "left": len(lines) - len(verdicts), "reason": why}

    def _may_tell(self, wanted: bool) -> None:
        if wanted and not self._texts:
            raise ProblemError(403, "this server tells no texts; start it with `dedup serve --texts`")

    async def _worked(self, work: Callable[[], _Value]) -> _Value:
        """The result of work in a thread, within the bounds."""
        try:
            with self._requests.one():
                found = await self._threads.run(work, self._limits.work_seconds)
        except FullError:
            raise _too_many() from None
        except TimeoutError:
            words = f"this took longer than {self._limits.work_seconds:g} s; ask whether it was done"
            raise ProblemError(503, words, BUSY_SECONDS) from None
        except DatabaseError as error:
            self._note(error)
            raise
        self._note(None)
        return found

    def _note(self, error: DatabaseError | None) -> None:
        """Log an outage when it begins and when it ends."""
        if isinstance(error, BusyError | CollisionError):
            return  # others at work are no outage
        words = str(error or "")
        if words and not self._outage:
            LOG.error("%s; requests are answered with 503", words)
        elif self._outage and not words:
            LOG.warning("%s answers again", self._dd.place)
        self._outage = words

    async def _body(self, request: Request, media_type: str) -> Body:
        """The body of a request, read within the bounds.

        Raises:
            ProblemError: it is too large, too slow, or of another kind.
        """
        given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if given != media_type:  # also what keeps pages of other sites out: their browsers would ask first
            raise ProblemError(415, f"send the header `Content-Type: {media_type}`")
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise ProblemError(415, "send the body as it is, without Content-Encoding")
        most = self._limits.body_bytes
        length = request.headers.get("content-length", "")
        if length and int(length) > most:  # h11 lets no other pass than digits, and 20 of them
            raise ProblemError(413, f"the body has {int(length):,} bytes, the limit is {most:,}")
        body = Body(self._bytes)
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                async for chunk in request.stream():
                    if body.length + len(chunk) > most:
                        raise ProblemError(413, f"the body has more than {most:,} bytes, which is the limit")
                    body.add(chunk)
        except FullError:
            body.close()
            raise ProblemError(
                503, "too many large bodies at this moment; send it again", BUSY_SECONDS
            ) from None
        except TimeoutError:
            body.close()
            words = f"the body did not come within {self._limits.body_seconds:g} s"
            raise ProblemError(408, words) from None
        except BaseException:
            body.close()
            raise
        return body


class Body:
    """Bytes of a request, which count as held while it lasts."""

    def __init__(self, room: Room) -> None:
        self._room, self._chunks = room, bytearray()
        self.length = 0

    def add(self, chunk: bytes) -> None:
        """Hold some more."""
        self._room.take(len(chunk))
        self.length += len(chunk)
        self._chunks += chunk

    def take(self) -> bytes:
        """All of it, without a byte order mark."""
        return bytes(self._chunks).removeprefix(BOM_UTF8)

    def close(self) -> None:
        """Let go of it."""
        self._room.give_back(self.length)
        self.length = 0
        self._chunks = bytearray()

    def __enter__(self) -> Body:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Probe:
    """Asks the database how it is, at most once in `HEALTH_SECONDS`, however many want to know."""

    def __init__(self, dd: Deduplicator, limits: Limits) -> None:
        self._dd, self._seconds = dd, limits.work_seconds
        self._threads, self._asking = Threads(1), asyncio.Lock()
        self._at = float("-inf")
        self._problem: ProblemError | None = None

    async def check(self) -> None:
        """Find out whether the database answers and has this program's schema.

        Raises:
            ProblemError: it does not, or has not.
        """
        async with self._asking:
            if time.monotonic() - self._at > HEALTH_SECONDS:
                self._problem = await self._asked()
                self._at = time.monotonic()
        if self._problem is not None:
            raise ProblemError(self._problem.status, self._problem.detail, self._problem.retry_after)

    async def _asked(self) -> ProblemError | None:
        try:
            await self._threads.run(self._dd.ping, self._seconds)
        except TimeoutError:
            return ProblemError(503, f"the database has not answered in {self._seconds:g} s", OUTAGE_SECONDS)
        except DatabaseError as error:
            return problem_of(error, self._dd.place)
        return None


def _too_many() -> ProblemError:
    return ProblemError(503, "too many requests are being worked on; send it again", BUSY_SECONDS)


def _query(request: Request, operation: Operation) -> dict[str, Any]:
    """The parameters of a request, all that its operation has.

    Raises:
        ProblemError: one is missing, unknown, said twice, or not of its kind.
    """
    raw: bytes = request.scope["query_string"]
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_PARAMETERS
        )
    except ValueError:
        raise ProblemError(
            400, f"the query is not UTF-8, or has more than {MAX_PARAMETERS} parameters"
        ) from None
    given = dict(pairs)
    known = {parameter.name for parameter in operation.parameters}
    if len(given) < len(pairs):
        raise ProblemError(400, "a parameter of the query is given twice")
    if unknown := given.keys() - known:
        listed = ", ".join(sorted(known)) or "none"
        raise ProblemError(400, f"unknown parameter {min(unknown)[:40]!r}; this address takes {listed}")
    found: dict[str, Any] = {}
    for parameter in operation.parameters:
        value = given.get(parameter.name)
        if value is None and parameter.default is None:
            raise ProblemError(400, f"the parameter {parameter.name} is missing")
        found[parameter.name] = (
            parameter.default if value is None else _parsed(parameter.name, parameter.kind, value)
        )
    return found


def _parsed(name: str, kind: str, value: str) -> str | bool | int:
    if kind == "boolean":
        if value not in ("true", "false"):
            raise ProblemError(400, f"{name} is true or false")
        return value == "true"
    if kind == "integer":
        if not (value.isascii() and value.isdecimal() and len(value) <= 9):
            raise ProblemError(400, f"{name} is a whole number from 0 to 999,999,999")
        return int(value)
    return value


def _json(answer: dict[str, Any]) -> Response:
    return Response(as_json(answer).encode(), media_type=JSON, headers=HEADERS)
