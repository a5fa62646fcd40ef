"""Silent connections: no data arrives though nobody closed them; dedup notices this and works on.

See docs/reliability.md, promise 15.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from dedup.base.errors import UnreachableError
from dedup.base.timeouts import Timeouts
from dedup.db import connection as connection_module
from dedup.db.connection import ASK_SECONDS, DOUBT_SECONDS, KEEPALIVE, Connection
from dedup.db.database import Database
from dedup.runs import heartbeat as heartbeat_module
from dedup.runs.heartbeat import Heartbeat
from tests.corpora import article, assert_right, load, unsettled, wait_until, window
from tests.runs.proxy import proxy
from tests.settling.test_daemon import process, query, working

pytestmark = pytest.mark.timeout(120)

BOUND = ASK_SECONDS + DOUBT_SECONDS
"""Maximum seconds for which a statement may hang on a silent connection while new connections work."""

SLACK = 4.0
"""Seconds that a busy machine may add to a bound."""


def test_every_connection_asks_tcp_to_notice_and_an_address_may_say_otherwise(corpus_url: str) -> None:
    with proxy(corpus_url) as between:
        plain = Connection.open(between.url, Timeouts(), "dedup")
        own = Connection.open(make_conninfo(between.url, keepalives_idle=77), Timeouts(), "dedup")
        given = [
            {option.keyword.decode(): (option.val or b"").decode() for option in found.pgconn.info}
            for found in (plain, own)
        ]
        plain.close()
        own.close()
    assert {name: int(given[0][name]) for name in KEEPALIVE} == KEEPALIVE
    assert {name: int(given[1][name]) for name in KEEPALIVE} == KEEPALIVE | {"keepalives_idle": 77}


@pytest.mark.long("dedup", "migrations")
def test_a_worker_goes_on_with_another_connection(database: Database, corpus_url: str) -> None:
    with proxy(corpus_url) as between, working(between.url):
        load(database, article("a", window(0, 6)))
        wait_until(lambda: not unsettled(database))
        before = between.opened
        between.silence()
        load(database, article("b", window(3, 6), 5))
        started = time.monotonic()
        wait_until(lambda: not unsettled(database))
        # The backfill has several connections and notices the silence of one after the other.
        assert time.monotonic() - started < 3 * BOUND + SLACK
        assert between.opened > before
    assert_right(database)


def stand_still(database: Database, happens: Callable[[], None], *, settling: bool = False) -> None:
    """Call `happens` between two statements of a transaction."""
    with database.transaction(settling=settling) as cursor:
        happens()
        cursor.execute("SELECT 1")


@pytest.mark.long("dedup", "migrations")
def test_a_statement_that_waits_for_nothing_ends_and_holds_nothing(
    database: Database, corpus_url: str
) -> None:
    with proxy(corpus_url) as between:
        through = Database(between.url)
        started = time.monotonic()
        with pytest.raises(UnreachableError, match="connection was lost"):
            stand_still(through, between.silence, settling=True)
        with database.transaction(settling=True):
            assert time.monotonic() - started < BOUND + SLACK
        through.close()


@pytest.mark.long("dedup", "migrations")
def test_a_statement_that_ends_where_no_other_connection_can_be_made(
    corpus_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = 2.0
    monkeypatch.setattr(connection_module, "ASKING_SECONDS", asking)
    with proxy(corpus_url) as between:
        through = Database(between.url)
        started = time.monotonic()
        with pytest.raises(UnreachableError, match="connection was lost"):
            stand_still(through, lambda: between.deafen(True))
        assert time.monotonic() - started < BOUND + 3 * asking + SLACK
        through.close()


@pytest.mark.long("dedup", "migrations")
def test_a_statement_that_takes_long_is_waited_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow statement is not given up while the server answers that it works or waits for a lock.

    The program asks the server twenty times as often as usual.
    """
    monkeypatch.setattr(connection_module, "ASK_SECONDS", 0.05)
    monkeypatch.setattr(connection_module, "ASK_AGAIN_SECONDS", 0.05)
    monkeypatch.setattr(connection_module, "DOUBT_SECONDS", 0.05)
    asked: list[bool] = []
    ask = Connection._ask

    def noted(self: Connection, statement: str) -> bool:
        asked.append(ask(self, statement))
        return asked[-1]

    monkeypatch.setattr(Connection, "_ask", noted)
    with psycopg.connect(database.url) as other, database.transaction() as cursor:
        other.execute("SELECT pg_advisory_xact_lock(711)")
        found: list[object] = []
        waits = Thread(
            target=lambda: found.append(cursor.execute("SELECT pg_advisory_xact_lock(711)").fetchone())
        )
        waits.start()
        wait_until(lambda: len(asked) >= 5)
        other.rollback()
        waits.join(20)
        assert found
    assert all(asked)


@pytest.mark.long("dedup", "migrations")
def test_a_worker_is_stopped_in_ten_seconds_though_nobody_answers(
    database: Database, corpus_url: str, tmp_path: Path
) -> None:
    with proxy(corpus_url) as between, process(between.url, tmp_path / "log") as running:
        wait_until(lambda: bool(query(database, "SELECT FROM dedup.worker WHERE idle_at IS NOT NULL")))
        between.deafen(True)
        assert between.swallowed.wait(30), "a statement must be waiting for its answer"
        running.send_signal(signal.SIGTERM)
        started = time.monotonic()
        assert running.wait(20) == 0
        assert time.monotonic() - started < 10


@pytest.mark.long("dedup", "migrations")
def test_a_lease_is_renewed_by_work_and_by_nothing_else(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lease is renewed only if the run makes progress, computes, or has the server work."""
    monkeypatch.setattr(heartbeat_module, "BEAT_SECONDS", 0.05)
    told: list[bool] = []
    works = Heartbeat._has_worked

    def noted(self: Heartbeat) -> bool:
        told.append(works(self))
        return told[-1]

    monkeypatch.setattr(Heartbeat, "_has_worked", noted)
    # The limit is two whole cores: the waiting process of this test never computes as much.
    monkeypatch.setattr(heartbeat_module, "COMPUTING", 2.0)
    beating = Heartbeat(database, "backfill")
    assert beating.claim()

    def beaten() -> object:
        with psycopg.connect(database.url) as other:
            return other.execute("SELECT heartbeat_at FROM dedup.run").fetchone()

    try:
        wait_until(lambda: told[-3:] == [False] * 3)
        before = beaten()
        count = len(told)
        wait_until(lambda: len(told) > count + 3)
        assert beaten() == before
        beating.advance(1)
        wait_until(lambda: beaten() != before)
        wait_until(lambda: told[-3:] == [False] * 3)
        before = beaten()
        with database.transaction() as cursor:
            cursor.execute("SELECT 1")
        wait_until(lambda: beaten() != before)
    finally:
        beating.close()
