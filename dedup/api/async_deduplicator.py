"""The corpus for asyncio: a scraper's submits and questions, and nothing that blocks the event loop.

Loading, backfilling and all that takes minutes is for `Deduplicator`, in a thread or in a program of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from dedup.api import checks
from dedup.api.deduplicator import Deduplicator
from dedup.base.article import Article
from dedup.base.errors import ClosedError
from dedup.base.timeouts import Timeouts
from dedup.base.verdict import Verdict

_Given = ParamSpec("_Given")
_Value = TypeVar("_Value")

THREADS = 4
"""That read texts and wait for the database. All who settle wait for one lock, and more would only wait."""

MAX_AT_ONCE = 1_000  # Articles of one `submit_many` in hand; more would only wait for a thread


def _threaded(
    work: Callable[Concatenate[Deduplicator, _Given], _Value],
) -> Callable[Concatenate[AsyncDeduplicator, _Given], Coroutine[Any, Any, _Value]]:
    """A method of `Deduplicator`, in a thread: its words and its arguments are those of that."""

    @wraps(work)
    async def method(corpus: AsyncDeduplicator, /, *given: _Given.args, **named: _Given.kwargs) -> _Value:
        return await corpus._in_thread(partial(work, corpus._opened(), *given, **named))

    return method


class AsyncDeduplicator:
    """A corpus of news in Postgres, for one event loop.

        async with AsyncDeduplicator() as dd:
            verdict = await dd.submit(Article(source_id="a1", text="…"))

    It gives the verdicts that `Deduplicator` gives, in threads of its own. A task may be cancelled at any
    time: what a thread is at by then is done wholly, and what waits for a thread not at all. A `timeout`
    begins when a thread has taken the article up.

    Args:
        url, schema, timeouts: as of `Deduplicator`.

    Entering raises what making a `Deduplicator` raises. Every method raises `ClosedError` outside of the
    `async with`, and `DatabaseError` if the server refuses or goes away.
    """

    def __init__(
        self, url: str | None = None, *, schema: str | None = None, timeouts: Timeouts | None = None
    ) -> None:
        self._make = partial(Deduplicator, url, schema=schema, timeouts=timeouts)
        # Threads of its own: those of asyncio are the program's, which may have them all wait for something.
        self._threads: ThreadPoolExecutor | None = None
        self._blocking: Deduplicator | None = None

    async def __aenter__(self) -> Self:
        if self._threads is not None:
            raise ClosedError("this AsyncDeduplicator is open already; make another one")
        self._threads = ThreadPoolExecutor(THREADS, "dedup")
        try:
            self._blocking = await self._in_thread(self._make)
        except BaseException:
            self._threads.shutdown(wait=False)
            self._threads = None
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, once what is being done in threads is finished."""
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
        """Submit articles, several at once; the verdicts are in the order of the articles.

        Versions of one article are submitted in their order. An iterable is asked for an article when there
        is room for it. If one cannot be submitted the others in hand are cancelled.

        Args:
            at_once: how many are in hand at a time.
            timeout: as of `submit`, for each.

        Raises: as `submit`; those before it are stored.
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
                async with turn:  # an asynchronous iterator takes one question at a time
                    if (article := await anext(given, None)) is None:
                        return
                    place = len(found)
                    found.append(None)
                    before = latest.get(article.source_id)
                    done = latest[article.source_id] = asyncio.Event()
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
            raise errors.exceptions[0] from None
        return [verdict for verdict in found if verdict is not None]

    lookup = _threaded(Deduplicator.lookup)
    get = _threaded(Deduplicator.get)
    story = _threaded(Deduplicator.story)
    changes = _threaded(Deduplicator.changes)
    delete = _threaded(Deduplicator.delete)

    def _opened(self) -> Deduplicator:
        if self._blocking is None:
            raise ClosedError("this AsyncDeduplicator is not open; use it as `async with`")
        return self._blocking

    async def _in_thread(self, work: Callable[[], _Value]) -> _Value:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


async def _each(articles: Iterable[Article] | AsyncIterable[Article]) -> AsyncIterator[Article]:
    """Give what an iterable of either kind gives. Raises InputError: that is no Article."""
    if isinstance(articles, AsyncIterable):
        async for article in articles:
            yield checks.article(article)
    else:
        for article in articles:
            yield checks.article(article)
