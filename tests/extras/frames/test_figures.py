"""`frames.figures`: the numbers equal counts of the rows, and charts show the numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from dedup import frames
from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.db.database import Database
from dedup.extras.frames import columns, figures
from dedup.settling import sentences
from dedup.settling.backfill import backfill
from tests.corpora import article, load, window


@pytest.fixture(autouse=True)
def drawing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    yield
    if plt := sys.modules.get("matplotlib.pyplot"):
        plt.close("all")


@pytest.fixture
def newsroom(database: Database) -> Database:
    """A corpus: `a` with copies in two outlets (one name contains dollars), and an unrelated `u`."""
    load(
        database,
        article("a", window(0, 6), 1, publication="Wire", title="A"),
        article("c1", window(0, 6), 60, publication="$a_{b$"),
        article("c2", window(1, 6), 120, publication="Courier"),
        article("u", window(20, 6, ring=100), None, publication="Wire"),
    )
    backfill(database, workers=0)
    sentences.keep(database)
    return database


PANEL = pd.DataFrame(
    {
        "month": [pd.Timestamp("2026-01-01"), pd.Timestamp("2026-02-01"), pd.NaT],
        "outlet": ["Wire", "Wire", "Wire"],
        "articles": [3, 4, 1],
        "diversity": [1.5, 2.0, None],
    }
)


TABLES = ("marks", "stories", "duplicates", "additions", "credits")


def every(
    marks: pa.Table, stories: pa.Table, duplicates: pa.Table, additions: pa.Table, credits: pa.Table
) -> list[figures.CorpusFigures]:
    return [
        figures.status(marks),
        figures.over_time(marks),
        figures.copying(duplicates),
        figures.delays(duplicates),
        figures.began(marks, stories),
        figures.originals(credits),
        figures.added(additions),
        figures.diversity(PANEL if len(marks) else PANEL[:0]),
    ]


def lengths(ax: Any) -> list[float]:
    return [round(bar.get_width(), 1) for bar in ax.patches]


@pytest.mark.long("dedup", "migrations")
def test_numbers_and_charts_of_a_corpus(newsroom: Database) -> None:
    tables = [getattr(frames, name)(newsroom.url) for name in TABLES]
    status, over_time, copying, delays, began, originals, added, diversity = made = every(*tables)
    assert status.table["articles"].to_dict() == {"unique": 2, "duplicate": 2}
    assert over_time.table.to_numpy().tolist() == [[1, 2]]
    assert copying.table.stack().to_dict() == {("$a_{b$", "Wire"): 1, ("Courier", "Wire"): 1}
    assert sorted(delays.table["hours"].round(2)) == [0.98, 1.98]
    assert began.table.iloc[:, 0].to_dict() == {"Wire": 100}
    assert originals.table.loc["Wire"].to_dict() == {"articles": 2, "known": 100, "unknown": 0}
    assert originals.table.loc["Courier", "known"] == 0
    assert added.table.loc["$a_{b$"].to_dict() == {"copies": 1, "nothing": 100, "fifth": 0}
    assert diversity.table["Wire"].tolist() == [1.5, 2.0]
    for figure in made:
        ax = figure.plot()
        ax.figure.canvas.draw()
        assert ax.get_title() == figure.title
        assert "<table" in (figure._repr_html_() or "")
    assert lengths(status.plot()) == [2, 2]
    assert [text.get_text() for text in added.plot().get_yticklabels()].count("$a_{b$") == 1


def test_a_wrong_table_is_an_error_that_names_the_right_one() -> None:
    marks, stories, duplicates, panel = (
        pa.table({"status": ["unique"]}),
        pd.DataFrame({"source_id": ["a"]}),
        pa.table({}),
        PANEL[["month"]],
    )
    calls: dict[Callable[[], object], str] = {
        lambda: figures.over_time(marks): "no column published_at: give the table of frames.marks()",
        lambda: figures.began(marks, stories): "no column copies: give the table of frames.stories()",
        lambda: figures.delays(duplicates): "no column delay_seconds: give the table of frames.duplicates()",
        lambda: figures.added(marks): "no column publication, .*: give the table of frames.additions()",
        lambda: figures.diversity(panel): "outlet, articles, diversity: give the table of frames.panel()",
    }
    for wrong in ({"status": ["unique"]}, pd.Series(["unique"]), marks.to_pylist(), None):
        message = f"marks must be the table of frames.marks(), not {type(wrong).__name__}"
        calls[partial(figures.status, wrong)] = message
    for call, message in calls.items():
        with pytest.raises(InputError, match=message.replace("()", r"\(\)")):
            call()


def test_charts_name_their_axes_and_cut_long_names() -> None:
    long = "Gazette of the United Provinces and of the Overseas Territories"
    copied = pa.table({"publication": [long], "original_publication": ["Wire\n"], "delay_seconds": [60.0]})
    copying = figures.copying(copied)
    assert copying.table.index.tolist() == [long]
    ax = copying.plot()
    assert [text.get_text() for text in ax.get_yticklabels()] == ["Gazette of the United Provinc…"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["Wire"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("first outlet", "outlet with the copies")
    ax = figures.diversity(pa.Table.from_pandas(PANEL)).plot()
    assert ax.get_xlabel() == "month"
    assert ax.get_ylabel().startswith("effective number of origins")


def test_tables_may_be_dataframes(newsroom: Database) -> None:
    tables = [getattr(frames, name)(newsroom.url) for name in TABLES]
    frames_of_pandas = [table.to_pandas() for table in tables]
    for made, again in zip(every(*tables), every(*frames_of_pandas), strict=True):
        assert made.table.equals(again.table)
    assert figures.diversity(frames.panel(newsroom.url)).table.columns.tolist() == [
        "$a_{b$",
        "Courier",
        "Wire",
    ]


@pytest.mark.long("dedup", "migrations")
def test_an_empty_corpus_gives_empty_charts() -> None:
    schemas = [*columns.SCHEMAS.items(), *columns.SUMMARIES.items()]
    empty = {name: schema.empty_table() for name, schema in schemas}
    tables = [empty[name] for name in TABLES]
    for figure in every(*tables):
        ax = figure.plot()
        ax.figure.canvas.draw()
        assert (len(figure.table), ax.get_title(), [*ax.patches]) == (0, figure.title, [])


def test_a_chart_is_drawn_into_the_axes_of_a_program() -> None:
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2)
    figure = figures.status(pa.table({"status": ["unique", "unique"]}))
    assert figure.plot(right) is right
    assert (len(left.patches), len(right.patches)) == (0, 1)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    figure = figures.status(pa.table({"status": ["unique"]}))
    for package in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError) as caught:
        figure.plot()
    assert str(caught.value).endswith(f": run `{installing('notebook')}`")
