"""docs/scraper.md: every block works, and the tables name existing settings, counts and statuses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from dedup.base.verdict import StatusName
from dedup.db.database import Database
from dedup.scrapy import Options
from tests.corpora import answer
from tests.extras.scrapy.test_scrapy import PAGES, NewspaperSite, crawl, served

pytestmark = pytest.mark.timeout(240)

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "scraper.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
PROGRAMS = [code for kind, code in BLOCKS if kind == "python" and "import" in code]
SETTINGS = [code for kind, code in BLOCKS if kind == "python" and "import" not in code]
SHELL = [code for kind, code in BLOCKS if kind == "sh"]


def run(folder: Path, url: str, *command: str) -> str:
    """Run a program in a folder; the commands of this environment are in its path."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "DEDUP_DATABASE_URL": url, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_page_has_what_is_tested() -> None:
    assert (len(PROGRAMS), len(SETTINGS), len(SHELL)) == (4, 1, 1)
    assert {kind for kind, _ in BLOCKS} == {"python", "sh"}


@pytest.mark.long("dedup", "migrations", "docs/scraper.md")
@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "unique None\n"), (1, "\nn19 "), (2, "0 0\n"), (3, "a1: unique\n")],
    ids=["plain", "asyncio", "watch", "spool"],
)
def test_a_program_of_the_page_runs(
    database: Database, corpus_url: str, tmp_path: Path, number: int, said: str
) -> None:
    shown = run(tmp_path, corpus_url, sys.executable, "-W", "error", "-c", PROGRAMS[number])
    assert said in shown
    # The program for `dedup watch` finds no feed.
    assert bool(answer(database).marks) == ("watch" not in PROGRAMS[number])


@pytest.mark.long("dedup", "migrations", "docs/scraper.md")
def test_the_settings_and_the_commands_of_the_page_work(
    database: Database, corpus_url: str, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {}
    exec(SETTINGS[0], settings)
    del settings["__builtins__"]
    spool = Options.spool.format(name="newspaper")
    assert spool in SHELL[0]
    with served(NewspaperSite()) as newspaper:
        done = crawl(
            tmp_path,
            newspaper.address,
            "postgresql://nobody@127.0.0.1:1/none",
            DEDUP_SPOOL=str(tmp_path / spool),
            **settings,
        )
        assert len(done.items) == PAGES
        run(tmp_path, corpus_url, "bash", "-euo", "pipefail", "-c", SHELL[0])
        assert len(answer(database).marks) == PAGES
        assert "pending" not in answer(database).status().values()
        done = crawl(tmp_path, newspaper.address, corpus_url, **settings)
    assert {item["dedup"]["status"] for item in done.items} == {"similar", "duplicate"}


def test_the_page_names_every_setting_count_and_status() -> None:
    source = (ROOT / "dedup" / "extras" / "scrapy" / "pipeline.py").read_text("utf-8")
    read = re.findall(r'settings\.get\w*\("(DEDUP_\w+)"', source)
    assert sorted(re.findall(r"^\| `(DEDUP_\w+)`", PAGE, re.MULTILINE)) == sorted(read)
    for default in (Options.item_field, Options.spool):
        assert f'| `"{default}"` |' in PAGE
    assert f"| {Options.spool_bytes:,} |" in PAGE
    assert f"| {Options.retry_seconds:g} |" in PAGE
    counted = set(re.findall(r'_count\("(\w+)"', source)) | set(get_args(StatusName))
    assert set(re.findall(r"\*(\w+)\*", PAGE)) == counted
    assert set(re.findall(r"^\| `([a-z]+)` \|", PAGE, re.MULTILINE)) == set(get_args(StatusName))
