"""One connection: how its transactions begin, and when they stop waiting (docs/reliability.md, promise 15).

Works behind a pooler that lends a server connection for one transaction only, and whatever the server's
defaults are: what a transaction needs is said in the transaction.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import psycopg
from psycopg import IsolationLevel
from psycopg.abc import PQGen

from dedup.corpus import arrays
from dedup.timeouts import Timeouts, milliseconds

Cursor = psycopg.Cursor[Any]
_Value = TypeVar("_Value")

APPLICATION = "dedup"
"""What `pg_stat_activity` shows as the name of the program."""

ROW_SECONDS = 0.1
"""Who holds the settle lock waits no longer than this for a row: everyone else waits behind it."""

WORTH_SAYING_SECONDS = 0.05
"""A shorter wait is not taken from what the statements after it may take."""

GRACE_SECONDS = 5.0
"""How much longer than its own timeouts the server may take to answer before it counts as gone."""

_PREFER_INDEXES = {"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off"}


class Connection(psycopg.Connection[Any]):
    """A connection that gives up on a server that is connected and does not answer, such as a stopped one.

    Attributes:
        patience: seconds within which an answer must begin or go on.
        pooled: whether a pooler stands between, which lends server connections for a transaction.
    """

    patience: float = Timeouts().connect + GRACE_SECONDS
    pooled: bool = False

    def wait(self, gen: PQGen[_Value], interval: float = 0.1, timeout: float | None = None) -> _Value:
        """As psycopg's, but not for ever."""
        limit = self.patience if timeout is None else min(timeout, self.patience)
        deadline = time.monotonic() + limit
        try:
            return super().wait(gen, interval, limit)
        except psycopg.OperationalError as error:
            if error.sqlstate is None and timeout is None and time.monotonic() >= deadline:
                self.pgconn.finish()  # its state is unknown: nobody may use it again
                raise psycopg.OperationalError(f"the server gave no answer for {limit:.0f} s") from None
            raise

    @classmethod
    def open(cls, url: str, timeouts: Timeouts) -> Self:
        """Connect. Outside of transactions every statement stands alone."""
        # libpq counts whole seconds, and takes 1 for 2.
        seconds = max(2, round(timeouts.connect))
        connection = cls.connect(
            url,
            autocommit=True,
            connect_timeout=seconds,
            application_name=APPLICATION,
            client_encoding="UTF8",
        )
        connection.patience = timeouts.connect + GRACE_SECONDS
        connection.isolation_level = IsolationLevel.READ_COMMITTED
        arrays.register(connection)
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        # A pooler invents the process number that it gives its clients.
        connection.pooled = row is None or row[0] != connection.info.backend_pid
        if connection.pooled:
            connection.prepare_threshold = None  # a prepared statement stays with its server connection
        else:
            connection.execute(_set(_common(timeouts), local=False))
        return connection


def _common(timeouts: Timeouts) -> dict[str, str]:
    """What every transaction needs: times as UTC, no compiling of one-off plans, an end to every wait."""
    return {
        "timezone": "UTC",
        "jit": "off",
        "lock_timeout": milliseconds(timeouts.lock),
        "statement_timeout": milliseconds(timeouts.statement),
        "idle_in_transaction_session_timeout": milliseconds(timeouts.idle),
    }


def _set(values: dict[str, str], *, local: bool) -> bytes:
    """A statement that sets parameters; names and values are of this program, never of a user."""
    calls = (f"set_config('{name}', '{value}', {str(local).lower()})" for name, value in values.items())
    return f"SELECT {', '.join(calls)}".encode()


class Session:
    """A connection borrowed from the pool."""

    def __init__(self, connection: Connection, timeouts: Timeouts) -> None:
        self._connection, self._timeouts = connection, timeouts

    @contextmanager
    def transaction(
        self, *, settling: bool = False, snapshot: bool = False, seconds: float | None = None
    ) -> Iterator[Cursor]:
        """A cursor in a transaction that commits at the end and rolls back on any error.

        Args:
            settling: hold the settle lock to the end of the transaction, and reach rows as
                `prefer_indexes` has it.
            snapshot: see one moment of the database all through.
            seconds: wait, and let a statement work, no longer than this.
        """
        connection = self._connection
        patience = connection.patience
        connection.patience = (self._timeouts.statement if seconds is None else seconds) + GRACE_SECONDS
        try:
            with connection.transaction(), connection.cursor(binary=True) as cursor:
                self._begin(cursor, settling, snapshot, seconds)
                yield cursor
        finally:
            connection.patience = patience

    def _begin(self, cursor: Cursor, settling: bool, snapshot: bool, seconds: float | None) -> None:
        if snapshot:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        values = _common(self._timeouts) if self._connection.pooled else {}
        if seconds is not None:
            values |= dict.fromkeys(("lock_timeout", "statement_timeout"), milliseconds(seconds))
        if values:
            cursor.execute(_set(values, local=True))
        if settling:
            started = time.monotonic()
            hold_settle_lock(cursor)
            waited = time.monotonic() - started
            if seconds is not None and waited > WORTH_SAYING_SECONDS:
                left = {"statement_timeout": milliseconds(max(seconds - waited, WORTH_SAYING_SECONDS))}
                cursor.execute(_set(left, local=True))


def hold_settle_lock(cursor: Cursor) -> None:
    """Wait for the settle lock and hold it to the end of the transaction; `prefer_indexes` included.

    From then on the transaction may write marks, and waits no longer than `ROW_SECONDS` for a row.
    """
    values = _PREFER_INDEXES | {"lock_timeout": milliseconds(ROW_SECONDS), "dedup.settling": "on"}
    # In this order: the lock itself is waited for as long as the transaction may wait.
    cursor.execute(b"SELECT dedup.settle_lock(), " + _set(values, local=True).removeprefix(b"SELECT "))


def prefer_indexes(cursor: Cursor) -> None:
    """For the rest of the transaction: reach rows through indexes only.

    The planner cannot know how rare the given keys are; its other plans read whole tables.
    """
    cursor.execute(_set(_PREFER_INDEXES, local=True))
