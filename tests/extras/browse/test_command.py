"""A user can start and stop `dedup browse`, and the commands of docs/browse.md work."""

from __future__ import annotations

import re
import shlex
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from dedup.base.extras import installing
from dedup.cli.main import run
from dedup.db.database import URL_VARIABLE
from tests.extras.serve.conftest import SECONDS
from tests.extras.serve.test_command import TOKEN, Process, serving

PAGE = (Path(__file__).parents[3] / "docs" / "browse.md").read_text("utf-8")
LINES = [
    line.partition("  #")[0]
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


def page_of(running: Process) -> str:
    """Return the first page of a server."""
    with urllib.request.urlopen(running.address, timeout=SECONDS) as answer:
        found: str = answer.read().decode()
        return found


@pytest.mark.long("dedup", "migrations", "docs/browse.md")
def test_from_start_to_end(newsroom_url: str) -> None:
    with serving(newsroom_url, command="browse") as running:
        assert running.address.startswith("http://127.0.0.1:")
        assert "Friday 13 March 2026" in page_of(running)
        assert "read-only" in running.lines[0]
        assert running.end() == 0
        assert running.lines[-1] == "stopped as asked\n"


def test_wider_it_needs_the_token(
    newsroom_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(URL_VARIABLE, newsroom_url)
    monkeypatch.delenv("DEDUP_BROWSE_TOKEN", raising=False)
    assert run(["browse", "--host", "0.0.0.0"]) == 2
    assert "DEDUP_BROWSE_TOKEN" in capsys.readouterr().err


def test_without_the_extra_it_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("dedup.extras.browse.commands.browse.BROWSE_PACKAGES", ("no_such_package",))
    assert run(["browse"]) == 2
    assert installing("browse") in capsys.readouterr().err


@pytest.mark.long("dedup", "migrations", "docs/browse.md")
def test_the_commands_of_the_page_work(
    newsroom_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(URL_VARIABLE, newsroom_url)
    (tmp_path / "token").write_text(TOKEN)
    reports = [shlex.split(line)[1:] for line in LINES if line.startswith("dedup report ")]
    servers = [shlex.split(line)[1:] for line in LINES if line.startswith("dedup browse ")]
    assert (len(reports), len(servers), len(LINES)) == (2, 3, 8)
    for words in reports:
        assert run(words) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"token", "day.html", "storm.html"}
    _, *words = servers[-1]
    with serving(newsroom_url, *("0" if w == "8080" else w for w in words), command="browse") as running:
        with pytest.raises(urllib.error.HTTPError, match="401"):
            page_of(running)
        assert not [line for line in running.lines if TOKEN in line]
