"""The printed schema: psql makes the same schema from it as `dedup init` makes."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest
from alembic import command

from dedup.api.deduplicator import Deduplicator
from dedup.api.operation import printed_schema
from dedup.base.errors import SchemaError
from dedup.db import migrate, postgres
from dedup.db.database import URL_VARIABLE, Database
from dedup.db.revision import current
from dedup.store import opening
from tests.conftest import Server
from tests.corpora import article, assert_right, code, window
from tests.db.test_migrations import catalogue
from tests.next_revision import next_revision

_NUMBERS = count()
RIGHTS = """
    SELECT proname, proacl::text, proconfig::text, prosecdef FROM pg_proc
    WHERE pronamespace = 'dedup'::regnamespace
    UNION ALL SELECT tgname, tgrelid::regclass::text, tgenabled::text, NULL FROM pg_trigger
    WHERE NOT tgisinternal ORDER BY 1, 2
"""
STATE = """
    SELECT fingerprint_digest, rule_digest, algorithm_revision, unicode_version, recount_all
    FROM dedup.corpus_state
"""


@pytest.fixture
def two(server: Server) -> Iterator[tuple[Database, Database]]:
    """Yield two databases without the schema."""
    names = [f"dedup_ddl_{next(_NUMBERS)}" for _ in range(2)]
    first, second = (Database(server.create(name)) for name in names)
    yield first, second
    for database, name in zip((first, second), names, strict=True):
        database.close()
        server.drop(name)


def psql(database: Database, script: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Run a script with psql, as an administrator does."""
    file = path / "schema.sql"
    file.write_text(script, "utf-8")
    options = ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(file), database.url]
    return subprocess.run(
        [postgres.programs() / "psql", *options], capture_output=True, text=True, timeout=100, check=False
    )


def everything(database: Database) -> list[object]:
    with database.transaction() as cursor:
        rights = cursor.execute(RIGHTS.encode()).fetchall()
        state = cursor.execute(STATE.encode()).fetchall()
        revision = current(cursor)
    return [catalogue(database), rights, state, revision]


@pytest.mark.long("dedup", "migrations")
def test_from_nothing_it_makes_what_init_makes(
    two: tuple[Database, Database], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_init, by_hand = two
    opening.initialize(by_init)
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    monkeypatch.setattr(psycopg.Connection, "connect", None)  # fail if any database is asked
    script = printed_schema()
    monkeypatch.undo()
    done = psql(by_hand, script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert everything(by_hand) == everything(by_init)
    with Deduplicator(by_hand.url) as dd:
        assert dd.submit(article("a", [*window(0, 6), code(99)])).status == "unique"
    assert_right(by_hand)


@pytest.mark.long("dedup", "migrations")
def test_a_second_time_nothing_is_done(two: tuple[Database, Database], tmp_path: Path) -> None:
    script = opening.write_script(None, "dedup")
    database, _ = two
    assert psql(database, script, tmp_path).returncode == 0
    before = everything(database)
    assert psql(database, script, tmp_path).returncode != 0
    assert everything(database) == before


@pytest.mark.long("dedup", "migrations")
def test_from_an_older_schema_it_upgrades(two: tuple[Database, Database], tmp_path: Path) -> None:
    by_init, by_hand = two
    for database in two:
        opening.initialize(database)
    with next_revision() as number:
        script = printed_schema(by_hand.url)
        assert number in script
        with by_hand.transaction() as cursor:
            assert current(cursor) != number  # the migration was only printed
        migrate.upgrade(by_init)
        done = psql(by_hand, script, tmp_path)
        assert done.returncode == 0, done.stderr
        assert everything(by_hand) == everything(by_init)
        assert printed_schema(by_hand.url) == ""


@pytest.mark.long("dedup", "migrations")
def test_it_is_not_run_on_another_schema_than_it_was_printed_for(
    two: tuple[Database, Database], tmp_path: Path
) -> None:
    database, other = two
    opening.initialize(database)
    with next_revision():
        script = printed_schema(database.url)
        opening.initialize(database)
    before = everything(database)
    done = psql(database, script, tmp_path)
    assert done.returncode != 0
    assert "print it again" in done.stderr
    assert everything(database) == before
    assert psql(other, script, tmp_path).returncode != 0


@pytest.mark.long("dedup", "migrations")
def test_a_newer_schema_is_refused(two: tuple[Database, Database]) -> None:
    database, _ = two
    opening.initialize(database)
    with database.transaction() as cursor:
        cursor.execute("UPDATE dedup.alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaError, match="newer dedup"):
        printed_schema(database.url)


def test_all_of_it_is_one_transaction() -> None:
    lines = opening.write_script(None, "dedup").splitlines()
    alone = [line for line in lines if line in ("BEGIN;", "COMMIT;")]
    assert alone == ["BEGIN;", "COMMIT;"]
    written = [line for line in lines if line]
    assert (written[0], written[-1]) == ("BEGIN;", "COMMIT;")


def test_alembic_prints_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    config = migrate.configuration()
    config.output_buffer = None
    command.upgrade(config, "head", sql=True)
    assert "CREATE TABLE dedup.article" in capsys.readouterr().out
