"""Define the endpoints of the HTTP service. Each endpoint calls a `Deduplicator` and answers with JSON."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Generic, TypeVar, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from dedup import MarkChange
from dedup.api.deduplicator import Deduplicator
from dedup.base.answer import Answer
from dedup.base.errors import AttachedError, DatabaseError, NotFoundError, UnreachableError
from dedup.base.extras import of_extra
from dedup.base.printable import as_json
from dedup.base.verdict import Verdict
from dedup.extras.serve.body import (
    UNNAMED,
    MissingExtraError,
    RefusedError,
    article_of,
    ids_of,
    read_article,
    text_of,
    value_of,
)
from dedup.extras.serve.endpoints import ENDPOINTS, JSON, LINES, NAMES, PATHS, PROBES, Endpoint, document
from dedup.extras.serve.guard import HEADERS, Access, Guard, ProblemError, problem_of
from dedup.extras.serve.handling import Handling, fields_of, in_thread
from dedup.extras.serve.limits import Limits
from dedup.extras.serve.metering import METRICS, PROMETHEUS, Meter
from dedup.extras.serve.streams import EVENTS, StreamAnswer, Streams
from dedup.files.record import Flaw

HEALTH_SECONDS = 1.0  # Minimum time between two checks of the database; in between, the last result is used
ROUTES = PATHS | {METRICS}  # /openapi.json does not describe /metrics, whose answer is no JSON
_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_Found = TypeVar("_Found")


def make_app(
    dd: Deduplicator, limits: Limits, access: Access, *, texts: bool = False, log_requests: bool = False
) -> ASGIApp:
    """Return the application. `texts`: allow answers that contain texts of articles."""
    meter = Meter(ROUTES)
    service = Service(dd, limits, meter, texts=texts)
    guard = Guard(
        service.router(),
        limits,
        access.check,
        dd.location,
        paths=ROUTES,
        probes=PROBES,
        nowhere="/openapi.json lists the addresses",
        log_requests=log_requests,
    )
    return meter.around(guard)


class Service:
    """Answer requests: for each endpoint, the method of the same name makes the answer."""

    def __init__(self, dd: Deduplicator, limits: Limits, meter: Meter, *, texts: bool) -> None:
        self._dd, self._limits, self._meter, self._texts = dd, limits, meter, texts
        self._handling = Handling(limits, dd.location)
        outages = self._handling.outages
        self._probe = Probe(dd.ping, limits, dd.location, partial(outages.note, who="/v1/health"))
        self._vitals = Probe(dd.vitals, limits, dd.location, partial(outages.note, who=METRICS))
        self._streams = Streams(
            lambda since, limit: dd.changes(since, limit=limit),
            _changed,
            self._handling,
            limits.streams,
            dd.location,
        )

    def router(self) -> Router:
        paths: dict[str, dict[str, Endpoint]] = {}
        for endpoint in ENDPOINTS:
            paths.setdefault(endpoint.path, {})[endpoint.method] = endpoint
        routes = [Route(path, self._endpoint(found), methods=[*found]) for path, found in paths.items()]
        routes.append(Route(METRICS, self._metrics, methods=["GET"]))
        return Router(routes, redirect_slashes=False)

    def _endpoint(
        self, by_method: dict[str, Endpoint]
    ) -> Callable[[Request], Awaitable[Response | StreamAnswer]]:
        async def endpoint(request: Request) -> Response | StreamAnswer:
            endpoint = by_method["GET" if request.method == "HEAD" else request.method]
            query = _query(request, endpoint)
            if query.get("text") and not self._texts:
                raise ProblemError(403, "this server sends no texts; start it with `dedup serve --texts`")
            answer = await getattr(self, endpoint.name)(request, **query)
            if isinstance(answer, StreamAnswer):
                return answer
            return Response(as_json(answer).encode(), media_type=JSON, headers=HEADERS)

        return endpoint

    async def submit(self, request: Request, *, store: bool) -> dict[str, Any]:
        async with self._handling.body(request, JSON) as body:
            return await self._handling.run(lambda: self._judged(body.content, "body", store))

    async def submit_batch(self, request: Request, *, store: bool) -> dict[str, Any]:
        async with self._handling.body(request, JSON, LINES) as body:
            what = "item" if body.media_type == JSON else "line"
            return await self._handling.run(lambda: self._batch(body.content, what, store))

    async def mark(self, _request: Request, source_id: str, *, text: bool) -> dict[str, Any]:
        found = await self._handling.run(lambda: self._dd.get(source_id))
        if found is None:
            raise NotFoundError.of(source_id)
        answer: dict[str, Any] = _named(found.as_dict())
        answer["article"]["kept"] = found.article.kept  # `_named` must not rename the newsroom's own fields
        if not text:
            del answer["article"]["text"]
        return answer

    async def delete(self, _request: Request, source_id: str) -> dict[str, Any]:
        if not await self._handling.run(lambda: self._dd.delete(source_id)):
            raise NotFoundError.of(source_id)
        return {"source_id": source_id}

    async def story(self, _request: Request, source_id: str, limit: int) -> dict[str, Any]:
        found = await self._handling.run(lambda: self._dd.story(source_id))
        return {
            "original": _named(found.original.as_dict()),
            "copies": [_named(copy.as_dict()) for copy in found.copies[:limit]],
            "count": len(found.copies),
            "latest": found.latest,
            "fullest": found.fullest,
            "outlets": found.outlets,
            "origin": found.origin.as_dict(),
        }

    async def origins(self, _request: Request, limit: int, **given: str) -> dict[str, Any]:
        return await self._handling.run(lambda: self._origins(None, limit, given))

    async def origins_of_ids(self, request: Request, limit: int, **given: str) -> dict[str, Any]:
        async with self._handling.body(request, JSON) as body:
            return await self._handling.run(lambda: self._origins(ids_of(body.content), limit, given))

    def _origins(self, ids: list[Any] | None, limit: int, given: dict[str, str]) -> dict[str, Any]:
        if ids is not None and len(ids) > self._limits.ids:
            raise ProblemError(413, f"the body has {len(ids):,} ids, the limit is {self._limits.ids:,}")
        only: dict[str, Any] = {name: value or None for name, value in given.items()}
        return self._dd.origins(ids, **only, limit=limit).as_dict()

    async def explain(
        self, _request: Request, source_id: str, other_source_id: str, *, text: bool
    ) -> dict[str, Any]:
        found = await self._handling.run(lambda: self._dd.explain(source_id, other_source_id))
        answer: dict[str, Any] = _named(found.as_dict())
        answer["shared_sentences"] = len(found.shared)
        answer["differing_sentences"] = len(found.differing)
        if not text:
            del answer["shared"], answer["differing"]
            del answer["earlier"]["ignored"], answer["later"]["ignored"]
        return answer

    async def changes(
        self, request: Request, since: str, limit: int, *, stream: bool
    ) -> dict[str, Any] | StreamAnswer:
        accepted = request.headers.get("accept", "")
        if stream or (EVENTS in accepted and JSON not in accepted):
            # A client that connects again sends the last `id` that it got, in addition to the old `since`.
            return StreamAnswer(self._streams, request.headers.get("last-event-id") or since or None)
        if not 1 <= limit <= self._limits.changes:
            raise ProblemError(400, f"limit must be a whole number from 1 to {self._limits.changes:,}")
        found = await self._handling.run(lambda: self._dd.changes(since or None, limit=limit))
        told = [_changed(change) for change in found]
        return {"changes": told, "cursor": found[-1].cursor if found else since or None}

    async def sources(self, _request: Request, source_id: str, limit: int) -> dict[str, Any]:
        return await self._handling.run(lambda: self._sources(source_id, None, limit))

    async def sources_of_text(self, request: Request, limit: int) -> dict[str, Any]:
        async with self._handling.body(request, JSON) as body:
            return await self._handling.run(lambda: self._sources(None, text_of(body.content), limit))

    def _sources(self, source_id: str | None, text: str | None, limit: int) -> dict[str, Any]:
        found = self._dd.sources(source_id, text=text, limit=limit)
        return {"sources": [_named(one.as_dict()) for one in found]}

    async def coverage(
        self, _request: Request, source_id: str, days: int, at: str, limit: int, *, text: bool
    ) -> dict[str, Any]:
        ask = partial(self._dd.coverage, source_id, days=days, at=at or None, limit=limit)
        return await self._handling.run(lambda: _told(ask(), shared=text))

    async def coverage_of_text(
        self, request: Request, days: int, at: str, limit: int, *, text: bool
    ) -> dict[str, Any]:
        ask = partial(self._dd.coverage, days=days, at=at or None, limit=limit)
        async with self._handling.body(request, JSON) as body:
            return await self._handling.run(lambda: _told(ask(text=text_of(body.content)), shared=text))

    async def health(self, _request: Request) -> dict[str, Any]:
        await self._probe.check()
        return {"status": "ok"}

    async def ready(self, _request: Request) -> dict[str, Any]:
        # A full server is healthy but not ready: a load balancer should send requests elsewhere.
        with self._handling.requests.one():
            pass
        await self._probe.check()
        return {"status": "ok"}

    async def openapi(self, _request: Request) -> dict[str, Any]:
        return document()

    async def _metrics(self, request: Request) -> Response:
        fields_of(request.scope["query_string"], (), "the query")
        with of_extra(METRICS, "metrics"):
            from dedup.api.metrics import describe, exposition
        vitals = None
        with suppress(ProblemError):
            vitals = await self._vitals.check()
        text = exposition([*describe(vitals), *self._meter.collect(self._streams.open.taken)])
        return Response(text, headers={**HEADERS, "Content-Type": PROMETHEUS})

    def _judged(self, given: Any, what: str, store: bool) -> dict[str, Any]:
        read = article_of if what == "item" else read_article
        article, flaws = read(given, what, needs_id=store)
        try:
            if store:
                return judged(self._dd.submit(article), flaws)
            found = self._dd.lookup(article)
            return judged(replace(found, id=None) if article.source_id == UNNAMED else found, flaws)
        except AttachedError as error:
            raise RefusedError(str(error), article.source_id) from None

    def _batch(self, body: bytes, what: str, store: bool) -> dict[str, Any]:
        given = value_of(body, "body") if what == "item" else body.removesuffix(b"\n").split(b"\n")
        if not isinstance(given, list):
            raise RefusedError("the body must be a JSON array")
        if len(given) > self._limits.batch_articles:
            raise ProblemError(
                413, f"the batch has {len(given):,} {what}s, the limit is {self._limits.batch_articles:,}"
            )
        deadline = time.monotonic() + self._limits.batch_seconds
        verdicts: list[dict[str, Any]] = []
        why = None
        for one in given:
            if verdicts and time.monotonic() > deadline:
                why = f"stopped after {self._limits.batch_seconds:g} s: send the remaining articles again"
                break
            try:
                verdicts.append(self._judged(one, what, store))
            except RefusedError as error:
                verdicts.append(judged(Verdict(error.source_id, "refused", None, None, str(error)), ()))
            except (DatabaseError, MissingExtraError) as error:
                if not verdicts:
                    raise
                if isinstance(error, DatabaseError):
                    self._handling.outages.note(error)
                why = problem_of(error, self._dd.location).detail
                break
        return {"verdicts": verdicts, "left": len(given) - len(verdicts), "reason": why}


class Probe(Generic[_Found]):
    """Ask the database at most once in `HEALTH_SECONDS`, however many clients ask.

    `note` is called after each question with the error or None, such as `OutageLog.note`.
    """

    def __init__(
        self,
        ask: Callable[[], _Found],
        limits: Limits,
        place: str,
        note: Callable[[DatabaseError | None], None],
    ) -> None:
        self._ask, self._seconds, self._place, self._note = ask, limits.work_seconds, place, note
        self._free, self._asking = asyncio.Semaphore(1), asyncio.Lock()
        self._at = float("-inf")
        self._found: _Found | None = None
        self._problem: ProblemError | None = None

    async def check(self) -> _Found:
        """Return the newest answer of the database; raise ProblemError if the newest question failed."""
        async with self._asking:
            if time.monotonic() - self._at > HEALTH_SECONDS:
                failure: DatabaseError | None = None
                self._found = None
                try:
                    self._found = await in_thread(self._free, self._ask, self._seconds)
                except TimeoutError:
                    failure = UnreachableError(f"{self._place} has not answered in {self._seconds:g} s")
                except DatabaseError as error:
                    failure = error
                self._note(failure)
                self._problem = problem_of(failure, self._place) if failure else None
                self._at = time.monotonic()
        if self._problem is not None:
            raise replace(self._problem)
        return cast("_Found", self._found)


def _query(request: Request, endpoint: Endpoint) -> dict[str, Any]:
    """Return the parameters of a request; raise ProblemError if one is missing, unknown or invalid."""
    known = {given["name"]: given for given in endpoint.parameters if given["in"] == "query"}
    given = fields_of(request.scope["query_string"], known, "the query")
    found: dict[str, Any] = {}
    for name, parameter in known.items():
        schema = parameter["schema"]
        if parameter.get("allowEmptyValue") and given.get(name) == "":
            given[name] = "true"
        if name not in given and "default" not in schema:
            raise ProblemError(400, f"the parameter {name} is missing")
        found[name] = _parsed(name, schema["type"], given[name]) if name in given else schema["default"]
    return found


def _parsed(name: str, kind: str, value: str) -> str | bool | int:
    if kind == "boolean":
        if value not in _TRUTH:
            raise ProblemError(400, f"{name} must be true or false")
        return _TRUTH[value]
    if kind == "integer":
        if not (value.isascii() and value.isdecimal() and len(value) <= 9):
            raise ProblemError(400, f"{name} must be a whole number from 0 to 999,999,999")
        return int(value)
    return value


def judged(found: Verdict, flaws: Iterable[Flaw]) -> dict[str, Any]:
    """Return a verdict with the repairs of its article: the fields that were changed or dropped, and why."""
    return {**_named(found.as_dict()), "repairs": [flaw._asdict() for flaw in flaws]}


def _changed(change: MarkChange) -> dict[str, Any]:
    """Return a change without its cursor."""
    told: dict[str, Any] = _named(change.as_dict())
    del told["cursor"]
    return told


def _told(found: Answer, *, shared: bool) -> dict[str, Any]:
    """Return the answer of `coverage`. If `shared` is False, leave out the words that texts share."""
    answer: dict[str, Any] = _named(found.as_dict())
    if not shared:
        for origin in answer["origins"]:
            for article in origin["articles"]:
                del article["shared"]
    return answer


def _named(value: Any) -> Any:
    """Return an answer of the library with the service's names: `id` becomes `source_id`."""
    if isinstance(value, dict):
        return {NAMES.get(name, name): _named(item) for name, item in value.items()}
    return [_named(item) for item in value] if isinstance(value, list) else value
