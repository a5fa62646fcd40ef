"""The CSV and JSON of pages have all rows of the page, and are safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from dedup import Article, Deduplicator
from dedup.extras.browse import app, tables
from dedup.extras.browse.asking import go
from dedup.extras.browse.tables import TABLES
from dedup.extras.browse.views import PLACES
from tests.extras.browse.conftest import Browser, Document, Opening, crawl, fill
from tests.extras.serve.conftest import Reply

DAYS = {"first": "2026-03-11", "last": "2026-03-13"}
DAM = "vantage-0311-tarnhollow"


def csv_rows(reply: Reply) -> list[dict[str, str]]:
    assert reply.status == 200, reply.raw
    assert reply.headers["content-type"] == "text/csv; charset=utf-8; header=present"
    text = reply.raw.decode("utf-8-sig")
    assert text.count("\n") == text.count("\r\n")
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def json_rows(reply: Reply) -> list[dict[str, Any]]:
    assert reply.status == 200, reply.raw
    assert reply.headers["content-type"] == "application/json"
    assert set(reply.json) == {"table", "rows", "counted_from", "after"}
    rows: list[dict[str, Any]] = reply.json["rows"]
    return rows


@pytest.fixture(scope="module")
def links(reading: Browser) -> dict[str, str]:
    """Return all links to data, each with the address of its page."""
    found: dict[str, str] = {}
    for address, page in crawl(reading).items():
        found |= {link: address for link in Document(page).links if "format=" in link}
    return found


@pytest.mark.long("dedup", "migrations")
def test_every_table_that_is_offered_is_there_in_both_forms(reading: Browser, links: dict[str, str]) -> None:
    offered: dict[str, set[str]] = {}
    for link in links:
        reply = reading.get(link)
        assert reply.headers["content-disposition"].startswith('attachment; filename="')
        path, _, query = link.partition("?")
        names = dict(pair.split("=") for pair in query.split("&") if "=" in pair)
        offered.setdefault(path, set()).add(names["table"])
        (columns,) = (table.columns for table in TABLES[path] if table.name == names["table"])
        if names["format"] == "csv":
            rows: list[dict[str, Any]] = list(csv_rows(reply))
            assert reply.raw.decode("utf-8-sig").partition("\r\n")[0] == ",".join(columns)
        else:
            rows = json_rows(reply)
        for row in rows:
            assert list(row) == list(columns), link
    # In the newsroom there is no judgement, no failure and no worker, so some tables are not offered.
    missing = {(path, table.name) for path, of in TABLES.items() for table in of} - {
        (path, name) for path, names in offered.items() for name in names
    }
    assert {name for _, name in missing} <= {
        *("beside", "credits", "troubles", "pins", "judgements"),
        *("failed", "limits", "workers", "pinned", "languages"),
    }


@pytest.mark.long("dedup", "migrations", "docs/browse.md")
def test_csv_and_json_have_the_same_rows(reading: Browser) -> None:
    for path, of in TABLES.items():
        query = {"/": DAYS, "/outlets": DAYS}.get(path, {})
        if path in ("/story", "/article", "/coverage", "/sources"):
            query = {"id": DAM}
        if path in ("/compare", "/sentence", "/quote", "/copied", "/outlet"):
            continue
        for table in of:
            given = {**query, "table": table.name}
            first = csv_rows(reading.get(path, None, **given, format="csv"))
            second = json_rows(reading.get(path, None, **given, format="json"))
            assert len(first) == len(second)
            for a, b in zip(first, second, strict=True):
                for name, value in b.items():
                    if value is None or isinstance(value, (str, bool)):
                        plain = "" if value is None else str(value).lower()
                        assert a[name].lower().removeprefix("'") == plain.removeprefix("'"), (path, name)


def test_rows_say_what_the_page_says(reading: Browser) -> None:
    rows = json_rows(reading.get("/story", None, id=DAM, format="json"))
    assert len(rows) == 14
    assert rows[0]["duplicate_of"] == DAM
    assert rows[0]["delay_seconds"] > 0
    assert rows[0]["time"].endswith("+00:00")
    outlets = json_rows(reading.get("/", None, **DAYS, table="outlets", format="json"))
    with Deduplicator(reading.door.dd._database.url) as dd:
        day = dd.browsing.day(*map(date.fromisoformat, DAYS.values()), rows=1_000)
    assert {row["publication"]: row["articles"] for row in outlets} == {
        one.publication: one.marks.articles for one in day.outlets
    }
    periods = json_rows(reading.get("/", None, **DAYS, by="month", table="periods", format="json"))
    assert [(row["period"], row["first_day"], row["articles"]) for row in periods] == [
        ("2026-03", "2026-03-01", day.marks.articles)
    ]


def test_data_knows_names_as_the_page_does(reading: Browser) -> None:
    rows = json_rows(reading.get("/search", None, publication="VANTAGE WIRE", format="json"))
    assert rows
    assert {row["publication"] for row in rows} == {"Vantage Wire"}


@pytest.fixture
def pages(opening: Opening, corpus_url: str, monkeypatch: pytest.MonkeyPatch) -> Browser:
    """Pages over 25 articles; a table is read four articles at a time."""
    fill(corpus_url, list(alone(25)))
    monkeypatch.setattr(tables, "PAGE_ROWS", 4)
    return opening(corpus_url)


def test_all_rows_are_told_part_by_part(pages: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    every = json_rows(pages.get("/search", None, publication="Wire", format="json"))
    assert len({row["source_id"] for row in every}) == 25
    assert len(csv_rows(pages.get("/search", None, publication="Wire", format="csv"))) == 25
    monkeypatch.setattr(app, "MOST_ROWS", 10)
    reply = pages.get("/search", None, publication="Wire", format="json")
    first = json_rows(reply)
    assert first == every[:12]
    rest = pages.get("/search", None, publication="Wire", format="json", after=reply.json["after"])
    assert json_rows(rest) == every[12:24]
    assert len(csv_rows(pages.get("/search", None, publication="Wire", format="csv"))) == 12


def test_csv_that_there_is_no_time_for_breaks_off(pages: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "MOST_SECONDS", -1.0)
    reply = pages.get("/search", None, publication="Wire", format="json")
    assert (len(json_rows(reply)), reply.json["after"] is None) == (4, False)
    with pytest.raises(Exception, match="IncompleteRead"):
        pages.get("/search", None, publication="Wire", format="csv")


def alone(count: int) -> Iterator[Article]:
    """Yield articles that are unlike each other."""
    for n in range(count):
        words = " ".join(f"w{n * 100 + place}" for place in range(60))
        yield Article(f"a {n}", words, f"T {n}", publication="Wire", published_at=f"2026-03-11T10:{n:02}Z")


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "＝1", " =1+1", 'plain, "quoted"\nline')


def test_nothing_is_a_formula_in_a_spreadsheet(opening: Opening, corpus_url: str) -> None:
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    text = "".join(
        f"The council voted for night trams on {day} and for repairs within days. " for day in days
    )
    given = [
        Article(f"{words}#{n}", f"{text} {n}", words, publication=words, published_at="2026-03-11")
        for n, words in enumerate(FORMULAS)
    ]
    fill(corpus_url, given)
    pages = opening(corpus_url)
    for path, query in (
        ("/search", {"first": "2026-03-11"}),
        ("/", {"first": "2026-03-11", "table": "outlets"}),
        ("/", {"first": "2026-03-11", "table": "biggest"}),
        ("/story", {"id": given[0].source_id}),
    ):
        rows = csv_rows(pages.get(path, None, **query, format="csv"))
        assert rows
        for row in rows:
            for name, value in row.items():
                number = re.fullmatch(r"-?[0-9.]+(e-?[0-9]+)?", value)
                assert number or not value.lstrip().startswith(tuple("=+-@＝")), (name, value)
                assert "\n" not in value
    exact = json_rows(pages.get("/search", None, first="2026-03-11", format="json"))
    assert {row["title"] for row in exact} == {article.title for article in given}


@pytest.mark.parametrize(
    ("address", "status", "words"),
    [
        (go("/", format="xml"), 400, "there is no format &#39;xml&#39;; there are csv, json"),
        (go("/", table="outlets"), 400, "there is no format"),
        (go("/", table="nothing", format="csv"), 400, "no table &#39;nothing&#39; on this page"),
        (go("/new", format="csv"), 400, "its tables are: none"),
        (go("/story", id="nobody", format="csv"), 404, "nobody"),
        (go("/outlet", format="json"), 400, "name an outlet"),
        (go("/", first="x", format="json"), 400, "write a day like"),
    ],
)
def test_what_there_is_not_is_said(reading: Browser, address: str, status: int, words: str) -> None:
    reply = reading.get(address)
    assert reply.status == status
    assert words.lower() in reply.raw.decode().lower()  # a page begins its message with a capital


def test_data_has_the_headers_that_protect(reading: Browser) -> None:
    reply = reading.get("/", None, **DAYS, format="csv")
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["cache-control"] == "no-store"
    name = 'attachment; filename="today-periods-2026-03-11-2026-03-13.csv"'
    assert reply.headers["content-disposition"] == name
    head = reading.door.ask("HEAD", "/?format=csv")
    assert (head.status, head.raw) == (200, b"")


def test_every_page_with_a_list_has_tables_and_the_page_names_their_columns() -> None:
    assert set(TABLES) == {place.path for place in PLACES} - {"/new"}
    told = (Path(__file__).parents[3] / "docs" / "browse.md").read_text("utf-8")
    rows = re.findall(r"^\| (`/.*?) \| (`.*`) \|$", told, re.MULTILINE)
    shown = {name: columns for names, columns in rows for name in names.split(", ")}
    expected = {
        f"`{path}` `{table.name}`": ", ".join(f"`{name}`" for name in table.columns)
        for path, of in TABLES.items()
        for table in of
    }
    assert shown == expected


def test_the_page_names_all_addresses_and_their_parameters(reading: Browser) -> None:
    told = (Path(__file__).parents[3] / "docs" / "browse.md").read_text("utf-8")
    rows = re.findall(r"^\| `(/\w*)` \| (none|[*`].*?) \| [^`|]+ \|$", told, re.MULTILINE)
    assert {path: tuple(re.findall(r"`(\w+)`", fields)) for path, fields in rows} == {
        place.path: place.fields for place in PLACES
    }
    for path, fields in rows:
        assert (reading.get(path).status == 200) == ("**" not in fields), path
