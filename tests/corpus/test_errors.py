"""What the database says no to: one line of the right kind, with the next step and without secrets."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors as pg
from psycopg.conninfo import make_conninfo

from dedup.corpus import migrate
from dedup.corpus.database import Database, conninfo, translated
from dedup.errors import DedupError, InputError, RightsError, SchemaError, StorageError, UnreachableError
from tests.conftest import Server


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hidden@127.0.0.1:1/news",
        "postgresql+psycopg://me:hidden@127.0.0.1:1/news",
        "postgres://me:hidden@nowhere.invalid/news",
        "host=127.0.0.1 port=1 password=hidden",
    ],
)
def test_an_unreachable_database(url: str) -> None:
    database = Database(url)
    for attempt in (database.connect, lambda: migrate.prepare(database)):
        with pytest.raises(UnreachableError) as caught:
            attempt()
        assert "hidden" not in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "nonsense", "mysql://x", "http://host/db", "dbname='"])
def test_no_address(url: str) -> None:
    with pytest.raises(InputError):
        conninfo(url) if url else conninfo("x y")


def test_a_database_that_does_not_exist(server: Server) -> None:
    with pytest.raises(UnreachableError, match=r"no such database|does not exist"):
        Database(server.address("absent")).connect()


def test_a_role_without_rights(server: Server, database: Database, corpus_url: str) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS dedup_nobody")
        connection.execute("CREATE ROLE dedup_nobody LOGIN")
    try:
        poor = Database(make_conninfo(corpus_url, user="dedup_nobody"))
        try:
            with pytest.raises((RightsError, UnreachableError)) as caught, poor.transaction() as cursor:
                cursor.execute("SELECT text FROM dedup.article")
            assert "\n" not in str(caught.value)
        finally:
            poor.close()
    finally:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("DROP ROLE dedup_nobody")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (pg.DiskFull, StorageError),
        (pg.OutOfMemory, StorageError),
        (pg.TooManyConnections, StorageError),
        (pg.UndefinedTable, SchemaError),
        (pg.AdminShutdown, UnreachableError),
        (pg.CrashShutdown, UnreachableError),
        (pg.InsufficientPrivilege, RightsError),
        (psycopg.OperationalError, UnreachableError),
        (pg.UniqueViolation, DedupError),
    ],
)
def test_every_kind_of_error_has_its_class(error: type[psycopg.Error], kind: type[DedupError]) -> None:
    with pytest.raises(kind) as caught, translated("database 'x' on host"):
        raise error("Key (text)=(a secret text) already exists")
    assert "secret" not in str(caught.value)
