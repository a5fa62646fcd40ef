"""The examples for analysts, SQL of dashboards and a notebook, run on the demonstration."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import psycopg
import pytest

import dedup.cli.newsroom
from dedup import Article, Deduplicator
from dedup.db.database import URL_VARIABLE
from tests.conftest import Server

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
QUERIES = sorted((EXAMPLES / "dashboards").glob("*.sql"))
NOTEBOOK = EXAMPLES / "notebook" / "stories.ipynb"
PAGE = (EXAMPLES.parent / "analyst.md").read_text("utf-8")

SECONDS = {"h": 3_600, "d": 86_400}


@pytest.fixture(scope="module")
def newsroom(server: Server) -> Iterator[str]:
    """Yield the address of a settled corpus with the demonstration, which tests only read."""
    url = server.create("dedup_dashboards")
    Deduplicator.initialize(url)
    with Deduplicator(url) as dd:
        dd.load(Path(dedup.cli.newsroom.__file__).parent / "newsroom.jsonl")
        dd.backfill(workers=0)
        dd.keep_sentences()
    yield url
    server.drop("dedup_dashboards")


@pytest.fixture
def empty(server: Server) -> Iterator[str]:
    url = server.create("dedup_empty")
    Deduplicator.initialize(url)
    yield url
    server.drop("dedup_empty")


def expanded(query: str) -> str:
    """Return a query as Grafana sends it: https://grafana.com/docs/grafana/latest/datasources/postgres/."""
    query = re.sub(
        r"\$__timeFilter\((\w+)\)", r"\1 BETWEEN '2026-03-01T00:00:00Z' AND '2026-04-01T00:00:00Z'", query
    )

    def group(found: re.Match[str]) -> str:
        seconds = int(found[2]) * SECONDS[found[3]]
        return f'floor(extract(epoch from {found[1]})/{seconds})*{seconds} AS "time"'

    query = re.sub(r"\$__timeGroupAlias\((\w+), ?'(\d+)([hd])'\)", group, query)
    assert "$" not in query
    return query


def asked(url: str, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    with psycopg.connect(url) as connection:
        connection.read_only = True
        cursor = connection.execute(query.encode())
        return [column.name for column in cursor.description or ()], cursor.fetchall()


def test_the_examples_were_found_and_the_page_names_them() -> None:
    assert len(QUERIES) == 7
    for path in (*QUERIES, NOTEBOOK):
        assert f"(examples/{path.parent.name}/{path.name})" in PAGE


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.name)
def test_a_dashboard_can_ask_it(newsroom: str, path: Path) -> None:
    query = path.read_text("utf-8")
    grafana = path.name.startswith("grafana_")
    assert query.startswith("-- Grafana: " if grafana else "-- Superset, Metabase: ")
    assert ("$__timeFilter" in query) == (grafana and "unsettled" not in path.name)
    names, rows = asked(newsroom, expanded(query))
    assert rows
    assert all(value is not None for value in rows[0])
    # Run the statement as Superset and Metabase send it, too.
    asked(newsroom, f"SELECT * FROM (\n{expanded(query)}\n) AS dataset LIMIT 5")
    if "$__timeGroupAlias" in query:
        assert names[0] == "time"
        assert [row[0] for row in rows] == sorted(row[0] for row in rows)


def test_the_queries_agree_with_the_marks(newsroom: str) -> None:
    def rows(name: str) -> list[tuple[Any, ...]]:
        return asked(newsroom, expanded((EXAMPLES / "dashboards" / name).read_text("utf-8")))[1]

    with Deduplicator(newsroom) as dd:
        status = [mark["status"] for mark in dd.marks()]
        largest = dd.stories(1)[0]
    hours = rows("grafana_marks.sql")
    assert (
        sum(row[2] for row in hours) == sum(row[3] for row in rows("days.sql")) == status.count("duplicate")
    )
    assert rows("stories.sql")[0][3] == rows("grafana_stories.sql")[0][3] == largest.copies
    assert rows("grafana_unsettled.sql") == [(0, 0, status.count("failed"))]


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; return the value of its last line."""
    *body, last = ast.parse(source).body
    shown = last if isinstance(last, ast.Expr) else None
    exec(compile(ast.Module(body if shown else [*body, last], []), "<cell>", "exec"), names)
    return eval(compile(ast.Expression(shown.value), "<cell>", "eval"), names) if shown else None


@pytest.fixture
def charts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list to which each drawn chart adds its title; charts are drawn completely."""
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    import matplotlib.pyplot as plt

    titles: list[str] = []

    def show() -> None:
        for number in plt.get_fignums():
            figure = plt.figure(number)
            figure.savefig(tmp_path / f"{len(titles)}.png")
            titles.append(figure.axes[0].get_title())
        plt.close("all")

    monkeypatch.setattr(plt, "show", show)
    return titles


def run_notebook() -> tuple[list[Any], dict[str, Any]]:
    """Run the notebook; return the output of each cell, and the variables as they are at the end."""
    found = json.loads(NOTEBOOK.read_text("utf-8"))
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    cells = found["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert not [cell for cell in code if cell["outputs"] or cell["execution_count"]], (
        "the notebook must be stored without output"
    )
    names: dict[str, Any] = {}
    return [run_cell("".join(cell["source"]), names) for cell in code], names


CHARTS = [
    "Articles by status",
    "Articles over time",
    "Who copies whom",
    "Delay of copies",
    "Who began the stories that others took up",
    "Original reporting",
    "Copies that add nothing to their original",
    "Diversity of origins",
]


@pytest.mark.long("dedup", "migrations", "docs/examples")
@pytest.mark.extra("frames")
def test_the_notebook_runs_from_top_to_bottom(
    newsroom: str, charts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL_VARIABLE, newsroom)
    (counts, _, *shown, _), names = run_notebook()
    assert counts[2] == 82
    assert charts == CHARTS
    for found in shown:
        assert found._repr_html_()
        table = getattr(found, "table", found)
        assert not isinstance(table, pd.DataFrame) or len(table)
    assert names["days"]["copies"].sum() == counts[1]
    assert names["printed"]["copies"].sum() == counts[1]
    assert names["by_time"].table.to_numpy().sum() <= 82
    assert names["by_time"].table.index.freqstr == "D"


@pytest.mark.extra("frames")
def test_the_notebook_runs_on_an_empty_corpus(
    empty: str, charts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(URL_VARIABLE, empty)
    (counts, *_), _ = run_notebook()
    assert counts == (0, 0, 0)
    assert charts == CHARTS


@pytest.mark.long("dedup", "migrations", "docs/examples")
@pytest.mark.extra("frames")
def test_the_notebook_runs_on_a_corpus_of_another_schema(
    empty: str, charts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The corpus has one outlet with a name like a formula, hardly any dates, and one wrong date."""
    text = "The council of the harbour town votes for ferries by night. They sail from May on. " * 3
    articles = [Article(f"a{n}", text=text) for n in range(3)]
    articles.append(Article("b", text=text, publication="$a_{b$", published_at="1700-01-01"))
    articles.append(Article("c", text="A short one.", publication="$a_{b$", published_at="2026-03-01"))
    monkeypatch.setenv(URL_VARIABLE, empty)
    monkeypatch.setenv("DEDUP_SCHEMA", "wires")
    Deduplicator.initialize(empty)
    with Deduplicator(empty) as dd:
        dd.load(articles)
        dd.backfill(workers=0)
    (counts, *_), names = run_notebook()
    assert counts == (2, 3, 5)
    assert charts == CHARTS
    assert names["by_time"].table.to_numpy().sum() <= 5
