"""Waits: every wait has a limit, no matter who holds the lock (docs/reliability.md, promise 15).

Short timeouts make these tests quick. `scripts/latency.py` measures that with the default timeouts a scraper
has its verdict within a second.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dedup import Deduplicator
from dedup.base import config
from dedup.base.errors import BusyError, CollisionError, DatabaseError, InputError, UnreachableError
from dedup.base.schema import migration_lock
from dedup.base.timeouts import LONGEST, Timeouts, milliseconds
from dedup.db import connection as connection_module
from dedup.db.connection import Connection
from dedup.db.database import Database, retry
from dedup.settling.backfill import backfill, store_deferred
from dedup.store import opening
from dedup.store.word_index import change_index
from tests.conftest import Server
from tests.corpora import (
    answer,
    article,
    assert_right,
    blocked,
    deduplicator,
    load,
    make_function,
    wait_until,
    window,
)
from tests.runs.pooler import pooled

pytestmark = pytest.mark.timeout(120)

SHORT = Timeouts(hook=0.3, lock=0.5)


@pytest.fixture
def hasty(database: Database) -> Iterator[Database]:
    """Yield the empty corpus with the short timeouts of `SHORT`."""
    found = Database(database.url, SHORT)
    yield found
    found.close()


@contextmanager
def held(database: Database, statement: str) -> Iterator[psycopg.Connection]:
    """Begin a transaction with a statement, as another program, and hold it open."""
    with psycopg.connect(database.url) as connection:
        connection.execute(statement.encode())
        yield connection


# Tests of the hook: it answers in time and loses no article.

HOLD = {
    "an insert of the same key": "INSERT INTO dedup.article (source_id, text) VALUES ('x', 'A text.')",
    "an edit of a title": "UPDATE dedup.article SET title = 'New' WHERE source_id = 'known'",
    "an edit of an address": "UPDATE dedup.article SET url = 'https://new.example' WHERE source_id = 'known'",
    "a lock of a row": "SELECT FROM dedup.article WHERE source_id = 'known' FOR UPDATE",
    "the settle lock": "SELECT dedup.settle_lock()",
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("hold", HOLD)
@pytest.mark.parametrize("name", ["x", "known", "other"])
def test_a_hook_beside_an_open_transaction(hasty: Database, hold: str, name: str) -> None:
    given = article(name, window(2, 6), 3, title="Brought by the hook")
    load(hasty, article("known", window(0, 6), 0))
    backfill(hasty, workers=0, factory=make_function)
    with held(hasty, HOLD[hold]) as connection:
        verdict = deduplicator(hasty).submit(given)  # the hook answers while the transaction is open
        assert verdict.status == "pending" or name != "x" or hold != "an insert of the same key"
        connection.commit()
    backfill(hasty, workers=0, factory=make_function)
    found = assert_right(hasty)
    assert name in found.marks
    with hasty.transaction() as cursor:
        row = cursor.execute("SELECT text, title FROM dedup.article WHERE source_id = %s", [name]).fetchone()
    assert row == (given.text, given.title)


def test_other_hooks_do_not_wait_behind_one_that_waits(hasty: Database) -> None:
    with held(hasty, HOLD["an insert of the same key"]), ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(deduplicator(hasty).submit, article("x", window(i, 6), i)) for i in range(2)]
        others = [deduplicator(hasty).submit(article(f"o{i}", window(20 + i, 6), i)) for i in range(5)]
        assert {future.result().status for future in waiting} == {"pending"}
    assert "pending" not in {verdict.status for verdict in others}


def test_versions_that_were_put_aside_are_stored_in_order(hasty: Database) -> None:
    with held(hasty, HOLD["an insert of the same key"]) as connection:
        corpus = deduplicator(hasty)
        corpus.submit(article("x", window(0, 6), 0, title="First"))
        corpus.submit(article("x", window(1, 6), 1))
        assert store_deferred(hasty) == 1
        connection.commit()
    corpus.submit(article("x", window(2, 6), 2, url="https://third.example"))
    with hasty.transaction() as cursor:
        row = cursor.execute("SELECT title, url, text, revision FROM dedup.article").fetchone()
    assert row == ("First", "https://third.example", article("x", window(2, 6)).text, 3)
    assert store_deferred(hasty) == 0


def test_a_deleted_article_does_not_come_back(hasty: Database) -> None:
    with held(hasty, HOLD["an insert of the same key"]) as connection:
        deduplicator(hasty).submit(article("x", window(0, 6), 0))
        connection.rollback()
    deduplicator(hasty).delete("x")
    backfill(hasty, workers=0, factory=make_function)
    assert answer(hasty).marks == {}


# Tests that a role without rights cannot block others.


@pytest.fixture
def stranger(server: Server, database: Database) -> Iterator[psycopg.Connection]:
    """Yield a session of a role that may only connect."""
    name = f"dedup_stranger_{os.getpid()}"
    with psycopg.connect(server.url, autocommit=True) as owner:
        owner.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
    try:
        with psycopg.connect(make_conninfo(database.url, user=name), autocommit=True) as found:
            yield found
    except psycopg.OperationalError:
        pytest.skip("this server does not let a new role in")
    finally:
        with psycopg.connect(server.url, autocommit=True) as owner:
            owner.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT dedup.settle_lock()",
        "SELECT FROM dedup.settle_turn FOR UPDATE",
        "BEGIN; LOCK TABLE dedup.settle_turn",
        "UPDATE dedup.settle_turn SET only_row = true",
    ],
)
def test_a_stranger_cannot_take_the_settle_lock(stranger: psycopg.Connection, statement: str) -> None:
    with pytest.raises(pg.InsufficientPrivilege):
        stranger.execute(statement.encode())


def test_public_numbers_lock_nothing(stranger: psycopg.Connection, hasty: Database) -> None:
    for key in (b"dedup", b"dedup+1"):
        stranger.execute("SELECT pg_advisory_lock(%s)", [int.from_bytes(key, "big")])
    assert deduplicator(hasty).submit(article("a", window(0, 6), 0)).status == "unique"
    load(hasty, article("b", window(0, 6), 1))
    assert not backfill(hasty, workers=0, factory=make_function).already_running
    assert_right(hasty)


# Tests of servers that do not answer, and of programs that hang.


def server_pid(database: Database, cursor: psycopg.Cursor) -> int:
    """Return the id of a cursor's server process; skip the test if this program cannot stop the process."""
    row = cursor.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    try:
        os.kill(row[0], 0)
    except OSError:
        pytest.skip("the server runs elsewhere, or as another user")
    return int(row[0])


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("what", ["a statement", "a new transaction"])
def test_a_server_process_that_stands_still(
    hasty: Database, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    monkeypatch.setattr(connection_module, "GRACE_SECONDS", 0.2)
    impatient = Database(hasty.url, Timeouts(connect=0.5, hook=0.3))
    pid = None
    started = time.monotonic()
    try:
        with pytest.raises(UnreachableError, match="does not answer"):  # noqa: PT012
            with impatient.transaction(seconds=0.5) as cursor:
                pid = server_pid(impatient, cursor)
                if what == "a statement":
                    os.kill(pid, signal.SIGSTOP)
                    cursor.execute("SELECT 1")
            os.kill(pid, signal.SIGSTOP)
            with impatient.session() as session, session.transaction() as cursor:
                pass
            raise UnreachableError("does not answer")  # the pool may open a new connection instead
        assert time.monotonic() - started < 10
        with impatient.transaction() as cursor:
            cursor.execute("SELECT 1")
    finally:
        if pid:
            os.kill(pid, signal.SIGCONT)
        impatient.close()


def test_a_program_that_stands_still_loses_the_lock(database: Database) -> None:
    sleepy = Database(database.url, Timeouts(idle=0.3))
    waiting = Database(database.url, Timeouts(hook=20))
    with pytest.raises(DatabaseError), sleepy.transaction(settling=True) as cursor:  # noqa: PT012
        verdict = deduplicator(waiting).submit(article("a", window(0, 6), 0))
        assert verdict.status == "unique"
        cursor.execute("SELECT 1")
    sleepy.close()
    waiting.close()


def test_the_server_takes_the_longest_timeouts(database: Database) -> None:
    patient = Database(database.url, Timeouts(*[LONGEST] * 5))
    with patient.transaction() as cursor:
        assert cursor.execute("SELECT 1").fetchone() == (1,)
    patient.close()


def test_more_threads_than_connections(database: Database) -> None:
    crowded = Database(database.url, Timeouts(lock=0.2))
    opened = [crowded.session() for _ in range(10)]
    for session in opened:
        session.__enter__()
    with pytest.raises(BusyError, match="fewer threads"), crowded.transaction():
        pass
    for session in opened:
        session.__exit__(None, None, None)
    crowded.close()


def test_a_statement_that_takes_too_long(hasty: Database) -> None:
    with pytest.raises(BusyError, match="took too long"), hasty.transaction(seconds=0.1) as cursor:
        cursor.execute("SELECT pg_sleep(20)")


# Tests of transactions that collide.


def test_a_transaction_that_edits_twice_meets_a_settler(hasty: Database) -> None:
    """The first edit locks a row; the second waits for the settle lock while its holder waits for the row."""
    load(hasty, article("a", window(0, 6), 0), article("b", window(1, 6), 1))
    backfill(hasty, workers=0, factory=make_function)
    with held(hasty, HOLD["an edit of an address"].replace("known", "a")) as connection:
        with ThreadPoolExecutor(2) as pool:
            hook = pool.submit(deduplicator(hasty).submit, article("c", window(1, 6), -1))
            connection.execute("UPDATE dedup.article SET text = text || ' And more.' WHERE source_id = 'a'")
            connection.commit()
            assert hook.result(30).status in ("unique", "similar", "duplicate", "pending")
        backfill(hasty, workers=0, factory=make_function)
    assert_right(hasty)


def test_a_nightly_run_outlasts_an_open_edit(database: Database) -> None:
    load(database, article("a", window(0, 6), 0), article("b", window(1, 6), 1))
    hold = HOLD["an edit of an address"].replace("known", "a")
    with held(database, hold) as connection, ThreadPoolExecutor(1) as pool:
        future = pool.submit(backfill, database, workers=0, factory=make_function)
        wait_until(lambda: blocked(database) or future.done())
        connection.execute("UPDATE dedup.article SET text = text || ' And more.' WHERE source_id = 'a'")
        connection.commit()
        future.result(30)
    backfill(database, workers=0, factory=make_function)
    assert_right(database)


@pytest.mark.parametrize(("error", "tries"), [(CollisionError, 5), (BusyError, 1)])
def test_collisions_are_tried_again(error: type[DatabaseError], tries: int) -> None:
    done: list[None] = []

    def work() -> None:
        done.append(None)
        raise error("in the way")

    with pytest.raises(error):
        retry(work)
    assert len(done) == tries


def test_what_others_hold_is_tried_until_the_time_is_up() -> None:
    done: list[None] = []

    def work() -> int:
        done.append(None)
        if len(done) < 4:
            raise BusyError("held")
        return 7

    assert retry(work, 30) == 7


# Tests under other defaults of the server, and behind a pooler.


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("level", ["read committed", "repeatable read", "serializable"])
def test_under_every_default_isolation_level(server: Server, level: str) -> None:
    url = server.create("dedup_isolation")
    name = conninfo_to_dict(url)["dbname"]
    with psycopg.connect(server.url, autocommit=True) as owner:
        owner.execute(
            sql.SQL("ALTER DATABASE {} SET default_transaction_isolation = {}").format(
                sql.Identifier(str(name)), sql.Literal(level)
            )
        )
    database = Database(url, Timeouts(hook=30))
    opening.initialize(database)
    try:
        submit_from_threads(database)
    finally:
        database.close()
        server.drop("dedup_isolation")


def submit_from_threads(database: Database, rounds: int = 15) -> None:
    """Submit articles from four threads at once, run a backfill, and check all marks."""
    barrier = threading.Barrier(4)

    def submit(number: int) -> list[str]:
        barrier.wait(60)
        corpus = deduplicator(database)
        return [
            corpus.submit(article(f"{number}-{i}", window(5 * i, 6, ring=500), number)).status
            for i in range(rounds)
        ]

    with ThreadPoolExecutor(4) as pool:
        found = [status for part in pool.map(submit, range(4)) for status in part]
    assert len(found) == 4 * rounds
    assert set(found) <= {"unique", "similar", "duplicate"}
    backfill(database, workers=0, factory=make_function)
    assert_right(database)


@pytest.fixture
def pooler(server: Server) -> Iterator[str]:
    """Yield the address of a pooler in front of an empty corpus."""
    url = server.create("dedup_pooler")
    direct = Database(url)
    opening.initialize(direct)
    direct.close()
    with pooled(url) as address:
        yield address
    server.drop("dedup_pooler")


@pytest.mark.parametrize("pooler", [False, True])
def test_init_tells_that_a_pooler_may_keep_its_lock(
    database: Database, monkeypatch: pytest.MonkeyPatch, pooler: bool
) -> None:
    connect = Database._connect

    def lent(self: Database, schema: str | None = None) -> Connection:
        connection = connect(self, schema)
        connection.pooled = pooler
        return connection

    monkeypatch.setattr(Database, "_connect", lent)
    hasty = Database(database.url, Timeouts(lock=0.1))
    with psycopg.connect(database.url, autocommit=True) as other:
        for name in (hasty.schema, f"{hasty.schema} words"):
            other.execute("SELECT pg_advisory_lock(%s)", [migration_lock(name)])
        for init in (opening.initialize, partial(change_index, wanted=True)):
            with pytest.raises(BusyError) as error:
                init(hasty)
            assert ("a pooler in transaction mode keeps that lock" in str(error.value)) == pooler


@pytest.mark.long("dedup", "migrations")
def test_behind_a_pooler_in_transaction_mode(pooler: str) -> None:
    database = Database(pooler, Timeouts(hook=30))
    with database.session() as session:
        assert session.connection.pooled
    submit_from_threads(database)
    # The settings of one client never reach another client of the same server connection.
    with psycopg.connect(pooler) as other:
        row = other.execute("SELECT current_setting('lock_timeout'), current_setting('jit')").fetchone()
    assert row is not None
    assert row[0] == "0"
    database.close()


@pytest.mark.long("dedup", "migrations")
def test_a_corpus_is_verified_behind_a_pooler(pooler: str) -> None:
    with Deduplicator(pooler) as corpus:
        corpus.submit(article("a", window(0, 6), 1))
        corpus.submit(article("b", window(0, 6), 2))
        corpus.backfill(workers=0)
        found = corpus.verify()
        assert (found.articles, found.differences) == (2, [])


# Tests of the timeouts' values.


def test_timeouts_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEDUP_TIMEOUT_HOOK", raising=False)
    assert config.timeouts() == Timeouts()
    monkeypatch.setenv("DEDUP_TIMEOUT_HOOK", " 2.5 ")
    monkeypatch.setenv("DEDUP_TIMEOUT_LOCK", "")
    assert config.timeouts() == Timeouts(hook=2.5)


@pytest.mark.parametrize("text", ["never", "0", "-1", "nan", "inf", "1e99"])
def test_no_timeout_is_an_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEDUP_TIMEOUT_IDLE", text)
    with pytest.raises(InputError, match="DEDUP_TIMEOUT_IDLE must be a number of seconds"):
        config.timeouts()


def test_no_timeout_is_none() -> None:
    assert milliseconds(0.00001) == "1ms"  # 0 would mean no limit


def test_every_transaction_has_timeouts(database: Database) -> None:
    names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
    shown = f"SELECT {', '.join(f'current_setting({name!r})' for name in names)}".encode()
    with database.transaction() as cursor:
        assert cursor.execute(shown).fetchone() == ("30s", "1h", "1min")
    with database.transaction(settling=True, seconds=0.4) as cursor:
        assert cursor.execute(shown).fetchone() == ("100ms", "400ms", "1min")


def test_what_only_reads_may_think_for_longer(database: Database) -> None:
    shown = b"SHOW idle_in_transaction_session_timeout"
    with database.session() as session:
        with session.transaction(snapshot=True) as cursor:
            assert cursor.execute(shown).fetchone() == ("1h",)
        with session.transaction() as cursor:
            assert cursor.execute(shown).fetchone() == ("1min",)


def test_the_library_takes_a_timeout(database: Database) -> None:
    with Deduplicator(database.url) as corpus, held(database, HOLD["the settle lock"]):
        started = time.monotonic()
        assert corpus.submit(article("a", window(0, 6), 0), timeout=0.1).status == "pending"
        assert time.monotonic() - started < 0.5
