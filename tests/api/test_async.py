"""`AsyncDeduplicator` gives the verdicts of `Deduplicator`, never blocks the event loop, and can be
cancelled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from inspect import isasyncgenfunction, iscoroutinefunction
from typing import TypeVar

import psycopg
import pytest

from dedup import Article, AsyncDeduplicator, Deduplicator, Timeouts, Verdict
from dedup.api import async_deduplicator
from dedup.api.async_deduplicator import THREADS
from dedup.base.errors import ClosedError, DatabaseError, InputError, NotFoundError, UnreachableError
from dedup.db.database import MAX_CONNECTIONS, Database
from dedup.settling.backfill import backfill
from tests.corpora import answer, article, assert_consistent, assert_right, load, wait_until, window

pytestmark = pytest.mark.timeout(120)

SECONDS = 60
ARTICLES = [article(f"a{i:02}", window(i % 14, 6), i, publication=f"P{i % 3}") for i in range(60)]
_Value = TypeVar("_Value")


def far(first: int, count: int) -> list[int]:
    """Return the codes of `count` sentences that no other article has."""
    return list(window(100 + first, count, ring=1_000_000))


def in_corpus(
    url: str, work: Callable[[AsyncDeduplicator], Awaitable[_Value]], timeouts: Timeouts | None = None
) -> _Value:
    """Run a coroutine with an open `AsyncDeduplicator`."""

    async def program() -> _Value:
        async with AsyncDeduplicator(url, timeouts=timeouts) as dd:
            return await work(dd)

    return asyncio.run(asyncio.wait_for(program(), SECONDS))


@contextmanager
def settle_lock(url: str) -> Iterator[psycopg.Connection]:
    """Hold the settle lock during the block, like a run that does not end."""
    with psycopg.connect(url) as connection:
        connection.execute("SELECT dedup.settle_lock()")
        yield connection


def at_work(database: Database) -> list[str]:
    """Return state and query of dedup's other sessions that are in a transaction or statement."""
    with database.transaction() as cursor:
        rows = cursor.execute(
            "SELECT state || ': ' || query FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND application_name = 'dedup' AND state <> 'idle'"
        ).fetchall()
    return [row[0] for row in rows]


def waiting(database: Database) -> int:
    """Count the sessions that wait for a lock."""
    with database.transaction() as cursor:
        row = cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
    return int(row[0]) if row else 0


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition without blocking the event loop."""
    await asyncio.to_thread(wait_until, condition)


@pytest.mark.long("dedup", "migrations")
def test_submits_one_after_another_have_the_verdicts_of_deduplicator(
    database: Database, corpus_url: str
) -> None:
    given = [*ARTICLES, *ARTICLES[:5], Article("empty", "\0 \n"), article("long", far(40, 400), 90)]

    async def work(dd: AsyncDeduplicator) -> list[Verdict]:
        return [await dd.submit(one) for one in given]

    found = in_corpus(corpus_url, work)
    stored = answer(database)
    with Deduplicator(corpus_url) as dd:
        assert dd.delete_many([one.source_id for one in given])
        wanted = [dd.submit(one) for one in given]
    assert found == wanted
    assert stored == answer(database)
    assert {verdict.status for verdict in found} == {"unique", "similar", "duplicate", "failed"}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_many_at_once_are_right_and_told_in_order(
    database: Database, corpus_url: str, asynchronous: bool
) -> None:
    async def source() -> AsyncIterator[Article]:
        for one in ARTICLES:
            await asyncio.sleep(0)
            yield one

    verdicts = in_corpus(
        corpus_url, lambda dd: dd.submit_many(source() if asynchronous else iter(ARTICLES), at_once=20)
    )
    assert [verdict.id for verdict in verdicts] == [one.source_id for one in ARTICLES]
    assert {verdict.status for verdict in verdicts} <= {"unique", "similar", "duplicate"}
    assert_right_after_a_backfill(database)


def assert_right_after_a_backfill(database: Database) -> None:
    backfill(database, workers=0)
    assert_right(database)


def test_versions_of_one_article_are_submitted_in_their_order(database: Database, corpus_url: str) -> None:
    versions = [article("a", window(i, 6), 0, title=f"Version {i}") for i in range(30)]
    others = [article(f"b{i}", far(100 + 6 * i, 6), i) for i in range(30)]
    given = [one for pair in zip(versions, others, strict=True) for one in pair]
    in_corpus(corpus_url, lambda dd: dd.submit_many(given, at_once=16))
    with Deduplicator(corpus_url) as dd:
        found = dd.get("a")
    assert found is not None
    assert found.article.title == "Version 29"


@pytest.mark.long("dedup", "migrations")
def test_hundreds_of_tasks_wait_for_their_turn(database: Database, corpus_url: str) -> None:
    given = [article(f"a{i:03}", window(i % 40, 6, ring=80), i) for i in range(300)]

    async def work(dd: AsyncDeduplicator) -> list[Verdict]:
        return list(await asyncio.gather(*(dd.submit(one) for one in given)))

    verdicts = in_corpus(corpus_url, work)
    assert "pending" not in {verdict.status for verdict in verdicts}
    assert_right_after_a_backfill(database)


def test_questions(database: Database, corpus_url: str) -> None:
    async def work(dd: AsyncDeduplicator) -> None:
        await dd.submit(article("first", window(0, 6), 0))
        assert (await dd.lookup(article("copy", window(1, 6), 1))).duplicate_of == "first"
        assert (await dd.lookup(article("copy", window(1, 6), 1).text)).duplicate_of == "first"
        assert await dd.get("copy") is None
        await dd.submit(article("copy", window(1, 6), 1))
        found = await dd.get("copy")
        assert found is not None
        assert found.verdict.status == "duplicate"
        assert [one.id for one in (await dd.story("copy")).articles] == ["first", "copy"]
        with pytest.raises(NotFoundError):
            await dd.story("nothing")
        assert await dd.delete("first")
        assert not await dd.delete("first")
        found = await dd.get("copy")
        assert found is not None
        assert found.verdict.status == "unique"

    in_corpus(corpus_url, work)


LONG_WORK = {
    *("backfill", "dry_run", "export_corpus", "export_network", "export_panel", "export_stories"),
    *("import_corpus", "initialize", "keep_sentences", "load", "preview_load", "prune", "repair", "retry"),
    "verify",
}
PARTS = {
    *("attachments", "browsing", "common_sentences", "corrections", "credits", "engine", "judgements"),
    *("loads", "location", "outlets", "pins", "settings"),
}


def test_both_doors_have_the_same_methods_except_long_work_and_parts() -> None:
    blocking, asynchronous = (
        {name for name in dir(door) if name[0] != "_"} for door in (Deduplicator, AsyncDeduplicator)
    )
    assert blocking - asynchronous == LONG_WORK | PARTS
    assert asynchronous <= blocking
    for name in asynchronous - {"close", "submit_many"}:
        made = getattr(AsyncDeduplicator, name)
        assert made.__wrapped__ is getattr(Deduplicator, name)
        assert iscoroutinefunction(made) != isasyncgenfunction(made), name


@pytest.mark.long("dedup", "migrations")
def test_rows_come_page_by_page_and_do_not_keep_a_connection(
    database: Database, corpus_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(async_deduplicator, "ROWS_AT_ONCE", 7)
    load(database, *ARTICLES)
    backfill(database, workers=0)

    async def work(dd: AsyncDeduplicator) -> None:
        with Deduplicator(corpus_url) as blocking:
            assert [row async for row in dd.marks()] == [*blocking.marks()]
            assert [row async for row in dd.matches()] == [*blocking.matches()]
            assert await dd.stories(3) == blocking.stories(3)
            assert await dd.explain("a00", "a01") == blocking.explain("a00", "a01")
            assert (await dd.status()).counts == blocking.status().counts
        with pytest.raises(InputError, match="no status"):
            await anext(dd.marks(status="new"))  # type: ignore[arg-type]
        for _ in range(2 * MAX_CONNECTIONS):
            rows = dd.marks()
            assert (await anext(rows))["id"] == "a00"
            await rows.aclose()
        for _ in range(2 * MAX_CONNECTIONS):
            async for _ in dd.marks(limit=8):
                break
        assert await dd.get("a00")
        await until(lambda: at_work(database) == [])

    in_corpus(corpus_url, work)


def test_a_task_that_is_cancelled_while_it_reads_rows_ends_its_transaction(
    database: Database, corpus_url: str
) -> None:
    load(database, *ARTICLES)

    async def read(dd: AsyncDeduplicator) -> None:
        async for _ in dd.marks():
            pass

    async def work(dd: AsyncDeduplicator) -> None:
        with psycopg.connect(corpus_url) as other:
            other.execute("LOCK TABLE dedup.article")
            task = asyncio.create_task(read(dd))
            await until(lambda: waiting(database) == 1)
            task.cancel()
            await asyncio.sleep(0)
            other.rollback()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: at_work(database) == [])

    in_corpus(corpus_url, work)


class Heartbeat:
    """A task that returns to the event loop as often as it can; `longest` is the longest gap between two
    turns, in seconds."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Heartbeat:
        self._task = asyncio.create_task(self._beat())
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()

    async def _beat(self) -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()  # processor time of this thread, so that a busy machine does not matter
            self.longest = max(self.longest, now - before)
            before = now


def test_the_event_loop_goes_on_while_someone_holds_the_settle_lock(
    database: Database, corpus_url: str
) -> None:
    """The event loop makes a thousand turns while submits wait for the lock."""

    async def work(dd: AsyncDeduplicator) -> None:
        await dd.submit(ARTICLES[0])
        with settle_lock(corpus_url) as other:
            tasks = [asyncio.create_task(dd.submit(one)) for one in ARTICLES[1:9]]
            await until(lambda: waiting(database) >= 2)
            for _ in range(1_000):
                await asyncio.sleep(0)
            assert not any(task.done() for task in tasks)
            other.rollback()
        assert "pending" not in {(await task).status for task in tasks}

    in_corpus(corpus_url, work)
    assert_right_after_a_backfill(database)


def test_a_submit_without_the_settle_lock_in_time_is_pending(database: Database, corpus_url: str) -> None:
    async def work(dd: AsyncDeduplicator) -> Verdict:
        await dd.submit(ARTICLES[0])
        with settle_lock(corpus_url):
            return await dd.submit(ARTICLES[1], timeout=0.05)

    verdict = in_corpus(corpus_url, work)
    assert verdict.status == "pending"
    assert "the next backfill" in str(verdict.reason)
    assert_right_after_a_backfill(database)


@pytest.mark.long("dedup", "migrations")
def test_submitting_keeps_the_event_loop_no_longer_than_reading_a_text(
    database: Database, corpus_url: str
) -> None:
    # Reading a long text or comparing hundreds of articles in the event loop would take tens of ms.
    family = [article(f"f{i:03}", [*window(0, 6), *far(1_000 + 9 * i, 9)], i) for i in range(150)]
    load(database, *family)
    backfill(database, workers=0)
    given = [
        article("long", range(5_000, 15_000), 200),
        article("of the family", [*window(0, 6), *far(9_000, 9)], 201),
        *(article(f"plain {i}", far(20_000 + 7 * i, 6), 300 + i) for i in range(20)),
    ]

    async def work(dd: AsyncDeduplicator) -> tuple[float, float]:
        await dd.submit(article("before", far(40, 6), 0))
        started = time.thread_time()
        with Deduplicator(corpus_url) as blocking:
            blocking.lookup(given[0])
        long = time.thread_time() - started
        async with Heartbeat() as heart:
            for one in given:
                assert (await dd.submit(one)).status != "pending"
        return heart.longest, long

    longest, long = in_corpus(corpus_url, work)
    assert long > 0.02, "the text must be long enough for a measurable time"
    assert longest < long / 2


# Cancelled tasks


@pytest.mark.parametrize("known", [False, True], ids=["new", "edited"])
def test_what_a_cancelled_task_was_at_is_done_wholly(
    database: Database, corpus_url: str, known: bool
) -> None:
    changed = article("a00", far(50, 6), 0) if known else ARTICLES[1]

    async def work(dd: AsyncDeduplicator) -> None:
        await dd.submit(ARTICLES[0])
        with settle_lock(corpus_url) as other:
            task = asyncio.create_task(dd.submit(changed))
            await until(lambda: waiting(database) == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            other.rollback()
        await until(lambda: at_work(database) == [])
        assert (await dd.submit(ARTICLES[2])).status != "pending"

    in_corpus(corpus_url, work)
    assert_consistent(database)
    assert changed.source_id in answer(database).marks


def test_a_submit_that_is_cancelled_before_it_has_a_thread_stores_nothing(
    database: Database, corpus_url: str
) -> None:
    async def work(dd: AsyncDeduplicator) -> None:
        await dd.submit(ARTICLES[0])
        with settle_lock(corpus_url):
            tasks = [asyncio.create_task(dd.submit(one)) for one in ARTICLES[1 : THREADS + 2]]
            await until(lambda: waiting(database) == THREADS)
            tasks[-1].cancel()
            await asyncio.wait(tasks[-1:])

    in_corpus(corpus_url, work)
    assert set(answer(database).marks) == {one.source_id for one in ARTICLES[: THREADS + 1]}


@pytest.mark.long("dedup", "migrations")
def test_a_submit_of_many_that_is_cancelled_cancels_those_in_hand(
    database: Database, corpus_url: str
) -> None:
    async def work(dd: AsyncDeduplicator) -> None:
        await dd.submit(ARTICLES[0])
        with settle_lock(corpus_url):
            task = asyncio.create_task(dd.submit_many(ARTICLES[1:]))
            await until(lambda: waiting(database) > 0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: at_work(database) == [])

    in_corpus(corpus_url, work)
    assert 1 < len(answer(database).marks) <= 1 + THREADS


# Errors


def test_the_server_goes_away_and_comes_back(database: Database, corpus_url: str) -> None:
    """After all sessions have ended, a submit succeeds at the first or the second attempt."""

    async def work(dd: AsyncDeduplicator) -> None:
        await dd.submit(ARTICLES[0])
        await dd.submit(ARTICLES[1])
        with database.transaction() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        await until(lambda: at_work(database) == [])
        for one in ARTICLES[2:4]:
            try:
                await dd.submit(one)
            except UnreachableError:
                assert (await dd.submit(one)).status != "pending"

    in_corpus(corpus_url, work)
    assert set(answer(database).marks) == {"a00", "a01", "a02", "a03"}


def test_an_unreachable_server_is_one_clear_error() -> None:
    with pytest.raises(UnreachableError, match="does not answer"):
        in_corpus("postgresql://nobody@127.0.0.1:1/none", lambda dd: dd.submit(ARTICLES[0]))


def test_a_closed_door_says_so(database: Database, corpus_url: str) -> None:
    async def work() -> None:
        dd = AsyncDeduplicator(corpus_url)
        with pytest.raises(ClosedError, match="async with"):
            await dd.submit(ARTICLES[0])
        async with dd:
            await dd.submit(ARTICLES[0])
        with pytest.raises(ClosedError):
            await dd.submit(ARTICLES[0])
        async with dd:
            assert await dd.get("a00") is not None
            with pytest.raises(ClosedError, match="open already"):
                await dd.__aenter__()

    asyncio.run(work())


def test_wrong_arguments_are_told_before_anything_is_stored(database: Database, corpus_url: str) -> None:
    async def work(dd: AsyncDeduplicator) -> None:
        with pytest.raises(InputError, match="an Article is wanted"):
            await dd.submit("text")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="timeout"):
            await dd.submit(ARTICLES[0], timeout=0)
        with pytest.raises(InputError, match="an Article is wanted"):
            await dd.submit_many([ARTICLES[0], "text"])  # type: ignore[list-item]
        with pytest.raises(InputError, match="at_once"):
            await dd.submit_many([ARTICLES[0]], at_once=0)

    in_corpus(corpus_url, work)
    assert answer(database).marks == {}


def test_an_iterable_that_fails_ends_the_submit_with_its_error(database: Database, corpus_url: str) -> None:
    def broken() -> Iterator[Article]:
        yield from ARTICLES[:3]
        raise DatabaseError("of the caller")

    with pytest.raises(DatabaseError, match="of the caller"):
        in_corpus(corpus_url, lambda dd: dd.submit_many(broken()))
