"""Answers over HTTP and on pages equal the library's, without words of texts unless texts are allowed."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from dedup import Deduplicator
from dedup.extras.serve.limits import Limits
from dedup.operation import Operation
from tests.extras.browse.conftest import Document, Opening, opening
from tests.extras.coverage.conftest import REWRITTEN
from tests.extras.serve.conftest import Serving, is_problem, serving

pytestmark = pytest.mark.long("dedup", "migrations")

__all__ = ["opening", "serving"]  # fixtures
WORDS = ("Halvorsen", "never seen")  # words that are in texts, but in no title


def test_answers_over_http_are_those_of_the_library(newsroom: Deduplicator, serving: Serving) -> None:
    door = serving(texts=True)
    listed = door.ask("GET", "/v1/sources", source_id="rewrite").json["sources"]
    found = newsroom.sources("rewrite")
    assert [(one["source_id"], one["score"]) for one in listed] == [(one.id, one.score) for one in found]
    assert all("no proof" in one["caution"] for one in listed)
    assert door.ask("POST", "/v1/sources", {"text": REWRITTEN}).json["sources"][0]["source_id"] == "rewrite"
    told = door.ask("GET", "/v1/coverage", source_id="storm", text="true").json
    assert told["source_id"] == "storm"
    assert [one["name"] for one in told["origins"]] == [
        one.name for one in newsroom.coverage("storm").origins
    ]
    everywhere = door.ask("POST", "/v1/coverage", {"text": REWRITTEN}, at="2025-03-10", days="1").json
    assert [one["source_id"] for origin in everywhere["origins"] for one in origin["articles"]] == [
        "last year"
    ]


def test_origins_of_ids_are_those_of_the_library(newsroom: Deduplicator, serving: Serving) -> None:
    door = serving(replace(Limits(), ids=600))
    ids = [mark["id"] for mark in newsroom.marks()]
    told = door.ask("POST", "/v1/origins", {"source_ids": ids}, limit="2").json
    assert told == newsroom.origins(ids, limit=2).as_dict()
    assert told["articles"] == len(ids) > 2
    named = door.ask("POST", "/v1/origins", {"source_ids": ids}, publication="Blog").json
    assert 0 < named["articles"] == newsroom.origins(ids, publication="Blog").articles < len(ids)
    assert door.ask("POST", "/v1/origins", {"source_ids": []}).json["articles"] == 0
    assert door.ask("POST", "/v1/origins", {"source_ids": ["storm"] * 600}).json["articles"] == 1
    is_problem(door.ask("POST", "/v1/origins", {"source_ids": ["storm"] * 601}), 413, "600")
    is_problem(door.ask("POST", "/v1/origins", {"source_ids": ["storm", "missing"]}), 404, "missing")
    is_problem(door.ask("POST", "/v1/origins", {"source_ids": ids}, words="storm"), 400, "words")
    for body in ({}, ["storm"], {"source_ids": "storm"}, {"source_ids": [5]}, {"source_ids": ["\0"]}, b"{"):
        is_problem(door.ask("POST", "/v1/origins", body), 400)


def test_without_texts_no_word_of_a_text_is_sent(newsroom: Deduplicator, serving: Serving) -> None:
    door = serving()
    replies = [
        door.ask("GET", "/v1/coverage", source_id="storm"),
        door.ask("POST", "/v1/coverage", {"text": REWRITTEN}),
        door.ask("GET", "/v1/sources", source_id="storm"),
    ]
    for reply in replies:
        assert reply.status == 200
        assert not any(word.encode() in reply.raw for word in WORDS)
    is_problem(door.ask("GET", "/v1/coverage", source_id="storm", text="true"), 403, "--texts")


def test_wrong_questions_are_refused(newsroom: Deduplicator, serving: Serving) -> None:
    door = serving()
    is_problem(door.ask("GET", "/v1/sources", source_id="missing"), 404, "missing")
    is_problem(door.ask("GET", "/v1/coverage", source_id="storm", limit="41"), 400, "limit")
    is_problem(door.ask("GET", "/v1/coverage", source_id="storm", at="soon"), 400, "not a time")
    for body in ({}, {"text": ""}, {"text": 5}, ["text"], b"{"):
        is_problem(door.ask("POST", "/v1/sources", body), 400)


def test_an_article_links_to_pages_that_are_computed_when_asked(
    newsroom: Deduplicator, opening: Opening
) -> None:
    browser = opening(newsroom._database.url)
    links = Document(browser.page("/article", id="storm")).links
    assert {"/coverage?id=storm", "/sources?id=storm"} <= {*links}
    told = Document(browser.page("/coverage", id="storm"))
    assert told.unclosed == []
    for words in ("Also told by", "Blog", "other words", "Ingrid Halvorsen", "4.2"):
        assert words in told.words
    assert not re.search(r"\s,", told.words)
    listed = Document(browser.page("/sources", id="rewrite")).words
    assert "A high score is no proof" in listed
    assert "Storm in Port Marlow" in listed
    assert browser.get("/coverage", None, id="missing").status == 404


@pytest.mark.parametrize("path", ["/coverage", "/sources"])
def test_a_page_names_the_command_that_makes_the_index(
    newsroom: Deduplicator, opening: Opening, path: str
) -> None:
    with Operation(newsroom._database.url) as owner:
        owner.make_searchable(False)
    browser = opening(newsroom._database.url)
    assert "run `dedup init --search`" in Document(browser.page(path, id="storm")).words
