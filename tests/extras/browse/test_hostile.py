"""Pages and reports show hostile articles as harmless text."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from dedup import Article, Deduplicator
from dedup.extras.browse import report
from dedup.extras.browse.views import PLACES, Position
from tests.conftest import Server
from tests.extras.browse.conftest import EACH, Browser, Document, corpus_of, crawl, form_of, opened

UNSHOWN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202d\u202e\ufffe\uffff]")
SCRIPT = "<script>alert(1)</script>"
BREAKS = "\"'><img src=x onerror=alert(1)><!--</title></style></textarea>{{ 7 * 7 }}"
TURNED = "\u202eevil\u202c \u2066isolated"
CONTROLS = "".join(chr(code) for code in range(1, 32)) + "\x7f\x80\x9f\ufffe"
LONG_ID = "http://example.org/a?b=c&d=e#" + SCRIPT + "é" * 400
TELL = "The council voted for night trams on {} and the mayor said that repairs take nine days at the least. "


def told(n: int) -> str:
    """Return a text that is long enough to be compared; articles with the same number share it."""
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    return "".join(TELL.format(f"{day} the {n * 31 + place}th") for place, day in enumerate(days))


def articles() -> Iterator[Article]:
    """Yield pairs of articles with hostile fields, the second a copy of the first; then articles with odd ids
    and lengths."""
    nasty = (SCRIPT, BREAKS, TURNED, CONTROLS, "javascript:alert(1)", "\u200b\u00ad\ufeff", "🏴" * 200)
    for n, words in enumerate(nasty):
        for copy in range(2):
            yield Article(
                source_id=f"{words.strip() or 'blank'}#{n}-{copy}",
                text=f"{told(n)}{words}. {words}{' and more' * copy}",
                title=words,
                url=words if copy else "javascript:alert(document.cookie)",
                publication=f"{words} {copy}",
                published_at=f"2026-03-1{n}T0{copy + 1}:00Z",
                language=words[:8],
            )
    late: dict[str, Any] = {"published_at": "2026-03-18"}
    yield Article("  spaces around \n", told(92), "spaces", **late)
    yield Article(LONG_ID, told(90), "x", "https://example.org/\"onclick='alert(1)'", **late)
    yield Article("words", "the word goes on " * 25_000, "A hundred thousand words", **late)
    yield Article("a word", f"{told(91)}{'x' * 100_000}", "w" * 16_000, **late)


@pytest.fixture(scope="module")
def hostile_url(server: Server) -> str:
    """The address of a settled corpus of hostile articles; tests only read it."""
    url = corpus_of(server, "dedup_hostile", list(articles()))
    with psycopg.connect(url) as connection:  # SQL may store a title that `Article` would refuse
        connection.execute(
            "UPDATE dedup.article SET title = repeat('long ', 200000) WHERE source_id = 'words'"
        )
    with Deduplicator(url) as dd:
        dd.backfill(workers=0)
    return url


@pytest.fixture(scope="module")
def hostile(hostile_url: str) -> Iterator[Browser]:
    """A server with forms for judging, over hostile articles."""
    with opened() as start:
        yield start(hostile_url, editing=True)


@pytest.fixture(scope="module")
def pages(hostile: Browser, hostile_url: str) -> dict[str, str]:
    """Return the pages and reports by address."""
    found = crawl(hostile, start="/?first=2026-03-10&last=2026-03-16", days=False)
    for source_id in [article.source_id for article in articles()]:
        for path in ("/article", "/story"):
            found[f"{path} {source_id}"] = hostile.page(path, id=source_id)
        found[f"/search {source_id}"] = hostile.page("/search", id=source_id, publication="", words="")
    for words in (SCRIPT, BREAKS, TURNED, CONTROLS):
        given = words.replace("\0", "")
        found[f"/search for {words}"] = hostile.page("/search", publication=given, url=given, id=given)
        found[f"/search words {words}"] = hostile.page("/search", words=f"council {given}")
        found[f"/judge {words}"] = hostile.page("/judge", by=given)
        found[f"/new {words}"] = hostile.send(
            hostile.page("/new"), "/new", text=given, title=given
        ).raw.decode()
    found["/search for what all have"] = hostile.page("/search", words="mayor trams")
    with Deduplicator(hostile_url) as dd:
        day = dd.browsing.newest_day()
        assert day is not None
        found["report of a day"] = report.of_day(dd, day.replace(month=3, day=10), day)
        found["report of a story"] = report.of_story(dd, f"{SCRIPT}#0-0")
    return found


@pytest.mark.long("dedup", "migrations")
def test_every_kind_of_page_was_opened(pages: dict[str, str]) -> None:
    kinds = {address.partition("?")[0] for address in pages}
    assert kinds >= {"/", "/story", "/article", "/compare", "/search", "/outlets", "/copied", "/judge"}
    assert len(pages) > 3 * EACH


@pytest.mark.long("dedup", "migrations")
def test_what_strangers_wrote_becomes_no_markup(pages: dict[str, str]) -> None:
    for address, page in pages.items():
        document = Document(page)
        assert document.unclosed == [], address
        for tag, attrs in document.tags:
            assert tag not in ("img", "iframe", "base", "object"), address
            assert tag != "script" or (attrs.get("src") or "").startswith("/static/"), address
            assert not [name for name in attrs if name.startswith("on")], address
        assert "<!--" not in page, address
        assert SCRIPT not in page, address


@pytest.mark.long("dedup", "migrations")
def test_no_link_leads_where_a_script_runs(pages: dict[str, str]) -> None:
    for address, page in pages.items():
        for tag, attrs in Document(page).tags:
            for name in ("href", "src", "action"):
                if (target := attrs.get(name)) is not None:
                    assert target.startswith(("/", "#", "https://example.org/")), (address, tag)
                    assert not target.startswith("//"), address
                    if target.startswith("https:"):
                        assert attrs.get("rel") == "noopener noreferrer", address


@pytest.mark.long("dedup", "migrations")
def test_nothing_is_shown_that_turns_or_breaks_a_page(pages: dict[str, str]) -> None:
    for address, page in pages.items():
        assert not UNSHOWN.search(page), address
        assert "49" not in Document(page).words.partition("{{")[2][:20], address


@pytest.mark.long("dedup", "migrations")
def test_long_titles_and_texts_are_cut(hostile: Browser) -> None:
    page = hostile.page("/article", id="words")
    assert len(page) < 250_000
    assert "more characters are left out" in page
    for path, query in (("/", {}), ("/search", {"id": "words"}), ("/story", {"id": "words"})):
        assert len(hostile.page(path, **query)) < 60_000


@pytest.mark.long("dedup", "migrations")
def test_long_texts_are_compared_in_time(hostile: Browser) -> None:
    began = time.monotonic()
    page = hostile.page("/compare", a="words", b="a word")
    assert time.monotonic() - began < 10
    assert len(page) < 300_000


@pytest.mark.long("dedup", "migrations")
def test_an_id_of_any_kind_can_be_asked_for(hostile: Browser) -> None:
    words = Document(hostile.page("/article", id=LONG_ID)).words
    assert "http://example.org/a?b=c&d=e#<script>alert(1)</script>éé" in words


ODD = ("a\0b", "\n", "é\u202e", "x" * 2_000, "'; DROP TABLE dedup.article; --", "9" * 30, "2026-02-30")


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("place", PLACES, ids=lambda place: str(place.path))
def test_no_query_makes_a_page_fail(hostile: Browser, place: Position) -> None:
    for name in place.fields:
        for value in ODD if place.path != "/compare" else ODD[:3]:
            given = {"a": "words", "b": "a word", "copier": "x", "original": "y", "id": "words"}
            given |= {"first": "2026-03-10", "last": "2026-03-12", "hash": "1"}
            query = {key: given.get(key, "") for key in place.fields} | {name: value}
            reply = hostile.get(place.path, None, **query)
            assert reply.status in (200, 400, 404), (name, value)


@pytest.mark.long("dedup", "migrations")
def test_no_pasted_text_makes_the_answer_fail(hostile: Browser) -> None:
    page = hostile.page("/new")
    for value in (*ODD, SCRIPT, CONTROLS, "\ud7ff\ue000\U0010ffff"):
        for fields in ({"text": value, "title": ""}, {"text": "text", "title": value}):
            assert hostile.send(page, "/new", **fields).status in (200, 400), (value, fields)


@pytest.mark.long("dedup", "migrations")
def test_no_form_makes_judging_fail(hostile: Browser) -> None:
    _, hidden = form_of(hostile.page("/compare", a="words", b="a word"), "/judge")
    for value in ODD:
        for name in ("a", "b", "by", "reason", "say", "back"):
            given = {"a": "words", "b": "a word", "by": "Eve", "reason": "", "say": "unsure", **hidden}
            assert hostile.post("/judge", given | {name: value}).status in (303, 400, 404), (name, value)
        assert hostile.post("/judge/undo", {**hidden, "a": value, "b": "words"}).status in (303, 400, 404)
        for fields in ({"hash": value, "say": "never"}, {"hash": "1", "say": value}):
            given = {"form": hidden["form"], **fields}
            assert hostile.post("/sentences", given).status in (303, 400, 404), fields
