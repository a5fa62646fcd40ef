"""`dedup export stories` writes articles with their stories to Parquet or SQLite, completely or not at
all."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dedup import Deduplicator
from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.db.database import Database
from dedup.extras.frames import frames
from dedup.settling.backfill import backfill
from tests.cli.conftest import Dedup
from tests.corpora import article, load, window


@pytest.fixture
def newsroom(database: Database) -> Database:
    """A corpus: `a` with two copies, `s` that is similar to `a`, and an unrelated `u`, an hour apart."""
    load(
        database,
        article("a", window(0, 6), 1, publication="Wire", title="A"),
        article("c1", window(0, 6), 60, publication="Herald"),
        article("c2", window(1, 6), 120, publication="Courier", title='Ünï "x" 🗞'),
        article("s", window(3, 6), 180, publication="Herald"),
        article("u", window(20, 6, ring=100), 241),
    )
    backfill(database, workers=0)
    return database


def asked(file: Path | str, query: str) -> list[Any]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(query).fetchall()


def of_parquet(query: str) -> duckdb.DuckDBPyRelation:
    found = duckdb.sql(query)
    assert found is not None
    return found


def test_a_parquet_file_has_every_article_with_its_story(dedup: Dedup, newsroom: Database) -> None:
    said = dedup("export", "stories", "news.parquet")
    assert (said.code, said.out) == (0, "")
    assert "news.parquet; rows by table: article 5" in said.err
    found = of_parquet("SELECT * FROM 'news.parquet'").arrow().read_all()
    wanted = frames.marks(newsroom.url)
    assert found.column_names == wanted.column_names
    assert of_parquet("FROM 'news.parquet'").fetchall() == duckdb.from_arrow(wanted).fetchall()
    query = "SELECT source_id, story_source_id, status, reason FROM 'news.parquet' WHERE score = 1"
    assert of_parquet(query).fetchall() == [("c1", "a", "duplicate", "content")]
    assert str(found.schema.field("published_at").type).startswith("timestamp[us, tz=")


def test_an_sqlite_file_has_stories_articles_and_matches(dedup: Dedup, newsroom: Database) -> None:
    said = dedup("export", "stories", "news.sqlite", "--json")
    assert said.code == 0
    found = json.loads(said.out)
    pairs = frames.matches(newsroom.url)
    assert found == {
        "file": "news.sqlite",
        "rows": {"story": 3, "article": 5, "match": pairs.num_rows},
        "stopped": False,
    }
    query = "SELECT source_id, copies, copied_by, first_at, last_at FROM story ORDER BY copies DESC LIMIT 1"
    assert asked("news.sqlite", query) == [
        ("a", 2, '["Courier", "Herald"]', "2024-03-01 00:01:00.000000Z", "2024-03-01 02:00:00.000000Z")
    ]
    query = "SELECT title, status, stale, publication FROM article WHERE story_source_id = 'a' ORDER BY 4"
    assert asked("news.sqlite", query) == [
        ('Ünï "x" 🗞', "duplicate", 0, "Courier"),
        (None, "duplicate", 0, "Herald"),
        ("A", "similar", 0, "Wire"),
    ]
    keys = ("source_id", "other_source_id", "score")
    rows = zip(*(pairs[name].to_pylist() for name in keys), strict=True)
    assert sorted(asked("news.sqlite", f'SELECT {", ".join(keys)} FROM "match"')) == sorted(rows)
    query = "SELECT (julianday(max(published_at)) - julianday(min(published_at))) * 24 FROM article"
    assert asked("news.sqlite", query)[0][0] == pytest.approx(4)
    assert asked("news.sqlite", "PRAGMA foreign_key_check") == []
    assert asked("news.sqlite", "PRAGMA integrity_check") == [("ok",)]
    assert asked("news.sqlite", "SELECT count(*) FROM pragma_foreign_key_list('match')") == [(2,)]
    plan = asked("news.sqlite", "EXPLAIN QUERY PLAN SELECT * FROM article WHERE story_source_id = 'a'")
    assert "USING INDEX article_story_source_id" in plan[0][3]


def test_a_story_is_shown_by_its_latest_article(dedup: Dedup, newsroom: Database) -> None:
    assert dedup("export", "stories", "last.sqlite", "--representative", "latest").code == 0
    query = "SELECT source_id, representative_source_id, title FROM story ORDER BY copies DESC LIMIT 1"
    assert asked("last.sqlite", query) == [("a", "c2", 'Ünï "x" 🗞')]
    refused = dedup("export", "stories", "last.parquet", "--representative", "latest")
    assert (refused.code, "choose a representative for NAME.sqlite" in refused.err) == (2, True)


def test_since_leaves_out_what_is_older_and_keeps_the_keys(dedup: Dedup, newsroom: Database) -> None:
    assert dedup("export", "stories", "late.sqlite", "--since", "2024-03-01T02:00Z").code == 0
    assert asked("late.sqlite", "SELECT source_id FROM article ORDER BY 1") == [("c2",), ("s",), ("u",)]
    assert asked("late.sqlite", "SELECT source_id FROM story ORDER BY 1") == [("a",), ("s",), ("u",)]
    assert set(asked("late.sqlite", 'SELECT source_id FROM "match"')) == {("c2",), ("s",)}
    assert asked("late.sqlite", "PRAGMA foreign_key_check") == []
    assert dedup("export", "stories", "late.parquet", "--since", "2024-03-01T02:00Z").code == 0
    assert len(of_parquet("FROM 'late.parquet'").fetchall()) == 3
    assert dedup("export", "stories", "bad.parquet", "--since", "soon").code == 2


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", ["news.parquet", "news.sqlite"])
def test_nothing_is_overwritten_and_nothing_half_done_stays(
    dedup: Dedup, newsroom: Database, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("mine")
    said = dedup("export", "stories", name)
    assert said.code == 2
    assert f"{name} exists; give another name" in said.err
    assert dedup("export", "stories", name, "--force").code == 0
    assert (tmp_path / name).read_bytes() != b"mine"
    (tmp_path / name).unlink()
    with Deduplicator(newsroom.url) as dd:
        assert dd.export_stories(tmp_path / name, stop=lambda: True).stopped

        def appears() -> bool:
            (tmp_path / name).write_text("mine")
            return False

        with pytest.raises(InputError, match="exists"):
            dd.export_stories(tmp_path / name, stop=appears)
    assert (tmp_path / name).read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_what_cannot_be_written_is_told(
    dedup: Dedup, newsroom: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = dedup("export", "stories", "news.csv")
    assert said.code == 2
    assert "news.csv: the name must end with .parquet or .sqlite" in said.err
    said = dedup("export", "stories", "nowhere/news.sqlite")
    assert said.code == 2
    assert "nowhere/news.sqlite cannot be written: No such file" in said.err
    for name in ("dedup.extras.frames.story_export", "dedup.extras.frames.columns"):
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    said = dedup("export", "stories", "news.sqlite")
    assert said.code == 2
    assert installing("frames") in said.err


def test_an_empty_corpus_is_a_file_without_rows(dedup: Dedup) -> None:
    assert dedup("export", "stories", "news.sqlite").code == 0
    assert asked("news.sqlite", "SELECT count(*) FROM story, article") == [(0,)]
    assert dedup("export", "stories", "news.parquet").code == 0
    assert of_parquet("SELECT count(*) FROM 'news.parquet'").fetchall() == [(0,)]
