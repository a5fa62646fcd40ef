"""Articles that were deferred, because others held them, are stored at last: at the start of a backfill."""

from __future__ import annotations

from functools import partial

from dedup.base.errors import BusyError
from dedup.db.database import Database, retried
from dedup.store import articles

ARTICLES_PER_TRANSACTION = 100  # Stored under one hold of the settle lock: a few hundredths of a second


def store_deferred(database: Database) -> int:
    """Store what was deferred; returns how many articles are still held by others."""
    left: list[str] = []
    while True:
        with database.transaction() as cursor:
            found = articles.deferred(cursor, ARTICLES_PER_TRANSACTION + len(left))
        waiting = [source_id for source_id in found if source_id not in left]
        if not waiting:
            return len(left)
        try:
            retried(partial(_store, database, waiting))
        except BusyError:
            left += [source_id for source_id in waiting if not _stored_alone(database, source_id)]


def _stored_alone(database: Database, source_id: str) -> bool:
    try:
        retried(partial(_store, database, [source_id]))
    except BusyError:
        return False
    return True


def _store(database: Database, source_ids: list[str]) -> None:
    with database.transaction(settling=True) as cursor:
        articles.store_deferred(cursor, source_ids)
