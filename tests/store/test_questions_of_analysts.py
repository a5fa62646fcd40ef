"""The queries of docs/analyst.md, one for each question, run on the articles of the demonstration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dedup import Article, Deduplicator
from dedup.cli.newsroom import newsroom
from dedup.store.pins import key
from tests.conftest import Server

pytestmark = pytest.mark.extra("judging")

PAGE = (Path(__file__).parents[2] / "docs" / "analyst.md").read_text("utf-8")
BLOCK = next(block for block in re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL) if "-- 1." in block)
QUERIES = [query.strip() for query in BLOCK.split(";") if query.strip()]
STORM, UPDATE = "vantage-0312-storm", "vantage-0312-storm-update"

Row = dict[str, Any]


@pytest.fixture(scope="module")
def corpus(server: Server) -> Iterator[Deduplicator]:
    """Yield the settled demonstration, with an agency, stored sentences and one judged pair."""
    url = server.create("dedup_analyst")
    Deduplicator.initialize(url)
    known = ("source_id", "text", "title", "url", "publication", "published_at", "language")
    with psycopg.connect(url) as owner:
        owner.execute("INSERT INTO dedup.agency (name, spellings) VALUES ('Vantage', '{Vantage}')")
    with Deduplicator(url) as dd:
        dd.load(Article(**{name: item[name] for name in known if name in item}) for item in newsroom())
        dd.backfill(workers=0)
        dd.keep_sentences()
        dd.judgements.record(key(STORM, UPDATE), "ann", "duplicate", None)
        yield dd


def asked(corpus: Deduplicator, number: int) -> list[Row]:
    """Run the query for a question and return its rows."""
    (query,) = (query for query in QUERIES if query.startswith(f"-- {number}."))
    with corpus._database.transaction() as cursor:
        rows = cursor.execute(query.encode()).fetchall()
        return [dict(zip([c.name for c in cursor.description or ()], row, strict=True)) for row in rows]


def test_each_question_is_one_query_of_at_most_ten_lines() -> None:
    assert [query.partition(".")[0] for query in QUERIES] == [f"-- {n}" for n in range(1, 17)]
    assert [
        query for query in QUERIES if len(query.splitlines()) > 11
    ] == []  # the first line is the question


@pytest.mark.long("dedup", "migrations", "docs/analyst.md")
def test_who_reprints_whom(corpus: Deduplicator) -> None:
    rows = asked(corpus, 1)
    assert rows[0]["copies"] > 0
    assert any(row["agency_copies"] > 0 for row in rows)
    assert all(row["outlet"] != row["original_outlet"] for row in rows)
    agency = agency_copies(corpus)
    assert sum(row["copies"] for row in rows) == agency.count(False)
    assert sum(row["agency_copies"] for row in rows) == agency.count(True)


def test_how_fast(corpus: Deduplicator) -> None:
    rows = asked(corpus, 2)
    assert rows == sorted(rows, key=lambda row: row["half_within"])
    assert any(row["percent_in_an_hour"] > 0 for row in rows)
    assert sum(row["copies"] for row in rows) == agency_copies(corpus).count(False)


def agency_copies(corpus: Deduplicator) -> list[bool]:
    """Return a flag for each copy of another outlet's article: whether the text comes from an agency."""
    outlet = {item["source_id"]: item["publication"] for item in newsroom()}
    return [
        corpus.origins([mark["duplicate_of"]]).origins[0].kind == "agency"
        for mark in corpus.marks(status="duplicate")
        if mark["duplicate_of"] and outlet[mark["id"]] != outlet[mark["duplicate_of"]]
    ]


def test_the_share_of_agency_copy(corpus: Deduplicator) -> None:
    share = {row["publication"]: row["percent"] for row in asked(corpus, 3)}
    assert share["Newsbasket"] > 0
    assert len(set(share.values())) > 1


def test_how_a_story_was_altered(corpus: Deduplicator) -> None:
    rows = asked(corpus, 4)
    assert {row["version"] for row in rows} == {2}
    assert {row["kind"] for row in rows} >= {"added", "removed"}
    assert any("all but 9,000 customers" in (row["later"] or "") for row in rows)


def test_original_reporting_of_each_outlet(corpus: Deduplicator) -> None:
    rows = asked(corpus, 5)
    assert rows[0]["original_percent"] >= 80
    assert rows[-1]["original_percent"] < 50


def test_all_versions_of_a_text(corpus: Deduplicator) -> None:
    assert [(row["version"], row["source_id"]) for row in asked(corpus, 6)] == [(1, STORM), (2, UPDATE)]


def test_the_trend_by_week(corpus: Deduplicator) -> None:
    assert sum(row["articles"] for row in asked(corpus, 7)) == len(newsroom())


def test_boilerplate(corpus: Deduplicator) -> None:
    rows = asked(corpus, 8)
    assert rows
    assert all(row["example"] and row["articles"] > 10 for row in rows)


def test_quotes(corpus: Deduplicator) -> None:
    rows = asked(corpus, 9)
    assert rows
    assert all(re.search('["“”«»]', row["words"]) and row["outlets"] >= 3 for row in rows)


def test_how_sure_it_is(corpus: Deduplicator) -> None:
    rows = {row["reason"]: row for row in asked(corpus, 10)}
    assert sum(row["duplicates"] for row in rows.values()) > 20
    assert (rows["sentences"]["judged"], rows["sentences"]["found_right"]) == (1, 1)


def test_the_share_of_new_articles_by_day(corpus: Deduplicator) -> None:
    rows = asked(corpus, 11)
    assert rows == sorted(rows, key=lambda row: row["day"], reverse=True)
    assert all(0 <= row["new_percent"] <= 100 for row in rows)
    duplicates = sum(1 for row in corpus.marks(status="duplicate"))
    assert sum(round(row["articles"] * (100 - float(row["new_percent"])) / 100) for row in rows) == duplicates


def test_excerpts(corpus: Deduplicator) -> None:
    rows = asked(corpus, 12)
    assert "sentences" in {row["rule"] for row in rows}
    found = {frozenset((row["source_id"], row["other_source_id"])) for row in rows}
    similar = [row for row in corpus.matches() if row["relation"] == "similar"]
    assert found == {frozenset((row["a"], row["b"])) for row in similar if (row["containment"] or 0) >= 0.7}


def test_duplicates_that_only_the_signature_found(corpus: Deduplicator) -> None:
    found = {row["source_id"] for row in asked(corpus, 13)}
    assert found == {
        row["id"] for row in corpus.marks() if row["reason"] == "signature" and row["duplicate_of"]
    }


def test_independent_origins_of_a_week(corpus: Deduplicator) -> None:
    rows = asked(corpus, 14)
    kinds = {row["kind"] for row in rows}
    assert {"agency", "outlet"} <= kinds
    (vantage,) = (row for row in rows if row["name"] == "Vantage")
    assert vantage["articles"] > vantage["stories"] > 1
    assert sum(row["articles"] for row in rows) <= len(newsroom())


def test_what_copies_add(corpus: Deduplicator) -> None:
    rows = asked(corpus, 15)
    assert sum(row["nothing_added"] for row in rows) > 0
    assert sum(row["numbers"] for row in rows) > 0
    assert all(row["nothing_added"] + row["a_fifth_new"] <= row["copies"] for row in rows)


def test_the_panel_of_a_year(corpus: Deduplicator) -> None:
    rows = asked(corpus, 16)
    assert sum(row["articles"] for row in rows) == len(newsroom())
    assert {str(row["month"]) for row in rows} == {"2026-03-01"}
    assert all(row["diversity"] >= 1 for row in rows)
    assert any(row["diversity"] > 1 and row["agency"] > 0 for row in rows)
