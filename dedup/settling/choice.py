"""Choose the quicker engine, and the table for new fingerprints: the marks are the same."""

from __future__ import annotations

from dedup.base import machine
from dedup.base.machine import EngineName
from dedup.db.database import Database
from dedup.store import fingerprints, memory_engine

MEMORY_SHARE = 0.25  # Share of the machine's memory that the memory engine uses at most by default
IN_MEMORY_ARTICLES = 10_000  # Fewer articles always settle through the indexes: that takes seconds

# From this share of unsettled articles it is quicker to read the whole corpus and settle it in memory than to
# look up each of them: 30 µs an article of the corpus against 700 µs an unsettled one.
IN_MEMORY_SHARE = 0.04

# From this share of new fingerprints it is quicker to build the indexes again than to add each one: 35 µs an
# article of the corpus against 130 µs a new one.
LOADED_SHARE = 0.3


def choose_memory() -> int:
    return int(MEMORY_SHARE * machine.memory())


def should_load_without_indexes(database: Database, engine: EngineName, waiting: int) -> bool:
    """Return whether to write fingerprints for so many waiting texts without indexes, and build these
    later."""
    with database.transaction() as cursor:
        if memory_engine.was_interrupted(cursor):
            # A load was stopped in the middle: its fingerprints wait there, and must come into use.
            return True
        if engine == "postgres":
            return False
        present = fingerprints.count(cursor, "known")
    if engine == "memory":
        return waiting > 0
    return waiting >= IN_MEMORY_ARTICLES and waiting >= LOADED_SHARE * present


def should_settle_in_memory(database: Database, engine: EngineName) -> bool:
    """Return whether so many articles are unsettled that the memory engine is quicker."""
    if engine == "postgres":
        return False
    with database.transaction() as cursor:
        unsettled, present = fingerprints.count(cursor, "unsettled"), fingerprints.count(cursor, "known")
    if engine == "memory":
        return unsettled > 0
    return unsettled >= IN_MEMORY_ARTICLES and unsettled >= IN_MEMORY_SHARE * present
