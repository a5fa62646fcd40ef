"""Serve pages over HTTP. `views.py` makes pages, `editing.py` stores changes, `visitors.py` checks forms."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from hashlib import sha256
from http import HTTPStatus
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Scope

from dedup.api.deduplicator import Deduplicator
from dedup.extras.browse.asking import EXACT, Fields, View, go
from dedup.extras.browse.data import (
    MEDIA_TYPES,
    MOST_ROWS,
    MOST_SECONDS,
    AsCSV,
    AsJSON,
    PageTable,
    TablePart,
    form_of,
)
from dedup.extras.browse.editing import ACTIONS, DONE, Action
from dedup.extras.browse.tables import table_of
from dedup.extras.browse.views import PLACES, Position, new
from dedup.extras.browse.visitors import ENTER, STATIC, Visitor, Visitors
from dedup.extras.pages.environment import environment
from dedup.extras.serve.guard import HEADERS, Guard, ProblemError
from dedup.extras.serve.handling import Handling, fields_of
from dedup.extras.serve.limits import Limits

FORM = "application/x-www-form-urlencoded"

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self';"
    " frame-ancestors 'none'; base-uri 'none'"
)

SAFE_HEADERS = {
    **HEADERS,
    "Content-Security-Policy": POLICY,
    # With Referrer-Policy "no-referrer", browsers would send forms with `Origin: null`, which is refused.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

STATIC_SECONDS = 86_400  # Time that browsers cache a file; a changed file gets a new address

PATHS = frozenset(place.path for place in PLACES)


def make_app(
    dd: Deduplicator, limits: Limits, visitors: Visitors, *, editing: bool = False, log_requests: bool = False
) -> ASGIApp:
    site = Site(dd, limits, visitors, editing=editing)
    return Guard(
        site.router(),
        limits,
        visitors.check,
        dd.location,
        paths=PATHS,
        nowhere="the pages begin at /",
        refuse=site.refuse,
        log_requests=log_requests,
    )


class Site:
    def __init__(self, dd: Deduplicator, limits: Limits, visitors: Visitors, *, editing: bool) -> None:
        self._dd, self._visitors, self._editing = dd, visitors, editing
        self._handling = Handling(limits, dd.location)
        self._templates = environment("dedup.extras.browse")
        files = _static_files()
        self._files = {address: (kind, content) for address, kind, content in files.values()}
        self._common = {
            "go": go,
            "places": [(place.path, place.name) for place in PLACES if place.name],
            **{name: address for name, (address, _, _) in files.items()},
            "editing": editing,
        }

    def router(self) -> Router:
        routes = [Route(place.path, self._page(place), methods=["GET"]) for place in PLACES]
        routes += [Route(path, self._static, methods=["GET"]) for path in self._files]
        routes += [Route("/new", self._new, methods=["POST"]), Route(ENTER, self._enter, methods=["POST"])]
        if self._editing:
            routes += [Route(action.path, self._action(action), methods=["POST"]) for action in ACTIONS]
        return Router(routes, redirect_slashes=False)

    def refuse(self, problem: ProblemError, scope: Scope) -> tuple[bytes, dict[str, str]]:
        """Return the body and the headers of an error page. For status 401 the page asks for the token."""
        query = scope["query_string"].decode("latin-1")
        asked = f"{scope['path']}?{query}" if query else scope["path"]
        values = {
            "heading": HTTPStatus(problem.status).phrase,
            "detail": problem.detail[:1].upper() + problem.detail[1:] + ".",
            "enter": problem.status == 401,
            "back": asked if scope["method"] == "GET" else "/",
        }
        body = self._rendered(View("problem.html.j2", values), scope["path"], None, "")
        return body, {"Content-Type": "text/html; charset=utf-8", **SAFE_HEADERS}

    def _page(self, place: Position) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            known = (*place.fields, "done", "table", "format")
            given = _fields(request.scope["query_string"], known, "the query")
            visitor = self._visitors.visitor_of(request.scope)
            fields = {name: given.get(name, "") for name in place.fields}
            fields = {name: value if name in EXACT else value.strip() for name, value in fields.items()}
            if "format" in given or "table" in given:
                return await self._data(request, place, fields, given)
            done = DONE.get(given.get("done", ""), "")
            body = await self._handling.run(
                lambda: self._rendered(place.view(self._dd, fields), place.path, visitor, done, fields)
            )
            return self._html(body, visitor)

        return endpoint

    async def _data(self, request: Request, place: Position, fields: Fields, given: Fields) -> Response:
        """Answer with a table of a page as CSV or JSON, sent in parts."""
        table = table_of(place.path, given.get("table", ""))
        form = form_of(given.get("format", ""), table)
        # The first part is read before the answer begins, so that an error can still be shown as a page.
        first = await self._handling.run(lambda: table.read(self._dd, fields))
        days = "-".join(fields[name] for name in ("first", "last") if fields.get(name))
        name = "-".join(filter(None, (place.path.strip("/") or "today", table.name, days)))
        ending = given["format"]
        headers = SAFE_HEADERS | {
            "Content-Type": MEDIA_TYPES[ending],
            "Content-Disposition": f'attachment; filename="{name}.{ending}"',
        }
        if request.method == "HEAD":
            return Response(headers=headers)
        return StreamingResponse(self._rows(table, form, fields, first), headers=headers)

    async def _rows(
        self, table: PageTable, form: AsCSV | AsJSON, fields: Fields, part: TablePart
    ) -> AsyncIterator[bytes]:
        until, told = time.monotonic() + MOST_SECONDS, len(part.rows)
        yield form.begin() + form.rows(part)
        while part.after is not None and told < MOST_ROWS and time.monotonic() < until:
            goes_on = {**fields, "after": part.after}
            part = await self._handling.run(partial(table.read, self._dd, goes_on))
            told += len(part.rows)
            yield form.rows(part)
        if part.after is not None and told < MOST_ROWS and isinstance(form, AsCSV):
            # Status 200 is sent already, and CSV cannot say that rows are missing. So break the connection.
            raise ProblemError(503, "the table took too long; the remaining rows are missing")
        yield form.end(part)

    async def _new(self, request: Request) -> Response:
        # POST is used although nothing changes: a text is too long and too private for an address.
        visitor, given = await self._form(request, ("text", "title", "scope"))
        body = await self._handling.run(lambda: self._rendered(new(self._dd, given), "/new", visitor, ""))
        return self._html(body, visitor)

    async def _enter(self, request: Request) -> Response:
        async with self._handling.body(request, FORM) as body:
            given = fields_of(body.content, ("token", "to"), "the form")
        visitor = self._visitors.enter(request.scope, given.get("token", ""))
        # Redirect only to pages of this server: `//evil` or `/\evil` in the form would lead to another site.
        address = given.get("to", "/")
        parts = urlsplit(address) if address.startswith("/") and "\\" not in address else None
        plain = address.isprintable() and address.isascii()
        if parts is None or parts.scheme or parts.netloc or not plain or parts.path not in PATHS:
            address = "/"
        cookie = {"Set-Cookie": self._visitors.header(visitor)}
        return Response(status_code=303, headers=SAFE_HEADERS | {"Location": address} | cookie)

    def _action(self, action: Action) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            _, given = await self._form(request, action.fields)
            address = await self._handling.run(lambda: action.work(self._dd, given))
            # With 303 the browser opens the page with GET, so a reload does not send the form again.
            return Response(status_code=303, headers=SAFE_HEADERS | {"Location": address})

        return endpoint

    async def _static(self, request: Request) -> Response:
        kind, content = self._files[request.scope["path"]]
        kept = {"Cache-Control": f"public, max-age={STATIC_SECONDS}, immutable"}
        return Response(content, media_type=kind, headers=SAFE_HEADERS | kept)

    async def _form(self, request: Request, known: tuple[str, ...]) -> tuple[Visitor, dict[str, str]]:
        self._visitors.check_origin(request.scope)
        async with self._handling.body(request, FORM) as body:
            given = _fields(body.content, (*known, "form"), "the form")
        visitor = self._visitors.check_form(request.scope, given.pop("form", ""))
        given |= _fields(request.scope["query_string"], known, "the query")
        return visitor, {name: given.get(name, "") for name in known}

    def _rendered(
        self, view: View, path: str, visitor: Visitor | None, done: str, fields: Fields | None = None
    ) -> bytes:
        asked = {name: value for name, value in (fields or {}).items() if name != "after"}
        values: Mapping[str, Any] = {
            **self._common,
            "here": path,
            "visitor": visitor,
            "done": done,
            "data": lambda table, form: go(path, **asked, table=table, format=form),
            **view.values,
        }
        return self._templates.get_template(view.template).render(values).encode("utf-8", "replace")

    def _html(self, body: bytes, visitor: Visitor) -> Response:
        answer = Response(body, media_type="text/html", headers=SAFE_HEADERS)
        if visitor.new:
            answer.headers["Set-Cookie"] = self._visitors.header(visitor)
        return answer


def _fields(raw: bytes, known: tuple[str, ...], where: str) -> dict[str, str]:
    given = fields_of(raw, known, where)
    # Postgres cannot store NUL. Only the field `text` may contain NUL, because cleaning a text removes NUL.
    if any("\0" in value for name, value in given.items() if name != "text"):
        raise ProblemError(400, f"{where} contains a NUL character")
    return given


def _static_files() -> dict[str, tuple[str, str, bytes]]:
    """Map template variables such as "style" to the address, media type and content of a static file."""
    style = environment("dedup.extras.browse").get_template("style.css.j2").render().encode()
    folder = resources.files("dedup.extras.browse") / "static"
    files = {
        "style": ("style", "css", "text/css", style),
        "script": ("keys", "js", "text/javascript", (folder / "keys.js").read_bytes()),
        "icon": ("icon", "svg", "image/svg+xml", (folder / "icon.svg").read_bytes()),
    }
    return {
        name: (f"{STATIC}{stem}-{sha256(content).hexdigest()[:12]}.{ending}", kind, content)
        for name, (stem, ending, kind, content) in files.items()
    }
