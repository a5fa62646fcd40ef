"""A hostile request gets a verdict or a clear refusal, and the server goes on."""

from __future__ import annotations

import json
import logging
import socket
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.conftest import HARBOUR
from tests.extras.serve.conftest import SECONDS, Door, is_problem
from tests.extras.serve.test_limits import raw

SECRET = "zq-words-of-an-article"


def article(**fields: Any) -> bytes:
    return json.dumps({"source_id": "a", "text": SECRET} | fields).encode()


REFUSED = {
    "nothing": (b"", "the body is empty"),
    "spaces": (b" \n", "the body is empty"),
    "no JSON": (b"zq-words", "broken JSON"),
    "cut off": (article()[:-2], "broken JSON"),
    "two": (article() + article(), "broken JSON"),
    "a list": (b"[" + article() + b"]", "body is not a JSON object"),
    "a text": (b'"zq-words"', "body is not a JSON object"),
    "null": (b"null", "body is not a JSON object"),
    "no UTF-8": (b'{"source_id": "a", "text": "\xff\xfe"}', "body is not UTF-8"),
    "UTF-16": (article().decode().encode("utf-16"), "body is not UTF-8"),
    "deep": (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    "a number without end": (b'{"source_id": 1' + b"0" * 5_000 + b', "text": "b"}', "too many digits"),
    "a key twice": (b'{"source_id": "a", "text": "b", "text": "c"}', "'text' appears twice"),
    "an id twice": (b'{"source_id": "a", "source_id": "b", "text": "c"}', "'source_id' appears twice"),
    "values without number": (b'{"a": [' + b"0," * 1_000_001 + b"0]}", "values"),
    "no id": (b'{"text": "b"}', "source_id is missing"),
    "no text": (b'{"source_id": "a"}', "text is missing"),
    "a null id": (article(source_id=None), "source_id is missing"),
    "an empty id": (article(source_id=""), "source_id is empty"),
    "a blank id": (article(source_id=" \t"), "source_id is empty"),
    "NUL in the id": (article(source_id="a\0b"), "NUL or a lone surrogate"),
    "a surrogate in the id": (article(source_id="a\ud800"), "NUL or a lone surrogate"),
    "a long id": (article(source_id="x" * 1_025), "longer than 1024 bytes"),
    "an id that is a list": (article(source_id=["a"]), "source_id must be a string"),
    "an id that is true": (article(source_id=True), "source_id must be a string"),
    "an id that is NaN": (b'{"source_id": NaN, "text": "b"}', "source_id must be a string"),
    "a text that is an object": (article(text={"a": SECRET}), "text must be a string"),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_article_is_refused_with_its_reason(
    door: Door, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    body, words = REFUSED[name]
    reply = door.submit(body)
    is_problem(reply, 400, words)
    assert b"zq-" not in reply.raw
    assert "zq-" not in caplog.text
    assert door.dd.status().counts.get("pending", 0) == 0
    assert door.ask("GET", "/v1/health").status == 200


TAKEN: dict[str, dict[str, object]] = {
    "NUL": {"text": f"{HARBOUR}\0 {HARBOUR}"},
    "a lone surrogate": {"text": f"{HARBOUR} \ud800 \udfff"},
    "nothing but surrogates": {"text": "\ud800" * 100},
    "control characters": {"text": f"{HARBOUR}\x1b[2J\x07\x9b", "title": "\x1b]0;owned\x07"},
    "an empty text": {"text": ""},
    "a million dots": {"text": "." * 1_000_000},
    "one word": {"text": "x" * 900_000},
    "headers in a title": {"title": "a\r\nSet-Cookie: b=c\r\n\r\n", "url": "javascript:alert(1)"},
    "a date of another age": {"published_at": "0000-00-00", "added_at": 1e300},
    "NaN as a date": {"published_at": float("nan"), "added_at": float("-inf")},
    "a title that is an object": {"title": {"a": ["b"]}, "language": [1, 2]},
    "a number without use": {"weight": 10**4_000},
    "a name without use": {"__class__": "x", "x" * 100_000: 1},
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", TAKEN)
def test_what_can_be_an_article_has_a_verdict(door: Door, name: str) -> None:
    reply = door.submit({"source_id": "a", "text": HARBOUR, **TAKEN[name]})
    assert reply.status == 200, reply.raw
    assert reply.json["status"] in ("unique", "failed")
    assert "set-cookie" not in reply.headers
    found = door.ask("GET", "/v1/articles", source_id="a")
    assert found.status == 200
    assert not [c for c in found.raw.decode() if not c.isprintable()]


WRONG = [
    ("GET", "/", 404),
    ("GET", "/v1", 404),
    ("GET", "/v1/articles/", 404),
    ("GET", "//v1/health", 404),
    ("GET", "/v1/../v1/health", 404),
    ("GET", "/v1/%2e%2e/%2e%2e/etc/passwd", 404),
    ("GET", "/..%2f..%2fetc/passwd", 404),
    ("GET", "/v1/health%00", 404),
    ("GET", "/v1/health%0d%0aX-Evil:%20a", 404),
    ("GET", "/%ff%fe", 404),
    ("PUT", "/v1/articles", 405),
    ("PATCH", "/v1/articles", 405),
    ("TRACE", "/v1/articles", 405),
    ("BREW", "/v1/health", 405),
    ("POST", "/v1/health", 405),
    ("DELETE", "/v1/story", 405),
    ("GET", "/v1/articles:batch", 405),
    ("GET", "/v1/articles", 400),
    ("GET", "/v1/articles?source_id=a&source_id=b", 400),
    ("GET", "/v1/articles?source_id=a&sourceid=b", 400),
    ("GET", "/v1/articles?source_id=%ff", 400),
    ("GET", "/v1/articles?source_id=a%00", 400),
    ("GET", "/v1/articles?source_id=%ed%a0%80", 400),
    ("GET", "/v1/articles?" + "a=b&" * 100, 400),
    ("GET", "/v1/articles?source_id=a&text=yes", 400),
    ("GET", "/v1/articles?source_id=" + "a" * 5_000, 404),
    ("GET", "/v1/story?source_id=a&limit=-1", 400),
    ("GET", "/v1/story?source_id=a&limit=1e3", 400),
    ("GET", "/v1/story?source_id=a&limit=" + "9" * 50, 400),
    ("GET", "/v1/story?source_id=a&limit=\xb2".encode().decode("latin-1"), 400),
    ("POST", "/v1/articles?stor=false", 400),
]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(("method", "path", "status"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong_addresses_methods_and_queries_are_problems(
    door: Door, method: str, path: str, status: int
) -> None:
    target = path.encode("latin-1")
    said = raw(
        door, method.encode(), b" ", target, b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    lines, _, body = said.partition(b"\r\n\r\n")
    assert int(lines.split(b" ")[1]) == status or (target.isascii() is False and b" 400 " in lines)
    assert b"application/problem+json" in lines
    assert b"evil" not in lines.lower()
    if status == 405:
        assert b"\r\nallow: " in lines.lower()
    assert json.loads(body)["title"]


NO_HTTP = [
    b"GET /v1/articles?source_id=" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\0" * 100,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # the first bytes of TLS
    b"hello\r\n\r\n",
    b"GET /v1/health HTTP/1.1\r\n\r\n",
    b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
    b"GET /v1/health HTTP/1.1\r\nHost : localhost\r\n\r\n",
    b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n",
    b"POST /v1/articles HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST /v1/articles HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 1_000_000 + b"\r\n\r\n",
    b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 200_000 + b"\r\n",
]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("sent", NO_HTTP, ids=lambda sent: str(sent[:30]))
def test_what_is_no_http_is_refused_and_the_connection_closed(door: Door, sent: bytes) -> None:
    said = raw(door, sent)
    assert not said or b" 400 " in said.split(b"\r\n")[0], said
    assert b"Traceback" not in said
    assert door.ask("GET", "/v1/health").status == 200


INNER = b"DELETE /v1/articles?source_id=a HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
POST = b"POST /v1/articles HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
NONE = b"\r\n\r\n0\r\n\r\n"
TWO_ENDS = {
    "a length and chunks": (POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked" + NONE, "exclude each"),
    "chunks and a length": (POST + b"Transfer-Encoding: chunked\r\nContent-length: 4" + NONE, "exclude each"),
    "chunks and no length": (
        POST + b"transfer-encoding: chunked\r\nCONTENT-LENGTH: 0" + NONE,
        "exclude each",
    ),
    "two lengths": (POST + b"Content-Length: 5\r\nContent-Length: 0" + NONE, "not a valid HTTP"),
    "a length twice": (POST + b"Content-Length: 5\r\nContent-Length: 5" + NONE, "more than once"),
    "a list of lengths": (POST + b"Content-Length: 5, 5" + NONE, "more than once"),
    "a signed length": (POST + b"Content-Length: +5" + NONE, "not a valid HTTP"),
    "a folded header": (POST + b"X: a\r\n Content-Length: 5" + NONE, "folded"),
    "a folded length": (POST + b"Content-Length:\r\n\t5" + NONE, "folded"),
    "folded chunks": (POST + b"Transfer-Encoding:\r\n chunked" + NONE, "folded"),
    "a lone carriage return": (POST + b"X: a\rContent-Length: 5" + NONE, ""),
    "chunks in HTTP/1.0": (POST.replace(b"/1.1", b"/1.0") + b"Transfer-Encoding: chunked" + NONE, "HTTP/1.0"),
    "another coding": (POST + b"Transfer-Encoding: gzip, chunked" + NONE, ""),
    "a space before the colon": (POST + b"Transfer-Encoding : chunked" + NONE, "not a valid HTTP"),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", TWO_ENDS)
def test_a_request_whose_end_can_be_counted_in_two_ways_smuggles_nothing(door: Door, name: str) -> None:
    door.submit({"source_id": "a", "text": HARBOUR})
    sent, words = TWO_ENDS[name]
    for pieces in ((sent, INNER), (sent[:60], sent[60:-7], sent[-7:], INNER), (GOOD_ONE + sent + INNER,)):
        said = raw(door, *pieces)
        *before, refused = said.split(b"HTTP/1.1 ")[1:]
        assert len(before) == pieces[0].startswith(GOOD_ONE), said
        assert refused.startswith(b"400 "), said
        assert b"connection: close" in refused.lower()
        assert words.encode() in refused
    assert door.dd.get("a") is not None


GOOD_ONE = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_requests_one_behind_the_other_are_answered_in_order(door: Door) -> None:
    one = b"GET /v1/articles?source_id=%d HTTP/1.1\r\nHost: localhost\r\n"
    said = raw(door, one % 1, b"\r\n", one % 2, b"\r\n", one % 3, b"Connection: close\r\n\r\n")
    assert [b"'%d'" % n in said for n in (1, 2, 3)] == [True] * 3
    assert said.index(b"'1'") < said.index(b"'2'") < said.index(b"'3'")


def test_a_body_with_an_encoding_is_refused(door: Door) -> None:
    reply = door.ask("POST", "/v1/articles", article(), {"Content-Encoding": "gzip"})
    is_problem(reply, 415, "Content-Encoding")


def test_a_client_that_goes_away_harms_nobody(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", door.port), timeout=SECONDS) as connection:
            connection.sendall(
                b"POST /v1/articles HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 100\r\n\r\n{"
            )
    assert door.ask("GET", "/v1/health").status == 200
    assert caplog.text == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.sampled_from(
    ["source_id", "id", "text", "body", "html", "title", "date", "published_at", "language", "x"]
)


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(FIELDS, JSON | st.just(HARBOUR), max_size=6) | JSON, st.binary(max_size=3))
def test_any_json_and_any_bytes_have_a_clear_answer(door: Door, sent: Any, noise: bytes) -> None:
    body = json.dumps(sent).encode()
    for given_ in (body, body + noise, noise):
        reply = door.submit(given_)
        assert reply.status in (200, 400), reply.raw
        if reply.status == 400:
            is_problem(reply, 400)
