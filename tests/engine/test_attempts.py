"""What passes leaves no permanent mark: lost workers are attempts, and `retry` takes failures back.

docs/reliability.md, promises 4 and 14.
"""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from typing import Any

import psutil
import pytest

from dedup.corpus import attempts, fingerprints, overview
from dedup.corpus.database import Database
from dedup.corpus.fingerprints import Chunk
from dedup.engine.backfill import BackfillReport, backfill
from dedup.engine.pool import Limits
from dedup.errors import WorkerError
from dedup.text.tasks import Lost
from tests.conftest import Told
from tests.corpora import answer, article, assert_right, load, make_function, unsettled, window
from tests.engine.test_pool import QUICK, not_starting, poisoned, processes

pytestmark = pytest.mark.timeout(90)

PAUSES = (0.05, 0.1, 0.2)


def run(database: Database, **options: Any) -> BackfillReport:
    given = {"workers": 1, "factory": poisoned, "limits": QUICK, "retry_seconds": PAUSES, **options}
    return backfill(database, **given)


def poison(database: Database, name: str, words: str) -> None:
    """Store an article that says what is to happen to its worker."""
    load(database, article(name, window(5, 6), 3))
    with database.transaction() as cursor:
        cursor.execute("UPDATE dedup.article SET text = %s || text WHERE source_id = %s", [words, name])


def kept(database: Database) -> list[tuple[Any, ...]]:
    """The attempts as the table has them."""
    with database.transaction() as cursor:
        return cursor.execute(
            "SELECT a.source_id, t.attempts, t.first_at < t.last_at, t.reason"
            " FROM dedup.attempt t JOIN dedup.article a ON a.id = t.article_id ORDER BY a.source_id"
        ).fetchall()


def mark(database: Database, name: str) -> tuple[Any, ...]:
    return answer(database).marks[name]


def test_poison_among_good_articles_fails_alone_and_after_several_attempts(database: Database) -> None:
    load(database, *(article(f"a{i}", window(i % 14, 6), i) for i in range(100)))
    poison(database, "dies", "DIE ")
    poison(database, "hangs", "HANG ")
    report = run(database, limits=Limits(chunk=2, article=1, start_again=(0.1,)))
    assert (report.fingerprinted, report.failed, report.lost) == (100, 2, 8)
    ended = "unreadable: fingerprinting it ended the worker process (exit code 9), 4 times"
    late = "unreadable: fingerprinting it took longer than 1 s, 4 times"
    assert mark(database, "dies") == ("failed", None, None, ended)
    assert mark(database, "hangs") == ("failed", None, None, late)
    assert not unsettled(database)
    assert kept(database) == []


def test_an_article_that_lost_its_worker_waits_while_others_get_their_marks(database: Database) -> None:
    load(database, article("good", window(0, 6), 0))
    poison(database, "bad", "DIE ")
    stop = threading.Event()

    class Watching:
        def start(self, stage: str, total: int) -> None:
            if stage == "settling":
                stop.set()

        def advance(self, count: int, total: int | None = None) -> None:
            pass

    report = run(database, retry_seconds=(60, 60), progress=Watching(), stop=stop.is_set)
    assert report.stopped
    with database.transaction() as cursor:
        found = overview.overview(cursor)
        assert attempts.waiting(cursor, PAUSES).articles == 1
    assert found.attempted == 1
    assert [(s.source_id, s.attempts) for s in found.suspects] == [("bad", 1)]
    stop.clear()
    started = time.monotonic()
    threading.Timer(0.5, stop.set).start()
    report = run(database, retry_seconds=(60, 60), stop=stop.is_set)  # it would wait for a minute
    assert report.stopped
    assert time.monotonic() - started < 5
    assert mark(database, "good")[0] == "unique"
    assert mark(database, "bad")[0] == "pending"


def test_attempts_outlive_the_run_and_go_with_success(database: Database) -> None:
    load(database, article("a", window(0, 6)))
    with database.transaction(settling=True) as cursor:
        lost = [Lost(*article, "gone") for article in page(cursor)]
        for _ in range(3):
            assert attempts.note(cursor, lost, 4) == []
    assert kept(database) == [("a", 3, True, "gone")]
    assert run(database).fingerprinted == 1
    assert kept(database) == []
    assert_right(database)


def test_attempts_of_a_text_that_was_edited_do_not_count(database: Database) -> None:
    load(database, article("a", window(0, 6)))
    with database.transaction(settling=True) as cursor:
        lost = [Lost(*article, "gone") for article in page(cursor)]
        for _ in range(3):
            attempts.note(cursor, lost, 4)
    load(database, article("a", window(5, 6)))
    with database.transaction(settling=True) as cursor:
        assert attempts.waiting(cursor, PAUSES).articles == 0
        assert attempts.note(cursor, lost, 4) == [], "what is told of the old text counts for nothing"
        (found,) = page(cursor)
        assert attempts.note(cursor, [Lost(*found, "gone again")], 4) == []
    assert [row[1] for row in kept(database)] == [1]
    with database.transaction() as cursor:
        cursor.execute("DELETE FROM dedup.article")
    assert kept(database) == []


def page(cursor: Any) -> Chunk:
    return fingerprints.waiting_page(cursor, None, 10).articles


@pytest.mark.torture
def test_no_attempt_counts_where_the_machine_is_to_blame(database: Database) -> None:
    load(database, *(article(f"a{i}", window(i % 14, 6), i) for i in range(30)))
    with pytest.raises(WorkerError):
        run(database, factory=not_starting)
    assert kept(database) == []
    assert len(unsettled(database)) == 30
    with database.transaction() as cursor:
        rows = cursor.execute("SELECT outcome, error FROM dedup.run").fetchall()
    assert rows == [("failed", "WorkerError")]
    run(database)
    assert_right(database)


def test_workers_killed_for_a_while_leave_no_mark(database: Database) -> None:
    """The killer waits until a worker reads texts: what is lost then are attempts."""
    load(database, *(article(f"a{i}", window(i % 14, 6), i) for i in range(300)))
    until = time.monotonic() + 4
    kills = []

    def kill() -> None:
        while time.monotonic() < until:
            for child in processes():
                with suppress(psutil.NoSuchProcess):
                    if child.cpu_times().user > 0.3:
                        child.kill()
                        kills.append(child)
            time.sleep(0.01)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        run(database, workers=2, limits=Limits(start_again=(0.5, 1, 2, 4)))
    except WorkerError:
        assert time.monotonic() < until + 5
    killer.join()
    assert kills
    assert not [m for m in answer(database).marks.values() if m[0] == "failed"]
    run(database)
    assert_right(database)


@pytest.mark.torture
@pytest.mark.timeout(300)
def test_workers_killed_for_14_seconds_by_default_rules(database: Database, told: Told) -> None:
    killed = 0
    load(database, *(article(f"a{i}", window(i % 14, 6), i) for i in range(300)))
    for pause in (0.05, 0.3, 0.7, 1.1):
        with database.transaction(settling=True) as cursor:
            cursor.execute("UPDATE dedup.article SET text = text || ' Again.'")
        until = time.monotonic() + 14
        kills: list[Any] = []

        def kill(until: float = until, pause: float = pause, kills: list[Any] = kills) -> None:
            while time.monotonic() < until:
                for child in processes():
                    with suppress(psutil.NoSuchProcess):
                        child.kill()
                        kills.append(child)
                time.sleep(pause)

        killer = threading.Thread(target=kill)
        killer.start()
        started = time.monotonic()
        try:
            backfill(database, workers=2)
            outcome = "done"
        except WorkerError:
            outcome = "WorkerError"
        took = time.monotonic() - started
        killer.join()
        failed = sum(m[0] == "failed" for m in answer(database).marks.values())
        print(f"killed every {pause} s: {len(kills)} kills, {outcome} after {took:.1f} s, {failed} failed")
        assert not failed
        assert took < 60
        backfill(database, workers=2)
        assert_right(database)
        killed += len(kills)
    told("14", "300 articles, all workers killed for 14 s, in 4 rhythms", f"{killed} SIGKILLs")


@pytest.mark.torture
def test_retry_makes_failed_articles_pending_again(database: Database) -> None:
    load(database, article("good", window(0, 6), 0), article("empty", [], 1))
    poison(database, "bad", "DIE ")
    run(database)
    assert {name: m[0] for name, m in answer(database).marks.items()} == {
        "good": "unique",
        "empty": "failed",
        "bad": "failed",
    }
    with database.transaction(settling=True) as cursor:
        assert attempts.retry(cursor, "unreadable", 100) == 1
        assert attempts.retry(cursor, "unreadable", 100) == 0
    assert unsettled(database) == {"bad"}
    report = backfill(database, workers=0, factory=make_function)  # the program is repaired
    assert (report.fingerprinted, report.failed) == (1, 0)
    assert_right(database)
    with database.transaction(settling=True) as cursor:
        assert attempts.retry(cursor, "em%", 100) == 0, "a prefix, not a pattern"
        assert attempts.retry(cursor, "empty", 100) == 1
    backfill(database, workers=0, factory=make_function)
    assert_right(database)


def test_a_text_that_is_too_long_is_never_sent_anywhere(database: Database) -> None:
    load(database, article("good", window(0, 6), 0))
    with database.transaction() as cursor:
        cursor.execute(
            "INSERT INTO dedup.article (source_id, text) VALUES ('long', repeat('very long ', 410000))"
        )
        texts = [task.text for task in fingerprints.waiting_texts(cursor, page(cursor), 10**6)]
    assert max(len(text) for text in texts) < 1_000
    backfill(database, workers=1)
    assert mark(database, "long")[3] == "too long: 4,100,000 characters, the limit is 1,000,000"
    assert_right(database)


def test_a_report_can_be_written_as_json(database: Database) -> None:
    from dataclasses import asdict

    load(database, article("a", window(0, 6)))
    assert json.loads(json.dumps(asdict(run(database)), default=str))["lost"] == 0
