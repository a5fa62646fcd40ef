"""The endpoints of the HTTP door: a request becomes a question to a `Deduplicator`, its answer JSON.

What every request passes before is in `guard.py`, what there is to ask in `operations.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from dedup.article import Article
from dedup.deduplicator import Deduplicator
from dedup.errors import DatabaseError, NotFoundError
from dedup.files.body import RefusedError, read_article
from dedup.printable import as_json
from dedup.serve.answers import explanation, marked, repaired, story
from dedup.serve.guard import HEADERS, Access, Guard
from dedup.serve.handling import Handling, fields_of, too_many
from dedup.serve.limits import Limits
from dedup.serve.openapi import document
from dedup.serve.operations import JSON, LINES, OPERATIONS, PATHS, PROBES, Operation
from dedup.serve.problems import OUTAGE_SECONDS, ProblemError, problem_of
from dedup.serve.threads import Threads
from dedup.verdict import Verdict

HEALTH_SECONDS = 1.0
"""How long an answer of the health check holds: whoever asks more often costs nothing."""


def make_app(
    dd: Deduplicator, limits: Limits, access: Access, *, texts: bool = False, log_requests: bool = False
) -> ASGIApp:
    """The application.

    Args:
        texts: whether words of articles may be told.
        log_requests: a line in the log for every request.
    """
    service = Service(dd, limits, texts=texts)
    return Guard(
        service.router(),
        limits,
        access,
        dd.place,
        paths=PATHS,
        probes=PROBES,
        nowhere="/openapi.json has those that there are",
        log_requests=log_requests,
    )


class Service:
    """Answers requests. Each operation is a method of its name."""

    def __init__(self, dd: Deduplicator, limits: Limits, *, texts: bool) -> None:
        self._dd, self._limits, self._texts = dd, limits, texts
        self._handling = Handling(limits, dd.place)
        self._probe = Probe(dd, limits)

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
        with await self._handling.body(request, JSON) as body:
            return await self._handling.worked(lambda: self._judged(body.take(), query["store"]))

    async def submit_lines(self, request: Request, query: dict[str, Any]) -> dict[str, Any]:
        """Verdicts on the articles in the lines of the body, as far as time allows."""
        with await self._handling.body(request, LINES) as body:
            return await self._handling.worked(lambda: self._batch(body.take(), query["store"]))

    async def mark(self, _request: Request, query: dict[str, Any]) -> dict[str, Any]:
        """An article with its mark."""
        self._may_tell(query["text"])
        source_id: str = query["source_id"]
        found = await self._handling.worked(lambda: self._dd.get(source_id))
        if found is None:
            raise NotFoundError.of(source_id)
        return marked(found, text=query["text"])

    async def delete(self, _request: Request, query: dict[str, Any]) -> dict[str, Any]:
        """Delete an article."""
        source_id: str = query["source_id"]
        if not await self._handling.worked(lambda: self._dd.delete(source_id)):
            raise NotFoundError.of(source_id)
        return {"deleted": source_id}

    async def story(self, _request: Request, query: dict[str, Any]) -> dict[str, Any]:
        """The story of an article."""
        return story(await self._handling.worked(lambda: self._dd.story(query["source_id"])), query["limit"])

    async def explain(self, _request: Request, query: dict[str, Any]) -> dict[str, Any]:
        """Two articles compared."""
        self._may_tell(query["text"])
        found = await self._handling.worked(lambda: self._dd.explain(query["a"], query["b"]))
        return explanation(found, text=query["text"])

    async def health(self, _request: Request, _query: dict[str, Any]) -> dict[str, Any]:
        """The state of the database."""
        await self._probe.check()
        return {"status": "ok"}

    async def ready(self, _request: Request, _query: dict[str, Any]) -> dict[str, Any]:
        """The state of the database, and whether there is room."""
        if self._handling.full:
            raise too_many()
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
                self._handling.note(error)
                why = problem_of(error, self._dd.place).detail
                break
        return {"verdicts": verdicts, "left": len(lines) - len(verdicts), "reason": why}

    def _may_tell(self, wanted: bool) -> None:
        if wanted and not self._texts:
            raise ProblemError(403, "this server tells no texts; start it with `dedup serve --texts`")


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


def _query(request: Request, operation: Operation) -> dict[str, Any]:
    """The parameters of a request, all that its operation has.

    Raises:
        ProblemError: one is missing, unknown, said twice, or not of its kind.
    """
    known = {parameter.name for parameter in operation.parameters}
    given = fields_of(request.scope["query_string"], known, "the query")
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
