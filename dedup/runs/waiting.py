"""Whether anything waits to be settled: asked every second, or told by NOTIFY.

What is asked every second must cost nothing: each source of work is one query that an index answers, and a
new one is one more in `waiting.sql`. A notification is a hint, heard on a connection of its own. Whoever
listens asks the database in any case after a while, so a notification that was lost, a connection that died
and a pooler that lets nobody listen cost no more than that while.
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

SLICE_SECONDS = 0.2  # How often a wait looks whether it is to end

AGAIN_SECONDS = (1.0, 60.0)
"""Pauses before a lost connection is opened again: the first, doubled each time up to the second."""

log = logging.getLogger("dedup.listener")


@dataclass(frozen=True, slots=True)
class Waiting:
    settling: bool  # articles wait, or changed settings. A changed program is noticed by the first round only
    counting: bool  # sentences are to be counted, after which articles may wait
    words: bool  # the words of sentences are to be kept, for which no article waits

    def __bool__(self) -> bool:
        return self.settling or self.counting


def look(cursor: Cursor) -> Waiting:
    prefer_indexes(cursor)
    settling, counting, words = one_row(cursor, _sql("look"), {"longest": MAX_SOURCE_ID_BYTES})
    return Waiting(settling or drift.unseen(cursor), counting, words)


class Listener:
    """Waits for a notification. Its connection runs nothing but LISTEN, and so loses none."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._session: Session | None = None
        self._next, self._pause = 0.0, AGAIN_SECONDS[0]

    def wait(self, seconds: float, stop: Callable[[], bool]) -> bool:
        """Wait so long, or until a notification comes; says whether one did."""
        deadline = time.monotonic() + seconds
        while not stop():
            left = deadline - time.monotonic()
            connection = self._open()
            if connection and self._heard(connection):
                return True
            if left <= 0:
                return False
            pipes = [self._connection] if self._connection else []
            select.select(pipes, [], [], min(left, SLICE_SECONDS))
        return False

    def session(self) -> Session | None:
        """The server session that listens, open for as long as the process lives; None: there is none."""
        return self._session if self._open() else None

    def close(self) -> None:
        if self._connection:
            with suppress(Exception):
                self._connection.close()
        self._connection = None

    def _open(self) -> Connection | None:
        """The connection; None where there is none now."""
        if self._connection and not self._connection.closed:
            return self._connection
        if time.monotonic() < self._next:
            return None
        try:
            connection = self._database.connect()
            if connection.pooled:
                log.info("a pooler lets nobody listen: articles are found by polling")
                connection.close()
                self._next = float("inf")
                return None
            with connection.cursor(binary=True) as cursor:
                self._session = runs.session(cursor)
            connection.execute(f"LISTEN {outer(self._database.schema)}".encode())
        except (DatabaseError, psycopg.Error):
            self._next = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, AGAIN_SECONDS[1])
            return None
        self._connection, self._pause = connection, AGAIN_SECONDS[0]
        return connection

    def _heard(self, connection: Connection) -> bool:
        """Take in what came, without waiting."""
        heard = False
        try:
            connection.pgconn.consume_input()
            while connection.pgconn.notifies():
                heard = True
        except psycopg.Error:
            log.info("the connection that listens was lost: it is opened again")
            self.close()
            self._next = time.monotonic() + self._pause
        return heard
