"""Fixtures that run commands in the process of the test, on the corpus of the tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dedup.cli import main
from dedup.db.database import URL_VARIABLE, Database
from tests import corpora

HARBOUR = (
    "The council of Port Marlow voted on Tuesday to close the harbour road for six weeks. "
    "Repairs to the sea wall will begin on Monday morning. "
    "Traders say the closure will cost them a third of their summer income. "
    '"Nobody asked us," said Ann Field, who runs the fish stall at the pier. '
    "The mayor promised a ferry every ten minutes. "
    "A decision on compensation is expected in May."
)
MUSEUM = (
    "Thieves broke into the museum of Eastfen on Friday night and took eleven bronze bowls. "
    "The alarm had been switched off for repairs since the morning. "
    "A guard found the side door open at a quarter past four. "
    "Police asked anyone who saw a grey van near the canal to call them."
)


@dataclass
class Result:
    """The output and the exit code of a command."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


Dedup = Callable[..., Result]


@pytest.fixture
def dedup(
    database: Database,
    corpus_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Dedup:
    """Return a function that runs a command: `dedup("marks", "--format", "csv")`."""
    monkeypatch.setenv(URL_VARIABLE, corpus_url)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Result:
        capsys.readouterr()
        code = main.run(list(arguments))
        shown = capsys.readouterr()
        return Result(code, shown.out, shown.err)

    return run


@pytest.fixture
def news(tmp_path: Path) -> Path:
    """A file with an original, its copy a day later, and another story."""
    articles = [
        {"id": "copy", "text": HARBOUR, "published_at": "2026-03-12T08:00Z", "source": "Herald"},
        {"id": "first", "text": HARBOUR, "published_at": "2026-03-11T08:00Z", "source": "Courier"},
        {"id": "other", "text": MUSEUM, "published_at": "2026-03-11T09:00Z", "source": "Courier"},
    ]
    file = tmp_path / "news.jsonl"
    file.write_text("".join(json.dumps(article) + "\n" for article in articles))
    return file


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    """A file of forty articles from two rings of sentences. Neighbours in a ring are duplicates; articles two
    steps apart are similar."""
    rows = []
    for number in range(40):
        ring_of, start = divmod(number, 20)
        codes = [code + 400 * ring_of for code in corpora.window(start % 14, 6)]
        time = f"2026-03-11T{number // 2:02}:{number % 2 * 30:02}Z"
        rows.append({"id": f"r{number:02}", "text": corpora.text(codes), "published_at": time})
    return lines(tmp_path / "ring.jsonl", rows)


def distance(a: str, b: str) -> int | None:
    """Return the number of steps between two articles of a ring; None for articles of different rings."""
    one, other = int(a[1:]), int(b[1:])
    if one // 20 != other // 20:
        return None
    step = abs(one % 20 % 14 - other % 20 % 14)
    return min(step, 14 - step)
