"""What every request passes: who may ask, how often, and how whatever goes wrong is answered.

A refusal does not wait for the body of the request: the rest is read and dropped for a moment, so that the
client gets to see the answer, and then the connection is closed.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dedup.base.printable import as_json
from dedup.web.serve.endpoints import OPEN
from dedup.web.serve.limits import Limits, Rates, client_key
from dedup.web.serve.problems import MEDIA_TYPE, ProblemError, problem_of

LOG = logging.getLogger("dedup.serve")

LINGER_SECONDS = 2.0
"""How long a refused body is read and dropped, for clients that read no answer before they have sent all."""

LOOPBACK_NAMES = frozenset(("localhost", "127.0.0.1", "::1"))  # What a client of this machine may call it

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
"""Of every answer: marks change, and a browser is not to guess what it has got."""


class Gate(Protocol):
    """Knows who may ask."""

    def check(self, scope: Scope) -> None:
        """Raise a ProblemError unless the request may pass."""


class Refuse(Protocol):
    """Says no to a request: the body, and its headers without the length."""

    def __call__(self, problem: ProblemError, scope: Scope) -> tuple[bytes, dict[str, str]]: ...


def in_json(problem: ProblemError, scope: Scope) -> tuple[bytes, dict[str, str]]:  # noqa: ARG001
    """A problem as RFC 9457 has it."""
    return as_json(problem.body()).encode(), {"Content-Type": MEDIA_TYPE, **HEADERS}


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask."""

    token: bytes | None = None  # of `Authorization: Bearer`; None lets everybody in who can connect
    # what the header Host may name, without its port; None is everything. A page in a browser of this machine
    # can send requests here under a name of its own (DNS rebinding), and then names that.
    hosts: frozenset[str] | None = None

    def check(self, scope: Scope) -> None:
        check_host(scope, self.hosts)
        given = dict(scope["headers"])
        if self.token is None or scope["path"] in OPEN:
            return
        kind, _, secret = given.get(b"authorization", b"").partition(b" ")
        if kind.lower() != b"bearer" or not hmac.compare_digest(secret.strip(), self.token):
            detail = "a token is needed: send the header `Authorization: Bearer TOKEN`"
            raise ProblemError(401, detail, headers={"WWW-Authenticate": "Bearer"})


def check_host(scope: Scope, hosts: frozenset[str] | None) -> None:
    """Refuse a request that calls this machine by another name."""
    if hosts is not None and _host(dict(scope["headers"]).get(b"host", b"")) not in hosts:
        raise ProblemError(421, "this server answers to the names of this machine only, such as 127.0.0.1")


def _host(header: bytes) -> str:
    return re.sub(r":\d*$", "", header.decode("latin-1")).strip("[]").lower()


class Guard:
    """Stands before an ASGI application, and answers for it where it raises."""

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        access: Gate,
        place: str,
        *,
        paths: frozenset[str],
        probes: frozenset[str] = frozenset(),
        nowhere: str,
        refuse: Refuse = in_json,
        log_requests: bool = False,
    ) -> None:
        self._app, self._access, self._place = app, access, place
        self._paths, self._probes, self._refuse = paths, probes, refuse
        self._nowhere = nowhere
        self._rates = Rates(limits.rate)
        self._log_requests = log_requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        exchange, began = Exchange(scope, receive, send), time.monotonic()
        problem: ProblemError | None = None
        try:
            self._admit(scope)
            scope["app"] = self  # Starlette's router then raises what it cannot find
            await self._app(scope, exchange.receive, exchange.send)
        except ProblemError as error:
            problem = error
        except HTTPException as error:
            problem = _of_router(error, self._nowhere)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:  # the grace of a server that ends is over
            problem = ProblemError(503, "the server ends before this is done: ask whether it was", 1)
        except Exception as error:
            problem = problem_of(error, self._place)
            if problem.status == 500:
                LOG.error("unexpected %s in %s", type(error).__name__, _where(error))
        if problem is not None:
            await exchange.refuse(problem, *self._refuse(problem, scope))
        if self._log_requests:
            path = scope["path"] if scope["path"] in self._paths else "(unknown)"
            took = (time.monotonic() - began) * 1000
            LOG.info("%s %s %d %.0f ms", scope["method"], path, exchange.status, took)

    def _admit(self, scope: Scope) -> None:
        if scope["path"] not in self._probes:
            client = scope.get("client")
            wait = self._rates.wait(client_key(client[0] if client else None))
            if wait:
                raise ProblemError(429, "too many requests in a second: send them more slowly", wait)
        self._access.check(scope)


def _of_router(error: HTTPException, nowhere: str) -> ProblemError:
    headers = dict(error.headers or {})
    if error.status_code == 405:
        return ProblemError(
            405, f"this address takes {headers.get('Allow', 'other methods')}", headers=headers
        )
    if error.status_code == 404:
        return ProblemError(404, f"there is nothing at this address; {nowhere}")
    return ProblemError(error.status_code, HTTPStatus(error.status_code).phrase, headers=headers)


def _where(error: Exception) -> str:
    """The place in the code where an error came up: a traceback could hold more than may be told."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown place"


class Exchange:
    """One request and its answer; `status` is 0 before there is one."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.status = 0
        self._receive, self._send = receive, send
        headers = dict(scope["headers"])
        announced = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
        self._more_to_come = announced

    async def receive(self) -> Message:
        """The next message; notes whether it is the last."""
        message = await self._receive()
        if message["type"] != "http.request" or not message.get("more_body", False):
            self._more_to_come = False
        return message

    async def send(self, message: Message) -> None:
        """Send on; notes whether the answer began."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)

    async def refuse(self, problem: ProblemError, body: bytes, headers: dict[str, str]) -> None:
        """Answer with a problem, unless an answer has begun."""
        if self.status:
            return
        headers = headers | {"Content-Length": str(len(body))} | problem.all_headers()
        unread = self._more_to_come
        if unread:
            headers["Connection"] = "close"
        pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self.send({"type": "http.response.start", "status": problem.status, "headers": pairs})
        await self._send({"type": "http.response.body", "body": body, "more_body": unread})
        if unread:
            with suppress(TimeoutError):
                async with asyncio.timeout(LINGER_SECONDS):
                    while self._more_to_come:
                        await self.receive()
            await self._send({"type": "http.response.body", "body": b""})
