"""Connections, how their transactions begin, and their timeouts (docs/reliability.md, promise 15).

They work behind a pooler that lends server connections for one transaction, and under any defaults of these.
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

URL_VARIABLE = "DEDUP_DATABASE_URL"  # Names the database; unset means the embedded server
APPLICATION = "dedup"  # What `pg_stat_activity` shows as the name of the program

# How long the holder of the settle lock waits for a row: everyone else waits behind it.
ROW_SECONDS = 0.1
NEGLIGIBLE_SECONDS = 0.05  # A shorter wait for the lock is not subtracted from the statement timeout
FRESH_SECONDS = 1.0  # A connection used more recently is not checked before it is used again

# How much longer than its own timeouts the server may take to answer before it counts as gone.
GRACE_SECONDS = 5.0

# For libpq, seconds and milliseconds: a peer that vanishes is given up 30 s after its last answer. A firewall
# forgets idle connections after minutes, a cable is plugged in again within seconds.
KEEPALIVE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}

# After this time another connection asks the server whether it still works on a statement. TCP cannot tell: a
# proxy or a firewall may accept every byte and pass none on. Nearly all statements end sooner.
ASK_SECONDS = 3.0
ASK_AGAIN_SECONDS = 30.0  # Between two such questions; each costs the server 5 ms
DOUBT_SECONDS = 2.0  # Before a no is checked by a second question: the answer may be on its way
ASKING_SECONDS = 5.0  # For connecting, and for the answer; no answer counts as a no
CANCEL_SECONDS = 2.0  # To cancel a statement on Ctrl-C, or when a worker stops, which has ten seconds in all

# The target for a transaction that settles, because a hook may have to wait for it. Batches shrink and grow.
HELD_SECONDS = 0.4
_served: dict[int, float] = {}  # Thread to the monotonic time when the server last worked for it

# How the server reads statements and writes values, and what a transaction sees. Databases and roles may have
# other defaults.
WRITTEN = {
    "timezone": "UTC",
    "datestyle": "ISO",  # the order in which a date is read stays that of the database
    "intervalstyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "xmlbinary": "base64",
    "quote_all_identifiers": "off",
    "standard_conforming_strings": "on",
    "array_nulls": "on",
    "transform_null_equals": "off",
    "default_transaction_isolation": "read committed",
    "search_path": "pg_catalog, pg_temp",  # others may own functions in any other schema
}

_PREFER_INDEXES = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",  # it would read and sort all waiting articles for each page
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}


class Connection(psycopg.Connection[Any]):
    """A connection that gives up on a server that accepts statements and does not answer."""

    patience: float = Timeouts().connect + GRACE_SECONDS  # seconds for an answer to begin or continue
    pooled: bool = False  # whether a pooler lends it a server connection for one transaction at a time
    seconds: float | None = None  # the session's lock and statement timeouts; None: those of `Timeouts`
    address: str | None = None  # for the second connection that asks about this one; None: nobody asks
    used_at: float = 0.0  # monotonic time of its return to the pool
    schema: str = DEFAULT  # of the corpus; what `dedup.` means in statements

    def wait(self, gen: PQGen[_Value], interval: float = 0.1, timeout: float | None = None) -> _Value:
        """Wait as psycopg does, but no longer than `patience`."""
        limit = self.patience if timeout is None else min(timeout, self.patience)
        deadline = time.monotonic() + limit
        try:
            return super().wait(self._watched(gen), interval, limit)
        except psycopg.OperationalError as error:
            if error.sqlstate is None and timeout is None and time.monotonic() >= deadline:
                # The state of the connection is unknown, so nobody may use it again.
                self.pgconn.finish()
                raise psycopg.OperationalError(f"the server gave no answer for {limit:.0f} s") from None
            raise

    def _watched(self, gen: PQGen[_Value]) -> PQGen[_Value]:
        """Run `gen`; fail when the server waits for this program while this program waits for the server."""
        ask_at, doubts = time.monotonic() + ASK_SECONDS, 0
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and self.address and not self.pooled and time.monotonic() >= ask_at:
                    doubts = 0 if self._works() or has_input(self) else doubts + 1
                    if doubts > 1:
                        self._ask("let_go")
                        self.pgconn.finish()
                        raise psycopg.OperationalError("the connection was lost without a word")
                    if not doubts:
                        _served[threading.get_ident()] = time.monotonic()
                    ask_at = time.monotonic() + (DOUBT_SECONDS if doubts else ASK_AGAIN_SECONDS)
                wanted = gen.send(ready)
        except StopIteration as end:
            _served[threading.get_ident()] = time.monotonic()
            value: _Value = end.value
            return value

    def _works(self) -> bool:
        """Return whether the server says that it works for this connection; True if it does not say."""
        return self._ask("working")

    def _ask(self, statement: str) -> bool:
        """Ask about this connection's server process on another connection; False if nobody answers."""
        assert self.address
        given = parameters(Timeouts(connect=ASKING_SECONDS), self.address)
        try:
            other = type(self).connect(self.address, autocommit=True, **given)
        except psycopg.errors.ConnectionTimeout:
            return False
        except psycopg.Error:  # a server that refuses is reachable
            return True
        try:
            other.patience = ASKING_SECONDS
            row = other.execute(_sql(statement), {"pid": self.pgconn.backend_pid}).fetchone()
            return bool(row and row[0])
        except psycopg.Error:
            return False
        finally:
            # `close` would send a farewell, and wait where the network swallows it.
            other.pgconn.finish()

    def _try_cancel(self, *, timeout: float = CANCEL_SECONDS) -> None:
        """Cancel the statement within CANCEL_SECONDS; end the connection if nobody answers."""
        try:
            self.cancel_safe(timeout=min(timeout, CANCEL_SECONDS))
        except Exception:
            self.pgconn.finish()

    def alive(self) -> bool:
        """Return whether the server is reachable; ask it only if the connection has been idle for a while."""
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
        # A pooler invents the process number that it gives its clients.
        connection.pooled = row is None or row[0] != connection.info.backend_pid
        if connection.pooled:
            connection.prepare_threshold = None  # a prepared statement stays with its server connection
        else:
            connection.execute(set_values(limits(timeouts, None), local=False))
        connection.address = url
        return connection


def has_input(connection: psycopg.Connection[Any]) -> bool:
    """Return whether the server has sent something to an idle client, which means an end or a warning."""
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def last_served(thread: int) -> float:
    """Return the monotonic time when the server last worked for a thread; 0 if never."""
    return _served.get(thread, 0.0)


def parameters(timeouts: Timeouts, url: str) -> dict[str, Any]:
    # libpq counts whole seconds, and reads 1 as 2.
    seconds = max(2, round(timeouts.connect))
    own = conninfo_to_dict(url)
    keepalive = {name: value for name, value in KEEPALIVE.items() if name not in own}
    named = {"application_name": APPLICATION, "client_encoding": "UTF8"}
    return {"connect_timeout": seconds, **named, **keepalive}


def limits(timeouts: Timeouts, seconds: float | None) -> dict[str, str]:
    """Return the parameters of a transaction. `seconds`: for locks and statements; None: as in `timeouts`."""
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

        `settling`: hold the settle lock, and do as `prefer_indexes`. `snapshot`: read one moment throughout.
        `async_commit`: commit without waiting for the disk. `seconds`: longest wait for a lock or statement.
        """
        connection = self.connection
        patience = connection.patience
        working = (self.timeouts.statement if seconds is None else seconds) + GRACE_SECONDS
        connection.patience = min(patience, working)  # BEGIN is quick
        try:
            self._set_timeouts(seconds)
            with connection.transaction(), connection.cursor(binary=True) as cursor:
                connection.patience = working
                if snapshot:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                if connection.pooled:
                    cursor.execute(set_values(limits(self.timeouts, seconds), local=True))
                if snapshot:
                    # The caller works on what it read of a large corpus before it reads on.
                    patient = {"idle_in_transaction_session_timeout": milliseconds(self.timeouts.statement)}
                    cursor.execute(set_values(patient, local=True))
                if settling:
                    started = time.monotonic()
                    hold_settle_lock(cursor)
                    waited = time.monotonic() - started
                    if seconds is not None and waited > NEGLIGIBLE_SECONDS:
                        left = milliseconds(max(seconds - waited, NEGLIGIBLE_SECONDS))
                        cursor.execute(set_values({"statement_timeout": left}, local=True))
                if async_commit:
                    # The next commit that waits flushes it too; a crash before it loses whole transactions.
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
                    with connection.pipeline():  # sends both as one transaction
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
    """Return the row of a statement that always has one."""
    row = cursor.execute(query, values).fetchone()
    assert row is not None
    return row


def one_column(
    cursor: Cursor, query: bytes | sql.Composed, values: Mapping[str, Any] | None = None
) -> list[Any]:
    """Return the first value of each row of a statement."""
    return [row[0] for row in cursor.execute(query, values).fetchall()]


def hold_settle_lock(cursor: Cursor) -> None:
    """Hold the settle lock, which lets the transaction write marks, to its end; do as `prefer_indexes`."""
    values = _PREFER_INDEXES | {"lock_timeout": milliseconds(ROW_SECONDS), "dedup.settling": "on"}
    # The lock comes first, because the short timeout for rows must not apply to it.
    cursor.execute(b"SELECT dedup.settle_lock(), " + set_values(values, local=True).removeprefix(b"SELECT "))


def prefer_indexes(cursor: Cursor) -> None:
    """Read through indexes only for the rest of the transaction."""
    # The planner cannot know how rare the given keys are; its other plans read whole tables.
    cursor.execute(set_values(_PREFER_INDEXES, local=True))


def next_batch(articles: int, seconds: float) -> int:
    """Return how many articles the next transaction should take, after one that took `seconds`."""
    # At most twice as many: the next articles may have more relations.
    return max(1, min(2 * articles, int(articles * HELD_SECONDS / max(seconds, 1e-6))))
