"""The option `--schema` names another corpus in the same database."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dedup.api.operation import Operation
from dedup.base.schema import VARIABLE
from dedup.db.database import Database
from tests.cli.conftest import Dedup


@pytest.fixture(autouse=True)
def second(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the corpora in the schemas `wires` and `cables`, which an earlier test may have made."""
    monkeypatch.delenv(VARIABLE, raising=False)
    for name in ("wires", "cables"):
        with database.transaction() as cursor:
            cursor.execute(f"DROP SCHEMA IF EXISTS {name} CASCADE".encode())


@pytest.mark.long("dedup", "migrations")
def test_every_command_works_on_the_corpus_of_the_option(dedup: Dedup, news: Path) -> None:
    missing = dedup("--schema", "wires", "status")
    assert missing.code == 1
    assert "(schema wires) has no dedup schema; run `dedup --schema wires init`" in missing.err
    assert dedup("--schema", "wires", "init").code == 0
    loaded = dedup("--schema", "wires", "load", str(news))
    assert loaded.code == 0
    assert "next: dedup --schema wires backfill" in loaded.err
    assert dedup("--schema", "wires", "backfill", "--workers", "1").code == 0
    assert {row["id"]: row["status"] for row in dedup("--schema", "wires", "marks").lines} == {
        "copy": "duplicate",
        "first": "unique",
        "other": "unique",
    }
    assert dedup("--schema", "wires", "verify").code == 0
    assert dedup("--schema", "wires", "worker", "--once").code == 0
    assert dedup("marks").lines == []  # the option does not affect the next command
    assert VARIABLE not in os.environ
    asked = dedup("--schema", "wires", "uninstall")
    assert "the schema wires with 3 articles" in asked.err
    assert dedup("--schema", "wires", "uninstall", "--yes").code == 0
    assert dedup("status").code == 0


@pytest.mark.long("dedup", "migrations")
def test_the_variable_names_a_schema_and_the_option_overrides_it(
    dedup: Dedup, news: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "wires")
    assert dedup("init").code == 0
    assert dedup("load", str(news)).err.count("next: dedup backfill") == 1
    assert dedup("--schema", "cables", "init").code == 0
    assert dedup("--schema", "cables", "marks").lines == []
    assert os.environ[VARIABLE] == "wires"
    assert len(dedup("marks").lines) == 3
    assert dedup("--schema", "dedup", "marks").lines == []


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", ['weird "name', "select", "%s", "a; drop", "x" * 63, "x" * 64, ""])
@pytest.mark.parametrize("by", ["option", "variable"])
def test_a_hostile_name_is_wrong_usage(
    dedup: Dedup, monkeypatch: pytest.MonkeyPatch, name: str, by: str
) -> None:
    if by == "variable":
        monkeypatch.setenv(VARIABLE, name)
    answer = dedup("status") if by == "variable" else dedup("--schema", name, "status")
    if by == "variable" and not name:
        assert answer.code == 0  # an empty variable counts as unset
        return
    assert answer.code == 2
    assert "1 to 40 characters of a-z, 0-9 and _" in answer.err
    assert len(answer.err.splitlines()) == 1


def test_what_is_printed_is_of_the_schema(dedup: Dedup, database: Database) -> None:
    shown = dedup("--schema", "wires", "init", "--sql")
    assert "CREATE SCHEMA IF NOT EXISTS wires" in shown.out
    assert "dedup.article" not in shown.out
    with Operation(database.url, schema="wires") as owner:
        assert owner.schema == "wires"
