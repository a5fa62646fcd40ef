"""A `Deduplicator` in forked children, threads and asyncio never hangs, and shares no connection."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

from dedup import Article, Deduplicator, Timeouts, Verdict
from dedup.base.errors import BusyError
from dedup.db.database import MAX_CONNECTIONS, Database
from tests.corpora import article, assert_right, window
from tests.settling.faults import watched

SECONDS = 60
"""Seconds after which a wait counts as a hang."""

ARTICLES = [article(f"a{i:02}", window(i % 14, 6), i, publication=f"P{i % 3}") for i in range(60)]

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # a warning since Python 3.12

fork = multiprocessing.get_context("fork")


def backends(dd: Deduplicator) -> list[int]:
    """Return the id of the server process behind the connection of this process."""
    with dd._database.transaction() as cursor:
        return [cursor.connection.info.backend_pid]


_in_children: Deduplicator


def _submit(given: Article) -> tuple[int, int, Verdict]:
    return os.getpid(), backends(_in_children)[0], _in_children.submit(given)


@contextmanager
def warm(url: str) -> Iterator[Deduplicator]:
    """Yield a `Deduplicator` that was used, so that forked children inherit its connections and rules."""
    with Deduplicator(url) as dd:
        dd.submit(article("before", window(3, 6), -10))
        yield dd


@pytest.mark.long("dedup", "migrations")
def test_a_pool_of_four_forked_children_has_right_verdicts_on_connections_of_its_own(
    database: Database, corpus_url: str
) -> None:
    global _in_children
    with warm(corpus_url) as _in_children, fork.Pool(4) as pool:
        own = backends(_in_children)[0]
        found = pool.map_async(_submit, ARTICLES, chunksize=1).get(SECONDS)
        used = {process: {pid for p, pid, _ in found if p == process} for process, _, _ in found}
        assert os.getpid() not in used
        everything = [pid for pids in used.values() for pid in pids] + [own]
        assert len(everything) == len(set(everything)), "two processes used one connection"
        assert all(verdict.status != "pending" for _, _, verdict in found)
        # Children inherited the parent's connection and ended, but the connection still works.
        pool.close()
        pool.join()
        assert backends(_in_children)[0] == own
        assert _in_children.submit(ARTICLES[0]).status != "pending"
        _in_children.backfill(workers=0)
        assert_right(database)


def test_a_child_that_closes_leaves_the_parent_its_connections(database: Database, corpus_url: str) -> None:
    with warm(corpus_url) as dd:
        own = backends(dd)[0]
        child = os.fork()
        if child == 0:
            try:
                dd.close()
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert backends(dd)[0] == own


def test_a_fork_while_other_threads_hold_connections_does_not_hang(
    database: Database, corpus_url: str
) -> None:
    ready, done = threading.Barrier(MAX_CONNECTIONS + 1), threading.Event()

    def hold() -> None:
        with dd._database.transaction():
            ready.wait(SECONDS)
            done.wait(SECONDS)

    with warm(corpus_url) as dd, ThreadPoolExecutor(MAX_CONNECTIONS) as threads:
        held = [threads.submit(hold) for _ in range(MAX_CONNECTIONS)]
        try:
            ready.wait(SECONDS)  # wait until all connections are taken
            child = fork.Process(target=_found_or_not, args=(dd, "before"), daemon=True)
            child.start()
            child.join(SECONDS)
            assert child.exitcode == 0
        finally:
            done.set()
        for one in held:
            one.result(SECONDS)


def _found_or_not(dd: Deduplicator, source_id: str) -> None:
    if dd.get(source_id) is None:
        raise SystemExit(3)


@pytest.mark.long("dedup", "migrations")
def test_sixty_threads_have_right_verdicts(database: Database, corpus_url: str) -> None:
    with Deduplicator(corpus_url) as dd, ThreadPoolExecutor(60) as threads:
        ready = threading.Barrier(60)

        def submit(given: Article) -> Verdict:
            ready.wait(SECONDS)
            return dd.submit(given)

        verdicts = list(threads.map(submit, ARTICLES, timeout=SECONDS))
        assert [v.id for v in verdicts] == [a.source_id for a in ARTICLES]
        assert {v.status for v in verdicts} <= {"unique", "similar", "duplicate"}
        assert watched(lambda: assert_settled(dd)) is None
        assert_right(database)


def assert_settled(dd: Deduplicator) -> None:
    dd.backfill(workers=0)
    assert dd.verify().right


def test_a_thread_waits_for_a_free_connection_no_longer_than_it_may(
    database: Database, corpus_url: str
) -> None:
    done, ready = threading.Event(), threading.Barrier(MAX_CONNECTIONS + 1)

    def hold() -> None:
        with dd._database.transaction():
            ready.wait(SECONDS)
            done.wait(SECONDS)

    with (
        Deduplicator(corpus_url, timeouts=Timeouts(lock=0.05)) as dd,
        ThreadPoolExecutor(MAX_CONNECTIONS) as threads,
    ):
        held = [threads.submit(hold) for _ in range(MAX_CONNECTIONS)]
        try:
            ready.wait(SECONDS)
            with pytest.raises(BusyError, match="use fewer threads"):
                dd.get("a00")
        finally:
            done.set()
        for one in held:
            one.result(SECONDS)
        assert dd.get("a00") is None


@pytest.mark.long("dedup", "migrations")
def test_an_asyncio_program_submits_through_threads(database: Database, corpus_url: str) -> None:
    async def program() -> list[Verdict]:
        with Deduplicator(corpus_url) as dd:
            work = (asyncio.to_thread(dd.submit, given) for given in ARTICLES)
            return await asyncio.wait_for(asyncio.gather(*work), SECONDS)

    verdicts = asyncio.run(program())
    assert {v.status for v in verdicts} <= {"unique", "similar", "duplicate"}
    with Deduplicator(corpus_url) as dd:
        dd.backfill(workers=0)
    assert_right(database)


def test_someones_open_transaction_makes_a_submit_pending_not_late(
    database: Database, corpus_url: str
) -> None:
    with Deduplicator(corpus_url) as dd, psycopg.connect(corpus_url) as other:
        dd.submit(ARTICLES[0])
        other.execute("UPDATE dedup.article SET title = 'held' WHERE source_id = 'a00'")
        verdict = dd.submit(ARTICLES[1], timeout=0.05)
        assert verdict.status == "pending"
        assert verdict.reason is not None
        assert "the next backfill" in verdict.reason
        other.rollback()
        assert dd.submit(ARTICLES[1]).status == "duplicate"
