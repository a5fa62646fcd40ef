"""Changes as server-sent events: a client keeps the marks of the table, whatever interrupts the stream."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, NamedTuple

import psutil
import pytest

from dedup.base.errors import UnreachableError
from dedup.db.database import Database
from dedup.extras.serve import server, streams
from dedup.extras.serve.app import make_app
from dedup.extras.serve.guard import LOOPBACK_NAMES, Access
from dedup.extras.serve.limits import Limits
from dedup.operation import Operation
from dedup.store.changes import MarkChange
from tests.corpora import answer, article, deduplicator, load, wait_until, window
from tests.extras.serve.conftest import SECONDS, Door, Serving, is_problem, running
from tests.replica import PENDING, Mark, apply, journal, place

PLENTY = 10_000.0


class Event(NamedTuple):
    """An event, parsed by the HTML standard. A comment has only `data`, its text."""

    id: str
    event: str
    data: Any


class Client:
    """A client for event streams: it reads line by line."""

    def __init__(self, port: int, last: str | None = None, path: str = "/v1/changes?stream") -> None:
        self.connection = HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last is not None else {})
        self.connection.request("GET", path, headers=headers)
        self.socket: socket.socket = self.connection.sock
        self.response: HTTPResponse = self.connection.getresponse()

    def lines(self) -> Iterator[str]:
        """Yield the lines until the server ends the stream."""
        while line := self.response.readline():
            yield line.decode().removesuffix("\n")

    def events(self, *, comments: bool = False) -> Iterator[Event]:
        fields: dict[str, str] = {}
        for line in self.lines():
            if line:
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")
            elif "data" in fields:
                given = json.loads(fields["data"])
                yield Event(fields.get("id", ""), fields.get("event", ""), given)
                fields = {}
            else:
                if comments and "" in fields:
                    yield Event("", "comment", fields[""])
                fields = {}

    def take(self, count: int) -> list[Event]:
        events = self.events()
        return [next(events) for _ in range(count)]

    def kill(self) -> None:
        """Close the connection abruptly, as if the process were killed."""
        self.response.close()
        self.connection.close()
        with suppress(OSError):
            self.socket.close()


@contextmanager
def stream(door: Door, last: str | None = None, path: str = "/v1/changes?stream") -> Iterator[Client]:
    client = Client(door.port, last, path)
    try:
        yield client
    finally:
        client.kill()


def changed(event: Event) -> MarkChange:
    given = event.data
    fields = ("status", "duplicate_of", "score", "reason")
    return MarkChange(event.id, given["source_id"], *(given[name] for name in fields))


@pytest.fixture(autouse=True)
def _quick(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep a journal, and let streams ask often, for few changes at a time."""
    monkeypatch.setattr(streams, "POLL_SECONDS", 0.02)
    monkeypatch.setattr(streams, "OUTAGE_SECONDS", 0.02)
    monkeypatch.setattr(streams, "PAGE", 3)
    with journal(database):
        yield


def settle(database: Database, *ids: str) -> None:
    """Store and settle articles; articles with successive numbers share sentences."""
    load(database, *(article(name, window(int(name[1:]), 6), int(name[1:])) for name in ids))
    deduplicator(database).backfill(workers=0)


def names(count: int, start: int = 0) -> list[str]:
    return [f"a{number:02}" for number in range(start, start + count)]


def test_an_event_has_the_mark_and_its_cursor(door: Door, database: Database) -> None:
    settle(database, *names(2))
    listed = door.ask("GET", "/v1/changes").json
    with stream(door, path="/v1/changes") as client:
        assert client.response.status == 200
        assert client.response.headers["Content-Type"] == "text/event-stream"
        assert client.response.headers["Cache-Control"] == "no-store"
        events = client.take(2)
    assert [event.data for event in events] == listed["changes"]
    assert events[-1].id == listed["cursor"]
    for asked in ("stream", "stream=true", "stream=1"):
        with stream(door, path=f"/v1/changes?{asked}&since={events[0].id}") as client:
            assert client.take(1) == events[1:]
    assert door.ask("GET", "/v1/changes", stream="0").json == listed
    with stream(door, events[0].id, path=f"/v1/changes?since={events[1].id}") as client:
        assert client.take(1) == events[1:], "Last-Event-ID has priority over `since`"


@pytest.mark.long("dedup", "migrations")
def test_a_reader_that_is_killed_again_and_again_keeps_the_marks_of_the_table(
    door: Door, database: Database
) -> None:
    chance = random.Random(11)
    marks: dict[str, Mark] = {}
    last: str | None = None
    told: list[tuple[int, int]] = []
    corpus, stored = deduplicator(database), 0
    for _ in range(6):
        settle(database, *names(4, stored))
        stored += 4
        if stored > 8:
            corpus.delete(f"a{stored - 7:02}")
        with stream(door, last) as client:
            # The client is killed after some events; later events on their way are lost.
            for event in client.take(chance.randrange(1, 4)):
                change = changed(event)
                assert not told or place(change) > told[-1], "events come in order, and no event comes twice"
                told.append(place(change))
                apply(marks, change)
                last = event.id
    corpus.backfill(workers=0)
    with stream(door, last) as client:
        table = answer(database).marks
        for event in client.events():
            assert place(changed(event)) > told[-1]
            told.append(place(changed(event)))
            apply(marks, changed(event))
            if marks == table:
                break
    assert {name: marks.get(name, PENDING) for name in table} == table


def test_changes_come_while_the_stream_is_open_and_to_every_reader(door: Door, database: Database) -> None:
    with ExitStack() as stack:
        clients = [stack.enter_context(stream(door)) for _ in range(5)]
        settle(database, *names(7))
        found = [client.take(7) for client in clients]
        at_work = [sum(thread.name == "dedup-serve" for thread in threading.enumerate()) for _ in range(200)]
    assert all(events == found[0] for events in found)
    assert max(at_work) <= 1, "all streams share one thread"


@pytest.mark.long("dedup", "migrations")
def test_a_stream_without_changes_shows_that_it_lives(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.5)
    monkeypatch.setattr(streams, "REQUEST_SECONDS", 0.5)
    began = time.monotonic()
    with stream(door) as client:
        for event in client.events(comments=True):
            assert event == Event("", "comment", "")
            if time.monotonic() - began > 1.0:
                break
        else:
            pytest.fail("the stream ended at the time limit of requests")


def test_streams_have_a_bound_and_take_no_place_of_requests(serving: Serving) -> None:
    door = serving(Limits(rate=PLENTY, streams=2, requests=1))
    with stream(door), stream(door):
        with stream(door) as third:
            assert third.response.status == 503
            assert third.response.headers["Retry-After"] == "1"
        assert door.ask("GET", "/v1/articles", source_id="a").status == 404
        assert b"dedup_http_streams 2.0" in door.ask("GET", "/metrics").raw
    wait_until(lambda: b"dedup_http_streams 0.0" in door.ask("GET", "/metrics").raw)
    with stream(door) as client:
        assert client.response.status == 200


@pytest.mark.long("dedup", "migrations")
def test_a_reader_that_reads_nothing_is_cut_and_costs_little(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "REQUEST_SECONDS", 0.5)
    monkeypatch.setattr(streams, "PAGE", 100)
    door = serving()
    long = MarkChange("1", "x" * 2_000, "unique", None, None, None)
    asked = []

    def endless(since: str | None = None, *, limit: int = 1_000) -> list[MarkChange]:
        asked.append(since)
        return [long] * limit

    monkeypatch.setattr(door.dd, "changes", endless)
    process = psutil.Process()
    before = process.memory_info().rss
    with stream(door) as slow:
        wait_until(lambda: b"dedup_http_streams 0.0" in door.ask("GET", "/metrics").raw)
        with suppress(OSError, HTTPException):
            for _ in slow.events():
                pass
    assert process.memory_info().rss - before < 60_000_000
    assert len(asked) < 200


def test_an_outage_is_waited_for(door: Door, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with stream(door) as client:
        attempts = []

        def fail(*_: object, **__: object) -> Any:
            attempts.append(1)
            raise UnreachableError("the database does not answer")

        with monkeypatch.context() as outage:
            outage.setattr(type(door.dd), "changes", fail)
            wait_until(lambda: len(attempts) > 2)
        settle(database, *names(4))
        assert sorted(event.data["source_id"] for event in client.take(4)) == names(4)


def test_invalid_and_expired_cursors_are_refused(door: Door, database: Database) -> None:
    is_problem(door.ask("GET", "/v1/changes", headers={"Last-Event-ID": "x"}, stream="true"), 400, "cursor")
    is_problem(door.ask("GET", "/v1/changes", stream="yes"), 400)
    settle(database, *names(1))
    with stream(door) as client:
        (first,) = client.take(1)
        with Operation(database.url) as owner:
            owner.stop_journal()
            owner.start_journal()
        events = list(client.events())
    assert [event.event for event in events] == ["problem"]
    # The status is 400 if the server read the journal between its stop and its start, else 410.
    assert events[0].data["status"] in (400, 410)
    is_problem(door.ask("GET", "/v1/changes", headers={"Last-Event-ID": first.id}, stream="true"), 410)


def test_a_stopped_server_ends_its_streams_after_a_whole_event(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "GRACE_SECONDS", 10 * SECONDS)
    settle(database, *names(4))
    with deduplicator(database) as dd:
        app = make_app(dd, Limits(rate=PLENTY), Access(None, LOOPBACK_NAMES))
        with ExitStack() as stack:
            with running(dd, app) as door:
                client = stack.enter_context(stream(door))
                assert sorted(event.data["source_id"] for event in client.take(4)) == names(4)
            assert list(client.events()) == []
            assert client.response.isclosed()


def test_a_head_request_and_a_pipelined_one_do_not_hang(door: Door) -> None:
    reply = door.ask("HEAD", "/v1/changes", headers={"Accept": "text/event-stream"})
    assert (reply.status, reply.raw) == (200, b"")
    with socket.create_connection(("127.0.0.1", door.port), timeout=SECONDS) as connection:
        request = b"GET /v1/changes?stream HTTP/1.1\r\nHost: localhost\r\n\r\n"
        connection.sendall(request * 2)
        assert b" 200 " in connection.recv(65_536)
    wait_until(lambda: b"dedup_http_streams 0.0" in door.ask("GET", "/metrics").raw)
