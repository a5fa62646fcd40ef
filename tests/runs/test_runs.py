"""Runs: one backfill at a time; a killed run is replaced at once, a stuck run is reported and ends.

See docs/reliability.md, promises 9 and 14.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from dedup.base.errors import StuckError
from dedup.db.database import Database
from dedup.runs import heartbeat as heartbeat_module
from dedup.runs import runs
from dedup.runs.heartbeat import Heartbeat
from dedup.settling import backfill as backfill_module
from dedup.settling.backfill import backfill
from dedup.store import overview
from tests.corpora import article, assert_counted, assert_right, load, make_function, wait_until, window
from tests.settling.processes import running

pytestmark = pytest.mark.timeout(90)


def rows(database: Database) -> list[tuple[Any, ...]]:
    with database.transaction() as cursor:
        return cursor.execute(
            "SELECT outcome, error, stage, done, total FROM dedup.run ORDER BY id"
        ).fetchall()


@contextmanager
def alive(database: Database, what: str = "backfill") -> Iterator[Heartbeat]:
    """Yield the heartbeat of another run that is alive."""
    beating = Heartbeat(database, what)
    try:
        assert beating.claim()
        yield beating
    finally:
        beating.close()


@pytest.mark.long("dedup", "migrations")
def test_a_second_backfill_says_who_runs_and_how_far(database: Database) -> None:
    load(database, article("a", window(0, 6)))
    with alive(database) as other:
        other.start("settling", 40)
        other.advance(12)
        wait_until(lambda: rows(database)[0][2:] == ("settling", 12, 40))
        second = backfill(database, workers=0, factory=make_function)
        with database.transaction() as cursor:
            shown = overview.overview(cursor).backfill
        other.end("done")
    assert second.already_running
    assert second.running
    assert shown
    assert str(shown) == str(second.running)
    assert str(shown).endswith("(settling, 12 of 40)")
    assert f"process {psutil.Process().pid}" in str(shown)
    assert not backfill(database, workers=0, factory=make_function).already_running
    assert [row[0] for row in rows(database)] == ["done", "done"]
    with database.transaction() as cursor:
        assert overview.overview(cursor).backfill is None


@pytest.mark.long("dedup", "migrations")
def test_kill_9_and_at_once_the_next_backfill(database: Database, corpus_url: str) -> None:
    load(database, *(article(f"a{i}", window(i % 14, 6), i) for i in range(60)))
    for kills in range(1, 4):
        with running(corpus_url) as backfilling:
            backfilling.next()
            backfilling.process.kill()
            backfilling.process.join()
            started = time.monotonic()
            wait_until(lambda: outcomes(database)[0] == "lost")
            with Heartbeat_closing(database) as next_one:
                assert next_one.claim(), "the next run must not wait for a lease"
                assert next_one.taken_over
                assert next_one.taken_over.process_id == backfilling.process.pid
                assert time.monotonic() - started < 5
                next_one.end("stopped")
        assert [row[0] for row in rows(database)] == ["taken over", "stopped"] * kills
    report = backfill(database, workers=0, factory=make_function)
    assert report.taken_over is None
    assert_right(database)


def outcomes(database: Database) -> list[str]:
    with database.transaction() as cursor:
        return [run.outcome for run in runs.load_history(cursor, 1)]


@contextmanager
def Heartbeat_closing(database: Database) -> Iterator[Heartbeat]:  # noqa: N802
    made = Heartbeat(database, "backfill")
    try:
        yield made
    finally:
        made.close()


def age(database: Database, column: str, seconds: float) -> None:
    with database.transaction() as cursor:
        cursor.execute(
            f"UPDATE dedup.run SET {column} = {column} - make_interval(secs => %s)".encode(), [seconds]
        )


@pytest.mark.long("dedup", "migrations")
def test_a_silent_owner_is_taken_over_after_the_lease_and_ends_itself(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A silent run is taken over after the lease even if its session seems alive, as behind a pooler."""
    monkeypatch.setattr(heartbeat_module, "BEAT_SECONDS", 0.1)
    load(database, article("a", window(0, 6)))
    with alive(database) as other:
        age(database, "heartbeat_at", runs.LEASE_SECONDS - 10)
        with Heartbeat_closing(database) as second:
            assert not second.claim()
        with database.transaction() as cursor:
            cursor.execute("LOCK TABLE dedup.run IN EXCLUSIVE MODE")  # blocks heartbeats
            cursor.execute(
                "UPDATE dedup.run SET heartbeat_at = heartbeat_at - make_interval(secs => %s)",
                [runs.LEASE_SECONDS + 1],
            )
            assert runs.claim(cursor, "backfill", runs.Owner("elsewhere", 1, None, None))
        wait_until(lambda: other.superseded)
        other.end("done")
    assert [row[0] for row in rows(database)] == ["taken over", None]


def test_a_backfill_that_was_taken_over_ends(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    load(database, *(article(f"a{i}", window(i % 14, 6), i) for i in range(20)))

    class Superseded:
        def start(self, stage: str, total: int | None) -> None:
            pass

        def advance(self, count: int, total: int | None = None) -> None:
            with database.transaction() as cursor:
                runs.end(cursor, runs.find_current(cursor, "backfill").id, "taken over", None)  # type: ignore[union-attr]
            wait_until(lambda: beating[0].superseded)

    beating: list[Heartbeat] = []
    claim = Heartbeat.claim

    def noted(self: Heartbeat) -> bool:
        beating.append(self)
        return claim(self)

    monkeypatch.setattr(heartbeat_module, "BEAT_SECONDS", 0.1)
    monkeypatch.setattr(Heartbeat, "claim", noted)
    report = backfill(database, workers=0, factory=make_function, progress=Superseded(), batch=5)
    assert report.superseded
    assert report.stopped
    monkeypatch.undo()
    backfill(database, workers=0, factory=make_function)
    assert_right(database)


@pytest.mark.long("dedup", "migrations")
def test_an_owner_that_makes_no_progress_is_told(database: Database) -> None:
    with alive(database) as other:
        other.start("settling", 40)
        wait_until(lambda: rows(database)[0][2] == "settling")
        age(database, "progress_at", runs.STUCK_SECONDS + 60)
        with pytest.raises(StuckError) as told:
            backfill(database, workers=0, factory=make_function)
    words = str(told.value)
    assert "has made no progress for 11 minutes" in words
    assert f"`kill {psutil.Process().pid}` on " in words
    assert "dedup backfill" in words


@pytest.mark.long("dedup", "migrations")
def test_a_process_that_stands_still_is_told_by_its_heartbeat(database: Database, corpus_url: str) -> None:
    load(database, *(article(f"a{i}", window(i % 14, 6), i) for i in range(60)))
    with running(corpus_url) as backfilling:
        backfilling.next()
        psutil.Process(backfilling.process.pid).suspend()
        with Heartbeat_closing(database) as second:
            assert not second.claim(), "the stopped run has a session and a recent heartbeat"
            assert second.other
            assert second.other.process_id == backfilling.process.pid
        age(database, "heartbeat_at", runs.LEASE_SECONDS + 1)
        report_of: list[Any] = []
        # The stopped process may hold the settle lock, and releases it when it is killed.
        thread = threading.Thread(
            target=lambda: report_of.append(backfill(database, workers=0, factory=make_function))
        )
        thread.start()
        psutil.Process(backfilling.process.pid).send_signal(signal.SIGKILL)
        thread.join(60)
    assert report_of[0].taken_over
    assert_right(database)


def test_the_last_thousand_runs_are_kept(database: Database) -> None:
    with database.transaction(settling=True) as cursor:
        cursor.execute(
            "INSERT INTO dedup.run (what, host, process_id, ended_at, outcome)"
            " SELECT 'backfill', 'h', n, now(), 'done' FROM generate_series(1, %s) AS n",
            [runs.KEPT + 5],
        )
    backfill(database, workers=0, factory=make_function)
    assert len(rows(database)) == runs.KEPT


def test_an_error_ends_the_run_with_its_kind(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def explode(*_: object, **__: object) -> None:
        raise ValueError("the text of an article")

    load(database, article("a", window(0, 6)))
    monkeypatch.setattr(backfill_module, "refresh", explode)
    with pytest.raises(ValueError, match="text"):
        backfill(database, workers=0, factory=make_function)
    assert [row[:2] for row in rows(database)] == [("failed", "ValueError")]


STALE = """
    UPDATE dedup.article_mark SET stale = true
    WHERE id IN (SELECT id FROM dedup.article WHERE source_id = ANY (%s))
"""


def test_a_fingerprint_of_another_revision_is_replaced(database: Database) -> None:
    """A fingerprint of another revision is replaced once.

    An earlier version never ended here: the old fingerprint replaced the new one again.
    """
    load(database, *(article(name, window(i, 6), i) for i, name in enumerate("abc")))
    backfill(database, workers=0, factory=make_function)
    with database.transaction(settling=True) as cursor:
        # Let no trigger fire, as in the restore of half a backup.
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE dedup.article SET revision = revision + 1 WHERE source_id IN ('a', 'b')")
        cursor.execute(STALE, [["a", "b"]])
    report = backfill(database, workers=0, factory=make_function)
    assert report.fingerprinted == 2
    assert_right(database)
    assert_counted(database)
    assert backfill(database, workers=0, factory=make_function).settled == 0


def test_a_stale_fingerprint_of_a_text_that_cannot_be_read_goes(database: Database) -> None:
    load(database, *(article(name, window(i, 6), i) for i, name in enumerate("abc")))
    backfill(database, workers=0, factory=make_function)
    with database.transaction(settling=True) as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("UPDATE dedup.article SET revision = 7, text = '' WHERE source_id = 'a'")
    assert backfill(database, workers=0, factory=make_function).failed == 1
    assert_right(database)
    assert_counted(database)


REFUSE = """
    CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
    CREATE TRIGGER refuse BEFORE {what} ON dedup.{table} FOR EACH ROW EXECUTE FUNCTION public.refuse();
"""


@pytest.mark.parametrize(("what", "table"), [("INSERT", "fingerprint"), ("UPDATE", "article_mark")])
def test_a_backfill_that_would_never_end_is_an_error(database: Database, what: str, table: str) -> None:
    """A backfill raises an error if a trigger of another program swallows its writes."""
    load(database, *(article(name, window(i, 6), i) for i, name in enumerate("abc")))
    with database.transaction(settling=True) as cursor:
        cursor.connection.execute(REFUSE.format(what=what, table=table).encode())
    try:
        with pytest.raises(StuckError, match="dedup verify"):
            backfill(database, workers=0, factory=make_function)
    finally:
        with database.transaction() as cursor:
            cursor.execute("DROP FUNCTION public.refuse() CASCADE")
    backfill(database, workers=0, factory=make_function)
    assert_right(database)
