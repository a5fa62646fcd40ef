"""Pages of a server whose role may only read (`dedup grant --reader`)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from dedup.api.operation import Operation
from dedup.extras.browse.views import PLACES
from tests.db.test_roles import made_roles, url_of
from tests.extras.browse.conftest import Browser, form_of, opened, words_of

STORM, UPDATE = "vantage-0312-storm", "vantage-0312-storm-update"
DAYS = {"first": "2026-03-11", "last": "2026-03-13"}

QUERIES: dict[str, dict[str, str]] = {
    "/": DAYS,
    "/search": {"words": "storm"},
    "/outlets": DAYS,
    "/judge": {"kind": "picked"},
    "/story": {"id": STORM},
    **{path: {"id": UPDATE} for path in ("/article", "/coverage", "/sources")},
    "/compare": {"a": STORM, "b": UPDATE},
    "/outlet": {"publication": "Newsbasket", **DAYS},
    "/copied": {"copier": "Newsbasket", "original": "Vantage", **DAYS},
}
"""Query of each page that needs one."""


@pytest.fixture(scope="module")
def pages(newsroom_url: str) -> Iterator[Browser]:
    """A server over the newsroom with forms for judging; its role may only read."""
    with made_roles(newsroom_url, ["reader"]) as names, opened() as start:
        with Operation(newsroom_url) as owner:
            owner.grant(reader=[names["reader"]])
        yield start(url_of(newsroom_url, names["reader"]), editing=True)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "path", [place.path for place in PLACES if place.path not in ("/sentence", "/quote")]
)
def test_every_page_answers(pages: Browser, path: str) -> None:
    assert "<h1" in pages.page(path, **QUERIES.get(path, {}))


def test_one_sentence_is_shown(pages: Browser) -> None:
    address = re.findall(r'href="(/sentence\?hash=[^"]+)"', pages.page("/sentences"))[0]
    assert "Some articles with this sentence" in pages.page(address)


def test_one_quote_is_shown(pages: Browser) -> None:
    address = re.findall(r'href="(/quote\?hash=[^"]+)"', pages.page("/quotes"))[0]
    assert "Articles with this sentence" in pages.page(address)


def test_a_text_is_looked_up(pages: Browser) -> None:
    text = "The keeper counted the gulls. " * 20
    said = words_of(pages.send(pages.page("/new"), "/new", text=text, title=""))
    assert "no stored article is like this text" in said


def test_to_judge_the_owner_is_needed(pages: Browser, caplog: pytest.LogCaptureFixture) -> None:
    before = pages.page("/compare", a=STORM, b=UPDATE)
    for say in ("unrelated", "unsure"):
        reply = pages.send(before, "/judge", by="Ann", reason="", say=say)
        assert reply.status == 403
        told = f"type as the owner: dedup pin set --as NAME --why REASON -- {STORM} {UPDATE} RELATION"
        assert told in words_of(reply)
        assert "dedup grant" not in words_of(reply)  # no grant gives a reader this right
    form = form_of(before, "/judge")[1]["form"]
    undo = {"form": form, "a": STORM, "b": UPDATE, "back": "compare"}
    assert pages.post("/judge/undo", undo).status == 403
    assert pages.post("/sentences", {"form": form, "hash": "1", "say": "never"}).status == 403
    assert "answered with 503" not in caplog.text
    after = pages.page("/compare", a=STORM, b=UPDATE)
    assert "has said so" not in after
    assert "judged the pair" not in after
