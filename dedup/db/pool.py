"""The connections of one process, kept from one transaction to the next."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from threading import BoundedSemaphore, Lock

from dedup.db.connection import Connection

MAX_CONNECTIONS = 10
"""Of one `Database` at a time; a program with more threads has some of them wait."""

KEPT_CONNECTIONS = 2
"""That stay open while nobody uses them."""


class Pool:
    """Connections that are opened when they are needed. A child of a fork may not touch those of its parent.
    Ours and not SQLAlchemy's: to import that takes longer than a program's first article. `process_id`: of
    the process that made it. `slots`: as many as there may be connections, so that a thread waits for one no
    longer than it likes.
    """

    def __init__(self, connect: Callable[[], Connection]) -> None:
        self.process_id = os.getpid()
        self.slots = BoundedSemaphore(MAX_CONNECTIONS)
        self._connect, self._lock, self._closed = connect, Lock(), False
        self._idle: list[Connection] = []

    def borrow(self) -> Connection:
        """A connection whose server is there: one that was used, or a new one. Needs a slot."""
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
        """Keep a connection for the next who borrows, or close it."""
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
