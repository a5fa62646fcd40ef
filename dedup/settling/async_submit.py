"""Submitting from asyncio: the plain case on a connection of the event loop, everything else in a thread.

Plain is a new article that is unique or a duplicate, compared with a few others at most: what it takes is
decided by the same steps as in the blocking hook (`fast_path.py`). The rest is rarer and may compute for
longer than an event loop can stand still; it is done by the blocking hook itself (`submit.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from dedup.base.article import Article
from dedup.base.errors import BusyError, CollisionError
from dedup.base.verdict import Verdict
from dedup.db.async_connection import AsyncPool
from dedup.db.steps import run_async
from dedup.settling import fast_path, hook
from dedup.settling.submit import IN_USE, Submissions
from dedup.store.rulebooks import StaleRulesError

LONG_TEXT = 10_000
"""Characters; reading a longer text takes more than a millisecond or two, and is done in a thread."""

FEW_SHARED = 16  # Articles that a new one is compared with in the event loop: half a millisecond

InThread = Callable[[Callable[[], Verdict]], Awaitable[Verdict]]
"""Does something that blocks in another thread."""


class AsyncSubmissions:
    """Takes in articles as `Submissions` does, with the rulebook of that one, and gives the same verdicts."""

    def __init__(self, pool: AsyncPool, blocking: Submissions, in_thread: InThread) -> None:
        self._pool, self._blocking, self._in_thread = pool, blocking, in_thread

    async def submit(self, article: Article, seconds: float) -> Verdict:
        """As `Submissions.submit`. If the task is cancelled, the article is stored and settled, or nothing
        is changed."""
        try:
            verdict = await self._plain(article, seconds)
        except BusyError:
            why = IN_USE.format(seconds=seconds)
            return await self._in_thread(lambda: self._blocking.put_off(article, why))
        if verdict is None:
            return await self._in_thread(lambda: self._blocking.submit(article, seconds))
        return verdict

    async def _plain(self, article: Article, seconds: float) -> Verdict | None:
        """The verdict on an article that was stored; None where it is not plain, and nothing was stored."""
        rulebook = self._blocking.rulebook
        if rulebook is None or not rulebook.state.same_program() or len(article.text) > LONG_TEXT:
            return None
        made = hook.fingerprint(rulebook, article).fingerprint
        if made is None:
            return None
        try:
            steps = fast_path.settle_new(rulebook, article, made, FEW_SHARED)
            return await run_async(lambda asked: self._pool.ask(asked, seconds), steps)
        except (CollisionError, StaleRulesError):
            return None
