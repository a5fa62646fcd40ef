"""Spark and Postgres give real news equal marks, and results go in both directions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dedup.base.article import ARTICLE_FIELDS, Article
from dedup.db.database import Database
from dedup.extras.spark.postgres import importing as cluster_import
from dedup.files.readers import read_articles
from dedup.settling.backfill import backfill
from tests.conftest import empty
from tests.corpora import answer, assert_equal, change_settings, deduplicator, load
from tests.extras.spark.corpora import answer as answer_of
from tests.extras.spark.results import SETTINGS, fill, news
from tests.extras.spark.test_cluster_import import assert_idle

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3_600)]

SETS = (
    *("bbc2225", "fakenews_es", "fakenewsnet2017", "gnad_de", "guardian_capi", "horne2017", "masakhanews"),
    *("mccormick_minhash_2500", "reuters21578", "reuters_c50", "reuters_web_2006_2010", "scoop_gt"),
    *("us_outlets_a", "wiki_versions"),
)

ADDED = datetime(2026, 11, 1, tzinfo=UTC)


def write(path: Path, articles: Iterable[Article]) -> Path:
    """Write a Parquet file of articles, in row groups that several tasks can read."""
    rows = list(articles)
    schema = pa.schema(
        [
            (name, pa.timestamp("us", "UTC") if name.endswith("_at") else pa.string())
            for name in ARTICLE_FIELDS
        ]
    )
    columns = {name: [getattr(article, name) for article in rows] for name in ARTICLE_FIELDS}
    pq.write_table(pa.table(columns, schema), path, row_group_size=2_000)
    return path


def dated(articles: Iterable[Article]) -> list[Article]:
    """Return articles with fixed `added_at`; otherwise two programs would store different times."""
    return [replace(article, added_at=ADDED + timedelta(seconds=i)) for i, article in enumerate(articles)]


@pytest.mark.parametrize("name", SETS)
def test_real_news_has_the_marks_of_the_engine_in_postgres(
    spark: Any, database: Database, shared_data: Path, tmp_path: Path, name: str
) -> None:
    from dedup.extras.spark.reading import read_table
    from dedup.spark import deduplicate

    with read_articles(shared_data / f"{name}.jsonl.gz") as reader:
        given = dated(item for item in reader if isinstance(item, Article))
    with deduplicator(database) as door:
        door.load(given)
    backfill(database, workers=1)
    df = read_table(spark, str(write(tmp_path / "articles.parquet", given)))
    result = deduplicate(df, work=str(tmp_path / "work"))
    found, wanted = answer_of(result).answer, answer(database)
    assert len(found.marks) == len(given)
    assert_equal(found, wanted)


def test_from_postgres_to_spark_and_back(spark: Any, database: Database, tmp_path: Path) -> None:
    """10,000 settled articles are exported, and Spark compares 5,000 new articles with them."""
    from dedup.extras.spark.options import CorpusState
    from dedup.extras.spark.reading import read_table
    from dedup.spark import deduplicate

    old, new = dated(news(10_000)), dated(news(5_000, seed=2, start=50_000))
    fill(database, old)
    backfill(database, workers=1)
    with deduplicator(database) as door:
        assert door.export_corpus(tmp_path / "known").left_out == 0
    load(database, *new)
    corpus = CorpusState.read(spark, str(tmp_path / "known"))
    assert corpus.known is not None
    result = deduplicate(
        read_table(spark, str(write(tmp_path / "new.parquet", new))),
        work=str(tmp_path / "work"),
        settings=corpus.settings,
        pins=corpus.pins,
        known=corpus.known,
        models=corpus.models,
        horizon=corpus.horizon,
    )
    result.write(str(tmp_path / "result"))
    report = cluster_import.run(database, tmp_path / "result")
    assert (report.articles, report.left, report.problems) == (15_000, 0, [])
    assert 4_000 < report.fingerprints <= 5_000
    with deduplicator(database) as door:
        checked = door.verify()
        assert (checked.differences, checked.skipped) == ([], [])
        assert_idle(database)
        found = answer(database)
        last = dated(news(20, seed=3, start=90_000))
        for article in last:
            assert door.submit(article).status != "pending"
    backfill(database, workers=1)
    with_hook = answer(database)
    # The engine in Postgres settles all articles again, from the beginning.
    empty(database)
    change_settings(database, common_stories=SETTINGS.common_stories)
    load(database, *old, *new)
    backfill(database, workers=1)
    assert_equal(answer(database), found)
    load(database, *last)
    backfill(database, workers=1)
    assert_equal(answer(database), with_hook)
