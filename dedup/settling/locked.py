"""Work under the settle lock: a short transaction, retried if others were in the way."""

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
    """Do work under the settle lock, and retry it if others hold what it needs. `check`, such as
    `Rulebook.check`, raises once the lock is held if the work must not be done. `seconds` limits the retries;
    None for `Timeouts.lock`."""

    def attempt() -> _Value:
        with database.transaction(settling=True, async_commit=async_commit) as cursor:
            if check:
                check(cursor)
            return work(cursor)

    return retry(attempt, database.timeouts.lock if seconds is None else seconds)
