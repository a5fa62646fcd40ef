"""Answers as HTML in a notebook: tables are complete, and no part of a text becomes markup."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from dedup import Deduplicator
from dedup.base import plugins
from dedup.base.answer import Answer, Answers, Rows
from dedup.base.verdict import Copy, Match, Verdict
from dedup.db.database import Database
from dedup.extras.frames import notebook
from dedup.settling.backfill import backfill
from dedup.store.stories import Story, StoryArticle, StorySummary
from tests.corpora import article, load, window

HOSTILE = "<script>alert(1)</script><img src=x onerror='x'>&amp;\"\u202e\x00\n" + "x" * 5_000
ALLOWED = {"div", "p", "b", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "mark"}


class ShownPage(HTMLParser):
    """A page: its tags, its attributes and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes |= {*attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(answer: object) -> ShownPage:
    assert isinstance(answer, Answer | Answers | Rows)
    page = answer._repr_html_()
    assert page is not None
    found = ShownPage(page)
    assert found.open == []
    assert {*found.tags} <= ALLOWED
    assert found.attributes <= {("dir", "auto"), ("style", "text-align: start")}
    assert not {"\u202e", "\x00"} & {*page}
    return found


def test_texts_of_strangers_are_no_markup() -> None:
    time = datetime(2026, 3, 12, 6, 10, tzinfo=UTC)
    original = StoryArticle(HOSTILE, HOSTILE, HOSTILE, time, "unique", False, None, HOSTILE)
    summary = StorySummary(HOSTILE, HOSTILE, HOSTILE, 1, (HOSTILE,), time, time)
    verdict = Verdict(
        HOSTILE, "duplicate", HOSTILE, 1.0, HOSTILE, copies=(Copy(HOSTILE, "content", 1.0),), copy_count=1
    )
    verdict = replace(verdict, matches=(Match(HOSTILE, "duplicate", "content", 1.0, 1.0, 1.0, 1.0),))
    answers = [Story(original, (original,), HOSTILE, HOSTILE), verdict, summary, Answers([summary, summary])]
    for answer in answers:
        page = shown(answer)
        assert "<script>alert(1)</script><img src=x onerror='x'>&amp;\"\ufffd\ufffd x" in page.text
        assert "x" * 700 not in page.text


def test_long_lists_are_cut() -> None:
    found = shown(Answers([Copy(f"a{n}", "content", 1.0) for n in range(notebook.ROWS_SHOWN + 5)]))
    assert found.tags.count("tr") == notebook.ROWS_SHOWN + 1
    assert found.text.endswith("5 more")
    assert shown(Answers([])).text == "none"


def test_a_corpus_is_shown(database: Database) -> None:
    load(
        database,
        article("a", window(0, 6), 1, publication="Wire", title="A <b>"),
        article("c", window(1, 6), 60, publication="Herald"),
    )
    backfill(database, workers=0)
    with Deduplicator(database.url) as dd:
        assert {"a", "Wire", "A <b>", "Herald"} <= {*_cells(dd.stories())}
        assert {"a", "c", "Wire", "Herald", "duplicate"} <= {*_cells(dd.story("a"))}
        explained = dd.explain("a", "c")
        page = shown(explained)
        assert explained.decision in page.text
        assert explained.shared
        assert all(sentence in page.text for sentence in explained.shared)
        assert page.tags.count("mark") > 0
        verdict = dd.lookup("Words of nobody. " * 30)
        assert str(verdict) in shown(verdict).text
        assert {"c", "duplicate", "a"} <= {*_cells(dd.marks())}
        assert {"c", "a", "sentences"} <= {*_cells(dd.matches())}
        assert shown(dd.removable()).text == "none"
        for answer in (dd.status(), dd.verify(), dd.preview(), dd.runs(), dd.origins()):
            assert shown(answer).text
        dd.pins.set("a", "c", "duplicate")
        lists: list[object] = [
            *(dd.newest(2), dd.pins.list(), dd.attachments.list(), dd.loads.list(), dd.loads.feeds()),
            *(dd.common_sentences.list(), dd.credits.agencies(), dd.corrections.phrases()),
            *(dd.credits.publications(), dd.outlets.counted(), dd.outlets.stated()),
        ]
        for listed in lists:
            assert shown(listed).text
        assert {"a", "A <b>"} <= {*_cells(lists[0])}
        assert {"a", "c", "duplicate"} <= {*_cells(lists[1])}


def test_rows_are_shown_without_reading_all_of_them() -> None:
    read: list[int] = []
    closed: list[bool] = []

    def rows() -> Generator[dict[str, object], None, None]:
        try:
            for number in range(10**9):
                read.append(number)
                yield {"id": HOSTILE, "number": number}
        finally:
            closed.append(True)

    found = Rows(rows)
    page = shown(found)
    assert page.tags.count("tr") == notebook.ROWS_SHOWN + 1
    assert page.text.endswith("and more")
    assert (len(read), closed) == (notebook.ROWS_SHOWN + 1, [True])
    assert "list(" in repr(found)
    assert len(read) == notebook.ROWS_SHOWN + 1


def _cells(answer: object) -> list[str]:
    assert isinstance(answer, Answer | Answers | Rows)
    found: list[str] = []

    class Cells(ShownPage):
        def handle_data(self, data: str) -> None:
            found.append(data)

    Cells(answer._repr_html_() or "")
    return found


def test_without_the_extra_a_notebook_shows_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "loaded", lambda group, name: None)
    assert Verdict("a", "unique", None, None, None)._repr_html_() is None
    assert Answers([1])._repr_html_() is None
    assert Answers([1]) == [1]
