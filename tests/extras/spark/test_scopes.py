"""Scopes on Spark: each scope has the marks of a separate corpus. Exchange with Postgres keeps scopes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dedup.base.article import Article
from dedup.base.settings import Settings
from dedup.db.database import Database
from dedup.extras.spark.postgres import importing as cluster_import
from dedup.rules.pair import Relation
from dedup.store import pins
from tests.conformance.corpora import CORPORA, Corpus, made
from tests.conformance.test_engines import InMemory
from tests.conformance.test_within import SCOPES, wanted, within
from tests.corpora import (
    Answer,
    answer,
    assert_equal,
    assert_right,
    change_settings,
    deduplicator,
    load,
    sentence_hash,
    settle,
    window,
)
from tests.extras.spark.corpora import answer as answer_of
from tests.extras.spark.corpora import said
from tests.extras.spark.results import SETTINGS, fill, news, result_of
from tests.extras.spark.test_cluster_import import assert_taken_up, take
from tests.extras.spark.test_postgres import write

pytestmark = pytest.mark.timeout(900)

NAMES = ["boilerplate", "chains", "briefs", "pinned_pairs", "mix_1", "reprints"]


def with_scopes(given: list[Article]) -> list[Article]:
    """Articles once for each scope. The scopes differ in one byte, or are missing."""
    return within(Corpus(given)).articles


def run(spark: Any, folder: Path, given: list[Article], corpus: Corpus, sentences: dict[int, bool]) -> Any:
    """Settle the articles of a Parquet file with the settings and pins of a corpus."""
    from dedup.extras.spark.reading import read_table
    from dedup.spark import Pins, deduplicate

    folder.mkdir()
    return deduplicate(
        read_table(spark, str(write(folder / "articles.parquet", given))),
        work=str(folder / "work"),
        settings=Settings().with_values(corpus.settings),
        pins=Pins(said(corpus.pairs), sentences),
    )


def sentences_of(name: str) -> dict[int, bool]:
    """Return the sentence pins of the corpus `name`, for each scope."""
    return {
        sentence_hash(code, scope): common
        for code, common in CORPORA[name]().sentences.items()
        for scope in SCOPES
    }


@pytest.mark.spark
@pytest.mark.parametrize("name", NAMES)
def test_each_scope_has_the_marks_of_a_corpus_of_its_own(
    spark: Any, database: Database, tmp_path: Path, name: str
) -> None:
    corpus, sentences = within(CORPORA[name]()), sentences_of(name)
    found = answer_of(run(spark, tmp_path / "all", corpus.articles, corpus, sentences)).answer
    assert_equal(found, wanted(name))
    change_settings(database, **corpus.settings)
    with database.transaction() as cursor:
        for sentence, common in sentences.items():
            pins.pin_sentence(cursor, sentence, common, None)
    InMemory("in memory").run(database, corpus)
    assert_equal(found, answer(database))


@pytest.mark.spark
def test_three_scopes_are_three_corpora(spark: Any, tmp_path: Path) -> None:
    corpus = within(CORPORA["mix_1"]())
    whole = answer_of(run(spark, tmp_path / "all", corpus.articles, corpus, {}))
    apart = Answer()
    best: dict[str, str] = {}
    for scope in SCOPES:
        own = [one for one in corpus.articles if one.scope == scope]
        alone = answer_of(run(spark, tmp_path / str(scope), own, corpus, {}))
        apart.marks |= alone.answer.marks
        apart.pairs |= alone.answer.pairs
        apart.common |= alone.answer.common
        best |= alone.best_match
    assert_equal(whole.answer, apart)
    assert whole.best_match == best
    assert {mark[0] for mark in apart.marks.values()} >= {"unique", "similar", "duplicate"}


@pytest.mark.spark
def test_only_a_pin_relates_articles_of_two_scopes(spark: Any, database: Database, tmp_path: Path) -> None:
    given = [
        made(f"{name} {scope}", window(start, 6), minute, scope=scope)
        for name, start, minute in (("a", 0, 1), ("b", 1, 2), ("far", 40, 3))
        for scope in SCOPES
    ]
    corpus = Corpus(given, pairs=[("a 1", "a 2", Relation.DUPLICATE), ("b 1", "far None", Relation.SIMILAR)])
    found = answer_of(run(spark, tmp_path / "all", given, corpus, {})).answer
    InMemory("in memory").run(database, corpus)
    assert_equal(found, answer(database))
    assert {pair: rule for pair, (_, rule, *_) in found.pairs.items() if pair[0][-1] != pair[1][-1]} == {
        ("a 2", "a 1"): "pinned"
    }


@pytest.mark.spark
def test_the_field_is_found_by_name_in_every_input(spark: Any, tmp_path: Path) -> None:
    from dedup.spark import deduplicate

    given = with_scopes(news(12))
    lines = [
        json.dumps(
            {
                "id": one.source_id,
                "text": one.text,
                "date": one.published_at and one.published_at.isoformat(),
                "added_at": one.added_at and one.added_at.isoformat(),
                "Scope": one.scope and int(one.scope),
                "feed": {"user": one.scope},
            }
        )
        for one in given
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    rows = spark.read.json(str(tmp_path / "a.jsonl"))
    frames = {
        "numbers": (rows.drop("feed"), None),
        "texts": (rows.selectExpr("*", "cast(Scope AS string) AS s").drop("Scope", "feed"), {"scope": "s"}),
        "nested": (rows.drop("Scope"), {"scope": "feed.user"}),
        "parquet": (spark.read.parquet(str(write(tmp_path / "a.parquet", _bare(given)))), None),
    }
    found = {
        name: answer_of(deduplicate(df, work=str(tmp_path / name), mapping=mapping)).answer
        for name, (df, mapping) in frames.items()
    }
    apart = {pair for pair in found["texts"].pairs if pair[0][:2] != pair[1][:2]}
    assert found["texts"].pairs
    assert not apart
    for name, one in found.items():
        assert one == found["texts"], name
    without = answer_of(deduplicate(rows.drop("Scope", "feed"), work=str(tmp_path / "without"))).answer
    assert any(pair[0][:2] != pair[1][:2] for pair in without.pairs)


def _bare(given: list[Article]) -> list[Article]:
    return [replace(one, title=None) for one in given]


@pytest.mark.spark
def test_from_postgres_to_spark_and_back_with_scopes(spark: Any, database: Database, tmp_path: Path) -> None:
    from dedup.extras.spark.options import CorpusState
    from dedup.extras.spark.reading import read_table
    from dedup.spark import deduplicate

    old, new = with_scopes(news(60)), with_scopes(news(20, seed=2, start=500))
    moved = [replace(one, scope="2") for one in old if one.scope == "1"][:10]
    fill(database, old)
    settle(database)
    with deduplicator(database) as door:
        assert door.export_corpus(tmp_path / "known").left_out == 0
    load(database, *new, *moved)
    corpus = CorpusState.read(spark, str(tmp_path / "known"))
    unchanged = [one for one in old if one.source_id not in {gone.source_id for gone in moved}][:50]
    written = write(tmp_path / "new.parquet", [*new, *moved, *unchanged])
    result = deduplicate(
        read_table(spark, str(written)).selectExpr("* EXCEPT (scope)", "cast(scope AS int) AS scope"),
        work=str(tmp_path / "work"),
        settings=corpus.settings,
        pins=corpus.pins,
        known=corpus.known,
    )
    readable = [one for one in unchanged if one.text]
    assert result.report["input"]["reused"] == len(readable) > 40
    result.write(str(tmp_path / "result"))
    report = cluster_import.run(database, tmp_path / "result")
    assert (report.articles, report.problems) == (240, [])
    assert_taken_up(database)


@pytest.mark.long("dedup", "migrations")
def test_an_import_takes_scopes_and_refuses_an_article_whose_scope_changed(
    database: Database, tmp_path: Path
) -> None:
    given = with_scopes(news(40))
    fill(database, given)
    report = take(database, result_of(given, SETTINGS), tmp_path / "result")
    assert (report.articles, report.problems) == (120, [])
    found = assert_taken_up(database)
    assert not [pair for pair in found.pairs if pair[0].partition("/")[0] != pair[1].partition("/")[0]]
    load(database, replace(given[0], scope="another"))
    report = take(database, result_of(given, SETTINGS), tmp_path / "again", dry_run=True)
    assert [(f"{one.count} {one.words}", one.examples) for one in report.problems] == [
        ("1 article with another text, title, language or scope than in the result", [given[0].source_id])
    ]


def test_an_export_has_the_fingerprints_and_digests_of_scopes(database: Database, tmp_path: Path) -> None:
    from tests.extras.spark.test_cluster_export import by_name, read

    given = with_scopes(news(30))
    fill(database, given)
    settle(database)
    with deduplicator(database) as door:
        door.export_corpus(tmp_path / "known")
        assert door.verify().differences == []
    assert_right(database)
    expected = result_of(given, SETTINGS).tables["fingerprint"]
    found = read(tmp_path / "known")
    for row in (row for row in (*expected, *found) if row["reason"] is not None):
        row["version"] = None
    assert by_name(found) == by_name(expected)
    assert len({row["text_digest"] for row in found}) > 60
