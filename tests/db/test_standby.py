"""A database that may only be read, such as a standby: it answers questions and refuses writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from dedup.api.deduplicator import Deduplicator
from dedup.base.errors import ReadOnlyError
from dedup.cli import main
from dedup.db.database import URL_VARIABLE, Database
from tests.corpora import answer, article, code, load, window
from tests.replica import journal

ASKED = [
    ["marks"],
    ["matches"],
    ["stories"],
    ["show", "a1"],
    ["explain", "a1", "a2"],
    ["common"],
    ["pin", "list"],
    ["changes"],
    ["status"],
    ["settings"],
    ["verify"],
    ["check", "--dry-run", "new.jsonl"],
]
WRITING = [
    ["check", "new.jsonl"],
    ["load", "new.jsonl"],
    ["delete", "a1"],
    ["pin", "set", "a1", "a2", "similar"],
    ["settings", "set", "bands=16"],
    ["backfill", "--workers", "0"],
    ["uninstall", "--yes"],
]


@pytest.fixture
def standby(database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Database]:
    """Yield a settled corpus that commands reach through read-only sessions."""
    load(database, *(article(f"a{i}", [*window(i, 6), code(99)], i) for i in range(8)))
    with Deduplicator(database.url) as dd:
        dd.backfill(workers=0)
    url = make_conninfo(database.url, options="-c default_transaction_read_only=on")
    monkeypatch.setenv(URL_VARIABLE, url)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new.jsonl").write_text('{"id": "new", "text": "A short text that is new here."}\n')
    with journal(database):
        yield database


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("command", ASKED, ids=" ".join)
def test_every_question_is_answered(standby: Database, command: list[str]) -> None:
    assert main.run(command) == 0


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("command", WRITING, ids=" ".join)
def test_whatever_writes_is_refused_with_the_next_step(
    standby: Database, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = answer(standby)
    assert main.run(command) == 1
    assert "read-only, as a standby is; connect to the primary" in capsys.readouterr().err
    assert answer(standby) == before


def test_a_program_is_told_by_an_error_of_its_own(standby: Database) -> None:
    with Deduplicator() as dd:
        assert dd.lookup(article("x", [*window(2, 6), code(99)], 900)).status == "duplicate"
        with pytest.raises(ReadOnlyError, match="read-only"):
            dd.submit(article("x", [*window(2, 6), code(99)], 900))
