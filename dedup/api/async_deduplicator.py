"""Class `AsyncDeduplicator`: it submits articles and asks questions without blocking an event loop.

For work that takes minutes, such as loading and backfilling, call `Deduplicator` in a thread or a process.
"""

from __future__ import annotations

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from itertools import islice
from threading import Lock
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from dedup.api import checks
from dedup.api.deduplicator import Deduplicator
from dedup.base.answer import Answers, Rows
from dedup.base.article import Article
from dedup.base.errors import ClosedError
from dedup.base.timeouts import Timeouts
from dedup.base.verdict import Verdict

_Given = ParamSpec("_Given")
_Value = TypeVar("_Value")

THREADS = 4
"""Number of threads that call `Deduplicator`; more threads would only wait for the settle lock."""

ROWS_AT_ONCE = 1_000  # Maximum number of rows that a thread reads before it serves other calls

MAX_AT_ONCE = 1_000  # Maximum of `at_once`; more articles would only wait for a thread


def _threaded(
    work: Callable[Concatenate[Deduplicator, _Given], _Value],
) -> Callable[Concatenate[AsyncDeduplicator, _Given], Coroutine[Any, Any, _Value]]:
    """Return a coroutine method that runs a method of `Deduplicator` in a thread."""

    @wraps(work)
    async def method(corpus: AsyncDeduplicator, /, *given: _Given.args, **named: _Given.kwargs) -> _Value:
        return await corpus._in_thread(partial(work, corpus._opened(), *given, **named))

    return method


def _streamed(
    work: Callable[Concatenate[Deduplicator, _Given], Rows[_Value]],
) -> Callable[Concatenate[AsyncDeduplicator, _Given], AsyncGenerator[_Value, None]]:
    """Return a method for `async for`, which reads the rows of a method of `Deduplicator` in a thread."""

    @wraps(work)
    async def method(
        corpus: AsyncDeduplicator, /, *given: _Given.args, **named: _Given.kwargs
    ) -> AsyncGenerator[_Value, None]:
        rows = iter(await corpus._in_thread(partial(work, corpus._opened(), *given, **named)))
        # If the task is cancelled, its thread still reads rows. The generator can only be closed after that.
        reading = Lock()

        def read() -> list[_Value]:
            with reading:
                return [*islice(rows, ROWS_AT_ONCE)]

        def close() -> None:
            with reading:
                rows.close()

        try:
            while found := await corpus._in_thread(read):
                for row in found:
                    yield row
        finally:
            await corpus._in_thread(close)

    return method


class AsyncDeduplicator:
    """A corpus of news in Postgres, for one event loop.

        async with AsyncDeduplicator() as dd:
            verdict = await dd.submit(Article(source_id="a1", text="…"))

    Answers and arguments are as in `Deduplicator`; methods that return rows, such as `marks`, are for
    `async for`. A task may be cancelled at any time. A call that a thread has begun still runs to its end; a
    call that waits for a thread is dropped.
    The time of a `timeout` begins when a thread begins the call.

    Entering the `async with` raises the errors of `Deduplicator(…)`. Outside of the block a method raises
    `ClosedError`. If the server refuses a statement or goes away, a method raises `DatabaseError`.
    """

    def __init__(
        self, url: str | None = None, *, schema: str | None = None, timeouts: Timeouts | None = None
    ) -> None:
        self._make = partial(Deduplicator, url, schema=schema, timeouts=timeouts)
        # The default executor of asyncio is not used, because the program may use all its threads.
        self._threads: ThreadPoolExecutor | None = None
        self._blocking: Deduplicator | None = None

    async def __aenter__(self) -> Self:
        if self._threads is not None:
            raise ClosedError("this AsyncDeduplicator is open already; make another one")
        self._threads = ThreadPoolExecutor(THREADS, "dedup")
        try:
            self._blocking = await self._in_thread(self._make)
        except BaseException:
            # If entering `async with` fails, `__aexit__` is not called. So the threads must be ended here.
            self._threads.shutdown(wait=False)
            self._threads = None
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for calls that threads have begun, then close the connections."""
        # Clear both attributes before the wait, so that a call during the wait raises ClosedError.
        threads, self._threads = self._threads, None
        blocking, self._blocking = self._blocking, None
        if threads is not None:
            await asyncio.to_thread(threads.shutdown)
        if blocking is not None:
            await asyncio.to_thread(blocking.close)

    submit = _threaded(Deduplicator.submit)

    async def submit_many(
        self,
        articles: Iterable[Article] | AsyncIterable[Article],
        *,
        at_once: int = THREADS,
        timeout: float | None = None,
    ) -> list[Verdict]:
        """Submit several articles concurrently; return the verdicts in the order of the articles.

        Versions of one article are submitted in the given order. The next article is read only when a task is
        free. `at_once`: maximum number of articles in progress. `timeout`: as in `submit`, for each article.
        Raises the errors of `submit`. After an error, articles that were stored stay stored, and articles in
        progress are cancelled.
        """
        checks.whole_number("at_once", at_once, 1, MAX_AT_ONCE)
        if isinstance(articles, Sequence):
            articles = [checks.article(given) for given in articles]
        given = _each(articles)
        found: list[Verdict | None] = []
        latest: dict[str, asyncio.Event] = {}
        turn = asyncio.Lock()

        async def work() -> None:
            while True:
                # An asynchronous generator raises RuntimeError if two tasks ask for an item at the same time.
                async with turn:
                    if (article := await anext(given, None)) is None:
                        return
                    # The index is reserved under the lock, so that verdicts have the order of the articles.
                    place = len(found)
                    found.append(None)
                    before = latest.get(article.source_id)
                    done = latest[article.source_id] = asyncio.Event()
                # A newer version of an article must not overtake an older one: the last submit counts.
                if before is not None:
                    await before.wait()
                found[place] = await self.submit(article, timeout=timeout)
                done.set()
                if latest[article.source_id] is done:
                    del latest[article.source_id]

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(at_once):
                    group.create_task(work())
        except ExceptionGroup as errors:
            # Raise the first error by itself: `except DedupError` would not catch the ExceptionGroup.
            raise errors.exceptions[0] from None
        return Answers(verdict for verdict in found if verdict is not None)

    lookup = _threaded(Deduplicator.lookup)
    delete = _threaded(Deduplicator.delete)
    delete_many = _threaded(Deduplicator.delete_many)

    get = _threaded(Deduplicator.get)
    story = _threaded(Deduplicator.story)
    stories = _threaded(Deduplicator.stories)
    versions = _threaded(Deduplicator.versions)
    explain = _threaded(Deduplicator.explain)
    origins = _threaded(Deduplicator.origins)
    coverage = _threaded(Deduplicator.coverage)
    sources = _threaded(Deduplicator.sources)
    newest = _threaded(Deduplicator.newest)
    changes = _threaded(Deduplicator.changes)

    marks = _streamed(Deduplicator.marks)
    matches = _streamed(Deduplicator.matches)
    alterations = _streamed(Deduplicator.alterations)
    additions = _streamed(Deduplicator.additions)
    removable = _streamed(Deduplicator.removable)

    status = _threaded(Deduplicator.status)
    vitals = _threaded(Deduplicator.vitals)
    runs = _threaded(Deduplicator.runs)
    ping = _threaded(Deduplicator.ping)
    preview = _threaded(Deduplicator.preview)
    preview_prune = _threaded(Deduplicator.preview_prune)
    uncompared_copies = _threaded(Deduplicator.uncompared_copies)

    def _opened(self) -> Deduplicator:
        if self._blocking is None:
            raise ClosedError("this AsyncDeduplicator is not open; use it as `async with`")
        return self._blocking

    async def _in_thread(self, work: Callable[[], _Value]) -> _Value:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


async def _each(articles: Iterable[Article] | AsyncIterable[Article]) -> AsyncIterator[Article]:
    """Yield the articles of an iterable or async iterable. Raises InputError: an item is not an Article."""
    if isinstance(articles, AsyncIterable):
        async for article in articles:
            yield checks.article(article)
    else:
        for article in articles:
            yield checks.article(article)
