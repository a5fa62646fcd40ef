"""Find out whether anything waits to be settled, by a query every second or by a notification.

The query must be cheap: each source of work in `waiting.sql` has an index. A notification is only a hint: the
worker also runs the query after a pause. So a lost notification, a dead connection or a pooler
without LISTEN only delays the work.
"""

from __future__ import annotations

import logging
import select
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import psycopg

from dedup.attach import drift
from dedup.base.article import MAX_SOURCE_ID_BYTES
from dedup.base.errors import DatabaseError
from dedup.base.schema import outer
from dedup.db.database import Connection, Cursor, Database, one_row, prefer_indexes
from dedup.db.statements import Statements
from dedup.runs import runs
from dedup.runs.runs import Session

_sql = Statements("runs/waiting")

SLICE_SECONDS = 0.2  # Maximum pause between two checks whether to stop
AGAIN_SECONDS = (1.0, 60.0)  # First and longest pause before the connection is reopened; the pause doubles

log = logging.getLogger("dedup.listener")


@dataclass(frozen=True, slots=True)
class Waiting:
    settling: bool  # true if articles or changed settings wait; a changed program is not noticed here
    # True if sentences must be counted, which can make articles stale, or if credits (agencies that articles
    # name) must be read.
    counting: bool
    words: bool  # true if the views `alteration` and `quote` must be filled; no article waits for this

    def __bool__(self) -> bool:
        return self.settling or self.counting


def find_waiting(cursor: Cursor) -> Waiting:
    prefer_indexes(cursor)
    settling, counting, words = one_row(cursor, _sql("look"), {"longest": MAX_SOURCE_ID_BYTES})
    return Waiting(settling or drift.has_news(cursor), counting, words)


class Listener:
    """A connection that is used only for LISTEN, so that no notification is lost."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._session: Session | None = None
        self._next, self._pause = 0.0, AGAIN_SECONDS[0]

    def wait(self, seconds: float, stop: Callable[[], bool]) -> bool:
        """Wait at most `seconds` for a notification, or until `stop`; return whether a notification came."""
        deadline = time.monotonic() + seconds
        while not stop():
            left = deadline - time.monotonic()
            connection = self._connect()
            if connection and self._take_notifications(connection):
                return True
            if left <= 0:
                return False
            pipes = [self._connection] if self._connection else []
            select.select(pipes, [], [], min(left, SLICE_SECONDS))
        return False

    def session(self) -> Session | None:
        """Return the database session that listens, if any; the session ends with the process."""
        return self._session if self._connect() else None

    def close(self) -> None:
        if self._connection:
            with suppress(Exception):
                self._connection.close()
        self._connection = None

    def _connect(self) -> Connection | None:
        if self._connection and not self._connection.closed:
            return self._connection
        if time.monotonic() < self._next:
            return None
        try:
            connection = self._database.connect()
            # A pooler gives the session to other clients after each transaction, so LISTEN would be lost.
            if connection.pooled:
                log.info("LISTEN does not work through a pooler: articles are found by polling")
                connection.close()
                self._next = float("inf")
                return None
            with connection.cursor(binary=True) as cursor:
                self._session = runs.find_session(cursor)
            connection.execute(f"LISTEN {outer(self._database.schema)}".encode())
        except (DatabaseError, psycopg.Error):
            self._next = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, AGAIN_SECONDS[1])
            return None
        self._connection, self._pause = connection, AGAIN_SECONDS[0]
        return connection

    def _take_notifications(self, connection: Connection) -> bool:
        heard = False
        try:
            # `connection.notifies` would wait for notifications; these calls return at once.
            connection.pgconn.consume_input()
            while connection.pgconn.notifies():
                heard = True
        except psycopg.Error:
            log.info("the connection for LISTEN was lost, and will be opened again")
            self.close()
            self._next = time.monotonic() + self._pause
        return heard
