"""Kept columns: every way of storing an article keeps the same values beside its mark."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dedup import Article, Deduplicator
from dedup.cli import main
from dedup.db.database import Database
from dedup.store import articles
from tests.corpora import assert_right

KEPT = {"topic": "weather", "page": 3, "tags": ["a", {"b": None}]}
BODY = "The ferry to the islands ran {0} minutes late on Monday, and nobody at the pier of {0} knew why. " * 3


@pytest.fixture
def corpus(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deduplicator]:
    monkeypatch.setenv("DEDUP_DATABASE_URL", database.url)
    with Deduplicator(database.url) as dd:
        yield dd


def given(source_id: str, **fields: Any) -> Article:
    return Article(source_id, BODY.format(source_id), **fields)


def stored(corpus: Deduplicator) -> dict[str, Any]:
    return {row["id"]: row["kept"] for row in corpus.marks(kept=True)}


@pytest.mark.extra("scrapy")
def test_every_way_in_keeps_the_same(corpus: Deduplicator, database: Database, tmp_path: Path) -> None:
    from dedup.spooling import SpoolingDeduplicator

    article = given("copied", kept=KEPT)
    corpus.submit(article)
    corpus.submit(Article("copy", article.text, kept=KEPT))
    corpus.load([given("loaded", kept=KEPT)])
    with database.transaction() as cursor:
        cursor.execute(
            "INSERT INTO dedup.article (source_id, text, kept) VALUES ('sql', 'x', %s)", [json.dumps(KEPT)]
        )
        articles.defer(cursor, given("deferred", kept=KEPT))
    file = tmp_path / "news.jsonl"
    rows = [
        {"id": "named", "text": BODY, "topic": "weather", "page": 3, "tags": KEPT["tags"]},
        {"id": "object", "text": BODY, "kept": KEPT},
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    corpus.load(file, keep=["topic", "page", "tags"])
    with SpoolingDeduplicator("postgresql://nobody@127.0.0.1:1/none", spool=tmp_path / "spool.jsonl") as away:
        assert away.submit(given("spooled", kept=KEPT)) is None
    corpus.load(tmp_path / "spool.jsonl")
    corpus.backfill()
    names = ("copied", "copy", "loaded", "sql", "deferred", "named", "object", "spooled")
    assert stored(corpus) == dict.fromkeys(names, KEPT)
    for name in names:
        found = corpus.get(name)
        assert found is not None
        assert found.article.kept == KEPT


def test_a_change_of_it_is_an_edit_that_unsettles_nothing(corpus: Deduplicator, database: Database) -> None:
    corpus.load([given("a", kept=KEPT), given("b")])
    corpus.backfill()
    assert corpus.load([given("a", kept=dict(reversed(KEPT.items()))), given("b")]).same == 2
    assert corpus.load([given("a"), given("b", kept={"topic": "sea"})]).changed == 1
    assert stored(corpus) == {"a": KEPT, "b": {"topic": "sea"}}, "columns that are not given must stay"
    corpus.submit(given("a", kept={"topic": "land"}))
    assert corpus.load([given("b"), given("b", kept={"x": 1}), given("b", title="t")]).superseded == 2
    assert stored(corpus) == {"a": {"topic": "land"}, "b": {"x": 1}}
    report = corpus.backfill()
    assert (report.fingerprinted, report.settled) == (0, 0)
    assert_right(database)


def test_load_keeps_columns_by_their_names_and_says_so(
    corpus: Deduplicator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("news.csv").write_text(f"id,text,topic,desk,other\na,{BODY.replace(',', '')},weather,,x\n")
    assert main.run(["load", "news.csv", "--keep", "topic, desk", "--dry-run"]) == 0
    assert '{"topic": "weather"}' in capsys.readouterr().out
    assert main.run(["load", "news.csv", "--keep", "topic", "--keep", "desk"]) == 0
    assert capsys.readouterr().err.splitlines()[1:4] == [
        "  source_id ← id, text",
        "  kept: topic",
        "  ignored: other",
    ]
    assert stored(corpus) == {"a": {"topic": "weather"}}
    assert main.run(["show", "a"]) == 0
    assert "topic: weather" in capsys.readouterr().out
    assert main.run(["load", "news.csv", "--keep", "section"]) == 2
    assert "has no column 'section' to be kept" in capsys.readouterr().err
