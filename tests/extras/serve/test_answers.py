"""Answers over HTTP equal the answers of the library."""

from __future__ import annotations

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dedup.base.article import Article
from dedup.base.extras import installing
from dedup.db.database import Database
from dedup.files.readers import read_articles
from tests.cli.conftest import HARBOUR, MUSEUM
from tests.corpora import article, assert_right, window
from tests.extras.serve.conftest import LINES, SECONDS, Door, Serving, is_problem
from tests.replica import journal

FIRST = {"source_id": "first", "text": HARBOUR, "published_at": "2026-03-11T08:00Z", "publication": "Courier"}
COPY = {"source_id": "copy", "body": HARBOUR, "date": "2026-03-12T08:00Z", "outlet": "Herald"}
OTHER = {"source_id": "other", "text": MUSEUM, "published_at": "2026-03-11T09:00Z"}


def renamed(value: Any) -> Any:
    """Return an answer of the library with `id` renamed to its name over HTTP."""
    if isinstance(value, dict):
        return {"source_id" if key == "id" else key: renamed(item) for key, item in value.items()}
    return [renamed(item) for item in value] if isinstance(value, list) else value


def test_equal_articles_of_two_scopes_are_two_stories(door: Door) -> None:
    for scope in ("ann", "bob"):
        assert door.submit({**FIRST, "source_id": scope, "scope": scope}).json["status"] == "unique"
    copy = {**COPY, "scope": "ann"}
    looked = door.ask("POST", "/v1/articles", copy, store="false").json
    assert (looked["status"], looked["duplicate_of"]) == ("duplicate", "ann")
    assert door.ask("POST", "/v1/articles", COPY, store="false").json["status"] == "unique"
    assert door.submit(copy).json["duplicate_of"] == "ann"
    story = door.ask("GET", "/v1/story", source_id="ann").json
    assert [one["source_id"] for one in story["copies"]] == ["copy"]
    assert door.ask("GET", "/v1/articles", source_id="copy").json["article"]["scope"] == "ann"
    explained = door.ask("GET", "/v1/explanation", source_id="ann", other_source_id="bob").json
    assert explained["decision"] == "not compared: they have different scopes"


STRANGE = [
    "https://news.example/2026/03/a?b=c&d=e#f",
    "a/../../etc/passwd",
    "..",
    "/",
    "with \"quotes\" and 'more'",
    "a+b c%2Fd",
    "ä漢字🌍\u200d",
    "'; DROP TABLE dedup.article; --",
    "%s %(x)s {0}",
    "line\nfeed\r\nSet-Cookie: a=b",
    "\x7f\x1b[31m",
    "x" * 1024,
    "a; b",
]


def test_articles_are_stored_and_judged_by_the_names_that_files_use(door: Door) -> None:
    assert door.submit(FIRST).json | {"unsettled": 0} == {
        "source_id": "first",
        "status": "unique",
        "duplicate_of": None,
        "score": None,
        "reason": None,
        "matches": [],
        "unsettled": 0,
        "archived": False,
        "copies": [],
        "copy_count": 0,
        "provisional": False,
        "repairs": [],
    }
    copy = door.submit(COPY)
    assert copy.status == 200
    assert copy.headers["content-type"] == "application/json"
    assert copy.headers["cache-control"] == "no-store"
    assert (copy.json["status"], copy.json["duplicate_of"], copy.json["score"]) == ("duplicate", "first", 1.0)
    assert copy.json["matches"][0]["source_id"] == "first"
    stored = door.dd.get("copy")
    assert stored is not None
    assert stored.article.publication == "Herald"


def test_an_article_that_comes_after_its_copies_names_them(door: Door) -> None:
    assert door.submit(COPY).json["status"] == "unique"
    asked = door.submit(FIRST, store="false").json
    told = door.submit(FIRST).json
    for found in (asked, told):
        assert (found["status"], found["copy_count"]) == ("unique", 1)
        assert found["copies"] == [{"source_id": "copy", "rule": "content", "score": 1.0}]


def test_an_article_that_is_only_looked_up_is_not_stored(door: Door) -> None:
    door.submit(FIRST)
    assert door.submit(COPY, store="false").json["duplicate_of"] == "first"
    assert door.dd.get("copy") is None


def test_a_byte_order_mark_and_line_ends_do_not_matter(door: Door) -> None:
    sent = "\ufeff".encode() + json.dumps(FIRST, indent=2).replace("\n", "\r\n").encode()
    assert door.submit(sent).json["status"] == "unique"
    lines = "\ufeff".encode() + batch(FIRST, COPY).replace(b"\n", b"\r\n")
    said = door.ask("POST", "/v1/articles:batch", lines, kind=LINES).json
    assert [v["status"] for v in said["verdicts"]] == ["unique", "duplicate"]


def test_what_is_repaired_is_said(door: Door) -> None:
    said = door.submit({**FIRST, "published_at": "soon", "title": 7}).json
    assert {(r["field"], r["value"]) for r in said["repairs"]} == {("title", "7"), ("published_at", "soon")}


def test_what_articles_keep_and_credit_is_told(door: Door) -> None:
    kept = {"id": 7, "topic": "weather", "tags": ["a", {"b": None}]}
    assert door.submit({**FIRST, "kept": kept, "byline": "Ada Roe, AFP"}).json["repairs"] == []
    door.submit(COPY)
    said = door.submit({**OTHER, "kept": "weather"}).json["repairs"]
    assert [(repair["field"], repair["value"]) for repair in said] == [("kept", "weather")]
    door.dd.backfill()
    found = door.ask("GET", "/v1/articles", source_id="first").json
    assert found["article"]["kept"] == kept
    assert found["credits"] == [{"agency": "AFP", "place": "byline", "kind": "text"}]
    story = door.ask("GET", "/v1/story", source_id="copy").json
    assert story["original"]["credits"] == found["credits"]
    assert [copy["credits"] for copy in story["copies"]] == [[]]
    assert (found["correction"], story["original"]["correction"]) == (None, None)
    assert (story["latest"], story["fullest"]) == ("copy", "copy")


def test_a_mark_a_story_and_an_explanation(serving: Serving) -> None:
    door = serving(texts=True)
    for given in (FIRST, COPY, OTHER):
        door.submit(given)
    found = door.ask("GET", "/v1/articles", source_id="copy").json
    stored = door.dd.get("copy")
    assert stored is not None
    wanted = renamed(stored.as_dict())
    assert door.ask("GET", "/v1/articles", source_id="copy", text="true").json == wanted
    del wanted["article"]["text"]
    assert found == wanted
    story = door.ask("GET", "/v1/story", source_id="copy").json
    assert story == {**renamed(door.dd.story("copy").as_dict()), "count": 1}
    assert door.ask("GET", "/v1/story", source_id="copy", limit="0").json["copies"] == []
    why = door.ask("GET", "/v1/explanation", source_id="first", other_source_id="copy").json
    assert why["decision"] == "duplicate by content: the same words in the same order"
    assert (why["shared_sentences"], why["differing_sentences"]) == (6, 0)
    full = door.ask("GET", "/v1/explanation", source_id="first", other_source_id="copy", text="true").json
    assert full["shared"] == door.dd.explain("first", "copy").as_dict()["shared"]
    assert full | {"shared_sentences": 6, "differing_sentences": 0} == full


def test_changes_are_told_with_the_cursor_to_go_on_from(database: Database, door: Door) -> None:
    is_problem(door.ask("GET", "/v1/changes"), 400, "`dedup changes --start`")
    with journal(database):
        assert door.ask("GET", "/v1/changes").json == {"changes": [], "cursor": None}
        for given in (FIRST, COPY, OTHER):
            door.submit(given)
        told, cursor = [], ""
        while found := door.ask("GET", "/v1/changes", limit="2", since=cursor).json["changes"]:
            cursor = door.ask("GET", "/v1/changes", limit="2", since=cursor).json["cursor"]
            told += found
        wanted = [renamed(change.as_dict()) for change in door.dd.changes()]
        assert [{**change, "cursor": ""} for change in told] == [
            {**change, "cursor": ""} for change in wanted
        ]
        assert door.ask("GET", "/v1/changes", since=cursor).json == {"changes": [], "cursor": cursor}
        is_problem(door.ask("GET", "/v1/changes", since="soon"), 400, "not a cursor")
        is_problem(door.ask("GET", "/v1/changes", limit="10001"), 400, "1 to 10,000")
        is_problem(door.ask("GET", "/v1/changes", since="0123456789ab.1.2.3.4"), 410, "read all marks again")


def test_texts_are_told_only_by_a_server_that_may(door: Door) -> None:
    door.submit(FIRST)
    door.submit(COPY)
    for path, query in (
        ("/v1/articles", {"source_id": "copy"}),
        ("/v1/explanation", {"source_id": "first", "other_source_id": "copy"}),
    ):
        assert b"harbour" not in door.ask("GET", path, None, None, **query).raw
        refused = door.ask("GET", path, None, None, **query, text="true")
        assert (refused.status, refused.json["title"]) == (403, "Forbidden")
        assert "--texts" in refused.json["detail"]


def test_a_deleted_article_is_gone_and_its_copy_judged_again(door: Door) -> None:
    door.submit(FIRST)
    door.submit(COPY)
    assert door.ask("DELETE", "/v1/articles", source_id="first").json == {"source_id": "first"}
    assert door.ask("GET", "/v1/articles", source_id="copy").json["verdict"]["status"] == "unique"
    again = door.ask("DELETE", "/v1/articles", source_id="first")
    assert (again.status, again.json["detail"]) == (404, "no article with source_id 'first'")


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("method", "path", "query"),
    [
        ("GET", "/v1/articles", {"source_id": "nobody"}),
        ("GET", "/v1/story", {"source_id": "nobody"}),
        ("GET", "/v1/explanation", {"source_id": "nobody", "other_source_id": "first"}),
        ("DELETE", "/v1/articles", {"source_id": "nobody"}),
    ],
)
def test_an_unknown_article_is_not_found(door: Door, method: str, path: str, query: dict[str, str]) -> None:
    answer = door.ask(method, path, None, None, **query)
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.json["detail"] == "no article with source_id 'nobody'"


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("source_id", STRANGE)
def test_every_id_can_be_asked_for(door: Door, source_id: str) -> None:
    assert door.submit({"source_id": source_id, "text": HARBOUR}).json["source_id"] == source_id
    found = door.ask("GET", "/v1/articles", source_id=source_id)
    assert found.json["verdict"]["source_id"] == source_id
    assert "set-cookie" not in found.headers
    assert door.ask("GET", "/v1/story", source_id=source_id).json["original"]["source_id"] == source_id
    assert door.ask("DELETE", "/v1/articles", source_id=source_id).json == {"source_id": source_id}
    gone = door.ask("GET", "/v1/articles", source_id=source_id)
    assert (gone.status, gone.json["detail"]) == (404, f"no article with source_id {source_id!r}")


def batch(*articles: Any) -> bytes:
    return b"".join(a if isinstance(a, bytes) else json.dumps(a).encode() + b"\n" for a in articles)


def test_a_batch_has_a_verdict_for_every_line(door: Door) -> None:
    lines = batch(FIRST, b"not json\n", b"\n", COPY, {"source_id": "no text"}, OTHER)
    said = door.ask("POST", "/v1/articles:batch", lines, kind=LINES).json
    assert [(v["source_id"], v["status"]) for v in said["verdicts"]] == [
        ("first", "unique"),
        (None, "refused"),
        (None, "refused"),
        ("copy", "duplicate"),
        ("no text", "refused"),
        ("other", "unique"),
    ]
    assert (said["left"], said["reason"]) == (0, None)
    assert said["verdicts"][2]["reason"] == "the line is blank"
    assert said["verdicts"][4]["reason"] == "text is missing"
    looked_up = door.ask(
        "POST", "/v1/articles:batch", batch({**COPY, "source_id": "c2"}), kind=LINES, store="false"
    )
    assert looked_up.json["verdicts"][0]["status"] == "duplicate"
    assert door.dd.get("c2") is None


def test_a_look_up_needs_no_id(door: Door) -> None:
    door.submit(FIRST)
    texts = [{name: value for name, value in one.items() if name != "source_id"} for one in (COPY, OTHER)]
    for text, status in zip(texts, ("duplicate", "unique"), strict=True):
        said = door.ask("POST", "/v1/articles", text, store="false").json
        assert (said["source_id"], said["status"]) == (None, status)
    items = [*texts, {"html": ""}, {"source_id": "", **texts[0]}, {"id": "x", **texts[0]}]
    said = door.ask("POST", "/v1/articles:batch", items, store="false").json["verdicts"]
    assert [one["source_id"] for one in said] == [None] * 5
    assert [one["status"] for one in said] == ["duplicate", "unique", *["refused"] * 3]
    is_problem(door.submit(texts[0]), 400, "source_id is missing")
    assert sum(door.dd.status().counts.values()) == 1


def test_a_batch_as_an_array_has_its_verdicts_in_the_same_order(door: Door) -> None:
    items = [FIRST, 7, None, COPY, [FIRST], {"source_id": "no text"}, {"id": "x", "text": HARBOUR}, OTHER]
    reply = door.ask("POST", "/v1/articles:batch", items)
    assert reply.status == 200
    said = reply.json
    assert [(v["source_id"], v["status"]) for v in said["verdicts"]] == [
        ("first", "unique"),
        (None, "refused"),
        (None, "refused"),
        ("copy", "duplicate"),
        (None, "refused"),
        ("no text", "refused"),
        (None, "refused"),
        ("other", "unique"),
    ]
    assert (said["left"], said["reason"]) == (0, None)
    assert said["verdicts"][1]["reason"] == "item is not a JSON object"
    assert said["verdicts"][6]["reason"].startswith("the id of an article must be named 'source_id'")
    lines = b"".join(json.dumps(item).encode() + b"\n" for item in items if isinstance(item, dict))
    by_line = door.ask("POST", "/v1/articles:batch", lines, kind=LINES, store="false").json["verdicts"]
    items = [item for item in items if isinstance(item, dict)]
    assert door.ask("POST", "/v1/articles:batch", items, store="false").json["verdicts"] == by_line
    nothing = door.ask("POST", "/v1/articles:batch", b" [] ")
    assert nothing.json == {"verdicts": [], "left": 0, "reason": None}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"", "the body is empty"),
        (json.dumps(FIRST).encode(), "the body must be a JSON array"),
        (b"[" + json.dumps(FIRST).encode() + b",", "broken JSON"),
        (b"[" + json.dumps(FIRST).encode() + b"]]", "broken JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" + b"0," * 1_000_001 + b"0]", "values"),
        (b'["\xff"]', "body is not UTF-8"),
    ],
)
def test_what_is_no_array_is_refused_and_nothing_of_it_stored(door: Door, sent: bytes, words: str) -> None:
    is_problem(door.ask("POST", "/v1/articles:batch", sent), 400, words)
    assert door.dd.get("first") is None


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", ["id", "_id", "ID", "guid", "article_id", "doc-id"])
def test_an_id_under_another_name_is_refused_with_the_right_one(door: Door, name: str) -> None:
    is_problem(door.submit({name: "a", "text": HARBOUR}), 400, "must be named 'source_id': rename")
    assert door.submit({name: "a", "source_id": "b", "text": HARBOUR}).json["source_id"] == "b"


# Pages

PAGE = (
    "<!doctype html><html><head><title>Storm</title><script>var words = 1;</script></head><body>"
    f"<nav><a href='/'>Home</a></nav><article><h1>Storm</h1><p class='lead'>{HARBOUR}</p></article>"
    "<footer>Imprint</footer></body></html>"
)


def test_a_page_is_compared_by_its_text_as_load_does_it(serving: Serving, tmp_path: Path) -> None:
    door = serving(texts=True)
    door.submit(FIRST)
    given = {"source_id": "page", "html": PAGE, "title": "Tom &amp; <b>Ann</b>", "published_at": "2026-03-12"}
    said = door.submit(given).json
    assert (said["status"], said["duplicate_of"]) == ("duplicate", "first")
    stored = door.ask("GET", "/v1/articles", source_id="page", text="true").json["article"]
    assert "<" not in stored["text"]
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(given))
    (loaded,) = read_articles(file, html=True)
    assert isinstance(loaded, Article)
    assert (stored["text"], stored["title"]) == (loaded.text, loaded.title) == (loaded.text, "Tom & Ann")
    for name in ("body_html", "content_html"):
        copy = door.submit({"source_id": name, name: PAGE, "published_at": "2026-03-12"}).json
        assert copy["duplicate_of"] == "first"
    both = [json.dumps({"source_id": "one", "html": PAGE}).encode(), json.dumps(FIRST).encode()]
    lines = door.ask("POST", "/v1/articles:batch", b"\n".join(both), kind=LINES, store="false").json
    array = door.ask("POST", "/v1/articles:batch", b"[" + b",".join(both) + b"]", store="false").json
    assert [v["status"] for v in lines["verdicts"]] == ["duplicate", "unique"]
    assert array == lines


def test_a_text_that_has_tags_is_a_text(serving: Serving) -> None:
    door = serving(texts=True)
    door.submit({"source_id": "a", "text": "<p>One <b>two</b></p>"})
    found = door.ask("GET", "/v1/articles", source_id="a", text="true").json
    assert found["article"]["text"] == "<p>One <b>two</b></p>"


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"html": PAGE, "text": HARBOUR}, "give one of the two"),
        ({"html": PAGE, "body": ""}, "give one of the two"),
        ({"html": ""}, "the HTML has no text"),
        ({"html": "<script>zq-words</script>"}, "the HTML has no text"),
        ({"html": ["zq-words"]}, "html must be a string, not list"),
        ({"html": "zq-words " * 600_000}, "longer than 5,000,000 characters"),
        ({"html": None}, "text is missing"),
    ],
)
def test_what_is_no_page_is_refused(door: Door, fields: dict[str, Any], words: str) -> None:
    reply = door.submit({"source_id": "a", **fields})
    is_problem(reply, 400, words)
    assert b"zq-" not in reply.raw
    assert door.dd.get("a") is None


@pytest.mark.long("dedup", "migrations")
def test_a_page_of_tags_without_end_is_answered_in_time(door: Door) -> None:
    hostile = "<div a=b>" * 300_000 + HARBOUR + "<" * 1_000_000
    assert door.submit({"source_id": "a", "html": hostile}).status == 200


def test_without_the_extra_a_page_is_a_problem_that_names_it(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "trafilatura", None)
    page = {"source_id": "page", "html": PAGE}
    is_problem(door.submit(page), 501, f"on the server, HTML needs trafilatura: run `{installing('html')}`")
    is_problem(door.ask("POST", "/v1/articles:batch", [page, FIRST]), 501, installing("html"))
    said = door.ask("POST", "/v1/articles:batch", [FIRST, page, OTHER]).json
    assert ([v["source_id"] for v in said["verdicts"]], said["left"]) == (["first"], 2)
    assert installing("html") in said["reason"]
    assert door.dd.get("page") is None


ARTICLES = [article(f"a{i:02}", window(i % 14, 6), i, publication=f"P{i % 3}") for i in range(64)]


@pytest.mark.long("dedup", "migrations")
def test_eight_clients_at_once_find_what_one_process_finds(door: Door, database: Database) -> None:
    ready = threading.Barrier(8)

    def submit(share: int) -> list[Any]:
        ready.wait(SECONDS)
        return [
            door.submit(
                {
                    "source_id": a.source_id,
                    "text": a.text,
                    "published_at": str(a.published_at),
                    "title": a.title,
                }
            ).json
            for a in ARTICLES[share::8]
        ]

    with ThreadPoolExecutor(8) as threads:
        verdicts = [v for found in threads.map(submit, range(8), timeout=SECONDS) for v in found]
    assert {v["status"] for v in verdicts} <= {"unique", "similar", "duplicate"}
    door.dd.backfill(workers=0)
    assert_right(database)
    assert door.dd.status().counts["duplicate"] > 30
