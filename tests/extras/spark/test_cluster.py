"""`dedup export corpus` and `dedup import`: their output and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dedup.base.extras import installing
from dedup.db.database import Database
from tests.cli.conftest import Dedup
from tests.corpora import article, at, load, window
from tests.extras.spark.results import result_of

GIVEN = [article(f"a{i}", window(i, 6), i, added_at=at(50)) for i in range(5)]


@pytest.fixture
def result(database: Database, tmp_path: Path) -> Path:
    """The result of a cluster for a corpus that was never settled."""
    load(database, *GIVEN)
    return result_of(GIVEN).write(tmp_path / "result")


@pytest.mark.long("dedup", "migrations")
def test_a_result_is_compared_and_then_taken_up(dedup: Dedup, result: Path) -> None:
    said = dedup("import", "result", "--dry-run")
    assert (said.code, said.out) == (0, "")
    assert "the result fits: 5 articles, 5 new fingerprints; nothing was changed" in said.err
    assert {mark["status"] for mark in dedup("marks").lines} == {"pending"}
    said = dedup("import", "result")
    assert (said.code, said.out) == (0, "")
    assert "wrote 5 marks, 4 pairs and 5 fingerprints of 5 articles" in said.err
    assert "duplicate" in {mark["status"] for mark in dedup("marks").lines}
    assert dedup("verify").code == 0
    assert "everything was settled already" in dedup("backfill", "--workers", "0").err
    found = json.loads(dedup("import", "result", "--json").out)
    assert (found["marks"], found["articles"], found["problems"]) == (0, 5, [])
    assert dedup("runs").out.count("import") == 2


def test_what_does_not_fit_is_told_with_the_next_step(dedup: Dedup, result: Path, database: Database) -> None:
    load(database, article("late", window(3, 6), 9), article("a1", window(9, 6), 1))
    said = dedup("import", "result", "--dry-run")
    assert (said.code, said.out) == (3, "")
    assert said.err.splitlines()[-2:] == [
        "1 article of this corpus missing from the result (late): run the cluster again over the whole"
        " corpus",
        "1 article with another text, title, language or scope than in the result (a1): run the cluster again"
        " over the whole corpus",
    ]
    found = json.loads(dedup("import", "result", "--dry-run", "--json").out)
    assert [problem["examples"] for problem in found["problems"]] == [["late"], ["a1"]]
    said = dedup("import", "result")
    assert said.code == 2
    assert "result does not fit this corpus: 1 article of this corpus missing from the result" in said.err
    assert "`dedup import result --dry-run` lists all" in said.err
    assert dedup("import", "nothing").code == 2


def test_an_export_says_what_is_in_it(dedup: Dedup, result: Path) -> None:
    dedup("import", "result")
    said = dedup("export", "corpus", "known")
    assert (said.code, said.out) == (0, "")
    assert "known: 5 fingerprints, 0 pins" in said.err
    assert dedup("export", "corpus", "known").code == 2
    dedup("settings", "set", "hash_key=random")
    said = dedup("export", "corpus", "keyed")
    assert "left out 5 articles without a current fingerprint; the cluster reads them: a" in said.err
    assert "the corpus has a hash key, which is not in the folder" in said.err
    found = json.loads(dedup("export", "corpus", "with", "--include-hash-key", "--json").out)
    assert (found["with_key"], found["left_out"], found["left_out_ids"][:2]) == (True, 5, ["a0", "a1"])
    assert "contains the secret hash key" in dedup("export", "corpus", "again", "--include-hash-key").err


def test_without_pyarrow_it_says_what_to_install(
    dedup: Dedup, result: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    for command in (("import", "result"), ("export", "corpus", "known")):
        said = dedup(*command)
        assert said.code == 2
        assert installing("parquet") in said.err
