"""Errors of the database: one line of the right kind, with the next step and without secrets."""

from __future__ import annotations

import traceback
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dedup.base.errors import (
    LASTING,
    BusyError,
    DedupError,
    InputError,
    LoginError,
    ReadOnlyError,
    RightsError,
    SchemaError,
    StorageError,
    UnreachableError,
)
from dedup.db.database import Database, conninfo, location, translate_errors
from dedup.store import opening
from tests.conftest import Server
from tests.loops import each


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
    for attempt in (database.connect, lambda: opening.prepare(database)):
        with pytest.raises(UnreachableError) as caught:
            attempt()
        assert "hidden" not in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "nonsense", "mysql://x", "http://host/db", "dbname='"])
def test_no_address(url: str) -> None:
    with pytest.raises(InputError):
        conninfo(url) if url else conninfo("x y")


URLS = [  # a socket in a missing folder is refused at once, without a look-up of a host
    "postgresql://me:{raw}@%2Fnowhere/news",
    "postgresql+psycopg://me:{raw}@%2Fnowhere:5432/news?connect_timeout=3",
    "postgres://{raw}:{raw}@%2Fnowhere/news",
    "postgresql://{raw}@%2Fnowhere/news",
    "postgresql://me:{quoted}@%2Fnowhere/news",
    "postgresql://me:{raw}@/news?host=/nowhere",
    "postgresql://me@/news?host=/nowhere&password={raw}",
    "postgresql://me@/news?password={raw}&host=/nowhere",
    "postgresql://me@%2Fnowhere/news?password={quoted}",
    "postgresql://me@%2Fnowhere/news?pasword={raw}",
    "mysql://me:{raw}@%2Fnowhere/news?a=b",
    "me:{raw}@nowhere/news",
    "host=/nowhere user=me dbname=news password={raw}",
    "password={raw} host=/nowhere user=me dbname=news",
    "password = '{escaped}' host=/nowhere dbname=news",
    "host=/nowhere password='{raw} dbname=news user=me",
    "host=/nowhere dbname='postgresql://me:{quoted}@h/d'",
    "host=/nowhere dbname='host=h password={escaped}'",
]
# Passwords: pieces such as `zq0x`, which no message has by chance, joined by characters with a meaning in an
# address.
PASSWORDS = st.lists(
    st.sampled_from([*"@/:?#&=% '\"\\+,;[]<>$\n", "@h/", "&host=", " host=", "?host=", "://", "%40", "é"]),
    min_size=1,
    max_size=4,
).map(lambda signs: "".join(f"zq{number}x{sign}" for number, sign in enumerate([*signs, ""])))


def told(url: str) -> str:
    """Return everything that dedup says of an address: its location, and the error of a connection to it."""
    try:
        database = Database(url)
    except DedupError as error:
        return "".join(traceback.format_exception(error))
    with pytest.raises(DedupError) as caught:
        database.connect()
    return "".join([database.location, str(database), *traceback.format_exception(caught.value)])


@given(st.sampled_from(URLS), PASSWORDS)
def test_no_part_of_a_password_is_ever_told(shape: str, password: str) -> None:
    escaped = password.replace("\\", "\\\\").replace("'", "\\'")
    url = shape.format(raw=password, quoted=quote(password, safe=""), escaped=escaped)
    words = told(url)
    assert words
    assert "zq" not in words


@given(PASSWORDS, st.sampled_from(["postgresql://me:{}@db.example/news", "password='{}' host=db.example"]))
def test_a_well_written_address_is_read_as_it_is_meant(password: str, shape: str) -> None:
    assume("\n" not in password)
    url = "://" in shape
    escaped = quote(password, safe="") if url else password.replace("\\", "\\\\").replace("'", "\\'")
    found = conninfo_to_dict(conninfo(shape.format(escaped)))
    assert found["password"] == password
    assert found["host"] == "db.example"


def test_no_password_of_the_surroundings_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("pass", "service"):
        (tmp_path / name).write_text("[prod]\npassword=zq1@zq2\nhost=/nowhere\nzq3 zq4\n*:*:*:*:zq5\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "service"))
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
    monkeypatch.setenv("PGPASSWORD", "zq6/zq7")
    for url in ("service=prod", "postgresql://me@%2Fnowhere/news", "service=absent host=/nowhere"):
        assert "zq" not in told(url)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:x@db.example:5433/news", "database 'news' on db.example:5433"),
        ("postgresql+psycopg://me@[::1]/news", "database 'news' on ::1"),
        ("postgresql://postgres@/dedup?host=%2Frun%2Fdedup&port=5432", "database 'dedup' on /run/dedup"),
        ("postgresql://me@a,b/news", "database 'news' on a,b"),
        ("dbname='daily news' host=h", "database 'daily news' on h"),
        ("dbname='a=b' host=h", "a database on h"),
        ("dbname=news host='a b'", "database 'news'"),
        ("", "database 'postgres' on localhost"),
        ("service=news", "the database of the service 'news'"),
        ("postgresql:///?service=a%3Db", "the database of the service"),
        ("service=news host=h", "database 'postgres' on h"),
    ],
)
def test_a_place_is_host_and_database(url: str, shown: str) -> None:
    assert location(url) == shown


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
        (pg.ReadOnlySqlTransaction, ReadOnlyError),
        (pg.ProtocolViolation, UnreachableError),  # PgBouncer reports this if it has lost its server
        (pg.IdleSessionTimeout, UnreachableError),
        (pg.IoError, UnreachableError),
        (pg.ConfigurationLimitExceeded, UnreachableError),
        (pg.TransactionTimeout, BusyError),
        (psycopg.OperationalError, UnreachableError),
        (pg.UniqueViolation, DedupError),
    ],
)
def test_every_kind_of_error_has_its_class(error: type[psycopg.Error], kind: type[DedupError]) -> None:
    with pytest.raises(kind) as caught, translate_errors("database 'x' on host"):
        raise error("Key (text)=(a secret text) already exists")
    assert "secret" not in str(caught.value)


@each(
    "said",
    [
        'connection to server at "password.example" (192.0.2.1), port 5432 failed: Connection refused',
        'connection failed: FATAL:  database "role" is not currently accepting connections',
        "connection failed: FATAL:  the database system is starting up",
        "connection failed: FATAL:  the database system is shutting down",
        "connection failed: FATAL:  the database system is in recovery mode",
        "connection failed: FATAL:  sorry, too many clients already",
        "connection failed: FATAL:  remaining connection slots are reserved for some roles",
        "connection failed: session is read-only",
        "server closed the connection unexpectedly",
    ],
)
def test_a_server_that_takes_no_connections_now_is_waited_for(said: str) -> None:
    with pytest.raises(UnreachableError) as caught, translate_errors("database 'x' on host"):
        raise psycopg.OperationalError(said)
    assert not isinstance(caught.value, LASTING)


@each(
    "said",
    [
        'connection failed: FATAL:  password authentication failed for user "me"',
        'connection failed: FATAL:  role "me" does not exist',
        'connection failed: FATAL:  no pg_hba.conf entry for host "192.0.2.1", user "me"',
    ],
)
def test_a_refused_login_is_not_waited_for(said: str) -> None:
    with pytest.raises(LoginError), translate_errors("database 'x' on host"):
        raise psycopg.OperationalError(said)


@pytest.mark.long("dedup", "migrations")
def test_init_without_the_right_to_make_a_schema_names_the_grant_that_there_is(server: Server) -> None:
    url = server.create("dedup_no_create")
    name, role = conninfo_to_dict(url)["dbname"], "dedup_no_create_role"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {role}".encode())
        connection.execute(f"CREATE ROLE {role} LOGIN".encode())
        database = Database(make_conninfo(url, user=role))
        try:
            with pytest.raises(RightsError) as caught:
                opening.initialize(database)
            grant = f'GRANT CREATE ON DATABASE "{name}" TO "{role}"'
            assert f"`{grant}`" in str(caught.value)
            assert "dedup grant" not in str(caught.value)
            connection.execute(grant.encode())
            opening.initialize(database)
        finally:
            database.close()
    server.drop("dedup_no_create")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"DROP ROLE {role}".encode())
