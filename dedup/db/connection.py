"""Connections to the server, their timeouts, and the start of transactions (docs/reliability.md, promise 15).

Connections work behind a pooler that lends a server connection for one transaction at a time, and with any
default settings of databases and roles.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import psycopg
from psycopg import IsolationLevel, sql
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict

from dedup.base.schema import DEFAULT
from dedup.base.timeouts import Timeouts, milliseconds
from dedup.db import arrays
from dedup.db.rendering import SchemaCursor
from dedup.db.statements import Statements

Cursor = psycopg.Cursor[Any]
_Value = TypeVar("_Value")

_sql = Statements("db/connection")

APPLICATION = "dedup"  # Name of the program in `pg_stat_activity`

# Maximum time to wait for a locked row while holding the settle lock, for which other transactions wait.
ROW_SECONDS = 0.1
NEGLIGIBLE_SECONDS = 0.05  # Only a longer wait for the settle lock is deducted from the statement timeout
FRESH_SECONDS = 1.0  # A connection is checked before use only if it was idle for longer

# Time after the server's own timeout. A server that has not answered by then counts as lost.
GRACE_SECONDS = 5.0

# Parameters of libpq: a connection is given up 30 s (30,000 ms) after the last answer of the server. This
# is long enough to plug a cable in again. Probes keep firewalls from dropping idle connections.
KEEPALIVE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}

# After this time a second connection asks the server whether it still works on the statement. TCP cannot
# tell: a proxy or a firewall may accept every byte and forward none. Few statements take so long.
ASK_SECONDS = 3.0
ASK_AGAIN_SECONDS = 30.0  # Time from the answer yes to the next question; a question costs the server 5 ms
DOUBT_SECONDS = 2.0  # Time from a first answer no to the next question; the result may arrive meanwhile
ASKING_SECONDS = 5.0  # Maximum time to open the second connection, and to get an answer; then assume no
CANCEL_SECONDS = 2.0  # Maximum time to cancel a statement on Ctrl-C, or when a worker stops (within 10 s)

# Target time of a settling transaction, for which scrapers may have to wait; batch sizes adapt to this time.
HELD_SECONDS = 0.4
_served: dict[int, float] = {}  # Monotonic time when the server last ran a thread's statement, by thread id

# Settings that decide how the server reads statements, how it writes values, and what a transaction sees. The
# program sets them, because databases and roles may have other defaults.
WRITTEN = {
    "timezone": "UTC",
    "datestyle": "ISO",  # the database still decides whether the day or the month is read first
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "xmlbinary": "base64",
    "quote_all_identifiers": "off",
    "standard_conforming_strings": "on",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "default_transaction_isolation": "read committed",
    "search_path": "pg_catalog, pg_temp",  # other schemas may hold functions of untrusted roles
}

_PREFER_INDEXES = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",  # a bitmap scan would read and sort all waiting articles for each batch
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}


class Connection(psycopg.Connection[Any]):
    """A connection that raises an error if the server accepts a statement but does not answer."""

    patience: float = Timeouts().connect + GRACE_SECONDS  # maximum seconds until the next bytes arrive
    pooled: bool = False  # true if a pooler lends a server connection for one transaction at a time
    seconds: float | None = None  # the session's timeout of locks and statements; None: as in `Timeouts`
    address: str | None = None  # address of the server, for a second connection; None: never open one
    used_at: float = 0.0  # monotonic time when the connection returned to the pool
    schema: str = DEFAULT  # schema of the corpus; its name replaces `dedup` in statements

    def wait(self, gen: PQGen[_Value], interval: float = 0.1, timeout: float | None = None) -> _Value:
        """Wait as psycopg does, but no longer than `patience`."""
        limit = self.patience if timeout is None else min(timeout, self.patience)
        deadline = time.monotonic() + limit
        try:
            return super().wait(self._watched(gen), interval, limit)
        except psycopg.OperationalError as error:
            if error.sqlstate is None and timeout is None and time.monotonic() >= deadline:
                # Close the connection, since its state is unknown.
                self.pgconn.finish()
                raise psycopg.OperationalError(f"the server gave no answer for {limit:.0f} s") from None
            raise

    def _watched(self, gen: PQGen[_Value]) -> PQGen[_Value]:
        """Run `gen`; fail if the server no longer works on the statement and no result has arrived."""
        ask_at, doubts = time.monotonic() + ASK_SECONDS, 0
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and self.address and not self.pooled and time.monotonic() >= ask_at:
                    doubts = 0 if self._ask("working") or has_input(self) else doubts + 1
                    if doubts > 1:
                        self._ask("let_go")
                        self.pgconn.finish()
                        raise psycopg.OperationalError("the connection was lost; the server sent no error")
                    if not doubts:
                        _served[threading.get_ident()] = time.monotonic()
                    ask_at = time.monotonic() + (DOUBT_SECONDS if doubts else ASK_AGAIN_SECONDS)
                wanted = gen.send(ready)
        except StopIteration as end:
            _served[threading.get_ident()] = time.monotonic()
            value: _Value = end.value
            return value

    def _ask(self, statement: str) -> bool:
        """Ask about the server process of this connection, over a second connection; return the answer.

        `statement`: name of the query. A server that refuses the second connection can be reached, so the
        answer is then True. Without an answer in time it is False.
        """
        assert self.address
        given = parameters(Timeouts(connect=ASKING_SECONDS), self.address)
        try:
            other = type(self).connect(self.address, autocommit=True, **given)
        except psycopg.errors.ConnectionTimeout:
            return False
        except psycopg.Error:  # a server that refuses a connection is reachable
            return True
        try:
            other.patience = ASKING_SECONDS
            row = other.execute(_sql(statement), {"pid": self.pgconn.backend_pid}).fetchone()
            return bool(row and row[0])
        except psycopg.Error:
            return False
        finally:
            # `close` would send a last message, and wait if the network swallows that message.
            other.pgconn.finish()

    def _try_cancel(self, *, timeout: float = CANCEL_SECONDS) -> None:
        """Cancel the statement within CANCEL_SECONDS; if that fails, end the connection."""
        try:
            self.cancel_safe(timeout=min(timeout, CANCEL_SECONDS))
        except Exception:
            self.pgconn.finish()

    @property
    def lock_hint(self) -> str:
        """Return a hint for messages, that a pooler may hold the lock of a session; "" without a pooler."""
        # In transaction mode the session that holds the lock stays in the pooler when its client has gone.
        words = "; or a pooler in transaction mode keeps that lock: connect directly to the server"
        return words if self.pooled else ""

    def alive(self) -> bool:
        """Return whether the connection works; ask the server only after FRESH_SECONDS without use."""
        if self.closed:
            return False
        try:
            if has_input(self):
                return False
            if time.monotonic() - self.used_at > FRESH_SECONDS:
                self.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    @classmethod
    def open(cls, url: str, timeouts: Timeouts, schema: str) -> Self:
        connection = cls.connect(url, autocommit=True, **parameters(timeouts, url))
        if schema != DEFAULT:
            connection.schema, connection.cursor_factory = schema, SchemaCursor
        connection.patience = timeouts.connect + GRACE_SECONDS
        connection.used_at = time.monotonic()
        connection.isolation_level = IsolationLevel.READ_COMMITTED
        arrays.register(connection)
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        # A pooler tells its clients an invented process id, which differs from the id that the server gives.
        connection.pooled = row is None or row[0] != connection.info.backend_pid
        if connection.pooled:
            connection.prepare_threshold = None  # the next connection of the pooler lacks prepared statements
        else:
            connection.execute(set_values(limits(timeouts, None), local=False))
        connection.address = url
        return connection


def has_input(connection: psycopg.Connection[Any]) -> bool:
    """Return whether bytes from the server wait to be read, or the server has closed the connection."""
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def last_served(thread: int) -> float:
    """Return the monotonic time when the server last worked for a thread; 0 if never."""
    return _served.get(thread, 0.0)


def parameters(timeouts: Timeouts, url: str) -> dict[str, Any]:
    # libpq takes whole seconds, and reads 1 as 2.
    seconds = max(2, round(timeouts.connect))
    own = conninfo_to_dict(url)
    keepalive = {name: value for name, value in KEEPALIVE.items() if name not in own}
    named = {"application_name": APPLICATION, "client_encoding": "UTF8"}
    return {"connect_timeout": seconds, **named, **keepalive}


def limits(timeouts: Timeouts, seconds: float | None) -> dict[str, str]:
    """Return server parameters. `seconds`: timeout of locks and statements; None: as in `timeouts`."""
    lock, statement = (timeouts.lock, timeouts.statement) if seconds is None else (seconds, seconds)
    return {
        **WRITTEN,
        "jit": "off",
        "lock_timeout": milliseconds(lock),
        "statement_timeout": milliseconds(statement),
        "idle_in_transaction_session_timeout": milliseconds(timeouts.idle),
    }


def set_values(values: dict[str, str], *, local: bool) -> bytes:
    """Return a statement that sets parameters. Nothing is quoted: never pass names or values of a user."""
    calls = (
        f"pg_catalog.set_config('{name}', '{value}', {str(local).lower()})" for name, value in values.items()
    )
    return f"SELECT {', '.join(calls)}".encode()


@dataclass(frozen=True, slots=True)
class Session:
    """A connection borrowed from the pool."""

    connection: Connection
    timeouts: Timeouts

    @contextmanager
    def transaction(
        self,
        *,
        settling: bool = False,
        snapshot: bool = False,
        async_commit: bool = False,
        seconds: float | None = None,
    ) -> Iterator[Cursor]:
        """Yield a cursor in a transaction that commits at the end and rolls back on any error.

        `settling`: call `hold_settle_lock`. `snapshot`: all statements see one state of the database.
        `async_commit`: commit without waiting for the disk. `seconds`: timeout of each lock and statement.
        """
        connection = self.connection
        patience = connection.patience
        working = (self.timeouts.statement if seconds is None else seconds) + GRACE_SECONDS
        connection.patience = min(patience, working)  # BEGIN is quick, so the shorter limit is enough
        try:
            self._set_timeouts(seconds)
            with connection.transaction(), connection.cursor(binary=True) as cursor:
                connection.patience = working
                if snapshot:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                if connection.pooled:
                    cursor.execute(set_values(limits(self.timeouts, seconds), local=True))
                if snapshot:
                    # The transaction may be idle for long while the caller works on a part of a large corpus.
                    patient = {"idle_in_transaction_session_timeout": milliseconds(self.timeouts.statement)}
                    cursor.execute(set_values(patient, local=True))
                if settling:
                    started = time.monotonic()
                    # With `seconds`, the transaction settles one article. Planning takes longer than running
                    # the statements, so each statement is planned only once per session.
                    hold_settle_lock(cursor, planned_once=seconds is not None)
                    waited = time.monotonic() - started
                    if seconds is not None and waited > NEGLIGIBLE_SECONDS:
                        left = milliseconds(max(seconds - waited, NEGLIGIBLE_SECONDS))
                        cursor.execute(set_values({"statement_timeout": left}, local=True))
                if async_commit:
                    # A crash soon after the commit may lose the transaction, but only as a whole.
                    cursor.execute(b"SET LOCAL synchronous_commit = off")
                yield cursor
        finally:
            connection.patience = patience

    def ask(self, statement: bytes, values: Mapping[str, Any], seconds: float) -> list[tuple[Any, ...]]:
        """Execute a statement as one transaction in one round trip, and return its rows."""
        connection = self.connection
        patience, connection.patience = connection.patience, seconds + GRACE_SECONDS
        try:
            self._set_timeouts(seconds)
            with connection.cursor(binary=True) as cursor:
                if connection.pooled:
                    with connection.pipeline():  # a pipeline sends both statements as one transaction
                        connection.execute(set_values(limits(self.timeouts, seconds), local=True))
                        cursor.execute(statement, values)
                else:
                    cursor.execute(statement, values)
                return cursor.fetchall()
        finally:
            connection.patience = patience

    def _set_timeouts(self, seconds: float | None) -> None:
        """Set the session's timeouts for the next transaction, unless they are set already."""
        connection = self.connection
        if not connection.pooled and connection.seconds != seconds:
            connection.execute(set_values(limits(self.timeouts, seconds), local=False))
            connection.seconds = seconds


def one_row(cursor: Cursor, query: bytes | sql.Composed, values: Mapping[str, Any] | None = None) -> Any:
    """Return the first row of a statement that always returns a row."""
    row = cursor.execute(query, values).fetchone()
    assert row is not None
    return row


def one_column(
    cursor: Cursor, query: bytes | sql.Composed, values: Mapping[str, Any] | None = None
) -> list[Any]:
    """Return the first value of each row of a statement."""
    return [row[0] for row in cursor.execute(query, values).fetchall()]


def hold_settle_lock(cursor: Cursor, *, planned_once: bool = False) -> None:
    """Take the settle lock, which is needed to write marks, and make the planner use indexes only.
    `planned_once`: the server plans a statement once per session, and not for each set of values."""
    values = _PREFER_INDEXES | {"lock_timeout": milliseconds(ROW_SECONDS), "dedup.settling": "on"}
    if planned_once:
        values["plan_cache_mode"] = "force_generic_plan"
    # The settle lock is taken first, because the short `lock_timeout` is meant only for rows.
    cursor.execute(b"SELECT dedup.settle_lock(), " + set_values(values, local=True).removeprefix(b"SELECT "))


def prefer_indexes(cursor: Cursor) -> None:
    """Make the planner use indexes only, until the transaction ends."""
    # The planner cannot know how rare the keys of a statement are, and might read whole tables.
    cursor.execute(set_values(_PREFER_INDEXES, local=True))


def next_batch(articles: int, seconds: float) -> int:
    """Return the size of the next batch, given that the last batch took `seconds` for `articles`."""
    # A batch is at most twice as big as the last: its articles may have more relations, and take longer.
    return max(1, min(2 * articles, int(articles * HELD_SECONDS / max(seconds, 1e-6))))
