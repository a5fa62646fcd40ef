"""Work that waits for a database, in threads, so that the event loop goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import TypeVar

_Value = TypeVar("_Value")


class Threads:
    """At most so many threads at a time, one for each piece of work.

    They are daemons, so work that does not end keeps no process alive; its thread counts until it ends.
    """

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    async def run(self, work: Callable[[], _Value], seconds: float) -> _Value:
        """What the work returns, or raises. TimeoutError if it had no thread or did not end in time; it may
        still end.
        """
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(seconds):
            await self._free.acquire()
            done: asyncio.Future[_Value] = loop.create_future()
            done.add_done_callback(_heard)

            def finish(value: _Value | None, error: BaseException | None) -> None:
                self._free.release()
                if done.cancelled():
                    return
                if error is not None:
                    done.set_exception(error)
                else:
                    done.set_result(value)  # type: ignore[arg-type]  # None only where the work returns it

            def run() -> None:
                value, failed = None, None
                try:
                    value = work()
                except BaseException as error:
                    failed = error
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(finish, value, failed)

            try:
                Thread(target=run, daemon=True, name="dedup-serve").start()
            except BaseException:
                self._free.release()
                raise
            return await asyncio.shield(done)


def _heard(done: asyncio.Future[_Value]) -> None:
    """Keeps the event loop from logging an error that nobody waits for any more, with its text."""
    if not done.cancelled():
        done.exception()
