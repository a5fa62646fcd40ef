"""One connection: how its transactions begin, and when they stop waiting (docs/reliability.md, promise 15).

Works behind a pooler that lends a server connection for one transaction only, and whatever the server's
defaults are: what a transaction needs is said in the transaction.
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

APPLICATION = "dedup"  # What `pg_stat_activity` shows as the name of the program

ROW_SECONDS = 0.1
"""Who holds the settle lock waits no longer than this for a row: everyone else waits behind it."""

WORTH_SAYING_SECONDS = 0.05  # A shorter wait is not taken from what the statements after it may take

FRESH_SECONDS = 1.0
"""A connection that was used so short a time ago is taken without asking the server whether it is there."""

GRACE_SECONDS = 5.0
"""How much longer than its own timeouts the server may take to answer before it counts as gone."""

KEEPALIVE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
"""For libpq, seconds and milliseconds: a peer that is gone without a word is given up 30 s after it last
answered. A firewall forgets idle connections after minutes, a cable is put back within seconds. An address
that sets one of them itself is obeyed; sockets of the same machine need none."""

ASK_SECONDS = 3.0
"""So long a statement may take before the server is asked, on another connection, whether it works on it. TCP
cannot tell: a proxy or a firewall in between may take every byte and pass none on. Nearly all statements are
done by then."""

ASK_AGAIN_SECONDS = 30.0  # And so often as long as it does: 5 ms of a server for half a minute of work

DOUBT_SECONDS = 2.0
"""After an answer that it does not, it is asked once more: what it said last may be on its way."""

ASKING_SECONDS = 5.0
"""For an answer to that question, connecting included in each of two steps; none counts as a no."""

CANCEL_SECONDS = 2.0
"""For a statement to be cancelled by Ctrl-C or at the end of a worker, which has ten seconds in all."""

HELD_SECONDS = 0.4
"""How long a transaction that settles should take: a hook may have to wait so long for its verdict. Batches
become smaller where they take longer, and grow again."""

_served: dict[int, float] = {}
"""Thread to when the server last did something for it, by the clock that cannot be set."""

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
"""How the server reads statements and writes values, and what a transaction sees: a database or a role may
begin its sessions with others. The encoding is asked for with the connection."""

_PREFER_INDEXES = {
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",  # it would read all that wait and sort them, for each page
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
}


class Connection(psycopg.Connection[Any]):
    """A connection that gives up on a server that is connected and does not answer, such as a stopped one."""

    patience: float = Timeouts().connect + GRACE_SECONDS  # seconds within which an answer must begin or go on
    pooled: bool = False  # whether a pooler stands between, which lends server connections for a transaction
    # what the session has for the timeouts of locks and statements; None: those of `Timeouts`
    seconds: float | None = None
    address: str | None = None  # where to ask whether the server works for it; None: it is not asked
    used_at: float = 0.0  # when it was last given back, by the clock that cannot be set
    schema: str = DEFAULT  # of the corpus; what `dedup.` stands for in statements

    def wait(self, gen: PQGen[_Value], interval: float = 0.1, timeout: float | None = None) -> _Value:
        """As psycopg's, but not for ever."""
        limit = self.patience if timeout is None else min(timeout, self.patience)
        deadline = time.monotonic() + limit
        try:
            return super().wait(self._watched(gen), interval, limit)
        except psycopg.OperationalError as error:
            if error.sqlstate is None and timeout is None and time.monotonic() >= deadline:
                self.pgconn.finish()  # its state is unknown: nobody may use it again
                raise psycopg.OperationalError(f"the server gave no answer for {limit:.0f} s") from None
            raise

    def _watched(self, gen: PQGen[_Value]) -> PQGen[_Value]:
        """As `gen`, but it fails when the server turns out to wait for us as we wait for it."""
        ask_at, doubts = time.monotonic() + ASK_SECONDS, 0
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and self.address and not self.pooled and time.monotonic() >= ask_at:
                    doubts = 0 if self._works() or readable(self) else doubts + 1
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
        """Whether the server works for this connection, by its own word; also where it will not say."""
        return self._ask("working")

    def _ask(self, statement: str) -> bool:
        """Ask of this connection's server process on another connection; False where nobody answers."""
        assert self.address
        given = parameters(Timeouts(connect=ASKING_SECONDS), self.address)
        try:
            other = type(self).connect(self.address, autocommit=True, **given)
        except psycopg.errors.ConnectionTimeout:
            return False
        except psycopg.Error:  # it refuses, and so it is there
            return True
        try:
            other.patience = ASKING_SECONDS
            row = other.execute(_sql(statement), {"pid": self.pgconn.backend_pid}).fetchone()
            return bool(row and row[0])
        except psycopg.Error:
            return False
        finally:
            other.pgconn.finish()  # to say goodbye is to wait

    def _try_cancel(self, *, timeout: float = CANCEL_SECONDS) -> None:
        """As psycopg's, but where nobody answers the connection is at its end, and nobody waits for it."""
        try:
            self.cancel_safe(timeout=min(timeout, CANCEL_SECONDS))
        except Exception:
            self.pgconn.finish()

    def alive(self) -> bool:
        """Whether the server is still there; asks only where the connection was not used for a while."""
        if self.closed:
            return False
        try:
            if readable(self):
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


def readable(connection: psycopg.Connection[Any]) -> bool:
    """Whether the server has said something to an idle client: its end, or a word before it."""
    waiting = select.poll()
    waiting.register(connection.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def served_at(thread: int) -> float:
    """When the server last did something for a thread, by the clock that cannot be set; 0 if never."""
    return _served.get(thread, 0.0)


def parameters(timeouts: Timeouts, url: str) -> dict[str, Any]:
    # libpq counts whole seconds, and takes 1 for 2.
    seconds = max(2, round(timeouts.connect))
    own = conninfo_to_dict(url)
    keepalive = {name: value for name, value in KEEPALIVE.items() if name not in own}
    named = {"application_name": APPLICATION, "client_encoding": "UTF8"}
    return {"connect_timeout": seconds, **named, **keepalive}


def limits(timeouts: Timeouts, seconds: float | None) -> dict[str, str]:
    """What a transaction begins with. `seconds`: for locks and statements; None: as `timeouts` has it."""
    lock, statement = (timeouts.lock, timeouts.statement) if seconds is None else (seconds, seconds)
    return {
        **WRITTEN,
        "jit": "off",
        "lock_timeout": milliseconds(lock),
        "statement_timeout": milliseconds(statement),
        "idle_in_transaction_session_timeout": milliseconds(timeouts.idle),
    }


def set_values(values: dict[str, str], *, local: bool) -> bytes:
    """A statement that sets parameters; names and values are of this program, never of a user."""
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
        bulk: bool = False,
        seconds: float | None = None,
    ) -> Iterator[Cursor]:
        """A cursor in a transaction that commits at the end and rolls back on any error. `settling`: hold the
        settle lock to the end of the transaction, and reach rows as `prefer_indexes` has it. `snapshot`: see
        one moment of the database all through. It is to read only, and may do nothing for as long as a
        statement may work: what was read of a large corpus is worked on meanwhile. `bulk`: one of many, whose
        commit does not wait for the disk. The next that waits makes sure of it; a crash before then takes
        back the last of them, each as a whole. `seconds`: wait, and let a statement work, no longer than
        this.
        """
        connection = self.connection
        patience = connection.patience
        working = (self.timeouts.statement if seconds is None else seconds) + GRACE_SECONDS
        connection.patience = min(patience, working)  # to begin takes no time
        try:
            self._set_timeouts(seconds)
            with connection.transaction(), connection.cursor(binary=True) as cursor:
                connection.patience = working
                if snapshot:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                if connection.pooled:
                    cursor.execute(set_values(limits(self.timeouts, seconds), local=True))
                if snapshot:
                    patient = {"idle_in_transaction_session_timeout": milliseconds(self.timeouts.statement)}
                    cursor.execute(set_values(patient, local=True))
                if settling:
                    started = time.monotonic()
                    hold_settle_lock(cursor)
                    waited = time.monotonic() - started
                    if seconds is not None and waited > WORTH_SAYING_SECONDS:
                        left = milliseconds(max(seconds - waited, WORTH_SAYING_SECONDS))
                        cursor.execute(set_values({"statement_timeout": left}, local=True))
                if bulk:
                    cursor.execute(b"SET LOCAL synchronous_commit = off")
                yield cursor
        finally:
            connection.patience = patience

    def ask(self, statement: bytes, values: Mapping[str, Any], seconds: float) -> list[tuple[Any, ...]]:
        """The answer to a statement that is a transaction of its own, in one round trip. `seconds`: wait, and
        let it work, no longer than this.
        """
        connection = self.connection
        patience, connection.patience = connection.patience, seconds + GRACE_SECONDS
        try:
            self._set_timeouts(seconds)
            with connection.cursor(binary=True) as cursor:
                if connection.pooled:
                    with connection.pipeline():  # what is sent within is one transaction
                        connection.execute(set_values(limits(self.timeouts, seconds), local=True))
                        cursor.execute(statement, values)
                else:
                    cursor.execute(statement, values)
                return cursor.fetchall()
        finally:
            connection.patience = patience

    def _set_timeouts(self, seconds: float | None) -> None:
        """Have the session's timeouts be those of the next transaction; mostly they are already."""
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
    """Wait for the settle lock and hold it to the end of the transaction; `prefer_indexes` included. From
    then on the transaction may write marks, and waits no longer than `ROW_SECONDS` for a row.
    """
    values = _PREFER_INDEXES | {"lock_timeout": milliseconds(ROW_SECONDS), "dedup.settling": "on"}
    # In this order: the lock itself is waited for as long as the transaction may wait.
    cursor.execute(b"SELECT dedup.settle_lock(), " + set_values(values, local=True).removeprefix(b"SELECT "))


def prefer_indexes(cursor: Cursor) -> None:
    """For the rest of the transaction: reach rows through indexes only. The planner cannot know how rare the
    given keys are; its other plans read whole tables.
    """
    cursor.execute(set_values(_PREFER_INDEXES, local=True))


def fitting_batch(articles: int, seconds: float) -> int:
    """How many articles the next transaction should take, after one that took so long for so many. It may be
    twice as many at most: what comes next may be related to more.
    """
    return max(1, min(2 * articles, int(articles * HELD_SECONDS / max(seconds, 1e-6))))
