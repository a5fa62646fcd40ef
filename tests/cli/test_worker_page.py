"""Every command of docs/worker.md works in a shell, in the order of the page."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dedup.cli import main
from dedup.db.database import URL_VARIABLE, Database
from tests.corpora import article, load, wait_until, window

PAGE = Path(__file__).parents[2] / "docs" / "worker.md"
LINES = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
ENDLESS = [line for line in LINES if line.startswith("dedup worker") and "--once" not in line]


def test_the_page_has_commands() -> None:
    assert len(LINES) >= 8
    assert ENDLESS
    assert all(line.startswith(("dedup ", "psql ")) for line in LINES)


@pytest.fixture
def environment(database: Database, corpus_url: str, tmp_path: Path) -> dict[str, str]:
    """Variables of a shell that finds the program `dedup`; the corpus has four articles."""
    load(database, *(article(f"a{i:02}", window(i, 6), i) for i in range(4)))
    program = tmp_path / "bin" / "dedup"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m {main.__name__} "$@"\n')
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, URL_VARIABLE: corpus_url, "PATH": path}


@pytest.mark.long("dedup", "migrations", "docs/worker.md")
def test_every_command_that_ends_works(environment: dict[str, str], tmp_path: Path) -> None:
    for line in LINES:
        if line in ENDLESS or (line.startswith("psql ") and not shutil.which("psql")):
            continue
        done = subprocess.run(
            line, shell=True, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, (line, done.stderr)
    assert "dedup_up 1.0" in (tmp_path / "dedup.prom").read_text()


@pytest.mark.long("dedup", "migrations", "docs/worker.md")
@pytest.mark.parametrize("line", ENDLESS)
def test_every_worker_starts_and_stops(line: str, environment: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "log"
    line = line.replace("9818", "0")  # port 9818 may be taken by another process
    with log.open("wb") as file:
        worker = subprocess.Popen(["sh", "-c", f"exec {line}"], env=environment, stderr=file)
    try:
        wait_until(lambda: "settled 4" in log.read_text())
        worker.terminate()
        assert worker.wait(20) == 0
    finally:
        worker.kill()
        worker.wait()
