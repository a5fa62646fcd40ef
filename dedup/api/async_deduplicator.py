"""The corpus for asyncio: a scraper's submits and questions, and nothing that blocks the event loop.

Loading, backfilling and all that takes minutes is for `Deduplicator`, in a thread or in a program of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Self, TypeVar

from dedup.api import checks
from dedup.api.deduplicator import Deduplicator
from dedup.base.article import Article
from dedup.base.errors import ClosedError
from dedup.base.timeouts import Timeouts, check_seconds
from dedup.base.verdict import Verdict
from dedup.db.async_connection import MAX_CONNECTIONS, AsyncPool
from dedup.settling.async_submit import AsyncSubmissions
from dedup.store.stories import Story
from dedup.store.verdicts import MarkedArticle

_Value = TypeVar("_Value")

THREADS = 4  # That wait for the database where the event loop does not do it itself
MAX_AT_ONCE = 1_000  # Articles of one `submit_many` in hand; more would only wait for a connection


class AsyncDeduplicator:
    """A corpus of news in Postgres, for one event loop.

        async with AsyncDeduplicator() as dd:
            verdict = await dd.submit(Article(source_id="a1", text="…"))

    It gives the verdicts that `Deduplicator` gives. A task may be cancelled at any time: what it was at is
    then done wholly or not at all, and no transaction stays open.

    Args:
        url, schema, timeouts: as of `Deduplicator`.

    Entering raises what making a `Deduplicator` raises. Every method raises `ClosedError` outside of the
    `async with`, and `DatabaseError` if the server refuses or goes away.
    """

    def __init__(
        self, url: str | None = None, *, schema: str | None = None, timeouts: Timeouts | None = None
    ) -> None:
        self._make = partial(Deduplicator, url, schema=schema, timeouts=timeouts)
        self._open: _Open | None = None

    async def __aenter__(self) -> Self:
        if self._open is not None:
            raise ClosedError("this AsyncDeduplicator is open already; make another one")
        self._open = await _Open.make(self._make)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections, once what is being done in threads is finished."""
        opened, self._open = self._open, None
        if opened is not None:
            await opened.close()

    async def submit(self, article: Article, *, timeout: float | None = None) -> Verdict:
        """Store an article, or its new version, and say what it is; see `Deduplicator.submit`.

        `timeout`: seconds to wait for others, and for a statement to work; None takes `Timeouts.hook`. A turn
        on the connections of this program is waited for besides, as long as `Timeouts.lock`. Raises
        InputError: this is no Article, or the timeout is not above 0.
        """
        opened = self._opened()
        wait = opened.timeouts.hook if timeout is None else timeout
        check_seconds("the timeout", wait)
        return await opened.submissions.submit(checks.article(article), wait)

    async def submit_many(
        self,
        articles: Iterable[Article] | AsyncIterable[Article],
        *,
        at_once: int = MAX_CONNECTIONS,
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
        given = enumerate_any(articles)
        found: dict[int, Verdict] = {}
        latest: dict[str, asyncio.Event] = {}
        turn = asyncio.Lock()

        async def work() -> None:
            while True:
                async with turn:  # an asynchronous iterator takes one question at a time
                    taken = await anext(given, None)
                    if taken is None:
                        return
                    number, article = taken
                    before = latest.get(checks.article(article).source_id)
                    done = latest[article.source_id] = asyncio.Event()
                if before is not None:
                    await before.wait()
                found[number] = await self.submit(article, timeout=timeout)
                done.set()
                if latest[article.source_id] is done:
                    del latest[article.source_id]

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(at_once):
                    group.create_task(work())
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return [found[number] for number in range(len(found))]

    async def lookup(self, article: Article | str) -> Verdict:
        """What an article, or a bare text, would be marked; nothing is stored."""
        opened = self._opened()
        return await opened.in_thread(lambda: opened.blocking.lookup(article))

    async def get(self, source_id: str) -> MarkedArticle | None:
        """An article as it is stored, with its mark and the pairs behind it; None if it is unknown."""
        opened = self._opened()
        return await opened.in_thread(lambda: opened.blocking.get(source_id))

    async def story(self, source_id: str) -> Story:
        """The story that an article belongs to: its canonical article and all copies.

        Raises NotFoundError: the article is unknown.
        """
        opened = self._opened()
        return await opened.in_thread(lambda: opened.blocking.story(source_id))

    async def delete(self, source_id: str) -> bool:
        """Delete an article; its duplicates and partners are judged again. False if it is unknown.

        Raises BusyError: others held it for longer than `Timeouts.lock`.
        """
        opened = self._opened()
        return await opened.in_thread(lambda: opened.blocking.delete(source_id))

    def _opened(self) -> _Open:
        if self._open is None:
            raise ClosedError("this AsyncDeduplicator is not open; use it as `async with`")
        return self._open


async def enumerate_any(
    articles: Iterable[Article] | AsyncIterable[Article],
) -> AsyncIterator[tuple[int, Article]]:
    """Number what comes from an iterable of either kind."""
    number = 0
    if isinstance(articles, AsyncIterable):
        async for article in articles:
            yield number, article
            number += 1
    else:
        for number, article in enumerate(articles):
            yield number, article


class _Open:
    def __init__(self, blocking: Deduplicator, threads: ThreadPoolExecutor) -> None:
        database = blocking._database
        self.blocking, self.timeouts = blocking, database.timeouts
        self._threads = threads
        self._pool = AsyncPool(database.url, database.location, database.timeouts, database.schema)
        self.submissions = AsyncSubmissions(self._pool, blocking._submissions, self.in_thread)

    @classmethod
    async def make(cls, deduplicator: Callable[[], Deduplicator]) -> _Open:
        # Threads of its own: those of asyncio are the program's, which may have them all wait for something.
        threads = ThreadPoolExecutor(THREADS, "dedup")
        try:
            work = asyncio.get_running_loop().run_in_executor(threads, deduplicator)
            return cls(await work, threads)
        except BaseException:
            threads.shutdown(wait=False)
            raise

    async def in_thread(self, work: Callable[[], _Value]) -> _Value:
        """Do something that blocks; when the task is cancelled it is done all the same."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def close(self) -> None:
        await self._pool.close()
        await asyncio.to_thread(self._threads.shutdown)
        await asyncio.to_thread(self.blocking.close)
