"""`dedup spark`, and the commands in docs/spark.md that a code block marks as runnable."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.base.settings import Settings
from dedup.cli import main
from dedup.rules import oracle
from dedup.rules.marks import order_key
from dedup.rules.pair import Relation
from dedup.text.fingerprint import Fingerprinter
from tests.corpora import article, code, window

pytestmark = [pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[3]
BLOCKS = re.findall(
    r"^```sh\n(.*?)^```", (ROOT / "docs" / "spark.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)
LOCAL = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_DRIVER_PYTHON": sys.executable,
    "PYTHONPATH": str(ROOT),
}


def articles() -> list[Any]:
    """Return a chain of eight versions of a story."""
    return [article(f"a{i}", [*window(i, 6), code(99)], i) for i in range(8)]


def write(path: Path) -> None:
    rows = articles()
    table = {
        name: [getattr(a, name) for a in rows] for name in ("source_id", "text", "published_at", "added_at")
    }
    table["source_id"] += ["twice", "twice", "empty"]
    table["text"] += ["One.", "Another one.", ""]
    table["published_at"] += [datetime(2020, 1, 1)] * 3
    table["added_at"] += [None] * 3
    pq.write_table(pa.table(table), path)


def run(arguments: list[str], folder: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a separate process, since Java starts only once in a process."""
    return subprocess.run(
        [sys.executable, "-m", "dedup.cli.main", "spark", *arguments],
        cwd=folder,
        env=os.environ | LOCAL,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        **more,
    )


@pytest.fixture
def folder(tmp_path: Path, spark_needed: None) -> Path:
    write(tmp_path / "articles.parquet")
    return tmp_path


@pytest.fixture
def spark_needed() -> None:
    pytest.importorskip("pyspark", reason="needs pyspark: scripts/spark-test sets it up")


def expected() -> dict[str, tuple[Any, ...]]:
    """Return the oracle's marks, by source_id."""
    settings = Settings()
    fingerprinter = Fingerprinter(settings)
    given = articles()
    subjects = [
        oracle.Subject(
            i,
            order_key(settings, a.published_at, a.published_at, a.source_id),
            fingerprinter.fingerprint(a.text),
        )
        for i, a in enumerate(given)
    ]
    common = oracle.common_sentences([s.fingerprint for s in subjects], settings)
    marks, _ = oracle.marks(subjects, common, settings)
    found: dict[str, tuple[Any, ...]] = {}
    for i, mark in marks.items():
        original = None if mark.duplicate_of is None else given[mark.duplicate_of].source_id
        found[given[i].source_id] = (mark.status.value, original, mark.score, mark.reason)
    found["empty"] = ("failed", None, None, "empty: the text has no words")
    return found


@pytest.mark.spark
def test_a_run_gives_the_marks_of_the_oracle(folder: Path) -> None:
    done = run(
        ["run", "--input", "articles.parquet", "--output", "out", "--master", "local[2]", "--json"], folder
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    marks = {
        row.pop("source_id"): tuple(row.values())
        for row in pq.read_table(folder / "out" / "mark").to_pylist()
    }
    assert marks == expected()
    assert said["statuses"]["failed"] == 1
    assert said["input"]["refused"] == {"the source_id comes more than once": 2}
    assert "read: 11 rows" in done.stderr
    assert json.loads((folder / "out" / "run.json").read_text())["counts"]["mark"] == len(marks)
    # A second run makes no step again. A run with other settings is refused.
    again = run(["run", "--input", "articles.parquet", "--output", "out", "--master", "local[2]"], folder)
    assert again.returncode == 0, again.stderr
    assert "refused: 2 for: the source_id comes more than once" in again.stderr
    assert "failed" in again.stdout
    other = [
        "run",
        "--input",
        "articles.parquet",
        "--output",
        "out",
        "--master",
        "local[2]",
        "--set",
        "bands=8",
    ]
    refused = run(other, folder)
    assert refused.returncode == 1
    assert "take another folder" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert " at org." not in refused.stderr


@pytest.mark.spark
def test_an_exported_corpus_is_gone_on_with(spark: Any, folder: Path) -> None:
    from dedup.extras.spark.exchange import FORMAT, Basis, pins_digest
    from dedup.extras.spark.options import CorpusState
    from tests.extras.spark.runs import reading

    key = "a key of more than thirty-two characters"
    settings = Settings(hash_key=key, similar_pairs=7)
    made = reading(spark, folder / "articles.parquet", folder / "work", settings=settings)
    exported = folder / "exported"
    exported.mkdir()
    source = spark.read.parquet(str(folder / "work" / "read" / "data"))
    source.drop("refused", "repaired").where("source_id LIKE 'a%'").write.parquet(
        str(exported / "fingerprint")
    )
    pairs = {("a0", "a1"): Relation.UNRELATED}
    pin = {"source_id": ["a0"], "other_source_id": ["a1"], "relation": ["unrelated"]}
    pq.write_table(pa.table(pin), exported / "pair_pin.parquet")
    pq.write_table(pa.table({"sentence_hash": [5], "common": [True]}), exported / "sentence_pin.parquet")
    basis = Basis.of(settings, {}, pins_digest(pairs, {5: True}), 7).as_dict()

    def tell(**more: Any) -> None:
        (exported / "corpus.json").write_text(json.dumps({"format": FORMAT, **basis, **more}, indent=2))

    tell()
    corpus = CorpusState.read(spark, str(exported), key)
    assert corpus.settings == settings
    assert corpus.horizon == 7
    assert corpus.pins.pairs == pairs
    assert corpus.pins.sentences == {5: True}
    assert corpus.known is not None
    assert {row.source_id for row in corpus.known.select("source_id").collect()} <= made.articles.keys()
    tell(hash_key=key)
    assert CorpusState.read(spark, str(exported)).settings == settings
    for told, says in (
        ({}, "has a hash key: give the key"),
        ({"hash_key": "another one"}, "the hash key differs"),
        ({"hash_key": key, "unicode_version": "1.1"}, "Unicode is of version 1.1 there"),
        ({"hash_key": key, "pins_digest": "0"}, "the pins of pairs or sentences differ"),
        ({"format": 0}, "is of format 0"),
    ):
        tell(**told)
        with pytest.raises(InputError, match=says):
            CorpusState.read(spark, str(exported))
    with pytest.raises(InputError, match="a whole folder of"):
        CorpusState.read(spark, str(folder / "nothing"))


@pytest.mark.spark
def test_every_command_of_the_page_works(folder: Path) -> None:
    programs = folder / "bin"
    programs.mkdir()
    submit = Path(sys.executable).parent / "spark-submit"
    shims = {
        "dedup": f'exec "{sys.executable}" -m dedup.cli.main "$@"',
        "spark-submit": f'exec "{submit}" "$@"',
    }
    for name, line in shims.items():
        (programs / name).write_text(f"#!/bin/sh\n{line}\n")
        (programs / name).chmod(0o755)
    environment = os.environ | LOCAL | {"PATH": f"{programs}:{os.environ['PATH']}"}
    assert len(BLOCKS) == 2
    for block in BLOCKS:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            env=environment,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
    first, submitted = (pq.read_table(folder / name / "mark").to_pylist() for name in ("marks", "submitted"))
    assert sorted(first, key=str) == sorted(submitted, key=str)
    assert len(first) == 9


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--set", "bands"], "--set needs NAME=VALUE"),
        (["--set", "hash_key=x"], "for the hash key, use --hash-key"),
        (["--set", "nothing=1"], "unknown setting 'nothing'"),
        (["--corpus", "known", "--set", "bands=8"], "--corpus excludes --set"),
        (["--remote", "sc://x", "--master", "local"], "exclude each other"),
    ],
)
def test_wrong_usage_is_said_before_spark_starts(
    arguments: list[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("dedup.extras.spark.commands.spark.SPARK_PACKAGES", ())
    code_ = main.run(["spark", "run", "--input", "a.parquet", "--output", "out", *arguments])
    assert code_ == 2
    assert says in capsys.readouterr().err


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dedup.extras.spark.commands.spark.SPARK_PACKAGES", ("no_such_package",))
    assert main.run(["spark", "estimate", "--input", "a.parquet"]) == 2
    assert installing("spark") in capsys.readouterr().err
