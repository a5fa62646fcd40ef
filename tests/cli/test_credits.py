"""`dedup credits`, `dedup agencies`, and credits in the output of other commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dedup import Article, Deduplicator
from dedup.cli import main
from dedup.db.database import Database

BODY = "The ferry to the islands ran ten minutes late on Monday, and nobody at the pier knew why. " * 3


@pytest.fixture
def corpus(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deduplicator]:
    monkeypatch.setenv("DEDUP_DATABASE_URL", database.url)
    monkeypatch.setenv("COLUMNS", "160")
    with Deduplicator(database.url) as dd:
        dd.load(
            [
                Article("w", "BRIG (AP) - " + BODY, title="Late", publication="Wire", byline="Ada Roe"),
                Article("c", BODY, title="Late again", publication="Courier"),
            ]
        )
        dd.backfill()
        yield dd


def test_articles_of_an_agency_are_agency_copy_and_its_own(corpus: Deduplicator) -> None:
    corpus.load(
        [Article("a", "BRIG (AP) - " + "The mayor opened a new library on Sunday. " * 5, publication="AP")]
    )
    corpus.backfill()
    found = {one.publication: one for one in corpus.credits.publications()}["AP"]
    assert (found.articles, found.credited, found.agency_copy, found.share, found.own) == (1, 1, 1, 1.0, 1)


def test_the_share_of_agency_copy_is_shown(corpus: Deduplicator, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["credits"]) == 0
    shown = capsys.readouterr().out
    assert "Courier" in shown
    assert "100.0%" in shown
    assert main.run(["credits", "--json"]) == 0
    assert [one["agency_copy"] for one in json.loads(capsys.readouterr().out)] == [1, 1]


def test_publications_with_the_most_agency_copy_come_first(
    corpus: Deduplicator, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus.load([Article(f"own {n}", "No wire is here.", publication="Mercury") for n in range(5)])
    corpus.backfill()
    assert main.run(["credits", "--limit", "2"]) == 0
    told = capsys.readouterr()
    assert "Courier" in told.out
    assert "Mercury" not in told.out
    assert "1 more publications: give a larger --limit" in told.err


def test_an_article_and_a_story_show_their_credit(
    corpus: Deduplicator, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["show", "w"]) == 0
    shown = capsys.readouterr().out
    assert "Ada Roe" in shown
    assert "credit: AP (dateline)" in shown
    assert main.run(["show", "w", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["credits"] == [
        {"agency": "AP", "place": "dateline", "kind": "text"}
    ]
    assert main.run(["stories", "--json"]) == 0
    assert [story["credits"] for story in json.loads(capsys.readouterr().out)] == [{"AP": 1}]
    assert main.run(["stories"]) == 0
    assert "credit" in capsys.readouterr().out


def test_the_list_is_shown_and_changed(corpus: Deduplicator, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert main.run(["agencies", "Vantage Wire", "--spelling", "Vantage", "--place", "dateline"]) == 0
        assert "next: dedup backfill" in capsys.readouterr().err
        assert main.run(["agencies", "--json"]) == 0
        listed = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
        assert (listed["AP"]["articles"], listed["Vantage Wire"]["spellings"]) == (1, ["Vantage"])
        assert main.run(["agencies"]) == 0
        assert "Vantage Wire" in capsys.readouterr().out
    finally:
        assert main.run(["agencies", "Vantage Wire", "--remove"]) == 0
    assert main.run(["agencies", "Vantage Wire", "--remove"]) == 2
    assert "`dedup agencies` lists them" in capsys.readouterr().err
    assert main.run(["agencies", "--remove"]) == 2


@pytest.mark.extra("frames")
def test_marks_as_a_table_and_views_show_the_byline(corpus: Deduplicator, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from dedup import frames

    assert frames.marks(corpus).column("byline").to_pylist() == [None, "Ada Roe"]
