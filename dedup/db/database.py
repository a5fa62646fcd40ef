"""A database: its address, and a pool of connections to it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from dedup.base import config
from dedup.base.config import URL_VARIABLE
from dedup.base.errors import BusyError, ClosedError, DatabaseError, InputError
from dedup.base.schema import DEFAULT, chosen
from dedup.base.timeouts import Timeouts
from dedup.db.connection import (
    GRACE_SECONDS,
    Connection,
    Cursor,
    Session,
    hold_settle_lock,
    one_column,
    one_row,
    prefer_indexes,
)
from dedup.db.failures import retry, translate_errors

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine

__all__ = ["Connection", "Cursor", "Session", "hold_settle_lock", "one_column", "one_row", "prefer_indexes"]
__all__ += ["URL_VARIABLE", "Database", "retry", "run_locked", "translate_errors"]

_Value = TypeVar("_Value")

MAX_CONNECTIONS = 10  # Maximum number in use per `Database`; further threads wait
KEPT_CONNECTIONS = 2  # Maximum number of idle connections that stay open
_NAME, _SOCKET = r"[\w.$ -]+", r"/[^@=\x00-\x1f]*"  # Parts of an address that may be shown
MIN_SERVER_MAJOR = 14  # The oldest PostgreSQL that the project supports


# SQLAlchemy's pool is not used: importing SQLAlchemy takes longer than storing a program's first article.
class Pool:
    """A pool of connections, opened on demand. `slots`: a semaphore to acquire before `borrow`."""

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self.process_id = os.getpid()  # a child of a fork must not use the connections of its parent
        self.slots = BoundedSemaphore(MAX_CONNECTIONS)
        self._connect, self._lock, self._closed = connect, Lock(), False
        self._idle: list[Connection] = []

    def borrow(self) -> Connection:
        """Return a live connection, idle or new. The caller must hold a slot."""
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connect()
            try:
                if connection.alive():
                    return connection
            except BaseException:
                connection.close()
                raise
            connection.close()

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for the next `borrow`, or close it."""
        if self.process_id != os.getpid():
            return
        connection.used_at = time.monotonic()
        with self._lock:
            if not self._closed and not connection.closed and len(self._idle) < KEPT_CONNECTIONS:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        if self.process_id != os.getpid():
            return
        with self._lock:
            self._closed, idle, self._idle = True, self._idle, []
        for connection in idle:
            connection.close()


def conninfo(url: str, source: str = "that") -> str:
    """Return a database's address in a form that libpq accepts. Raises InputError: invalid or ambiguous.

    `source`: words that name the address in the message, such as a variable.
    """
    if not isinstance(url, str):
        raise InputError(f"the address of a database must be a string, not {type(url).__name__}")
    url = re.sub(r"^postgres(ql)?(\+\w+)?://", "postgresql://", url.strip())
    try:
        conninfo_to_dict(url)
        _refuse_ambiguous(url)
    except (psycopg.ProgrammingError, ValueError):
        raise InputError(
            f"{source} is not a Postgres address; write postgresql://user@host:5432/database"
            " (inside a password %40 for @, %2F for /, %3F for ?, %26 for &)"
        ) from None
    return url


def _refuse_ambiguous(url: str) -> None:
    """Raise ValueError if a password may contain an @, or if a keyword is set twice."""
    # libpq would read the end of a password with a bare @ as the host, and errors would show that end.
    if url.startswith("postgresql://"):
        address, _, query = url.removeprefix("postgresql://").partition("?")
        login, _, rest = address.rpartition("@")
        if "@" in login or "/" in login or "@" in query:
            raise ValueError
        user, _, password = login.partition(":")
        host, _, name = rest.partition("/")
        parts = {"user": user, "password": password, "host": host, "dbname": name}
        keywords = [keyword for keyword, value in parts.items() if value]
        keywords += [item.partition("=")[0] for item in query.split("&") if item]
    else:
        value = r"'(?:\\.|[^'\\])*'|(?:\\.|[^\s\\])*"
        keywords = re.findall(rf"(\w+)\s*=\s*(?:{value})", url, re.DOTALL)
    if len(keywords) != len(set(keywords)):
        raise ValueError


def location(url: str, schema: str = DEFAULT) -> str:
    """Return host, database and schema of an address for messages, never a password."""
    shown = _place(conninfo_to_dict(conninfo(url)))
    return shown if schema == DEFAULT else f"{shown} (schema {schema})"


def _place(parts: Mapping[str, Any]) -> str:
    """Return words that name the database and the host of an address. `parts`: the parts of the address."""
    host = str(parts.get("host") or parts.get("hostaddr") or "localhost")
    name = str(parts.get("dbname") or parts.get("user") or "postgres")
    if "service" in parts and not {"host", "hostaddr", "dbname"} & parts.keys():
        # The file of services, which only libpq reads, names host and database.
        service = str(parts["service"])
        return "the database of the service" + (f" {service!r}" if re.fullmatch(_NAME, service) else "")
    port = str(parts.get("port") or "")
    if re.fullmatch(r"\d{1,5}", port) and not host.startswith("/"):
        host = f"{host}:{port}"
    # A name with unusual characters may be a misplaced address with a password, so it is not shown.
    shown = f"database {name!r}" if re.fullmatch(_NAME, name) else "a database"
    return shown + (f" on {host}" if re.fullmatch(rf"[\w.,:%-]+|{_SOCKET}", host) else "")


def role(url: str) -> tuple[str, str | None]:
    """Return the name of a connection's role, for messages, and the source of the name, such as "PGUSER".

    The source is None if the address `url`, or its service, names the role.
    """
    parts = conninfo_to_dict(conninfo(url))
    if "user" not in parts and ("service" in parts or "PGSERVICE" in os.environ):
        return "the role of the service", None
    defaults = (option.val for option in psycopg.pq.Conninfo.get_defaults() if option.keyword == b"user")
    name = str(parts.get("user") or (next(defaults, None) or b"").decode("utf-8", "replace"))
    source = "PGUSER" if "PGUSER" in os.environ else "the system's user"
    return name if re.fullmatch(_NAME, name) else "a role", None if "user" in parts else source


def safe_address(url: str) -> str | None:
    """Return an address that may be shown and that other programs accept; None if it has a secret."""
    url = conninfo(url)
    parts = conninfo_to_dict(url)
    return None if {"password", "sslpassword", "oauth_client_secret"} & parts.keys() else url


def _shown_url(url: str) -> URL:
    """Return an address for tools that show the address of an engine: never with a password."""
    from sqlalchemy import URL

    found = {name: str(value) for name, value in conninfo_to_dict(url).items()}
    # A value that does not fit its pattern is left out: it may be a misplaced password. A list of hosts does
    # not fit, either, because SQLAlchemy takes one host only.

    def fitting(name: str, pattern: str) -> str | None:
        return found[name] if re.fullmatch(pattern, found.get(name, "")) else None

    port, socket = fitting("port", r"\d{1,5}"), fitting("host", _SOCKET)
    return URL.create(
        "postgresql+psycopg",
        username=fitting("user", _NAME),
        host=fitting("host", r"[\w.:-]+"),
        port=int(port) if port else None,
        database=fitting("dbname", _NAME),
        query={"host": socket} if socket else {},
    )


class Database:
    """A pool of connections to one database, for any number of threads, and for children of a fork.

    `url`: SQLAlchemy or libpq form; None takes the configured address, or starts the embedded server.
    `timeouts`: None takes the configured timeouts. `schema`: the schema of the corpus; None takes the
    configured schema, or `dedup`. See `dedup.base.config`.
    """

    def __init__(
        self, url: str | None = None, timeouts: Timeouts | None = None, schema: str | None = None
    ) -> None:
        self.schema = chosen(schema)
        self.timeouts = timeouts or config.timeouts()
        choice = config.Choice(url, "that") if url else config.address()
        self.embedded = not choice
        if not choice:
            from dedup.db import embedded

            choice = config.Choice(embedded.start(), "that")
        self.url = conninfo(choice.value, choice.source)
        self.location = location(self.url, self.schema)
        self._closed = False
        self._pool = Pool(self._connect)

    def __repr__(self) -> str:
        return f"<Database: {self.location}{', closed' if self._closed else ''}>"

    def engine(self, schema: str = DEFAULT) -> Engine:
        """Return a SQLAlchemy engine without a pool. `schema` replaces `dedup` in statements."""
        from sqlalchemy import create_engine
        from sqlalchemy.pool import NullPool

        self.check_open()

        def connect() -> Connection:
            connection = self._connect(schema)
            connection.autocommit = False
            return connection

        return create_engine(_shown_url(self.url), creator=connect, poolclass=NullPool)

    def close(self) -> None:
        self._closed = True
        self._pool.close()

    def connect(self, *, patient: bool = False) -> Connection:
        """Return a connection outside the pool. `patient`: an answer may take `Timeouts.statement`."""
        self.check_open()
        with translate_errors(self.location):
            connection = self._connect()
        if patient:
            connection.patience = self.timeouts.statement + GRACE_SECONDS
        return connection

    @contextmanager
    def session(self, seconds: float | None = None) -> Iterator[Session]:
        """Yield one connection for several transactions. `seconds`: maximum wait for a connection."""
        self.check_open()
        if self._pool.process_id != os.getpid():  # after a fork, the child needs a new pool
            self._pool = Pool(self._connect)
        pool = self._pool
        if not pool.slots.acquire(timeout=self.timeouts.lock if seconds is None else seconds):
            raise BusyError(
                f"{self.location}: all {MAX_CONNECTIONS} connections of this program are in use;"
                " use fewer threads"
            )
        try:
            with translate_errors(self.location):
                connection = pool.borrow()
                try:
                    yield Session(connection, self.timeouts)
                finally:
                    pool.give_back(connection)
        finally:
            pool.slots.release()

    @contextmanager
    def transaction(
        self, *, settling: bool = False, async_commit: bool = False, seconds: float | None = None
    ) -> Iterator[Cursor]:
        """Begin a transaction on any free connection; see `Session.transaction`."""
        with (
            self.session(seconds) as session,
            session.transaction(settling=settling, async_commit=async_commit, seconds=seconds) as cursor,
        ):
            yield cursor

    def ask(self, statement: bytes, values: Mapping[str, Any], seconds: float) -> list[tuple[Any, ...]]:
        """Execute a statement as one transaction, and return its rows; see `Session.ask`."""
        with self.session(seconds) as session:
            return session.ask(statement, values, seconds)

    def check_open(self) -> None:
        """Raise ClosedError if `close` was called."""
        if self._closed:
            raise ClosedError(f"{self.location}: this Deduplicator is closed; open another one")

    def _connect(self, schema: str | None = None) -> Connection:
        connection = Connection.open(self.url, self.timeouts, schema or self.schema)
        major = connection.info.server_version // 10000
        if major < MIN_SERVER_MAJOR:
            connection.close()
            raise DatabaseError(f"{self.location} is PostgreSQL {major}; dedup needs 14 or newer")
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            connection.close()
            raise DatabaseError(
                f"{self.location} has encoding {encoding}; create one with CREATE DATABASE … ENCODING 'UTF8'"
            )
        return connection


def run_locked(
    database: Database,
    work: Callable[[Cursor], _Value],
    check: Callable[[Cursor], object] | None = None,
    *,
    async_commit: bool = False,
    seconds: float | None = None,
) -> _Value:
    """Run `work` under the settle lock, and retry if other transactions hold the lock or the rows. `check`,
    such as `Rulebook.check`, is called first under the lock, and raises if the work must not be done.
    `seconds`: maximum time for retries; None for `Timeouts.lock`."""

    def attempt() -> _Value:
        with database.transaction(settling=True, async_commit=async_commit) as cursor:
            if check:
                check(cursor)
            return work(cursor)

    return retry(attempt, database.timeouts.lock if seconds is None else seconds)
