"""Security of pages: access needs the token, and attacks from other sites fail."""

from __future__ import annotations

import psycopg
import pytest

from dedup import Deduplicator
from dedup.extras.browse.visitors import VISIT_SECONDS, Visitors
from dedup.extras.serve.guard import ProblemError
from dedup.extras.serve.limits import Limits
from tests.extras.browse.conftest import (
    Browser,
    Document,
    Opening,
    fill,
    form_of,
    newsroom_articles,
    words_of,
)

TOKEN = b"0123456789abcdef"
STORM, UPDATE = "vantage-0312-storm", "vantage-0312-storm-update"
PAIR = {
    "a": STORM,
    "b": UPDATE,
    "by": "Ann",
    "reason": "another storm",
    "say": "unrelated",
    "back": "compare",
}


def pins(url: str) -> list[tuple[str, str, str]]:
    with Deduplicator(url) as dd:
        return [(pin.relation, pin.pinned_by, pin.reason or "") for pin in dd.pins.list()]


@pytest.fixture
def editing(opening: Opening, corpus_url: str) -> Browser:
    """A server with forms for judging, over a corpus of two reports about a storm."""
    fill(corpus_url, [one for one in newsroom_articles() if "storm" in one.source_id])
    return opening(corpus_url, editing=True)


def test_a_form_of_the_page_counts(editing: Browser, corpus_url: str) -> None:
    page = editing.page("/compare", a=STORM, b=UPDATE)
    reply = editing.send(page, "/judge", by="Ann", reason="another storm", say="unrelated")
    assert reply.status == 303
    assert pins(corpus_url) == [("unrelated", "Ann", "another storm")]


HOSTILE_HEADERS: list[dict[str, str]] = [
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    {"Origin": "https://evil.example", "Sec-Fetch-Site": ""},
    {"Origin": "null", "Sec-Fetch-Site": ""},
    {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"},
    {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": ""},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "", "Sec-Fetch-Site": ""},
]


def test_forms_of_other_sites_change_nothing(editing: Browser, corpus_url: str) -> None:
    _, form = form_of(editing.page("/compare", a=STORM, b=UPDATE), "/judge")
    for headers in HOSTILE_HEADERS:
        reply = editing.post("/judge", PAIR | {"form": form["form"]}, headers)
        assert reply.status == 403, headers
        assert "page of this server" in words_of(reply)
    assert pins(corpus_url) == []


def test_a_form_without_its_cookie_or_its_signature_changes_nothing(
    editing: Browser, corpus_url: str
) -> None:
    form = form_of(editing.page("/compare", a=STORM, b=UPDATE), "/judge")[1]["form"]
    mine = dict(editing.cookies)
    stranger = Browser(editing.door)
    theirs = form_of(stranger.page("/compare", a=STORM, b=UPDATE), "/judge")[1]["form"]
    for cookies, signature in (({}, form), (mine, ""), (mine, theirs), (mine, "é"), (stranger.cookies, form)):
        reply = Browser(editing.door, dict(cookies)).post("/judge", PAIR | {"form": signature})
        assert reply.status == 403
        assert "open the page again" in words_of(reply)
    assert pins(corpus_url) == []
    name = next(iter(mine))
    for forged in ("seen-0-x.00", mine[name].replace("seen", "entered"), mine[name][:-1], "é", "." * 4_000):
        reply = Browser(editing.door, {name: forged}).post("/judge", PAIR | {"form": form})
        assert reply.status in (400, 403)
    assert pins(corpus_url) == []


def test_a_form_as_json_or_by_get_changes_nothing(editing: Browser, corpus_url: str) -> None:
    form = form_of(editing.page("/compare", a=STORM, b=UPDATE), "/judge")[1]["form"]
    fields = PAIR | {"form": form}
    origin = {"Origin": editing.origin}
    cookie = {"Cookie": "; ".join(f"{k}={v}" for k, v in editing.cookies.items())}
    assert editing.door.ask("POST", "/judge", fields, origin | cookie).status == 415
    assert editing.get("/judge", None, **fields).status == 400
    assert pins(corpus_url) == []


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "wrong",
    [
        {"by": ""},
        {"by": "x" * 200},
        {"say": "nothing"},
        {"say": ""},
        {"b": STORM},
        {"b": "nobody"},
        {"reason": "x" * 1_001},
        {"extra": "1"},
    ],
)
def test_a_form_that_says_nothing_sensible_changes_nothing(
    editing: Browser, corpus_url: str, wrong: dict[str, str]
) -> None:
    form = form_of(editing.page("/compare", a=STORM, b=UPDATE), "/judge")[1]["form"]
    assert editing.post("/judge", PAIR | {"form": form} | wrong).status in (400, 404)
    assert pins(corpus_url) == []


def test_another_name_of_this_machine_is_refused(editing: Browser) -> None:
    reply = editing.door.ask("GET", "/", headers={"Host": "evil.example"})
    assert reply.status == 421
    assert editing.door.ask("GET", "/", headers={"Host": "LOCALHOST:80"}).status == 200


def test_with_a_token_nothing_is_told_before_it_is_entered(opening: Opening, newsroom_url: str) -> None:
    browser = opening(newsroom_url, token=TOKEN)
    for path in ("/", "/search?publication=Ledgerline", f"/article?id={STORM}", "/health", "/nothing"):
        reply = browser.get(path)
        assert reply.status == 401, path
        assert "Ottilie" not in reply.raw.decode()
        assert "set-cookie" not in reply.headers
    assert browser.post("/new", {"text": "a", "title": "", "form": ""}).status in (401, 403)
    page = browser.get(f"/article?id={STORM}").raw.decode()
    wrong = browser.send(page, "/enter", token="0123456789abcdeg")
    assert wrong.status == 401
    assert browser.cookies == {}
    reply = browser.send(page, "/enter", token=TOKEN.decode())
    assert "Ottilie" in browser.follow(reply)
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert TOKEN.decode() not in cookie
    for link in [a.get("href") or "" for tag, a in Document(page).tags if tag == "link"]:
        assert Browser(browser.door).get(link).status == 200


def test_the_token_is_taken_from_pages_of_this_server_only(opening: Opening, newsroom_url: str) -> None:
    browser = opening(newsroom_url, token=TOKEN)
    for headers in HOSTILE_HEADERS:
        reply = browser.post("/enter", {"token": TOKEN.decode(), "to": "/"}, headers)
        assert reply.status == 403
        assert browser.cookies == {}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "to",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/enter",
        "javascript:1",
        "",
        "/\n/x",
        "/é",
    ],
)
def test_entering_leads_to_a_page_of_this_server(opening: Opening, newsroom_url: str, to: str) -> None:
    browser = opening(newsroom_url, token=TOKEN)
    reply = browser.post("/enter", {"token": TOKEN.decode(), "to": to})
    assert (reply.status, reply.headers["location"]) == (303, "/")


def test_a_visit_ends() -> None:
    now = [1_000.0]
    visitors = Visitors(TOKEN, None, clock=lambda: now[0])
    origin = [(b"host", b"a"), (b"origin", b"http://a")]
    scope = {"path": "/", "headers": origin}
    visitor = visitors.enter(scope, TOKEN.decode())
    scope["headers"] = [*origin, (b"cookie", f"{visitors.cookie}={visitor.value}".encode())]
    visitors.check(scope)
    assert visitors.check_form(scope, visitor.form).value == visitor.value
    now[0] += VISIT_SECONDS
    with pytest.raises(ProblemError) as refused:
        visitors.check(scope)
    assert refused.value.status == 401
    with pytest.raises(ProblemError):
        Visitors(TOKEN, None, clock=lambda: 1_000.0).check(scope)


def test_requests_and_bodies_have_bounds(opening: Opening, corpus_url: str) -> None:
    browser = opening(corpus_url, limits=Limits(rate=3, body_bytes=10_000))
    form = browser.page("/new")
    assert browser.send(form, "/new", text="a" * 20_000).status == 413
    assert 429 in {browser.get("/new").status for _ in range(20)}


def test_reading_pages_changes_nothing(opening: Opening, newsroom_url: str) -> None:
    counted = "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_xact_user_tables"
    browser = opening(newsroom_url)
    with psycopg.connect(newsroom_url) as connection:
        snapshot = "SELECT max(age(xmin)) FROM dedup.article"
        connection.execute(counted)
        before = connection.execute(snapshot).fetchone()
        browser.send(browser.page("/new"), "/new", text="Nothing is stored of this text.", title="")
        assert connection.execute("SELECT count(*) FROM dedup.article").fetchone() == (82,)
        assert connection.execute(snapshot).fetchone() == before
