"""Attached tables together with roles, restores, prepared transactions and `uninstall`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from dedup.api.deduplicator import Deduplicator
from dedup.api.operation import Operation
from dedup.db import embedded
from dedup.db.database import Database
from dedup.store import opening
from tests.attach.owners import Owner, dumped
from tests.attached import SCHEMA, attach, news, put, right
from tests.conftest import Server
from tests.corpora import article, at, deduplicator, load, settle, text, window
from tests.db.test_restore import major_for, program, run, target
from tests.db.test_roles import Names, granted, names, url_of

pytestmark = pytest.mark.timeout(120)

__all__ = ["granted", "names", "target"]


@pytest.fixture
def bare(server: Server) -> Iterator[Database]:
    """A corpus and a table of news in a separate database, which a test may damage."""
    name = "dedup_taken_apart"
    made = Database(server.create(name))
    opening.initialize(made)
    with psycopg.connect(made.url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {SCHEMA}".encode())
        connection.execute(f"SET search_path = {SCHEMA}".encode())
        news(connection)
        put(connection, 1, window(0, 6), 0)
        put(connection, 2, window(1, 6), 5)
    yield made
    made.close()
    server.drop(name)


def marked(url: str) -> list[tuple[Any, ...]]:
    """Return the keys and the mark columns of the table."""
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT id, dedup_status, dedup_duplicate_of FROM newsroom.news ORDER BY id"
        ).fetchall()


MARKED = [(1, "unique", None), (2, "duplicate", 1)]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("first", ["granted first", "attached first"])
def test_a_worker_needs_no_right_on_the_table(
    database: Database, owner: Owner, names: Names, first: str
) -> None:
    news(owner)
    put(owner, 1, window(0, 6), 0)
    put(owner, 2, window(2, 6), 5)
    if first == "attached first":
        attach(database, mark_columns=True)
    with Operation(database.url) as operation:
        operation.grant(worker=[names["worker"]], analyst=[names["analyst"]])
    if first == "granted first":
        attach(database, mark_columns=True)
    url = url_of(database, names["worker"])
    with Deduplicator(url) as worker:
        worker.backfill(workers=0)
        owner.execute("UPDATE news SET body = %s WHERE id = 2", [text(window(1, 6))])
        owner.execute("UPDATE news SET day = %s WHERE id = 1", [at(-1)])
        assert worker.attachments.sync() == 2
        report = worker.backfill(workers=0)
        assert report.written_back > 0
    assert marked(database.url) == MARKED
    right(database)
    with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SELECT body FROM newsroom.news")
    with psycopg.connect(url_of(database, names["analyst"])) as connection:
        query = "SELECT id, status, duplicate_of FROM dedup.news_marks ORDER BY id"
        assert connection.execute(query).fetchall() == MARKED
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT dedup.attached_1_write('{}', '{}', '{}', '{}')")


def test_a_stranger_and_a_scraper_may_not_write_marks(
    database: Database, owner: Owner, granted: Names
) -> None:
    news(owner)
    attach(database, mark_columns=True)
    for role in ("scraper", "analyst", "reader", "stranger"):
        with (
            psycopg.connect(url_of(database, granted[role])) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute("SELECT dedup.attached_1_write('{}', '{}', '{}', '{}')")


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("mark_columns", [False, True])
def test_uninstall_leaves_attached_tables_as_they_were_found(bare: Database, mark_columns: bool) -> None:
    before = dumped(bare)
    attach(bare, mark_columns=mark_columns)
    settle(bare)
    assert dumped(bare) != before
    with Operation(bare.url) as operation:
        assert operation.contents().attached == ("newsroom.news",)
        assert operation.contents().outside == ()
        operation.uninstall()
    assert dumped(bare) == before
    with psycopg.connect(bare.url) as connection:
        assert connection.execute("SELECT count(*) FROM newsroom.news").fetchone() == (2,)
        connection.execute("UPDATE newsroom.news SET body = '', id = id + 10")
        connection.execute("TRUNCATE newsroom.news")


@pytest.mark.long("dedup", "migrations")
def test_uninstall_names_what_rests_on_a_view_of_marks(bare: Database) -> None:
    attach(bare)
    with psycopg.connect(bare.url) as connection:
        connection.execute("CREATE VIEW public.report AS SELECT * FROM dedup.news_marks")
    with Operation(bare.url) as operation:
        assert operation.contents().outside == ("view public.report",)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("mark_columns", [False, True])
def test_a_restored_corpus_goes_on_with_its_attached_table(
    bare: Database, target: Database, tmp_path: Path, mark_columns: bool
) -> None:
    attach(bare, mark_columns=mark_columns)
    load(bare, article("own", window(3, 6), 9))
    before = right(bare)
    with psycopg.connect(bare.url, autocommit=True) as connection:
        connection.execute("UPDATE newsroom.news SET body = %s WHERE id = 2", [text(window(8, 6))])
    dump = str(tmp_path / "dump.sql")
    run(program("pg_dump", major_for(bare)), "-f", dump, "-d", bare.url)
    run(program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", dump, "-d", target.url)
    assert deduplicator(target).attachments.waiting() == 1
    found = right(target)
    assert found.status() != before.status()
    assert found == right(bare)
    with psycopg.connect(target.url, autocommit=True) as connection:
        connection.execute("DELETE FROM newsroom.news WHERE id = 1")
    assert set(right(target).marks) == {"news/2", "own"}
    deduplicator(target).attachments.detach("news")
    settle(target)
    assert set(right(target).marks) == {"own"}


@contextmanager
def own_server(setting: str, value: str) -> Iterator[str]:
    """Start an embedded server with a setting that takes effect after a restart."""
    home = Path(tempfile.mkdtemp(prefix="dedup-test-"))
    home.chmod(0o711)
    try:
        with psycopg.connect(embedded.start(home), autocommit=True) as connection:
            connection.execute(
                sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(setting), sql.Literal(value))
            )
        embedded.stop(home)
        yield embedded.start(home)
    finally:
        embedded.stop(home)
        shutil.rmtree(home, ignore_errors=True)


@pytest.mark.long("dedup", "migrations")
def test_a_transaction_that_changed_the_table_can_be_prepared() -> None:
    """Postgres cannot prepare a transaction that has sent NOTIFY, so the triggers send none."""
    with own_server("max_prepared_transactions", "5") as url, closing(Database(url)) as database:
        opening.initialize(database)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {SCHEMA}; SET search_path = {SCHEMA}".encode())
            news(connection)
            attach(database)
            settle(database)
            for change, noted in (
                ("INSERT INTO news (id, body) VALUES (1, 'One.'), (2, 'Two.')", 2),
                ("UPDATE news SET body = 'Three.'", 2),
                ("DELETE FROM news WHERE id = 1", 1),
                ("TRUNCATE news", 1),
            ):
                connection.execute(f"BEGIN; {change}; PREPARE TRANSACTION 'of the owner'".encode())
                assert deduplicator(database).attachments.waiting() == 0
                connection.execute("COMMIT PREPARED 'of the owner'")
                assert deduplicator(database).attachments.waiting() == noted
                right(database)


@pytest.mark.long("dedup", "migrations")
def test_a_worker_follows_a_view_and_needs_no_right_on_it(
    database: Database, owner: Owner, names: Names
) -> None:
    news(owner)
    put(owner, 1, window(0, 6), 0)
    owner.execute("CREATE VIEW latest AS SELECT id, body, day FROM news")
    attach(database, "latest", columns={"text": "body", "published_at": "day"}, changed="day", every=5)
    with Operation(database.url) as operation:
        operation.grant(worker=[names["worker"]], reader=[names["reader"]])
    url = url_of(database, names["worker"])
    with Deduplicator(url) as worker:
        worker.backfill(workers=0)
        put(owner, 2, window(0, 6), 5)
        assert worker.attachments.sync() == 1
        worker.backfill(workers=0)
        assert worker.verify().skipped == []
    assert right(database).status() == {"latest/1": "unique", "latest/2": "duplicate:latest/1"}
    with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("SELECT body FROM newsroom.latest")
    with Deduplicator(url_of(database, names["reader"])) as reader:
        stored = reader.get("latest/2")
        assert stored is not None
        assert stored.article.text
