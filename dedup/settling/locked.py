"""Run work under the settle lock in a short transaction, which is retried if other transactions block it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dedup.db.database import Cursor, Database, retry

_Value = TypeVar("_Value")


def run_locked(
    database: Database,
    work: Callable[[Cursor], _Value],
    check: Callable[[Cursor], object] | None = None,
    *,
    async_commit: bool = False,
    seconds: float | None = None,
) -> _Value:
    """Run `work` under the settle lock, and retry if other transactions hold the lock or the rows. `check`,
    such as `Rulebook.check`, is called first under the lock, and raises if the work must not be done.
    `seconds`: maximum time for retries; None for `Timeouts.lock`."""

    def attempt() -> _Value:
        with database.transaction(settling=True, async_commit=async_commit) as cursor:
            if check:
                check(cursor)
            return work(cursor)

    return retry(attempt, database.timeouts.lock if seconds is None else seconds)
