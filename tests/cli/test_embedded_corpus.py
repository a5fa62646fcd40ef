"""Reading makes no corpus on the embedded server, and monitoring starts no server."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from dedup.api.deduplicator import Deduplicator
from dedup.base.errors import SchemaError
from dedup.db import embedded, revision
from dedup.db.database import URL_VARIABLE
from tests.cli.conftest import Dedup

READING = (["status"], ["marks"], ["runs"], ["settings"], ["common"])
MONITORING = (["status", "--check"], ["metrics"])


@pytest.fixture
def home(dedup: Dedup, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which commands make an embedded server. It is outside tmp_path, which pytest closes to
    the server."""
    folder = Path(tempfile.mkdtemp(prefix="dedup-test-"))
    monkeypatch.delenv(URL_VARIABLE)
    monkeypatch.setenv("DEDUP_HOME", str(folder / "home"))
    yield folder / "home"
    embedded.stop(folder / "home")
    shutil.rmtree(folder, ignore_errors=True)


def code(command: list[str]) -> int:
    return 2 if "--check" in command else 1


def test_without_data_nothing_is_made(dedup: Dedup, home: Path) -> None:
    for command in (*READING, *MONITORING):
        found = dedup(*command)
        assert found.code == code(command), command
        assert "there is no corpus in" in found.out + found.err, command
    assert not home.exists()


@pytest.mark.long("dedup", "migrations")
def test_with_data_a_monitor_starts_nothing_and_no_schema_is_made(dedup: Dedup, home: Path) -> None:
    assert dedup("init").code == 0
    with psycopg.connect(embedded.status().url or "", autocommit=True) as connection:

        def schemas() -> int:
            row = connection.execute("SELECT count(*) FROM pg_namespace").fetchone()
            assert row is not None
            return int(row[0])

        before = schemas()
        for command in (*READING, *MONITORING):
            found = dedup("--schema", "nosuch", *command)
            assert found.code == code(command), command
            assert "has no dedup schema; run `dedup --schema nosuch init`" in found.out + found.err
        for command in (["load", "nothing.jsonl"], ["backfill"], ["worker"]):
            found = dedup("--schema", "nosuch", *command)
            assert found.code in (1, 2), command
        with pytest.raises(SchemaError, match=r"`dedup --schema nosuch init` \(.* has a corpus in: dedup\)$"):
            Deduplicator(schema="nosuch")
        assert schemas() == before
        assert dedup("status").code == dedup("metrics").code == 0
        # The monitor's dedup may be newer than the corpus.
        connection.execute("UPDATE dedup.alembic_version SET version_num = %s", [revision.revisions()[-2]])
        for command in MONITORING:
            found = dedup(*command)
            assert found.code == code(command)
            assert "older dedup; run `dedup init` to upgrade it" in found.out + found.err
    embedded.stop()
    for command in MONITORING:
        found = dedup(*command)
        assert found.code == code(command)
        assert "is not running: `dedup db start` starts it" in found.out + found.err
    assert not embedded.status().running


def test_the_state_of_the_server_is_an_answer_on_stdout(dedup: Dedup, home: Path) -> None:
    found = dedup("db", "status")
    assert (found.code, found.out, found.err) == (0, "not running; no data yet\n", "")
