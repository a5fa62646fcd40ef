"""Each section of docs/load.md is typed into a shell, on a corpus of its own, with files made here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dedup.cli import main
from dedup.db.database import URL_VARIABLE
from tests.files.feed_files import KEEPER, STORM, TRAMS, blocks, post, wordpress

PAGE = Path(__file__).parents[2] / "docs" / "load.md"
SECTIONS = dict(
    re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
)
MOST_COMMANDS = 5


def exports_of_wordpress(folder: Path) -> None:
    courier = wordpress(
        post(1, blocks(STORM)),
        post(2, blocks(TRAMS), title="Council votes for night trams"),
        post(3, "", kind="attachment", status="inherit", title="bridge.jpg"),
        post(4, STORM, status="draft"),
    )
    site = "https://mercury.example"
    mercury = wordpress(
        post(2, f"{STORM}\n\nWhat do you think?", title="Nine days without a bridge", site=site),
        post(5, KEEPER, title="Last keeper leaves the lighthouse", site=site),
        title="Mercury",
        site=site,
    )
    (folder / "courier.xml").write_text(courier, "utf-8")
    (folder / "mercury.xml").write_text(mercury, "utf-8")


FILES: dict[str, Callable[[Path], None]] = {"WordPress": exports_of_wordpress}
"""Section of the page -> what makes its files."""


def typed(section: str) -> list[tuple[str, str]]:
    """The commands of a section, and what it says that they answer."""
    [transcript] = re.findall(r"^```console\n(.*?)^```", SECTIONS[section], re.MULTILINE | re.DOTALL)
    return re.findall(r"^\$ ([^\n]+)\n(.*?)(?=^\$ |\Z)", transcript, re.MULTILINE | re.DOTALL)


def test_every_transcript_has_its_files_and_five_commands_at_most() -> None:
    assert {name for name, text in SECTIONS.items() if "```console" in text} == set(FILES)
    assert all(len(typed(name)) <= MOST_COMMANDS for name in FILES)


@pytest.mark.long("dedup", "migrations", "docs/load.md")
@pytest.mark.parametrize("section", FILES)
def test_what_the_page_types_answers_what_the_page_shows(
    section: str, database: object, corpus_url: str, tmp_path: Path
) -> None:
    pytest.importorskip("trafilatura")
    FILES[section](tmp_path)
    for command, answer in typed(section):
        done = subprocess.run(
            [sys.executable, "-m", main.__name__, *command.split()[1:]],
            env={**os.environ, URL_VARIABLE: corpus_url, "COLUMNS": "200"},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
        )
        assert command.startswith("dedup ")
        assert (done.returncode, done.stdout) == (0, answer), command
