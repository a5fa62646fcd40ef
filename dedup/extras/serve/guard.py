"""Check the token and the rate of every request, and answer errors as application/problem+json (RFC 9457).

Answers never contain a traceback, the text of an article that was not requested, or the database's host.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from http import HTTPStatus
from math import ceil
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dedup.base.errors import (
    BusyError,
    ClosedError,
    CollisionError,
    CursorError,
    DatabaseError,
    DedupError,
    InputError,
    NotFoundError,
    RightsError,
    SchemaError,
)
from dedup.base.printable import as_json
from dedup.extras.serve.body import MissingExtraError
from dedup.extras.serve.endpoints import OPEN, PROBLEM
from dedup.extras.serve.limits import FullError, Limits, Rates, client_key

LOG = logging.getLogger("dedup.serve")
# Maximum time to read on after a refusal: many clients read the answer only after sending the whole body.
LINGER_SECONDS = 2.0
LOOPBACK_NAMES = frozenset(("localhost", "127.0.0.1", "::1"))
# Marks change, so answers must not be cached. `nosniff` stops browsers from treating JSON with news as HTML.
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
BUSY_SECONDS = 1  # Seconds in the header Retry-After if the server was too busy
OUTAGE_SECONDS = 5  # Seconds in the header Retry-After if the database did not answer


@dataclass
class ProblemError(Exception):
    """Raised for a request that is refused or cannot be answered."""

    status: int  # HTTP status
    detail: str  # a sentence that says what happened and what to do
    retry_after: float | None = None  # seconds to wait before a repetition; None: repeating does not help
    headers: dict[str, str] = field(default_factory=dict)  # headers to add to the answer

    def body(self) -> dict[str, Any]:
        """Return the members of the JSON answer, which RFC 9457 defines."""
        return {
            "type": "about:blank",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }


def problem_of(error: Exception, place: str) -> ProblemError:
    """Turn an error into a ProblemError without `place` (host and database), which clients must not learn."""
    words = str(error).replace(place, "the database")
    match error:
        case FullError() | BusyError() | CollisionError():
            return ProblemError(503, words, BUSY_SECONDS)
        case MemoryError():
            return ProblemError(503, "no memory for this request; send it again later", BUSY_SECONDS)
        case CursorError():
            return ProblemError(410, words)
        case InputError():
            return ProblemError(400, words)
        case NotFoundError():
            # Clients cannot run the commands of dedup, so remove the advice to run a command.
            return ProblemError(404, words.rpartition("; `dedup ")[0] or words)
        case MissingExtraError() | ImportError():  # a package, or the code of an extra, is not on the server
            return ProblemError(501, f"on the server, {words}")
        case RightsError() | SchemaError():
            return ProblemError(503, words, OUTAGE_SECONDS * 12)  # wait long: an administrator must act first
        case DatabaseError() | ClosedError():
            return ProblemError(503, words, OUTAGE_SECONDS)
        case DedupError():
            return ProblemError(500, words)
    # The message of an unexpected error could contain the text of an article.
    return ProblemError(500, f"unexpected {type(error).__name__}; see the server's log for the code line")


def log_place(log: logging.Logger, error: Exception) -> None:
    """Log type, file and line of an unexpected error. Its message could contain the text of an article."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown place"
    log.error("unexpected %s in %s", type(error).__name__, where)


Refuse = Callable[[ProblemError, Scope], tuple[bytes, dict[str, str]]]  # Returns body and headers


def in_json(problem: ProblemError, scope: Scope) -> tuple[bytes, dict[str, str]]:  # noqa: ARG001
    return as_json(problem.body()).encode(), {"Content-Type": PROBLEM, **HEADERS}


@dataclass(frozen=True, slots=True)
class Access:
    token: bytes | None = None  # for `Authorization: Bearer`; None lets in everybody who can connect
    # Allowed names in the header Host, without port; None allows all names. A web page in a browser on this
    # machine can reach the server by DNS rebinding, but then the header Host names the site of the page.
    hosts: frozenset[str] | None = None

    def check(self, scope: Scope) -> None:
        check_host(scope, self.hosts)
        given = dict(scope["headers"])
        if self.token is None or scope["path"] in OPEN:
            return
        kind, _, secret = given.get(b"authorization", b"").partition(b" ")
        if kind.lower() != b"bearer" or not hmac.compare_digest(secret.strip(), self.token):
            detail = "send the server's token in the header `Authorization: Bearer TOKEN`"
            raise ProblemError(401, detail, headers={"WWW-Authenticate": "Bearer"})


def check_host(scope: Scope, hosts: frozenset[str] | None) -> None:
    """Raise ProblemError for a request whose header Host has no allowed name."""
    given = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
    if hosts is not None and re.sub(r":\d*$", "", given).strip("[]").lower() not in hosts:
        raise ProblemError(421, "call this server by a name of this machine, such as 127.0.0.1")


@dataclass(eq=False)
class Guard:
    """Wrap an ASGI application; turn errors into answers. `check` raises ProblemError to refuse a request."""

    app: ASGIApp
    limits: Limits
    check: Callable[[Scope], None]
    place: str
    _: KW_ONLY
    paths: frozenset[str]  # paths that may appear in the log
    probes: frozenset[str] = frozenset()  # paths without a rate limit
    nowhere: str  # hint added to a 404 answer
    refuse: Refuse = in_json
    log_requests: bool = False

    def __post_init__(self) -> None:
        self._rates = Rates(self.limits.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange, began = Exchange(scope, receive, send), time.monotonic()
        problem: ProblemError | None = None
        try:
            if scope["path"] not in self.probes:
                client = scope.get("client")
                if wait := self._rates.wait(client_key(client[0] if client else None)):
                    raise ProblemError(429, "too many requests per second: send requests more slowly", wait)
            self.check(scope)
            scope["app"] = self  # with this key, Starlette's router raises an exception for unknown paths
            await self.app(scope, exchange.receive, exchange.send)
        except ProblemError as error:
            problem = error
        except HTTPException as error:  # raised by the router
            headers = dict(error.headers or {})
            words = f"there is nothing at this address; {self.nowhere}"
            if error.status_code == 405:
                words = f"this address accepts only {headers['Allow']}"
            problem = ProblemError(error.status_code, words, headers=headers)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:  # the server ends, and GRACE_SECONDS are over
            problem = ProblemError(503, "the server is stopping: check whether the request was done", 1)
        except Exception as error:
            problem = problem_of(error, self.place)
            if problem.status == 500:
                log_place(LOG, error)
        if problem is not None:
            await exchange.refuse(problem, *self.refuse(problem, scope))
        if self.log_requests:
            # An unknown path may contain a secret, or newlines that would fake a line of the log.
            path = scope["path"] if scope["path"] in self.paths else "(unknown)"
            took = (time.monotonic() - began) * 1000
            LOG.info("%s %s %d %.0f ms", scope["method"], path, exchange.status, took)


class Exchange:
    """Track a request and the answer; `status` is 0 until the answer begins."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.status = 0
        self._receive, self._send = receive, send
        headers = dict(scope["headers"])
        self._unread = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers

    async def receive(self) -> Message:
        message = await self._receive()
        self._unread = message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        self.status = message.get("status", self.status)
        await self._send(message)

    async def refuse(self, problem: ProblemError, body: bytes, headers: dict[str, str]) -> None:
        """Answer with a problem, unless an answer has already begun."""
        if self.status:
            return
        headers = headers | {"Content-Length": str(len(body))} | problem.headers
        if problem.retry_after is not None:
            headers["Retry-After"] = str(max(1, ceil(problem.retry_after)))
        if self._unread:
            headers["Connection"] = "close"
        pairs = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self.send({"type": "http.response.start", "status": problem.status, "headers": pairs})
        await self._send({"type": "http.response.body", "body": body, "more_body": True})
        with suppress(TimeoutError):
            async with asyncio.timeout(LINGER_SECONDS):
                while self._unread:
                    await self.receive()
        await self._send({"type": "http.response.body", "body": b""})
