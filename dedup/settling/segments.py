"""Write look-up keys of fingerprints in sorted segments: a large load at once, recent keys by a merge.

An entry is a key with an article id. A segment never changes. A merge joins the recent entries with the
smallest segment, then with the next larger one, and so on, while a segment has at most `MERGED_SIZE` times
the entries joined so far. A merge drops outdated entries. It writes at most `MERGED_SIZE` + 1 times the
entries that it had joined before the last segment. Among n entries a look-up searches about
log(n / RECENT_ENTRIES) / log(MERGED_SIZE) merged segments: 3 for a million articles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import numpy as np

from dedup.base.errors import BusyError
from dedup.base.numbers import Flags, distinct
from dedup.db.arrays import Bigints, bigints
from dedup.db.database import Cursor, Database, prefer_indexes, run_locked
from dedup.store import key_segments, memory_engine
from dedup.store.fingerprints import Target
from dedup.store.key_segments import KeySegment
from dedup.store.rulebooks import Rulebook

# Recent keys are merged once there are more than this number; about 550 articles have so many keys. The merge
# of the keys of 2,000 articles with the keys of 55,000 articles takes a second. A merged key takes 8 bytes, a
# recent key 50 bytes.
RECENT_ENTRIES = 20_000

# Entries sorted at once, and bytes per entry: 320 MB in all. A large load sorts more if memory allows.
SORTED_ENTRIES, SORTED_BYTES = 16_000_000, 20

# If memory suffices, a load writes at most this number of segments for originals, and as many for duplicates,
# because each look-up searches all segments.
LOADED_SEGMENTS = 8

MERGED_SIZE = 30  # A merge takes the next segment if it has at most 30 times the entries joined before

# New fingerprints come into use at a moment when no transaction reads fingerprints. Each attempt waits 0.1 s
# for such a moment; after PUBLISH_SECONDS the load fails.
PUBLISH_SECONDS = 600.0


def build(
    database: Database,
    table: Target,
    stop: Callable[[], bool],
    kept: Iterator[tuple[Bigints, Flags]] | None = None,
    at_once: int | None = None,
) -> list[KeySegment]:
    """Write the keys of all fingerprints of a table in segments, which `publish` then puts into use. `kept`:
    entries in memory, with canonical flags; None to read the table. `at_once`: entries per segment;
    None for `SORTED_ENTRIES`."""
    most = at_once or SORTED_ENTRIES
    with database.transaction() as cursor:
        key_segments.remove(cursor, [])  # a killed run may have left segments that never came into use
    found: list[KeySegment] = []
    with database.session() as session, session.transaction() as cursor:
        parts: dict[bool, list[Bigints]] = {True: [], False: []}
        for entries, canonical in kept or key_segments.read_table(cursor, table):
            if stop():
                return []
            for flag, some in parts.items():
                some.append(entries[canonical == flag])
                if sum(map(len, some)) >= most:
                    found.append(_write_whole(cursor, flag, some))
        found += [_write_whole(cursor, flag, some) for flag, some in parts.items() if sum(map(len, some))]
    return found


def publish(database: Database, rulebook: Rulebook, run: int, made: list[KeySegment]) -> None:
    """Put the new fingerprints into use. Raises StaleRulesError: another rulebook or engine took over."""

    def use(cursor: Cursor) -> None:
        memory_engine.publish(cursor)
        for segment in made:
            key_segments.use(cursor, segment)

    check = partial(memory_engine.check, rulebook=rulebook, run=run)
    run_locked(database, use, check, seconds=PUBLISH_SECONDS)
    _tidy(database)


def merge(database: Database, at_least: int = RECENT_ENTRIES) -> bool:
    """Move the recent keys into segments if there are more than `at_least` keys; otherwise return False.
    Only one run at a time may call this function."""
    with database.transaction() as cursor:
        if not key_segments.has_more_recent(cursor, at_least):
            return False
    with database.transaction() as cursor:
        prefer_indexes(cursor)
        key_segments.remove(cursor, [])
        present = key_segments.segments(cursor)
        for flag, recent in zip((True, False), key_segments.take_recent(cursor), strict=True):
            if not len(recent):
                continue
            old = _choose_segments([s for s in present if s.canonical == flag], len(recent))
            blocks = key_segments.blocks_for(len(recent) + sum(s.entries for s in old))
            parts = _merge_entries(cursor, flag, np.sort(recent), old, blocks)
            key_segments.use(cursor, _write(cursor, flag, blocks, parts))
            key_segments.remove(cursor, [s.id for s in old])
    _tidy(database)
    return True


def _tidy(database: Database) -> None:
    """Prepare new segments for look-ups. Rebuild the index of recent keys, unless the table is in use."""
    with suppress(BusyError), database.transaction() as cursor:
        key_segments.read_all(cursor)
        memory_engine.compact(cursor, "recent_key_keys")


def _choose_segments(present: list[KeySegment], entries: int) -> list[KeySegment]:
    """Return the segments to merge with `entries` recent entries. `present`: segments, the smallest first."""
    chosen = []
    for segment in present:
        if segment.entries > MERGED_SIZE * entries:
            break
        chosen.append(segment)
        entries += segment.entries
    return chosen


def _merge_entries(
    cursor: Cursor, flag: bool, recent: Bigints, old: list[KeySegment], blocks: int
) -> Iterator[Bigints]:
    """Yield the recent entries and the valid entries of old segments, in parts that consist of whole blocks.

    `flag`: canonical flag of the articles. `recent`: sorted entries. `blocks`: blocks of the new segment.
    """
    if not old:
        yield recent
        return
    seen = holding = bigints([])
    step = -(-SORTED_ENTRIES // key_segments.BLOCK_ENTRIES)
    for number in range(0, blocks, step):
        first = key_segments.first_entry(number, blocks)
        end = key_segments.first_entry(min(number + step, blocks), blocks)
        found = key_segments.read(cursor, [s.id for s in old], first, end)
        # Nearly all articles have entries in each part, so look up each article only once.
        unseen = np.setdiff1d(key_segments.articles_of(found), seen)
        flagged = key_segments.find_flagged(cursor, unseen, canonical=flag)
        seen, holding = np.concatenate([seen, unseen]), np.concatenate([holding, flagged])
        holds = np.isin(key_segments.articles_of(found), holding)
        new = recent[np.searchsorted(recent, first) : np.searchsorted(recent, end)]
        yield np.concatenate([new, found[holds]])


def _write_whole(cursor: Cursor, flag: bool, parts: list[Bigints]) -> KeySegment:
    entries = np.concatenate(parts)
    # Free the memory of the parts before the sort. The caller puts the next segment into the same list.
    parts.clear()
    return _write(cursor, flag, key_segments.blocks_for(len(entries)), [entries])


def _write(cursor: Cursor, flag: bool, blocks: int, parts: Iterator[Bigints] | list[Bigints]) -> KeySegment:
    """Write a segment; drop repeated entries. No block may be split between two elements of `parts`."""
    segment, count = key_segments.next_segment(cursor), 0
    for part in parts:
        entries = distinct(part)
        if len(entries):
            key_segments.write(cursor, segment, blocks, entries)
            count += len(entries)
    return KeySegment(segment, flag, count, blocks)
