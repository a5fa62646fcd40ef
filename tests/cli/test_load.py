"""`dedup load` accounts for every record and stores bounded batches. A failure loses no earlier record."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedup.api.settings import CorpusSettings
from dedup.base.article import Article, stored_size
from dedup.base.errors import InputError, UnreachableError
from dedup.db.database import Cursor, Database
from dedup.files.record import MAX_RECORD_BYTES
from dedup.files.source import LineSource
from dedup.store import articles, load
from tests.cli.conftest import HARBOUR, Dedup, lines
from tests.conftest import empty
from tests.corpora import change_settings, stored

HEAPS = ("new", "changed", "same", "superseded", "refused")


def heaps(report: dict[str, Any]) -> tuple[int, ...]:
    assert report["lines"] == sum(report[heap] for heap in HEAPS)
    return tuple(report[heap] for heap in HEAPS)


@pytest.mark.long("dedup", "migrations")
def test_a_file_with_every_id_twice_adds_up(dedup: Dedup, database: Database, tmp_path: Path) -> None:
    rows = [{"id": f"a{i % 500}", "text": f"{HARBOUR} {i // 500}"} for i in range(1_000)]
    file = lines(tmp_path / "twice.jsonl", sorted(rows, key=lambda row: row["id"]))
    said = dedup("load", str(file)).err
    assert "read 1,000 lines: 500 new, 0 changed, 0 same, 500 superseded, 0 refused\n" in said
    assert set(stored(database).values()) == {f"{HARBOUR} 1"}
    apart = lines(tmp_path / "apart.jsonl", rows)  # each id comes again only after its first row is stored
    assert heaps(json.loads(dedup("load", str(apart), "--json").out)) == (0, 1_000, 0, 0, 0)


RECORDS = st.lists(
    st.builds(lambda key, text: {"id": key, "text": text}, st.sampled_from("abcd"), st.sampled_from("xyz"))
    | st.sampled_from([{"id": "a"}, "", " ", '{"id": ', {"id": "k" * 1_025, "text": ""}]),
    max_size=15,
)


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=st.lists(RECORDS, min_size=1, max_size=3), batch=st.integers(1, 6))
def test_the_counts_add_up_for_any_files(
    dedup: Dedup, database: Database, tmp_path: Path, files: list[list[Any]], batch: int
) -> None:
    empty(database)
    for number, rows in enumerate(files):
        text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
        (tmp_path / f"{number}.jsonl").write_text(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(load, "BATCH_ARTICLES", batch)
        result = dedup("load", "--json", *(f"{number}.jsonl" for number in range(len(files))))
    report = json.loads(result.out)
    new, _, _, _, refused = heaps(report)
    every = [row for rows in files for row in rows if not (isinstance(row, str) and not row.strip())]
    good = [row for row in every if isinstance(row, dict) and len(row["id"]) == 1 and "text" in row]
    assert report["lines"] == len(every)
    assert refused == len(every) - len(good)
    assert new == len({row["id"] for row in good})
    assert stored(database) == {row["id"]: row["text"] for row in good}


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[list[Article]]:
    """Record each batch of articles that is stored."""
    found: list[list[Article]] = []

    def spy(cursor: Cursor, given: list[Article]) -> articles.LoadCounts:
        found.append(list(given))
        return store(cursor, given)

    store = articles.store
    monkeypatch.setattr(articles, "store", spy)
    return found


@pytest.mark.long("dedup", "migrations")
def test_a_batch_is_bounded_by_all_its_fields(
    dedup: Dedup, tmp_path: Path, batches: list[list[Article]]
) -> None:
    long = {"title": "ü" * 8_000, "url": "u" * 16_000, "publication": "p" * 4_000}
    rows = [{"id": f"a{i}", "text": "short", **long} for i in range(499)]
    rows.insert(100, {"id": "large", "text": "x" * 5_000_000})
    loaded = dedup("load", str(lines(tmp_path / "long.jsonl", rows)), "--json")
    assert heaps(json.loads(loaded.out)) == (500, 0, 0, 0, 0)
    sizes = [sum(map(stored_size, batch)) for batch in batches]
    assert sum(len(batch) for batch in batches) == 500
    assert [len(batch) for batch, size in zip(batches, sizes, strict=True) if size > load.BATCH_BYTES] == [1]
    assert max(size for size in sizes if size < 5_000_000) > load.BATCH_BYTES - 50_000


@pytest.mark.long("dedup", "migrations")
def test_titles_of_megabytes_are_lost_and_their_articles_are_loaded(
    dedup: Dedup, database: Database, tmp_path: Path
) -> None:
    rows = [{"id": f"a{i}", "text": "x", "title": "T" * (2_200_000 if i % 2 else 10)} for i in range(40)]
    loaded = dedup("load", str(lines(tmp_path / "titles.jsonl", rows)), "--json")
    assert heaps(json.loads(loaded.out)) == (40, 0, 0, 0, 0)
    rejects = [
        json.loads(line) for line in (tmp_path / "titles.jsonl.rejects.jsonl").read_text().splitlines()
    ]
    assert {(row["outcome"], row["reason"]) for row in rejects} == {
        ("repaired", "title is longer than 16384 bytes")
    }
    assert [len(row["value"]) for row in rejects] == [100] * 20


def test_what_was_read_before_the_disk_failed_is_stored(
    dedup: Dedup, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"id": f"a{i}", "text": HARBOUR} for i in range(300)]
    lines(tmp_path / "a.jsonl", rows)
    lines(tmp_path / "b.jsonl", [{"id": "b", "text": HARBOUR}])

    def take(self: LineSource, size: int) -> bytes:
        if self.file == "a.jsonl" and self.bytes_read > 100_000:
            raise InputError("a.jsonl: reading failed")
        return take_(self, size)

    take_ = LineSource._fetch
    monkeypatch.setattr(LineSource, "_fetch", take)
    loaded = dedup("load", "a.jsonl", "b.jsonl", "--json")
    report = json.loads(loaded.out)
    assert heaps(report)[0] == report["lines"] == len(stored(database)) > 200
    assert "b" in stored(database)
    assert (loaded.code, loaded.err) == (2, "dedup: a.jsonl: reading failed\n")


def test_a_file_that_cannot_be_used_keeps_no_other_from_being_loaded(
    dedup: Dedup, database: Database, tmp_path: Path
) -> None:
    lines(tmp_path / "a.jsonl", [{"id": "a", "text": HARBOUR}])
    lines(tmp_path / "b.jsonl", [{"id": "b", "text": HARBOUR}])
    (tmp_path / "no.csv").write_text("x,y\n")
    loaded = dedup("load", "a.jsonl", "no.csv", "missing.jsonl", "b.jsonl")
    assert loaded.code == 2
    assert "read 2 lines: 2 new" in loaded.err
    assert "dedup: no.csv has no column for source_id" in loaded.err
    assert "dedup: missing.jsonl: no such file" in loaded.err
    assert set(stored(database)) == {"a", "b"}
    alone = dedup("load", "missing.jsonl", "--json")
    assert (alone.code, alone.out) == (2, "")


@pytest.mark.parametrize("json_", [True, False])
def test_what_was_stored_before_the_database_went_away_is_said(
    dedup: Dedup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, json_: bool
) -> None:
    def store(cursor: Cursor, given: list[Article]) -> articles.LoadCounts:
        if any(article.source_id == "a700" for article in given):
            raise UnreachableError("it does not answer; run it again")
        return store_(cursor, given)

    store_ = articles.store
    monkeypatch.setattr(articles, "store", store)
    file = lines(tmp_path / "a.jsonl", [{"id": f"a{i}", "text": "x"} for i in range(1_000)])
    loaded = dedup("load", str(file), *["--json"] * json_)
    assert loaded.code == 1
    assert loaded.err.splitlines()[-1] == "dedup: it does not answer; run it again"
    if json_:
        assert heaps(json.loads(loaded.out)) == (500, 0, 0, 0, 0)
    else:
        assert "read 500 lines: 500 new" in loaded.err


@pytest.mark.long("dedup", "migrations")
def test_a_line_may_be_as_long_as_the_longest_text_that_is_asked_for(
    dedup: Dedup, database: Database, tmp_path: Path
) -> None:
    assert CorpusSettings(database).max_record_bytes() == MAX_RECORD_BYTES
    file = lines(tmp_path / "a.jsonl", [{"id": "a", "text": "я" * 3_000_000}])
    assert heaps(json.loads(dedup("load", str(file), "--json").out)) == (0, 0, 0, 0, 1)
    change_settings(database, text_max_characters=3_000_000)
    assert CorpusSettings(database).max_record_bytes() == 18_000_000 + 1_048_576
    assert heaps(json.loads(dedup("load", str(file), "--json").out)) == (1, 0, 0, 0, 0)
    assert dedup("check", str(file), "--dry-run").lines[0]["status"] != "refused"


def test_a_name_as_long_as_names_get_has_a_rejects_file(dedup: Dedup, tmp_path: Path) -> None:
    name = "é" * 124 + ".jsonl"
    (tmp_path / name).write_text("{\n")
    assert dedup("load", name).code == 1
    assert len(list(tmp_path.glob("*.rejects.jsonl"))) == 1


def test_a_load_that_is_asked_to_stop_stores_what_it_read_and_says_that_work_is_left(
    dedup: Dedup, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(cursor: Cursor, given: list[Article]) -> articles.LoadCounts:
        os.kill(os.getpid(), signal.SIGTERM)
        return store(cursor, given)

    store = articles.store
    file = lines(tmp_path / "news.jsonl", [{"id": f"a{i}", "text": HARBOUR} for i in range(300)])
    with monkeypatch.context() as patched:
        patched.setattr(load, "BATCH_ARTICLES", 100)
        patched.setattr(articles, "store", stop)
        stopped = dedup("load", str(file))
    assert stopped.code == 143
    assert "read 100 lines: 100 new" in stopped.err
    assert "stopped as asked; run the same command again to continue" in stopped.err
    assert len(stored(database)) == 100
    again = dedup("load", str(file))
    assert again.code == 0
    assert "read 300 lines: 200 new, 0 changed, 100 same" in again.err
