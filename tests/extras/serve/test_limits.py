"""Limits on access, size, rate and time, and the refusals."""

from __future__ import annotations

import json
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import psutil
import psycopg
import pytest

from dedup import Deduplicator, Timeouts
from dedup.api.operation import Operation
from dedup.base.errors import StorageError, UnreachableError
from dedup.base.logs import OutageLog
from dedup.extras.serve import guard, server
from dedup.extras.serve.guard import LOOPBACK_NAMES, Access
from dedup.extras.serve.limits import FullError, Limits, Rates, Room, client_key
from tests.cli.conftest import HARBOUR
from tests.corpora import wait_until
from tests.db.test_roles import made_roles, url_of
from tests.extras.serve.conftest import ARTICLE, LINES, SECONDS, Door, Serving, is_problem

FIRST = {"source_id": "first", "text": HARBOUR}
PLENTY = 10_000.0


def raw(door: Door, *pieces: bytes) -> bytes:
    """Send these bytes until the server closes the connection, perhaps early; return the answer."""
    found = b""
    with socket.create_connection(("127.0.0.1", door.port), timeout=SECONDS) as connection:
        with suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
        with suppress(ConnectionError):
            while more := connection.recv(65_536):
                found += more
    return found


@pytest.fixture(autouse=True)
def _no_long_farewell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server wait only shortly for the rest of a refused request."""
    monkeypatch.setattr(guard, "LINGER_SECONDS", 0.1)


def head(length: int | str, *more: str) -> bytes:
    lines = ["POST /v1/articles HTTP/1.1", "Host: localhost", "Content-Type: application/json", *more]
    return ("\r\n".join([*lines, f"Content-Length: {length}"]) + "\r\n\r\n").encode()


# Access


def test_a_token_is_asked_for_and_compared(serving: Serving) -> None:
    door = serving(access=Access(b"0123456789abcdef"))
    missing = door.submit(FIRST)
    is_problem(missing, 401, "Authorization: Bearer")
    assert missing.headers["www-authenticate"] == "Bearer"
    for wrong in (
        "Bearer 0123456789abcdeF",
        "Bearer",
        "Basic 0123456789abcdef",
        "Bearer 0123456789abcdef0",
        "é",
    ):
        headers = {"Authorization": wrong}
        is_problem(door.ask("POST", "/v1/articles", FIRST, headers), 401)
    assert door.dd.get("first") is None
    for right in ("Bearer 0123456789abcdef", "bearer  0123456789abcdef"):
        assert door.ask("POST", "/v1/articles", FIRST, {"Authorization": right}).status == 200
    for path in ("/v1/health", "/v1/ready", "/openapi.json"):
        assert door.ask("GET", path).status == 200


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", ["evil.example", "evil.example:8765", "localhost.evil.example", "", "[::2]"])
def test_a_page_under_another_name_of_this_machine_is_turned_away(door: Door, name: str) -> None:
    is_problem(door.ask("POST", "/v1/articles", FIRST, {"Host": name}), 421)
    assert door.dd.get("first") is None


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", ["localhost", "LOCALHOST:1", "127.0.0.1:8765", "[::1]", "[::1]:8765"])
def test_the_names_of_this_machine_are_taken(door: Door, name: str) -> None:
    assert door.ask("GET", "/v1/health", headers={"Host": name}).status == 200


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_what_a_page_of_another_site_can_send_unasked_is_refused(door: Door, kind: str) -> None:
    is_problem(door.ask("POST", "/v1/articles", FIRST, kind=kind), 415, "application/json")
    preflight = door.ask("OPTIONS", "/v1/articles", headers={"Origin": "https://evil.example"})
    assert preflight.status == 405
    assert not [name for name in preflight.headers if name.startswith("access-control")]


# Size


def test_a_body_above_the_bound_is_refused_before_it_is_read(serving: Serving) -> None:
    door = serving(Limits(rate=PLENTY, body_bytes=1_000))
    fits = json.dumps(FIRST | {"text": ""}).encode()
    fits = json.dumps(FIRST | {"text": "x" * (1_000 - len(fits))}).encode()
    assert len(fits) == 1_000
    assert door.submit(fits).status == 200
    is_problem(door.submit(fits + b" "), 413, "1,001 bytes, the limit is 1,000")
    # No byte of the body is sent. The answer still comes, and the connection is closed.
    said = raw(door, head(10**12))
    assert b"413" in said
    assert b"connection: close" in said.lower()
    assert b" 413 " in raw(door, head("9" * 20))
    assert b" 400 " in raw(door, head("9" * 300))


def test_a_body_of_unknown_length_is_refused_at_the_bound(serving: Serving) -> None:
    door = serving(Limits(rate=PLENTY, body_bytes=1_000))
    start = head(0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    said = raw(door, start, b"300\r\n" + b" " * 0x300 + b"\r\n", b"300\r\n" + b" " * 0x300 + b"\r\n")
    assert b"413" in said
    assert b"more than 1,000 bytes" in said


def test_a_hundred_megabytes_cost_no_memory(door: Door) -> None:
    process, most, done = psutil.Process(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            most[0] = max(most[0], process.memory_info().rss)

    def pieces() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * 1_000_000

    before = process.memory_info().rss
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        answer = upload(door, pieces())
    finally:
        done.set()
        watcher.join()
    assert answer is None or b" 413 " in answer
    assert most[0] - before < 60_000_000
    assert door.ask("GET", "/v1/health").status == 200


def upload(door: Door, pieces: Iterator[bytes]) -> bytes | None:
    """Send chunks until the server refuses more; return the beginning of the answer, None if there is
    none."""
    with socket.create_connection(("127.0.0.1", door.port), timeout=SECONDS) as connection:
        connection.sendall(head(0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))
        try:
            for piece in pieces:
                connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            connection.sendall(b"0\r\n\r\n")
            return connection.recv(65_536)
        except OSError:
            return None


def test_bodies_that_are_held_together_have_a_bound(serving: Serving) -> None:
    door = serving(Limits(rate=PLENTY, body_bytes=100_000, bodies=1))
    with socket.create_connection(("127.0.0.1", door.port), timeout=SECONDS) as slow:
        slow.sendall(head(90_000) + b" " * 80_000)
        body = json.dumps(FIRST).encode() + b" " * 30_000
        wait_until(lambda: door.submit(body).status == 503)
        is_problem(door.submit(body), 503, "send the request again")
        assert door.submit(FIRST).status == 200  # a small article still fits
    wait_until(lambda: door.submit(body).status == 200)


@pytest.mark.parametrize("kind", [LINES, ARTICLE])
def test_a_batch_has_a_bound_of_articles_and_of_time(serving: Serving, kind: str) -> None:
    door = serving(Limits(rate=PLENTY, batch_articles=3, batch_seconds=1e-9))

    def batch(count: int) -> bytes:
        items = [json.dumps(FIRST | {"source_id": f"a{n}"}) for n in range(count)]
        return ("\n".join(items) if kind == LINES else f"[{','.join(items)}]").encode()

    said = door.ask("POST", "/v1/articles:batch", batch(3), kind=kind).json
    assert [v["source_id"] for v in said["verdicts"]] == ["a0"]
    assert (said["left"], said["reason"]) == (2, "stopped after 1e-09 s: send the remaining articles again")
    what = "lines" if kind == LINES else "items"
    is_problem(door.ask("POST", "/v1/articles:batch", batch(4), kind=kind), 413, f"4 {what}, the limit is 3")
    assert door.dd.get("a3") is None
    is_problem(door.ask("POST", "/v1/articles:batch", batch(1), kind="text/plain"), 415, ARTICLE, LINES)


# Rate


def test_a_client_that_asks_too_often_is_told_when_to_come_back(serving: Serving) -> None:
    door = serving(Limits(rate=5))
    replies = [door.ask("GET", "/v1/articles", source_id="a") for _ in range(12)]
    assert [reply.status for reply in replies[:5]] == [404] * 5
    refused = replies[-1]
    is_problem(refused, 429)
    assert refused.headers["retry-after"] == "1"
    assert [door.ask("GET", "/v1/health").status for _ in range(12)] == [200] * 12


def test_a_bucket_fills_again_and_each_client_has_its_own() -> None:
    now = [0.0]
    rates = Rates(2, clock=lambda: now[0])
    assert [rates.wait("a") for _ in range(3)] == [0, 0, 0.5]
    assert rates.wait("b") == 0
    now[0] += 0.5
    assert rates.wait("a") == 0
    assert rates.wait("a") == 0.5
    now[0] += 3600
    assert [rates.wait("a") for _ in range(3)] == [0, 0, 0.5]


def test_a_rate_below_one_allows_one_at_a_time() -> None:
    now = [0.0]
    rates = Rates(0.1, clock=lambda: now[0])
    assert [rates.wait("a"), rates.wait("a")] == [0, 10]
    now[0] += 10
    assert rates.wait("a") == 0


def test_clients_without_number_cost_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedup.extras.serve.limits.MAX_CLIENTS", 10)
    rates = Rates(1)
    for number in range(1000):
        rates.wait(str(number))
    assert len(rates._buckets) == 10


def test_a_network_of_ipv6_is_one_client() -> None:
    assert client_key("2001:db8::1") == client_key("2001:db8::ffff:1") != client_key("2001:db8:0:1::1")
    assert client_key("192.0.2.1") != client_key("192.0.2.2")
    assert client_key("fe80::1%eth0") == client_key("fe80::2")
    assert client_key(None) == client_key("") == "local"


def test_room_is_given_back() -> None:
    room = Room(2)
    with room.one(), room.one():
        assert room.taken == room.most
        with pytest.raises(FullError), room.one():
            pass
    assert room.taken == 0


# Time, and number of connections


@contextmanager
def blocked(dd: Deduplicator, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """Make all requests for a mark wait until the block ends; yield a function that counts them."""
    go, came, real = threading.Event(), [0], dd.get

    def waiting(source_id: str) -> Any:
        came[0] += 1
        go.wait(SECONDS)
        return real(source_id)

    monkeypatch.setattr(dd, "get", waiting)
    try:
        yield lambda: came[0]
    finally:
        go.set()


def test_more_requests_than_can_be_worked_on_are_refused_rather_than_queued(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = serving(Limits(rate=PLENTY, requests=3))
    with ThreadPoolExecutor(3) as threads:
        with blocked(door.dd, monkeypatch) as came:
            held = [threads.submit(door.ask, "GET", "/v1/articles", source_id="a") for _ in range(3)]
            wait_until(lambda: came() == 3)
            refused = door.ask("GET", "/v1/articles", source_id="a")
            is_problem(refused, 503, "send the request again")
            assert refused.headers["retry-after"] == "1"
            is_problem(door.ask("GET", "/v1/ready"), 503)
            assert door.ask("GET", "/v1/health").status == 200
        assert [one.result(SECONDS).status for one in held] == [404] * 3
    assert door.ask("GET", "/v1/ready").status == 200


def test_a_request_that_takes_too_long_is_answered_and_its_thread_counted_until_it_ends(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedup.extras.serve.handling.THREADS", 1)
    door = serving(Limits(rate=PLENTY, work_seconds=0.2))
    with blocked(door.dd, monkeypatch) as came:
        is_problem(door.ask("GET", "/v1/articles", source_id="a"), 503, "took longer than 0.2 s")
        is_problem(door.ask("GET", "/v1/articles", source_id="a"), 503)
        assert came() == 1
    wait_until(lambda: door.ask("GET", "/v1/articles", source_id="a").status == 404)


def test_a_body_that_does_not_come_has_a_timeout(serving: Serving) -> None:
    door = serving(Limits(rate=PLENTY, body_seconds=0.1))
    said = raw(door, head(100), b'{"source_id"')
    assert b" 408 " in said
    assert b"application/problem+json" in said


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "sent", [b"", b"GET /v1/health HTTP/1.1\r\nHost:", b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"]
)
def test_a_connection_on_which_no_request_comes_is_closed(
    door: Door, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.2)
    said = raw(door, sent)
    assert (b" 200 " in said) == sent.endswith(b"\r\n\r\n")


def test_a_head_that_drips_is_cut(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", door.port), timeout=SECONDS) as connection:
        connection.sendall(b"GET /v1/health HTTP/1.1\r\n")
        wait_until(lambda: not drips(connection))


def drips(connection: socket.socket) -> bool:
    """Return whether another header line can be sent on an open connection."""
    connection.settimeout(0.02)
    try:
        connection.sendall(b"X-A: b\r\n")
        return connection.recv(1) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


def test_a_request_that_never_ends_is_cut(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "REQUEST_SECONDS", 0.2)
    with blocked(door.dd, monkeypatch), pytest.raises(OSError):
        door.ask("GET", "/v1/articles", source_id="a")


def test_an_answer_does_not_wait_for_its_second_packet(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    made, options = server.ClientConnection.connection_made, []

    def noting(self: Any, transport: Any) -> None:
        options.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        made(self, transport)

    monkeypatch.setattr(server.ClientConnection, "connection_made", noting)
    assert door.ask("GET", "/v1/health").status == 200
    assert [bool(option) for option in options] == [True]


def test_a_body_that_drips_has_a_timeout(serving: Serving) -> None:
    door = serving(Limits(rate=PLENTY, body_seconds=0.3))
    with socket.create_connection(("127.0.0.1", door.port), timeout=SECONDS) as connection:
        connection.sendall(head(1_000_000))
        wait_until(lambda: not drips(connection))


GET = b"GET /v1/articles?source_id=a HTTP/1.1\r\nHost: localhost\r\n"


@contextmanager
def opened(door: Door, count: int, *sent: bytes) -> Iterator[list[socket.socket]]:
    """Open `count` connections, which send the items of `sent` in turn; after the last item comes the
    first."""
    with ExitStack() as stack:
        made = []
        for number in range(count):
            one = socket.create_connection(("127.0.0.1", door.port), timeout=SECONDS)
            made.append(stack.enter_context(one))
            one.sendall(sent[number % len(sent)])
        yield made


def ended(connection: socket.socket) -> bool:
    """Return whether the server has closed the connection."""
    connection.settimeout(0.02)
    try:
        return connection.recv(65_536) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@pytest.mark.long("dedup", "migrations")
def test_clients_that_trickle_keep_nobody_out(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 20)
    with opened(door, 60, b"", GET, head(1_000) + b"{", head(1_000)) as slow:
        for _ in range(30):
            assert door.ask("GET", "/v1/articles", source_id="a").status == 404
            for one in slow:
                with suppress(OSError):  # the server may have closed the connection
                    one.sendall(b" " if one is slow[0] else b"X")
        assert door.submit(FIRST).json["status"] == "unique"
        wait_until(lambda: sum(not ended(one) for one in slow) < 20)


def test_busy_connections_stay_and_idle_connections_are_closed_for_new_ones(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 4)
    door = serving(Limits(rate=PLENTY, work_seconds=SECONDS))
    with blocked(door.dd, monkeypatch) as came, opened(door, 2, GET + b"\r\n") as working:
        wait_until(lambda: came() == 2)
        with opened(door, 1, GET[:-5]) as half, opened(door, 1, GET.replace(b"articles", b"nowhere")) as kept:
            kept[0].sendall(b"\r\n")
            assert b" 404 " in kept[0].recv(65_536)
            assert door.ask("GET", "/v1/health").status == 200
            wait_until(lambda: ended(kept[0]))
            assert not ended(half[0])
            assert door.ask("GET", "/v1/health").status == 200  # the fourth connection, so none is closed
            with opened(door, 1, b""):
                assert door.ask("GET", "/v1/health").status == 200
                wait_until(lambda: ended(half[0]))
        with opened(door, 2, GET + b"\r\n"):
            wait_until(lambda: came() == 4)
            # Every connection is at work, so the server refuses a new connection.
            assert raw(door, GET + b"Connection: close\r\n\r\n") == b""
        assert not any(map(ended, working))
    assert door.ask("GET", "/v1/health").status == 200


class Held:
    """A connection with only the attributes by which the server chooses the connection to close."""

    def __init__(self, client: str, since: float, *, waits: bool = True, idle: bool = False) -> None:
        self.client_key, self.waits_since, self.waits, self.idle = client, since, waits, idle


def test_the_client_with_most_connections_loses_one_first() -> None:
    def gives_way(*held: Held) -> int | None:
        found: Any = server._first_to_close(list(held))  # type: ignore[arg-type]
        return None if found is None else held.index(found)

    assert gives_way(Held("a", 0, idle=True), Held("b", 1), Held("b", 2)) == 1
    assert gives_way(Held("b", 1), Held("b", 2, idle=True)) == 1
    assert gives_way(Held("a", 2), Held("b", 1)) == 1
    assert gives_way(Held("a", 2), Held("b", 1, waits=False), Held("b", 1, waits=False)) == 0
    assert gives_way(Held("b", 1, waits=False)) is None
    assert gives_way() is None


# The database


def test_an_outage_is_503_logged_once_and_over_when_it_is_over(
    serving: Serving, corpus_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dedup.serve")
    monkeypatch.setattr("dedup.extras.serve.app.HEALTH_SECONDS", 0)
    with Deduplicator(corpus_url) as dd:
        door = serving(dd=dd)
        assert door.submit(FIRST).status == 200
        real = dd._database._pool

        def fail() -> Any:
            raise UnreachableError(f"{dd.location} does not answer; no server listens there")

        with monkeypatch.context() as outage:
            outage.setattr(type(real), "borrow", lambda _: fail())
            for _ in range(3):
                refused = door.submit(FIRST)
                is_problem(refused, 503, "the database does not answer")
                assert refused.headers["retry-after"] == "5"
            is_problem(door.ask("GET", "/v1/health"), 503, "the database does not answer")
            is_problem(door.ask("GET", "/v1/ready"), 503)
        assert door.submit(FIRST).status == 200
        assert door.ask("GET", "/v1/ready").status == 200
    said = [record.getMessage() for record in caplog.records]
    assert [line for line in said if "does not answer" in line] == [said[0]]
    assert said[-1].endswith("answers again")


def test_an_outage_that_only_monitors_see_is_logged_once(
    serving: Serving, corpus_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dedup.serve")
    monkeypatch.setattr("dedup.extras.serve.app.HEALTH_SECONDS", 0)
    with Deduplicator(corpus_url) as dd:
        door = serving(dd=dd)

        def fail(_: object) -> Any:
            raise UnreachableError(f"{dd.location} does not answer")

        with monkeypatch.context() as outage:
            outage.setattr(type(dd._database._pool), "borrow", fail)
            for _ in range(3):
                assert door.ask("GET", "/v1/health").status == 503
                assert b"\ndedup_up 0" in door.ask("GET", "/metrics").raw
        for _ in range(3):
            assert door.ask("GET", "/v1/health").status == 200
            assert b"\ndedup_up 1" in door.ask("GET", "/metrics").raw
        expected = [f"{dd.location} does not answer; requests are answered with 503"]
        assert caplog.messages == [*expected, f"{dd.location} answers again"]


def test_a_right_that_metrics_lack_is_logged_once_and_is_no_outage(
    serving: Serving, corpus_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dedup.serve")
    monkeypatch.setattr("dedup.extras.serve.app.HEALTH_SECONDS", 0)
    with made_roles(corpus_url, ["scraper"]) as names, Operation(corpus_url) as owner:
        role = names["scraper"]
        owner.grant(scraper=[role])
        with Deduplicator(url_of(corpus_url, role)) as dd:
            door = serving(dd=dd)
            for _ in range(3):
                assert b"\ndedup_up 0" in door.ask("GET", "/metrics").raw
                assert door.submit(FIRST).status == 200
                assert door.ask("GET", "/v1/health").status == 200
    (said,) = caplog.messages
    assert said.startswith("/metrics: ")
    assert f"dedup grant --scraper {role} --counter {role}" in said


def test_a_full_disk_is_no_news_to_a_monitor_that_only_reads(caplog: pytest.LogCaptureFixture) -> None:
    log = OutageLog(logging.getLogger("dedup.serve"), "it", "then")
    for _ in range(3):
        log.note(StorageError("disk full"))
        log.note(None, "/v1/health")
    log.note(None)
    assert caplog.messages == ["disk full; then", "it answers again"]


def test_someone_who_holds_the_corpus_makes_a_delete_503_and_a_submit_pending(
    serving: Serving, corpus_url: str
) -> None:
    with (
        Deduplicator(corpus_url, timeouts=Timeouts(hook=0.05, lock=0.05)) as dd,
        psycopg.connect(corpus_url) as other,
    ):
        door = serving(dd=dd)
        door.submit(FIRST)
        other.execute("UPDATE dedup.article SET title = 'held' WHERE source_id = 'first'")
        is_problem(door.ask("DELETE", "/v1/articles", source_id="first"), 503, "another transaction holds")
        assert door.submit({**FIRST, "source_id": "second"}).json["status"] == "pending"
        other.rollback()
        assert door.ask("DELETE", "/v1/articles", source_id="first").status == 200


def test_the_schema_of_another_program_is_no_health(
    serving: Serving, corpus_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dedup.extras.serve.app.HEALTH_SECONDS", 0)
    door = serving()
    assert door.ask("GET", "/v1/health").json == {"status": "ok"}
    with psycopg.connect(corpus_url, autocommit=True) as other:
        (kept,) = other.execute("SELECT version_num FROM dedup.alembic_version").fetchone() or ("",)
        try:
            other.execute("UPDATE dedup.alembic_version SET version_num = '9999'")
            is_problem(door.ask("GET", "/v1/health"), 503, "newer dedup")
        finally:
            other.execute("UPDATE dedup.alembic_version SET version_num = %s", [kept])
    assert door.ask("GET", "/v1/health").status == 200


def test_an_unexpected_error_tells_its_kind_and_nothing_else(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    door = serving()

    def fail(*_: object) -> None:
        raise ZeroDivisionError("words of an article")

    monkeypatch.setattr(door.dd, "submit", fail)
    refused = door.submit(FIRST)
    is_problem(refused, 500, "unexpected ZeroDivisionError")
    assert b"words of" not in refused.raw
    assert "unexpected ZeroDivisionError in " in caplog.text
    assert "words of" not in caplog.text
    assert "Traceback" not in caplog.text
    assert "test_limits.py" in caplog.text


def test_requests_are_logged_without_their_query(serving: Serving, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dedup.serve")
    door = serving(log_requests=True)
    door.ask("GET", "/v1/articles", source_id="secret")
    door.ask("GET", "/v1/health")
    door.ask("GET", "/nowhere/secret")
    wait_until(lambda: len(caplog.records) == 3)
    lines = [record.getMessage().split(" ")[:3] for record in caplog.records]
    assert lines == [
        ["GET", "/v1/articles", "404"],
        ["GET", "/v1/health", "200"],
        ["GET", "(unknown)", "404"],
    ]
    assert "secret" not in caplog.text


def test_everyone_is_let_in_where_a_socket_of_the_file_system_guards(serving: Serving) -> None:
    assert serving(access=Access(None, None)).ask("GET", "/v1/health", headers={"Host": "x"}).status == 200
    assert guard.LOOPBACK_NAMES == LOOPBACK_NAMES
