"""Simultaneous work: hooks, loads, backfills, and people with plain SQL.

See docs/reliability.md, promise 3: articles that are stored at the same instant find each other in any
interleaving, and no program that follows the rules of Postgres ends in a deadlock.
"""

from __future__ import annotations

import itertools
import multiprocessing
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from dedup import Deduplicator
from dedup.base.article import Article
from dedup.base.errors import DatabaseError
from dedup.db import revision
from dedup.db.database import Database
from dedup.settling import backfill as backfill_module
from dedup.settling.backfill import backfill
from dedup.settling.hook import settle_articles
from dedup.settling.settle import settle
from dedup.store import opening, rulebooks, setting_rows
from dedup.store.articles import store
from tests.conftest import Server, empty
from tests.corpora import (
    answer,
    article,
    assert_consistent,
    assert_right,
    change_settings,
    deduplicator,
    fingerprint_waiting,
    load,
    make_function,
    wait_until,
    window,
)
from tests.settling.processes import start

pytestmark = pytest.mark.timeout(120)


@contextmanager
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def blocked(database: Database, count: int = 1) -> bool:
    """Return whether at least `count` sessions of this database wait for a lock."""
    with database.transaction() as cursor:
        row = cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
    return bool(row and row[0] >= count)


def when_blocked(database: Database, future: Future[Any], count: int = 1) -> None:
    """Wait until `count` sessions wait for a lock, or until the future is done."""
    wait_until(lambda: blocked(database, count) or future.done())


# Tests of two hooks at the same instant.


def submit_all(url: str, barrier: Any, name: str, rounds: int) -> None:
    """Submit one article per round, at the same instant as another process."""
    with Deduplicator(url) as corpus:
        for i in range(rounds):
            barrier.wait(60)
            one = article(f"{name}{i}", window(20 * i, 6, ring=10_000), 0)
            # The article is deferred if another session, perhaps a vacuum, holds a lock for 0.1 s.
            said = [corpus.submit(one)]
            while said[-1].status == "pending":
                assert len(said) < 5, said[-1].reason
                said.append(corpus.submit(one))


@pytest.mark.long("dedup", "migrations")
def test_two_processes_submit_near_duplicates_at_the_same_instant(
    database: Database, corpus_url: str
) -> None:
    rounds = 100
    barrier = multiprocessing.get_context("forkserver").Barrier(2)
    processes = [start(submit_all, corpus_url, barrier, name, rounds) for name in "ab"]
    for process in processes:
        process.join(90)
        assert process.exitcode == 0
    found = answer(database).status()
    assert found == {f"a{i}": "unique" for i in range(rounds)} | {
        f"b{i}": f"duplicate:a{i}" for i in range(rounds)
    }


# Tests of every interleaving of transactions: a session stores in one transaction and settles in the next.


def interleavings(sessions: int) -> list[tuple[int, ...]]:
    """Return all orders in which sessions can take their two steps each."""
    return sorted(set(itertools.permutations([i for i in range(sessions) for _ in range(2)])))


class TwoSteps:
    """A session that stores its article in one step and settles it in the next."""

    def __init__(self, database: Database, given: Article) -> None:
        self._database, self._given, self._stored = database, given, False

    def step(self) -> None:
        with self._database.transaction(settling=True) as cursor:
            if not self._stored:
                store(cursor, [self._given])
                fingerprint_waiting(cursor)
                self._stored = True
                return
            row = cursor.execute(
                "SELECT id FROM dedup.article WHERE source_id = %s", [self._given.source_id]
            ).fetchone()
            assert row is not None
            settle_articles(cursor, setting_rows.load_settings(cursor), [row[0]])


# Articles a and b are duplicates, and b and c, but not a and c.
CHAIN = [article("a", window(1, 6), 2), article("b", window(2, 6), 1), article("c", window(3, 6), 0)]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    ("sessions", "count", "every"), [(2, 6, 1), (3, 90, 4), pytest.param(3, 90, 1, marks=pytest.mark.torture)]
)
def test_every_interleaving_of_storing_and_settling(
    database: Database, sessions: int, count: int, every: int
) -> None:
    orders = interleavings(sessions)
    assert len(orders) == count
    for order in orders[::every]:
        empty(database)
        each = [TwoSteps(database, given) for given in CHAIN[:sessions]]
        for number in order:
            each[number].step()
        assert_right_but_uncounted(database)


def assert_right_but_uncounted(database: Database) -> None:
    assert "pending" not in {mark[0] for mark in answer(database).marks.values()}
    assert_consistent(database)


@pytest.mark.parametrize("edit", [False, True], ids=["new", "known"])
def test_two_hooks_in_open_transactions(database: Database, edit: bool) -> None:
    if edit:
        deduplicator(database).submit(article("b", window(50, 6), 1))
    with threads() as pool, database.transaction(settling=True) as cursor:
        future = pool.submit(deduplicator(database).submit, article("b", window(2, 6), 1))
        when_blocked(database, future)
        assert not future.done(), "the second hook must wait for the first"
        store(cursor, [article("a", window(1, 6), 0)])
        cursor.connection.execute("SELECT 1")
        fingerprint_waiting(cursor)
    # The first article is stored, but not settled yet. Still, the verdict of the second article names the
    # first.
    verdict = future.result(30)
    assert (verdict.status, verdict.duplicate_of, verdict.provisional) == ("duplicate", "a", True)
    backfill(database, workers=0, factory=make_function)
    assert answer(database).status() == {"a": "unique", "b": "duplicate:a"}


# Tests of plain SQL beside settling.

CHANGES = {
    "delete": "DELETE FROM dedup.article WHERE source_id IN ('a', 'd')",
    "delete many": "DELETE FROM dedup.article WHERE source_id < 'f'",
    "text": "UPDATE dedup.article SET text = text || ' More of it is there.' WHERE source_id <> 'c'",
    "time": "UPDATE dedup.article SET published_at = published_at - interval '1 hour' WHERE source_id = 'e'",
    "no change": "UPDATE dedup.article SET text = text, title = 'New'",
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("first", ["sql", "settler"])
def test_plain_sql_beside_a_settler(database: Database, change: str, first: str) -> None:
    load(database, *(article(name, window(i, 6), i) for i, name in enumerate("abcdefgh")))
    backfill(database, workers=0, factory=make_function)
    load(database, article("new", window(0, 6), -1))
    with psycopg.connect(database.url) as connection, threads() as pool:
        if first == "sql":
            connection.execute(CHANGES[change].encode())
            future: Future[Any] = pool.submit(backfill, database, batch=3, workers=0, factory=make_function)
            when_blocked(database, future)
            connection.commit()
        else:
            with database.transaction(settling=True) as cursor:
                fingerprint_waiting(cursor)
                future = pool.submit(connection.execute, CHANGES[change].encode())
                when_blocked(database, future)
                settle_articles(cursor, setting_rows.load_settings(cursor), [9])
            future.result(30)
            connection.commit()
        future.result(30)
    backfill(database, workers=0, factory=make_function)
    assert_right(database)


def test_an_article_is_deleted_while_its_fingerprint_is_stored(database: Database) -> None:
    load(database, *(article(name, window(i, 6), i) for i, name in enumerate("abcd")))
    with psycopg.connect(database.url) as connection, threads() as pool:
        connection.execute("DELETE FROM dedup.article WHERE source_id IN ('b', 'd')")
        future = pool.submit(backfill, database, workers=0, factory=make_function)
        when_blocked(database, future)
        connection.commit()
        future.result(30)
    assert sorted(assert_right(database).marks) == ["a", "c"]


def test_an_article_is_edited_while_it_is_fingerprinted(database: Database) -> None:
    load(database, *(article(name, window(0, 6), i) for i, name in enumerate("ab")))
    edits = iter([article("b", window(9, 6), 1), article("a", [], 1)])

    def factory(settings: Any, models: Any) -> Any:
        real = make_function(settings, models)

        def function(tasks: Any) -> Any:
            made = real(tasks)
            for edit in itertools.islice(edits, 1):
                load(database, edit)
            return made

        return function

    backfill(database, workers=0, factory=factory)
    assert_right(database)


def test_a_stale_fingerprint_of_an_article_that_failed_is_gone(database: Database) -> None:
    """An article that becomes unreadable during a backfill keeps no fingerprint."""
    load(database, *(article(name, window(0, 6), i) for i, name in enumerate("ab")))
    with psycopg.connect(database.url) as connection, threads() as pool:
        connection.execute("UPDATE dedup.article SET text = '?' WHERE source_id = 'b'")
        future = pool.submit(backfill, database, workers=0, factory=make_function)
        when_blocked(database, future)
        connection.commit()
        future.result(30)
    assert_right(database)
    with database.transaction() as cursor:
        assert cursor.execute("SELECT count(*) FROM dedup.fingerprint").fetchone() == (1,)


def test_an_edit_in_an_old_snapshot_is_refused(database: Database) -> None:
    """A transaction in REPEATABLE READ cannot see pairs that were written after its first statement."""
    load(database, article("a", window(0, 6), 0))
    backfill(database, workers=0, factory=make_function)
    with psycopg.connect(database.url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("SELECT count(*) FROM dedup.article")
        deduplicator(database).submit(article("b", window(0, 6), 1))
        with pytest.raises(psycopg.Error, match="READ COMMITTED"):
            connection.execute("UPDATE dedup.article SET text = 'Something else.'")
    assert_right(database)


# Tests of loads beside hooks, and beside each other.


def test_a_load_and_a_hook_of_the_same_articles(database: Database) -> None:
    """The load holds a new key and wants to edit; the hook holds the settle lock and wants the new key."""
    load(database, article("known", window(0, 6), 0))
    with threads() as pool, psycopg.connect(database.url) as connection:
        # Another transaction holds the key `gate`, so that the load waits after it has stored its other new
        # article.
        connection.execute("INSERT INTO dedup.article (source_id, text) VALUES ('gate', 'x')")
        given = [
            article("new", window(1, 6), 0),
            article("gate", window(2, 6), 0),
            article("known", window(3, 6), 0),
        ]
        loading = pool.submit(load, database, *given)
        when_blocked(database, loading)
        hooked = pool.submit(deduplicator(database).submit, given[0])
        wait_until(lambda: blocked(database, 2) or hooked.done())
        connection.rollback()
        loading.result(30)
        hooked.result(30)
    backfill(database, workers=0, factory=make_function)
    assert_right(database)


def test_loads_of_the_same_articles_in_opposite_orders(database: Database) -> None:
    given = [article(str(i), window(i, 6), i) for i in range(300)]
    for _ in range(5):
        empty(database)
        with threads() as pool:
            futures = [pool.submit(load, database, *some) for some in (given, given[::-1], given[100:])]
            counts = [future.result(30) for future in futures]
        assert sum(c.new for c in counts) == 300
        assert sum(c.changed for c in counts) == 0


# Tests of five upgrades at once, and of two backfills at once.


@pytest.mark.long("dedup", "migrations")
def test_five_upgrades_at_once(server: Server) -> None:
    url = server.create("dedup_five")
    databases = [Database(url) for _ in range(5)]
    with ThreadPoolExecutor(5) as pool:
        outcomes = list(pool.map(opening.initialize, databases))
    head = revision.head()
    assert head
    assert sorted(before or "" for before, _ in outcomes) == ["", *[head] * 4]
    assert {after for _, after in outcomes} == {head}
    databases[0].close()
    deduplicator(databases[1]).submit(article("a", window(0, 6)))
    assert_right_but_uncounted(databases[1])
    for database in databases:
        database.close()


@pytest.mark.long("dedup", "migrations")
def test_a_second_backfill_beside_a_running_one(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    load(database, article("a", window(0, 6)))
    inside, go_on = threading.Event(), threading.Event()

    def slow(*given: Any, **more: Any) -> Any:
        inside.set()
        assert go_on.wait(60)
        return settle(*given, **more)

    monkeypatch.setattr(backfill_module, "settle", slow)
    with threads() as pool:
        running = pool.submit(backfill, database, workers=0, factory=make_function)
        assert inside.wait(60)
        second = backfill(database, workers=0, factory=make_function)
        go_on.set()
        assert second.already_running
        assert not second.settled
        assert not running.result(60).already_running
    assert not backfill(database, workers=0, factory=make_function).already_running


def test_settings_change_while_texts_are_fingerprinted(database: Database) -> None:
    """Fingerprints that were made with the old settings do not stay."""
    load(database, *(article(name, window(i, 6), i) for i, name in enumerate("abc")))
    changes = iter([{"stop_word_length": 3}, {"sentence_min_characters": 50}])

    def factory(settings: Any, models: Any) -> Any:
        real = make_function(settings, models)

        def function(tasks: Any) -> Any:
            made = real(tasks)
            for change in itertools.islice(changes, 1):
                change_settings(database, **change)
            return made

        return function

    backfill(database, workers=0, factory=factory)
    assert_right(database)
    with database.transaction() as cursor:
        rulebook = rulebooks.load_rulebook(cursor)
        versions = cursor.execute("SELECT DISTINCT version FROM dedup.fingerprint").fetchall()
    assert versions == [(rulebook.fingerprinter.version(None),)]


@pytest.mark.long("dedup", "migrations")
def test_nobody_deadlocks(database: Database) -> None:
    """Hooks, loads, deletions and backfills of the same few articles never end in a deadlock."""

    def work(number: int) -> Sequence[str]:
        mine = deduplicator(Database(database.url))
        problems = []
        for i in range(25):
            given = [article(str((i * 7 + j + number) % 20), window(i + j, 6), i) for j in range(6)]
            steps: list[Callable[[], Any]] = [
                lambda given=given: mine.submit(given[0]),  # type: ignore[misc]
                lambda given=given: load(mine._database, *given),  # type: ignore[misc]
                lambda given=given: mine.delete_many([a.source_id for a in given[:2]]),  # type: ignore[misc]
                lambda: backfill(mine._database, batch=5, workers=0, factory=make_function),
            ]
            try:
                steps[(i + number) % 4]()
            except DatabaseError as error:
                problems.append(str(error))
        mine.close()
        return problems

    with ThreadPoolExecutor(4) as pool:
        problems = [problem for some in pool.map(work, range(4)) for problem in some]
    assert problems == []
    backfill(database, workers=0, factory=make_function)
    assert_right(database)
