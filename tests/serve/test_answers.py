"""Every question over HTTP has the library's own answer."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dedup.corpus.database import Database
from tests.cli.conftest import HARBOUR, MUSEUM
from tests.corpora import article, assert_right, window
from tests.serve.conftest import LINES, SECONDS, Door, Serving

FIRST = {"source_id": "first", "text": HARBOUR, "published_at": "2026-03-11T08:00Z", "publication": "Courier"}
COPY = {"id": "copy", "body": HARBOUR, "date": "2026-03-12T08:00Z", "outlet": "Herald"}
OTHER = {"source_id": "other", "text": MUSEUM, "published_at": "2026-03-11T09:00Z"}

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
        "id": "first",
        "status": "unique",
        "duplicate_of": None,
        "score": None,
        "reason": None,
        "matches": [],
        "unsettled": 0,
        "archived": False,
        "provisional": False,
        "repairs": [],
    }
    copy = door.submit(COPY)
    assert copy.status == 200
    assert copy.headers["content-type"] == "application/json"
    assert copy.headers["cache-control"] == "no-store"
    assert (copy.json["status"], copy.json["duplicate_of"], copy.json["score"]) == ("duplicate", "first", 1.0)
    assert copy.json["matches"][0]["id"] == "first"
    stored = door.dd.get("copy")
    assert stored is not None
    assert stored.article.publication == "Herald"


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


def test_a_mark_a_story_and_an_explanation(serving: Serving) -> None:
    door = serving(texts=True)
    for given in (FIRST, COPY, OTHER):
        door.submit(given)
    found = door.ask("GET", "/v1/articles", source_id="copy").json
    stored = door.dd.get("copy")
    assert stored is not None
    wanted = stored.as_dict()
    assert door.ask("GET", "/v1/articles", source_id="copy", text="true").json == wanted
    del wanted["article"]["text"]
    assert found == wanted
    story = door.ask("GET", "/v1/story", source_id="copy").json
    assert story == {**door.dd.story("copy").as_dict(), "count": 1}
    assert door.ask("GET", "/v1/story", source_id="copy", limit="0").json["copies"] == []
    why = door.ask("GET", "/v1/explanation", a="first", b="copy").json
    assert why["decision"] == "duplicate by content: the same words in the same order"
    assert (why["shared_sentences"], why["differing_sentences"]) == (6, 0)
    full = door.ask("GET", "/v1/explanation", a="first", b="copy", text="true").json
    assert full["shared"] == door.dd.explain("first", "copy").as_dict()["shared"]
    assert full | {"shared_sentences": 6, "differing_sentences": 0} == full


def test_texts_are_told_only_by_a_server_that_may(door: Door) -> None:
    door.submit(FIRST)
    door.submit(COPY)
    for path, query in (
        ("/v1/articles", {"source_id": "copy"}),
        ("/v1/explanation", {"a": "first", "b": "copy"}),
    ):
        assert b"harbour" not in door.ask("GET", path, **query).raw
        refused = door.ask("GET", path, **query, text="true")
        assert (refused.status, refused.json["title"]) == (403, "Forbidden")
        assert "--texts" in refused.json["detail"]


def test_a_deleted_article_is_gone_and_its_copy_judged_anew(door: Door) -> None:
    door.submit(FIRST)
    door.submit(COPY)
    assert door.ask("DELETE", "/v1/articles", source_id="first").json == {"deleted": "first"}
    assert door.ask("GET", "/v1/articles", source_id="copy").json["verdict"]["status"] == "unique"
    again = door.ask("DELETE", "/v1/articles", source_id="first")
    assert (again.status, again.json["detail"]) == (404, "no article with source_id 'first'")


@pytest.mark.parametrize(
    ("method", "path", "query"),
    [
        ("GET", "/v1/articles", {"source_id": "nobody"}),
        ("GET", "/v1/story", {"source_id": "nobody"}),
        ("GET", "/v1/explanation", {"a": "nobody", "b": "first"}),
        ("DELETE", "/v1/articles", {"source_id": "nobody"}),
    ],
)
def test_an_unknown_article_is_not_found(door: Door, method: str, path: str, query: dict[str, str]) -> None:
    answer = door.ask(method, path, **query)
    assert (answer.status, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.json["detail"] == "no article with source_id 'nobody'"


@pytest.mark.parametrize("source_id", STRANGE)
def test_every_id_can_be_asked_for(door: Door, source_id: str) -> None:
    assert door.submit({"source_id": source_id, "text": HARBOUR}).json["id"] == source_id
    found = door.ask("GET", "/v1/articles", source_id=source_id)
    assert found.json["verdict"]["id"] == source_id
    assert "set-cookie" not in found.headers
    assert door.ask("GET", "/v1/story", source_id=source_id).json["original"]["id"] == source_id
    assert door.ask("DELETE", "/v1/articles", source_id=source_id).json == {"deleted": source_id}
    gone = door.ask("GET", "/v1/articles", source_id=source_id)
    assert (gone.status, gone.json["detail"]) == (404, f"no article with source_id {source_id!r}")


def batch(*articles: Any) -> bytes:
    return b"".join(a if isinstance(a, bytes) else json.dumps(a).encode() + b"\n" for a in articles)


def test_a_batch_has_a_verdict_for_every_line(door: Door) -> None:
    lines = batch(FIRST, b"not json\n", b"\n", COPY, {"id": "no text"}, OTHER)
    said = door.ask("POST", "/v1/articles:batch", lines, kind=LINES).json
    assert [(v["id"], v["status"]) for v in said["verdicts"]] == [
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
    looked_up = door.ask("POST", "/v1/articles:batch", batch({**COPY, "id": "c2"}), kind=LINES, store="false")
    assert looked_up.json["verdicts"][0]["status"] == "duplicate"
    assert door.dd.get("c2") is None


ARTICLES = [article(f"a{i:02}", window(i % 14, 6), i, publication=f"P{i % 3}") for i in range(64)]


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
