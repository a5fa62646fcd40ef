"""The commands of docs/changes.md work, and its program keeps a copy of all marks in a file."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from dedup import AsyncDeduplicator
from dedup.api.operation import Operation
from dedup.db.database import URL_VARIABLE, Database
from tests.api.test_async import in_corpus
from tests.corpora import answer, article, deduplicator, window
from tests.replica import journal

PAGE = (Path(__file__).parents[2] / "docs" / "changes.md").read_text("utf-8")
(PROGRAM,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
(COMMANDS,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def kept(database: Database) -> Iterator[Database]:
    with journal(database):
        yield database


def run(url: str, folder: Path, *words: str) -> str:
    done = subprocess.run(
        words,
        env={**os.environ, URL_VARIABLE: url, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long("dedup", "migrations", "docs/changes.md")
def test_the_program_of_the_page_keeps_what_the_table_holds(kept: Database, tmp_path: Path) -> None:
    dd, file = deduplicator(kept), tmp_path / "marks.db"

    def keeps() -> None:
        run(kept.url, tmp_path, sys.executable, "-W", "error", "-c", PROGRAM, str(file))
        with closing(sqlite3.connect(file)) as stored:
            assert {name: tuple(mark) for name, *mark in stored.execute("SELECT * FROM mark")} == (
                answer(kept).marks
            )

    for i in range(4):
        dd.submit(article(f"a{i}", window(i, 6), i))
    keeps()
    dd.delete("a0")
    dd.submit(article("a9", window(2, 6), 9))
    keeps()
    with Operation(kept.url) as owner:  # a new journal makes the program read all marks again
        owner.stop_journal()
        dd.delete("a9")
        owner.start_journal()
    keeps()


@pytest.mark.long("dedup", "migrations", "docs/changes.md")
def test_the_commands_of_the_page_work(database: Database, tmp_path: Path) -> None:
    program = tmp_path / "dedup"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m dedup.cli.main "$@"\n')
    program.chmod(0o755)
    for i in range(4):
        deduplicator(database).submit(article(f"a{i}", window(i, 6), i))
    with Operation(database.url) as owner:
        try:
            bash = shutil.which("bash")
            assert bash
            shown = run(database.url, tmp_path, bash, "-euo", "pipefail", "-c", COMMANDS)
        finally:
            owner.stop_journal()
    assert '"cursor"' in shown
    assert len((tmp_path / "marks.jsonl").read_text().splitlines()) == 4


def test_asyncio_is_told_the_same(kept: Database, corpus_url: str) -> None:
    dd = deduplicator(kept)
    for i in range(4):
        dd.submit(article(f"a{i}", window(i, 6), i))

    async def work(twin: AsyncDeduplicator) -> None:
        first = await twin.changes(limit=3)
        assert first + await twin.changes(first[-1].cursor) == dd.changes()

    in_corpus(corpus_url, work)
