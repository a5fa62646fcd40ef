"""The room that a large load leaves behind, in the table of marks and in its indexes, is freed."""

from __future__ import annotations

from contextlib import closing, suppress

from dedup.base.errors import BusyError
from dedup.db.database import Database, translated
from dedup.store import memory_engine

COMPACT_SHARE = 0.5
"""From so large a share of articles marked in one go, their indexes are made again at the end."""


def vacuum(database: Database) -> None:
    with closing(database.connect(patient=True)) as connection, translated(database.location):
        memory_engine.vacuum(connection)


def compact(database: Database, *indexes: str) -> None:
    """Make indexes again that a large load leaves half empty, but for those in use."""
    for index in indexes:
        with suppress(BusyError), database.transaction() as cursor:
            memory_engine.compact(cursor, index)
