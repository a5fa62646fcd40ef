"""Fixtures for tests of the HTTP service: a real server on a free port, in a thread of this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.types import ASGIApp

from dedup import Deduplicator
from dedup.db.database import Database
from dedup.extras.serve import server
from dedup.extras.serve.app import make_app
from dedup.extras.serve.guard import LOOPBACK_NAMES, Access
from dedup.extras.serve.limits import Limits
from dedup.extras.serve.sockets import bind

SECONDS = 60
"""Seconds after which a wait counts as a hang."""

ARTICLE = "application/json"
LINES = "application/x-ndjson"


@dataclass
class Reply:
    """An answer of the server."""

    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


@dataclass
class Door:
    """A client of a running server."""

    port: int
    dd: Deduplicator

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        *,
        kind: str = ARTICLE,
        **query: str,
    ) -> Reply:
        """Send a request. A body that is not bytes is sent as JSON."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            target = f"{path}?{urlencode(query)}" if query else path
            sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            given = {"Content-Type": kind} if body is not None else {}
            connection.request(method, target, sent, given | (headers or {}))
            answer = connection.getresponse()
            return Reply(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def submit(self, article: Any, **query: str) -> Reply:
        """Send an article."""
        return self.ask("POST", "/v1/articles", article, None, **query)


def is_problem(reply: Reply, status: int, *words: str) -> None:
    assert reply.status == status, reply.raw
    assert reply.headers["content-type"] == "application/problem+json"
    said = reply.json
    assert set(said) == {"type", "title", "status", "detail"}
    assert said["status"] == status
    for word in words:
        assert word in said["detail"]
    assert "Traceback" not in said["detail"]


@contextmanager
def running(dd: Deduplicator, app: ASGIApp) -> Iterator[Door]:
    """Run a server in a thread until the end of the block."""
    sockets = bind("127.0.0.1", 0, loopback_only=True)
    port = sockets[0].getsockname()[1]
    stop = threading.Event()
    thread = threading.Thread(target=server.serve, args=(app, sockets, stop.is_set))
    thread.start()
    try:
        yield Door(port, dd)
    finally:
        stop.set()
        thread.join(SECONDS)
        assert not thread.is_alive()


Serving = Callable[..., Door]


@pytest.fixture
def serving(database: Database, corpus_url: str) -> Iterator[Serving]:
    """Yield a function that starts servers over an empty corpus: `serving(Limits(rate=5), texts=True)`."""
    with ExitStack() as stack:

        def start(
            limits: Limits | None = None,
            access: Access | None = None,
            *,
            dd: Deduplicator | None = None,
            **options: Any,
        ) -> Door:
            found = dd or stack.enter_context(Deduplicator(corpus_url))
            given = limits or Limits(rate=10_000)
            app = make_app(found, given, access or Access(None, LOOPBACK_NAMES), **options)
            return stack.enter_context(running(found, app))

        yield start


@pytest.fixture
def door(serving: Serving) -> Door:
    """A server with a rate that no test reaches."""
    return serving()
