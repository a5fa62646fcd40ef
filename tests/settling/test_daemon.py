"""A worker settles new articles within a second, whatever fails: its listener, its database or its process.

See docs/reliability.md, promises 5, 6 and 14.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

import psycopg
import pytest
from psycopg import sql

from dedup.api import worker
from dedup.base.errors import DatabaseError, LoginError, SchemaError
from dedup.db.database import Database, conninfo
from dedup.runs import runs, waiting
from dedup.settling import daemon as daemon_module
from dedup.settling.backfill import BackfillOptions
from dedup.settling.daemon import Daemon, Pace
from dedup.settling.fingerprinting import PoolOptions
from dedup.store import opening, quotes
from tests import corpora
from tests.conftest import Server
from tests.corpora import (
    article,
    assert_right,
    deduplicator,
    load,
    make_function,
    unsettled,
    wait_until,
    window,
)
from tests.failover import read_only

pytestmark = pytest.mark.timeout(120)

POLL = 0.3
LONG = 600.0


class Working:
    """A worker in a thread of this process."""

    def __init__(self, url: str, pace: Pace) -> None:
        self.database = Database(url)
        self.stopped = Event()
        self.error: BaseException | None = None
        options = BackfillOptions(1_000, None, PoolOptions(0, make_function), "auto", 1 << 26)
        self.daemon = Daemon(self.database, options, self.stopped.is_set, pace)
        self.thread = Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self.daemon.run()
        except BaseException as error:
            self.error = error

    def stop(self) -> None:
        self.stopped.set()
        self.thread.join(20)
        assert not self.thread.is_alive()
        self.database.close()


@contextmanager
def working(url: str, poll: float = POLL, **pace: Any) -> Iterator[Working]:
    """Yield a worker that has finished all present work and listens."""
    found = Working(url, Pace(poll, **pace))
    found.thread.start()
    try:
        wait_until(lambda: found.error is not None or listens(found.database))
        yield found
    finally:
        found.stop()


def query(database: Database, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with database.transaction() as cursor:
        return cursor.execute(statement.encode(), values).fetchall()


def listeners(database: Database) -> list[int]:
    """Return the ids of the server processes that listen in this database."""
    rows = query(
        database,
        "SELECT pid FROM pg_stat_activity WHERE query ~ '^LISTEN dedup' AND datname = current_database()",
    )
    return [row[0] for row in rows]


def listens(database: Database) -> bool:
    return bool(listeners(database)) and bool(query(database, "SELECT FROM dedup.worker"))


def settled(database: Database) -> Callable[[], bool]:
    return lambda: not unsettled(database)


def test_a_notification_is_answered_at_once(database: Database, corpus_url: str) -> None:
    with working(corpus_url, poll=LONG):
        for number in range(3):
            load(database, article(f"a{number}", window(0, 6), number))
            wait_until(settled(database), 10)
    assert_right(database)


@pytest.mark.long("dedup", "migrations")
def test_one_row_for_a_working_period_and_none_for_idle_polls(database: Database, corpus_url: str) -> None:
    def ended() -> int:
        """Return the number of ended runs, or 0 if a run has not ended."""
        rows = query(database, "SELECT ended_at IS NULL FROM dedup.run")
        return 0 if (True,) in rows else len(rows)

    with working(corpus_url, poll=0.05, idle=2):
        wait_until(lambda: ended() == 1)
        before = ended()
        for number in range(3):
            load(database, article(f"a{number}", window(number, 6), number))
            wait_until(settled(database))
        wait_until(lambda: ended() > before)
        with database.transaction() as cursor:
            history, totals = runs.load_history(cursor, 10), runs.load_totals(cursor)
    assert len(history) == before + 1
    assert history[0].outcome == "done"
    assert history[0].fingerprinted == 3
    assert history[0].settled >= 3
    assert history[0].stage_seconds["settling"] > 0
    assert totals["fingerprinted", ""] == 3
    assert totals["runs done", ""] == len(history)
    assert totals["seconds", "settling"] == pytest.approx(
        sum(run.stage_seconds["settling"] for run in history)
    )


@pytest.fixture
def seconds() -> Callable[[Database, str], float]:
    """Return a function that measures the seconds until an article has its mark."""

    def measure(database: Database, name: str) -> float:
        load(database, article(name, window(3, 6), 5))
        started = time.monotonic()
        wait_until(settled(database))
        return time.monotonic() - started

    return measure


SLACK = 2.0
"""Seconds that a busy machine may add to the polling interval."""


@pytest.mark.long("dedup", "migrations")
def test_a_terminated_listener_costs_one_poll(
    database: Database, corpus_url: str, seconds: Callable[[Database, str], float]
) -> None:
    with working(corpus_url):
        before = listeners(database)
        query(database, "SELECT pg_terminate_backend(%s)", before[0])
        assert seconds(database, "a") < POLL + SLACK
        wait_until(lambda: listeners(database) not in ([], before))


def test_a_peer_that_says_nothing_costs_one_poll(
    database: Database, corpus_url: str, seconds: Callable[[Database, str], float]
) -> None:
    with working(corpus_url):
        peer = listeners(database)[0]
        os.kill(peer, signal.SIGSTOP)
        try:
            assert seconds(database, "a") < POLL + SLACK
        finally:
            os.kill(peer, signal.SIGCONT)


def test_a_dropped_notification_costs_one_poll(
    database: Database, corpus_url: str, seconds: Callable[[Database, str], float]
) -> None:
    with working(corpus_url):
        with database.transaction() as cursor:
            cursor.execute("ALTER TABLE dedup.article DISABLE TRIGGER article_waits")
        try:
            assert seconds(database, "a") < POLL + SLACK
        finally:
            with database.transaction() as cursor:
                cursor.execute("ALTER TABLE dedup.article ENABLE ALWAYS TRIGGER article_waits")


@pytest.fixture
def heard(database: Database) -> Iterator[Callable[[], int]]:
    """Yield a function that counts the notifications since its last call."""
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("LISTEN dedup")

        def count() -> int:
            # This notification arrives after all earlier ones: count up to it.
            with psycopg.connect(database.url, autocommit=True) as other:
                other.execute("SELECT pg_notify('dedup', 'last')")
            return next(i for i, said in enumerate(connection.notifies()) if said.payload == "last")

        yield count


def test_behind_a_pooler_nobody_listens(
    database: Database, corpus_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dedup")
    connect = Database.connect

    def pooled(self: Database, **given: Any) -> Any:
        connection = connect(self, **given)
        connection.pooled = True
        return connection

    monkeypatch.setattr(Database, "connect", pooled)
    found = Working(corpus_url, Pace(POLL))
    found.thread.start()
    try:
        wait_until(lambda: "LISTEN does not work through a pooler" in caplog.text)
        load(database, article("a", window(0, 6)))
        wait_until(settled(database))
        assert listeners(database) == []
    finally:
        found.stop()
    assert caplog.text.count("LISTEN does not work through a pooler") == 1


def test_a_run_that_is_stuck_is_told_of_once(
    database: Database, corpus_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with database.transaction() as cursor:
        runs.claim(cursor, "backfill", runs.Owner("desk-1", 17, None, None))
        cursor.execute("UPDATE dedup.run SET progress_at = now() - interval '11 minutes'")
    found = Working(corpus_url, Pace(0.05))
    found.thread.start()
    try:
        wait_until(lambda: "has made no progress for 11 minutes" in caplog.text)
        load(database, article("a", window(0, 6)))
        query(database, "UPDATE dedup.run SET ended_at = now(), outcome = 'failed' RETURNING id")
        wait_until(settled(database))
    finally:
        found.stop()
    assert caplog.text.count("made no progress") == 1


def test_who_notifies(database: Database, heard: Callable[[], int]) -> None:
    load(database, article("a", window(0, 6)))
    assert heard() == 0, "without a worker no notification is sent"
    with database.transaction() as cursor:
        runs.begin_worker(cursor, "elsewhere", 1)
    load(database, article("b", window(1, 6)))
    assert heard() == 1
    with database.transaction() as cursor:
        cursor.execute(
            "INSERT INTO dedup.article (source_id, text)"
            " SELECT 'c' || n, 'words' FROM generate_series(1, 9) n"
        )
    assert heard() == 1, "one notification per statement"
    with database.transaction() as cursor:
        cursor.execute("UPDATE dedup.article SET text = 'others' WHERE source_id = 'c1'")
    assert heard() == 1
    with database.transaction() as cursor:
        cursor.execute("UPDATE dedup.article SET url = 'https://example.org' WHERE source_id = 'c1'")
    assert heard() == 0, "an edit of a field that is not compared makes no article pending"
    with database.transaction() as cursor:
        cursor.execute("DELETE FROM dedup.article WHERE source_id = 'c1'")
    assert heard() == 1
    dd = deduplicator(database)
    dd.backfill(workers=0)
    dd.submit(article("hook", window(5, 6)))
    dd.submit(article("hook", window(6, 6)))
    assert heard() == 0, "a hook settles the articles that it stores"


def quoted(database: Database) -> int:
    return len(query(database, "SELECT FROM dedup.quote"))


def schedule_is_due(database: Database) -> None:
    query(database, "UPDATE dedup.sentence_schedule SET begun_at = now() - interval '2 hours' RETURNING 1")


def test_the_words_of_sentences_are_kept_where_somebody_asked_for_that(
    database: Database, corpus_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    dd = deduplicator(database)
    with caplog.at_level(logging.INFO, "dedup.worker"), working(corpus_url):
        for number, outlet in enumerate(("Wire", "Herald", "Courier")):
            load(database, article(f"a{number}", window(0, 6), number, publication=outlet))
        wait_until(settled(database))
        assert dd.keep_sentences(outlets=4, every=60).quotes == 0
        load(database, article("a3", window(0, 5), 3, publication="Post"))
        wait_until(settled(database))
        schedule_is_due(database)
        wait_until(lambda: quoted(database) == 5)
        wait_until(lambda: "stored the words of sentences: 1 version compared" in caplog.text)
        assert query(
            database, "SELECT begun_at > now() - interval '1 hour' FROM dedup.sentence_schedule"
        ) == [(True,)]
        dd.keep_sentences(every=0)
        assert query(database, "SELECT FROM dedup.sentence_schedule") == []
    assert caplog.text.count("stored the words of sentences") == 1


def test_what_arrives_while_words_are_kept_waits_for_nothing(
    database: Database, corpus_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begun, enough = Event(), Event()

    def slow(database: Database, **given: Any) -> None:
        begun.set()
        enough.wait(60)
        raise DatabaseError("the disk is full")

    deduplicator(database).keep_sentences(every=60)
    schedule_is_due(database)
    monkeypatch.setattr("dedup.settling.sentences.keep", slow)
    with working(corpus_url) as found:
        assert begun.wait(30)
        load(database, article("a", window(0, 6)))
        wait_until(settled(database))
        enough.set()
        wait_until(lambda: "could not store the words of sentences: the disk is full" in caplog.text)
        load(database, article("b", window(0, 6)))
        wait_until(settled(database))
        assert found.error is None
    assert_right(database)


def test_of_several_workers_one_keeps_words(database: Database) -> None:
    def due() -> int | None:
        with database.transaction() as cursor:
            return quotes.due(cursor)

    assert due() is None, "words are not kept before someone asked for them"
    deduplicator(database).keep_sentences(outlets=5, every=60)
    assert due() is None
    schedule_is_due(database)
    assert [due(), due()] == [5, None]


def test_an_idle_look_finds_every_kind_of_work_and_no_other(database: Database) -> None:
    def look() -> tuple[bool, bool]:
        with database.transaction() as cursor:
            found = waiting.find_waiting(cursor)
        return found.settling, found.counting

    dd = deduplicator(database)
    dd.backfill(workers=0)
    assert look() == (False, False)
    load(database, article("a", window(0, 6)))
    assert look()[0]
    dd.backfill(workers=0)
    assert look() == (False, False)
    dd.submit(article("b", window(3, 6)))
    assert look() == (False, True), "a hook leaves sentences to be counted"
    dd.backfill(workers=0)
    dd.settings.change({"common_stories": 7})
    assert look()[0]
    dd.backfill(workers=0)
    assert look() == (False, False)
    with database.transaction(settling=True) as cursor:
        cursor.execute("INSERT INTO dedup.deferred_article (source_id, text) VALUES ('b', 'other words')")
    assert look()[0]
    dd.backfill(workers=0)


@pytest.fixture
def other(server: Server) -> Iterator[str]:
    """Yield the address of a corpus in a separate database that can refuse connections."""
    name = "dedup_shut"
    url = server.create(name)
    made = Database(url)
    opening.initialize(made)
    made.close()
    yield url
    door(server, url, is_open=True)
    server.drop(name)


def door(server: Server, url: str, *, is_open: bool) -> None:
    """Refuse new connections to a database and end present connections, or allow connections again."""
    name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}").format(
                sql.Identifier(str(name)), sql.SQL(str(is_open).lower())
            )
        )
        if not is_open:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
            )


OUTCOMES = "SELECT outcome FROM dedup.run_history ORDER BY id"


@pytest.mark.long("dedup", "migrations")
def test_a_database_that_goes_away_is_waited_for_and_told_of_once(
    server: Server, other: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dedup")

    def events() -> list[str]:
        return [getattr(record, "event", "") for record in caplog.records]

    with working(other, down=(0.05, 0.1)) as found:
        database = Database(other)
        wait_until(lambda: query(database, OUTCOMES) == [("running",)])
        door(server, other, is_open=False)
        wait_until(lambda: found.daemon._down > 3)
        assert found.error is None
        door(server, other, is_open=True)
        wait_until(lambda: "up" in events())
        assert query(database, OUTCOMES)[0] == ("failed",), "the run that the outage ended"
        load(database, article("a", window(0, 6)))
        wait_until(settled(database))
        database.close()
    assert events().count("down") == 1


def test_a_database_that_is_read_only_for_a_moment_is_waited_for(
    database: Database, corpus_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dedup")
    with working(corpus_url, down=(0.05, 0.1)) as found:
        with read_only(corpus_url):
            wait_until(lambda: found.daemon._down > 3 or found.error is not None)
            assert found.error is None
        load(database, article("a", window(0, 6)))
        wait_until(settled(database))
    said = [record.getMessage() for record in caplog.records if getattr(record, "event", "") == "down"]
    assert len(said) == 1
    assert "waiting for it" in said[0]


@pytest.mark.long("dedup", "migrations")
def test_a_database_that_is_away_at_the_start_is_waited_for(
    server: Server, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon_module, "DOWN_SECONDS", (0.05, 0.1))
    door(server, other, is_open=False)
    stop, asked = Event(), []

    def stopping() -> bool:
        asked.append(1)
        return stop.is_set()

    thread = Thread(target=lambda: worker.work(other, stop=stopping, poll=POLL, workers=1), daemon=True)
    thread.start()
    wait_until(lambda: len(asked) > 5)
    door(server, other, is_open=True)
    database = Database(other)
    wait_until(lambda: listens(database))
    database.close()
    stop.set()
    thread.join(20)
    assert not thread.is_alive()


def test_what_no_waiting_heals_ends_it(server: Server) -> None:
    name = "dedup_none"
    empty = server.create(name)
    with pytest.raises(SchemaError, match="dedup init"):
        worker.work(empty, stop=lambda: False)
    server.drop(name)
    nobody = psycopg.conninfo.make_conninfo(conninfo(server.url), user="nobody_of_that_name")
    with pytest.raises(LoginError, match="login"):
        worker.work(nobody, stop=lambda: False)


@contextmanager
def process(url: str, log: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run `dedup worker` in another process; kill it at the end."""
    with log.open("ab") as file:
        found = subprocess.Popen(
            [sys.executable, "-m", "dedup.cli.main", "worker", "--workers", "1", *arguments],
            env={**os.environ, "DEDUP_DATABASE_URL": url},
            stderr=file,
        )
    try:
        yield found
    finally:
        found.kill()
        found.wait()


def many(database: Database, count: int, first: int = 0) -> None:
    load(database, *(article(f"a{i:04}", window(i % 14, 6), i) for i in range(first, first + count)))


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_the_middle_of_a_backfill(
    database: Database, corpus_url: str, tmp_path: Path, number: signal.Signals
) -> None:
    many(database, 600)
    with process(corpus_url, tmp_path / "log") as running:
        wait_until(lambda: bool(query(database, "SELECT FROM dedup.fingerprint LIMIT 1")))
        started = time.monotonic()
        running.send_signal(number)
        assert running.wait(20) == 0
        assert time.monotonic() - started < 10
    assert query(database, "SELECT FROM dedup.worker") == []
    assert query(database, "SELECT FROM dedup.run WHERE ended_at IS NULL") == []
    deduplicator(database).backfill(workers=0)
    assert_right(database)


@pytest.mark.long("dedup", "migrations")
def test_a_worker_that_is_killed_is_missed_at_once(
    database: Database, corpus_url: str, tmp_path: Path
) -> None:
    def problems() -> str:
        return " ".join(deduplicator(database).vitals().problems(LONG))

    load(database, article("a", window(0, 6)))
    with process(corpus_url, tmp_path / "log") as running:
        idle = "SELECT FROM dedup.worker WHERE idle_at IS NOT NULL AND backend_pid IS NOT NULL"
        wait_until(lambda: bool(query(database, idle)) and not unsettled(database))
        assert problems() == ""
        with database.transaction() as cursor:
            assert [run.what for run in runs.load_history(cursor, 9)] == ["worker"]
        running.kill()
        wait_until(lambda: f"process {running.pid}, is gone" in problems(), 5)


@pytest.mark.long("dedup", "migrations")
def test_two_workers_and_one_is_killed(database: Database, corpus_url: str, tmp_path: Path) -> None:
    many(database, 300)
    log = tmp_path / "log"
    with process(corpus_url, log) as one, process(corpus_url, log) as two:
        wait_until(lambda: len(query(database, "SELECT FROM dedup.worker")) == 2)
        wait_until(lambda: bool(query(database, "SELECT FROM dedup.run WHERE ended_at IS NULL")))
        at_work = query(database, "SELECT process_id FROM dedup.run WHERE ended_at IS NULL")[0][0]
        killed, left = (one, two) if one.pid == at_work else (two, one)
        many(database, 200, 300)
        killed.kill()
        wait_until(settled(database), 60)
        assert query(database, "SELECT outcome FROM dedup.run WHERE process_id = %s", at_work) == [
            ("taken over",)
        ]
        many(database, 10, 500)
        wait_until(settled(database), 60)
        left.terminate()
        assert left.wait(20) == 0
    assert corpora.answer(database).marks
    assert_right(database)
    assert log.read_text().count("took over") == 1
