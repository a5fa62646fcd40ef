"""Which engine settles, and where fingerprints are written: whatever is quicker. The marks are the same."""

from __future__ import annotations

from dedup.base import machine
from dedup.base.machine import EngineName
from dedup.db.database import Database
from dedup.store import fingerprints, memory_engine

MEMORY_SHARE = 0.25  # Of the machine's memory, what the memory engine uses at most if not told otherwise
IN_MEMORY_ARTICLES = 10_000  # Fewer articles are settled through the indexes in any case: that takes seconds

IN_MEMORY_SHARE = 0.04
"""From so large a share of unsettled articles it is quicker to read the whole corpus and settle it in memory
than to look up each of them: 30 µs an article of the corpus beside 700 µs an unsettled one."""

LOADED_SHARE = 0.3
"""From so large a share of new fingerprints it is quicker to build the indexes again than to add each one:
35 µs an article of the corpus beside 130 µs a new one."""


def usual_memory() -> int:
    """Bytes that the memory engine may use if nothing else is said."""
    return int(MEMORY_SHARE * machine.memory())


def loads_without_indexes(database: Database, engine: EngineName, waiting: int) -> bool:
    """Whether fingerprints are to be written without indexes, which are then built again; so many texts wait
    for one."""
    with database.transaction() as cursor:
        if memory_engine.left_behind(cursor):
            return True  # whoever was stopped in the middle of this: it is brought to its end
        if engine == "postgres":
            return False
        present = fingerprints.count(cursor, "known")
    if engine == "memory":
        return waiting > 0
    return waiting >= IN_MEMORY_ARTICLES and waiting >= LOADED_SHARE * present


def settles_in_memory(database: Database, engine: EngineName) -> bool:
    """Whether so many articles are unsettled that all are settled at once in memory."""
    if engine == "postgres":
        return False
    with database.transaction() as cursor:
        unsettled, present = fingerprints.count(cursor, "unsettled"), fingerprints.count(cursor, "known")
    if engine == "memory":
        return unsettled > 0
    return unsettled >= IN_MEMORY_ARTICLES and unsettled >= IN_MEMORY_SHARE * present
