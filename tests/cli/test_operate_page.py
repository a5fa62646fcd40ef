"""Every command of docs/window.md and docs/operate.md works, in the order of the pages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dedup.api.deduplicator import Deduplicator
from dedup.cli.rights import MAY
from dedup.db import embedded, postgres
from dedup.db.roles import IMPLIED
from tests.corpora import article, code, window

pytestmark = pytest.mark.timeout(300)

ROOT = Path(__file__).parents[2]
PAGES = [(ROOT / "docs" / name).read_text("utf-8") for name in ("window.md", "operate.md")]
BLOCKS = re.findall(r"^```sh\n(.*?)^```", "\n".join(PAGES), re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder for embedded servers, with `bin/dedup`. The servers' user may not enter `tmp_path`."""
    made = Path(tempfile.mkdtemp(prefix="dedup-test-"))
    programs = made / "bin"
    programs.mkdir()
    shim = programs / "dedup"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dedup.cli.main "$@"\n')
    shim.chmod(0o755)
    yield made
    for home in (made / "home", made / "elsewhere"):
        embedded.stop(home)
    shutil.rmtree(made, ignore_errors=True)


@pytest.mark.extra("browse", "frames", "spark")
@pytest.mark.long("dedup", "migrations", "docs/operate.md", "docs/window.md")
def test_every_command_works(folder: Path) -> None:
    url = embedded.start(folder / "home")
    Deduplicator.initialize(url)
    with Deduplicator(url) as dd:
        dd.load([article(f"a{i}", [*window(i, 6), code(99)], i) for i in range(8)])
    with psycopg.connect(url, autocommit=True) as connection:
        for name in ("fresh", "new"):
            connection.execute(f"CREATE DATABASE {name} TEMPLATE template0".encode())
    kept = {k: v for k, v in os.environ.items() if k != "DEDUP_DATABASE_URL" and not k.startswith("PG")}
    environment = kept | {
        "DEDUP_HOME": str(folder / "home"),
        "PATH": f"{folder / 'bin'}:{postgres.programs()}:{os.environ['PATH']}",
        "NEWS": url,
        "FRESH": url.replace("/dedup?", "/fresh?"),
        "NEW": url.replace("/dedup?", "/new?"),
    }
    work = folder / "work"
    work.mkdir()
    (work / "elsewhere").symlink_to(folder / "elsewhere")
    (folder / "elsewhere").mkdir()
    said = []
    for block in BLOCKS:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            env=environment,
            cwd=work,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        said.append(done.stdout + done.stderr)
    everything = "\n".join(said)
    assert everything.count(" 0 differences") >= 2
    assert "restored and verified" in everything
    assert "removed" in said[-1]


def test_the_page_shows_what_is_tested() -> None:
    assert len(BLOCKS) >= 8
    commands = " ".join(BLOCKS)
    named = ("prune", "backfill", "verify", "grant", "db dump", "db restore", "init --sql", "uninstall")
    for command in named:
        assert f"dedup {command}" in commands


def test_the_table_of_rights_names_every_command() -> None:
    page = PAGES[1]
    rows = dict(re.findall(r"^\| (owner|worker|scraper|analyst|counter|reader) \| (.*)$", page, re.MULTILINE))
    # The row of a worker says "what a reader may", so it need not name a reader's commands.
    implied = {**IMPLIED, "worker": IMPLIED["worker"] | {"reader"}}
    missing = []
    for task, kinds in MAY.items():
        plain = task.rpartition(" ")[0] if task.split()[-1].isupper() or " -" in task else task
        least: list[str] = [kind for kind in kinds if not implied[kind] & {*kinds}]
        for kind in least or ["owner"]:
            if not re.search(rf"`({re.escape(task)}|{re.escape(plain)})`", rows[kind]):
                missing.append((kind, task))
    assert missing == []
