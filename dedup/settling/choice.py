"""Choose the quicker engine, and the table for new fingerprints; every choice gives the same marks."""

from __future__ import annotations

from dedup.base import machine
from dedup.base.machine import EngineName
from dedup.db.database import Database
from dedup.store import fingerprints, memory_engine

MEMORY_SHARE = 0.25  # Maximum share of the machine's memory for the memory engine, by default
IN_MEMORY_ARTICLES = 10_000  # Fewer unsettled articles take only seconds with the indexes

# If at least this share of articles is unsettled, reading and settling the whole corpus in memory (30 µs per
# article of the corpus) is quicker than looking up each unsettled article (700 µs per unsettled article).
IN_MEMORY_SHARE = 0.04

# If at least this share of fingerprints is new, rebuilding the indexes (35 µs per article of the corpus) is
# quicker than adding each new fingerprint to them (130 µs per new fingerprint).
LOADED_SHARE = 0.3


def choose_memory() -> int:
    return int(MEMORY_SHARE * machine.memory())


def should_load_without_indexes(database: Database, engine: EngineName, waiting: int) -> bool:
    """Return whether to write fingerprints without indexes, and build the indexes later. `waiting`: number of
    texts to fingerprint."""
    with database.transaction() as cursor:
        if memory_engine.was_interrupted(cursor):
            # A stopped load left fingerprints in the table without indexes: this run must finish that load.
            return True
        if engine == "postgres":
            return False
        present = fingerprints.count(cursor, "known")
    if engine == "memory":
        return waiting > 0
    return waiting >= IN_MEMORY_ARTICLES and waiting >= LOADED_SHARE * present


def should_settle_in_memory(database: Database, engine: EngineName) -> bool:
    """Return whether to use the memory engine: True if the user chose this engine or if it is quicker."""
    if engine == "postgres":
        return False
    with database.transaction() as cursor:
        unsettled, present = fingerprints.count(cursor, "unsettled"), fingerprints.count(cursor, "known")
    if engine == "memory":
        return unsettled > 0
    return unsettled >= IN_MEMORY_ARTICLES and unsettled >= IN_MEMORY_SHARE * present
