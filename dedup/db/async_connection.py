"""Connections of an asyncio program: a few at most, each with one transaction at a time.

What a transaction begins with is said in `connection.py`. Here is only what waits.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Self, TypeVar

import psycopg
from psycopg import IsolationLevel
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus

from dedup.base.errors import BusyError, ClosedError
from dedup.base.schema import DEFAULT
from dedup.base.timeouts import Timeouts
from dedup.db import arrays
from dedup.db.connection import FRESH_SECONDS, GRACE_SECONDS, limits, parameters, readable, set_values
from dedup.db.database import translated
from dedup.db.rendering import AsyncSchemaCursor
from dedup.db.steps import Ask, Row

_Value = TypeVar("_Value")

MAX_CONNECTIONS = 4
"""Of one pool. All who settle wait for one lock; more connections would only wait in the server."""


class AsyncConnection(psycopg.AsyncConnection[Any]):
    """A connection that gives up on a server that is connected and does not answer."""

    # patience, pooled, seconds, used_at, schema: as of `connection.Connection`
    patience: float = Timeouts().connect + GRACE_SECONDS
    pooled: bool = False
    seconds: float | None = None
    used_at: float = 0.0
    schema: str = DEFAULT

    async def wait(self, gen: PQGen[_Value], interval: float = 0.1, timeout: float | None = None) -> _Value:
        limit = self.patience if timeout is None else min(timeout, self.patience)
        deadline = time.monotonic() + limit
        try:
            return await super().wait(gen, interval, limit)
        except psycopg.OperationalError as error:
            if error.sqlstate is None and timeout is None and time.monotonic() >= deadline:
                self.pgconn.finish()  # its state is unknown: nobody may use it again
                raise psycopg.OperationalError(f"the server gave no answer for {limit:.0f} s") from None
            raise

    async def alive(self) -> bool:
        """Whether the server is still there; asks only where the connection was not used for a while."""
        if self.closed:
            return False
        try:
            if readable(self):
                return False
            if time.monotonic() - self.used_at > FRESH_SECONDS:
                await self.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    def idle(self) -> bool:
        return not self.closed and self.pgconn.transaction_status == TransactionStatus.IDLE

    @classmethod
    async def open(cls, url: str, timeouts: Timeouts, schema: str) -> Self:
        """Connect. Outside of transactions every statement stands alone."""
        connection = await cls.connect(url, autocommit=True, **parameters(timeouts, url))
        if schema != DEFAULT:
            connection.schema, connection.cursor_factory = schema, AsyncSchemaCursor
        try:
            connection.patience = timeouts.connect + GRACE_SECONDS
            connection.used_at = time.monotonic()
            await connection.set_isolation_level(IsolationLevel.READ_COMMITTED)
            arrays.register(connection)
            row = await (await connection.execute("SELECT pg_backend_pid()")).fetchone()
            connection.pooled = row is None or row[0] != connection.info.backend_pid
            if connection.pooled:
                connection.prepare_threshold = None
            else:
                await connection.execute(set_values(limits(timeouts, None), local=False))
        except BaseException:
            connection.pgconn.finish()
            raise
        return connection

    async def ask(self, asked: Ask, timeouts: Timeouts, seconds: float) -> list[Row]:
        """As `connection.Session.ask`. When cancelled, the statement has done its work or changed nothing."""
        patience, self.patience = self.patience, seconds + GRACE_SECONDS
        try:
            if not self.pooled and self.seconds != seconds:
                await self.execute(set_values(limits(timeouts, seconds), local=False))
                self.seconds = seconds
            async with self.cursor(binary=True) as cursor:
                if self.pooled:
                    async with self.pipeline():
                        await self.execute(set_values(limits(timeouts, seconds), local=True))
                        await cursor.execute(*asked)
                else:
                    await cursor.execute(*asked)
                return await cursor.fetchall()
        finally:
            self.patience = patience


class AsyncPool:
    """The connections of one event loop; opened when needed. `url`: in libpq form. `location`: host and
    database, for people. `schema`: of the corpus.
    """

    def __init__(self, url: str, location: str, timeouts: Timeouts, schema: str) -> None:
        self._url, self._location, self._timeouts, self._schema = url, location, timeouts, schema
        self._slots = asyncio.Semaphore(MAX_CONNECTIONS)
        self._idle: list[AsyncConnection] = []
        self._closed = False

    async def ask(self, asked: Ask, seconds: float) -> list[Row]:
        """The answer to a statement that is a transaction of its own, on a free connection. `seconds`: as of
        `AsyncConnection.ask`; for its turn a task waits as long as `Timeouts.lock`.
        """
        await self._take_turn()
        try:
            with translated(self._location):
                connection = await self._connection()
                try:
                    return await connection.ask(asked, self._timeouts, seconds)
                finally:
                    self._give_back(connection)
        finally:
            self._slots.release()

    async def close(self) -> None:
        self._closed = True
        while self._idle:
            await self._idle.pop().close()

    async def _take_turn(self) -> None:
        try:
            async with asyncio.timeout(self._timeouts.lock):
                await self._slots.acquire()
        except TimeoutError:
            raise BusyError(
                f"{self._location}: all {MAX_CONNECTIONS} connections of this program were in use for"
                f" {self._timeouts.lock:g} s; submit fewer articles at once"
            ) from None

    async def _connection(self) -> AsyncConnection:
        if self._closed:
            raise ClosedError(f"{self._location}: this AsyncDeduplicator is closed; open another one")
        while self._idle:
            connection = self._idle.pop()
            try:
                if await connection.alive():
                    return connection
            except BaseException:
                connection.pgconn.finish()
                raise
            connection.pgconn.finish()
        return await AsyncConnection.open(self._url, self._timeouts, self._schema)

    def _give_back(self, connection: AsyncConnection) -> None:
        connection.used_at = time.monotonic()
        if self._closed or not connection.idle():
            connection.pgconn.finish()
        else:
            self._idle.append(connection)
