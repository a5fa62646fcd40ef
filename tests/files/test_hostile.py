"""Hostile files crash nothing: the counts add up, every good record is stored, and memory is bounded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from dedup.base.printable import JOINERS
from dedup.db.database import URL_VARIABLE, Database
from tests.conftest import Told
from tests.files import hostile

pytest.importorskip("pyarrow")
pytest.importorskip("openpyxl")
pytest.importorskip("python_calamine")

SEED = 8
MOST_MEMORY = 500_000_000
"""Maximum resident memory in bytes (VmHWM) of the process that loads all files. RLIMIT_AS would also count
memory that NumPy and Arrow reserve and never use."""


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("count", "large"),
    [
        pytest.param(len(hostile.KINDS), False, marks=pytest.mark.timeout(180)),
        pytest.param(200, True, marks=[pytest.mark.torture, pytest.mark.timeout(3_600)]),
    ],
)
def test_a_load_of_hostile_files(
    database: Database, corpus_url: str, tmp_path: Path, count: int, large: bool, told: Told
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    cases = hostile.make(folder, SEED, count, large=large)
    found, seconds = _load(folder, corpus_url, cases)
    print(f"seed {SEED}: {count} files, {found['memory'] / 1e6:.0f} MB, {seconds:.0f} s")
    total = 0
    for case, run in zip(cases, found["runs"], strict=True):
        total += _check_run(case, run, folder)
    wanted: dict[str, str] = {}
    for case in cases:
        wanted |= case.good
    with database.transaction() as cursor:
        rows = cursor.execute("SELECT source_id, text FROM dedup.article").fetchall()
    stored = dict(rows)
    assert not [key for key, text in wanted.items() if stored.get(key) != text]
    assert "thief" not in stored
    assert total >= len(rows)
    assert found["memory"] < MOST_MEMORY
    told("11, 18", f"seed {SEED}, {found['memory'] / 1e6:.0f} MB at most", f"{count} hostile files")


def _load(folder: Path, url: str, cases: list[hostile.Case]) -> tuple[dict[str, Any], float]:
    listed = folder.parent / "list.json"
    pipes = {case.name: case.content.decode() for case in cases if case.content}
    listed.write_text(json.dumps({"names": [case.name for case in cases], "pipes": pipes}))
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "tests.files.hostile", str(listed)],
        env={**os.environ, URL_VARIABLE: url, "PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    return found, time.monotonic() - began


def _check_run(case: hostile.Case, run: dict[str, Any], folder: Path) -> int:
    """Check the report of a load, and return the number of lines."""
    said = f"{case.name!r}: {run}"
    nothing = bool(run["out"]) and 0 < json.loads(run["out"])["lines"] == json.loads(run["out"])["refused"]
    assert run["code"] in ((1,) if nothing else case.codes), said
    assert "Traceback" not in run["err"], said
    assert "unexpected" not in run["err"], said
    assert run["memory"] < MOST_MEMORY, said
    shown = run["out"] + run["err"]
    assert not {c for c in shown if not c.isprintable() and c not in "\n" + JOINERS}, said
    if not run["out"]:
        assert run["code"] == 2, said
        return 0
    report = json.loads(run["out"])
    heaps = ("new", "changed", "same", "superseded", "refused")
    assert report["lines"] == sum(report[heap] for heap in heaps), said
    if case.lines is not None:
        assert report["lines"] == case.lines, said
    rejects = [(folder / name).read_text("utf-8") for name in report["rejects"]]
    rows = [json.loads(line) for text in rejects for line in text.splitlines()]
    refused = [row for row in rows if row["outcome"] == "refused"]
    odd = {c for text in rejects for c in text if not c.isprintable() and c not in "\n" + JOINERS}
    assert not {c for c in odd if unicodedata.category(c) != "Zs"}, said
    assert len(refused) == report["refused"], said
    assert all(row["reason"] and row["line"] for row in rows), said
    return int(report["lines"])
