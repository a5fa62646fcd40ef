"""Reads and writes index entries: numbers made of a key (sentence, bucket or content hash) and an article id.

`../settling/segments.py` merges segments (sorted lists) of entries. `migrations/sql/` has the look-ups.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise

import numpy as np

from dedup.base.numbers import Flags, begins_run
from dedup.db.arrays import Bigints, bigints
from dedup.db.database import Cursor, one_row
from dedup.db.elements import ELEMENT, INT8, read_arrays
from dedup.db.statements import Statements
from dedup.store.fingerprints import BEGINNING, END, Target, elements
from dedup.store.memory_engine import FingerprintPage

_sql = Statements("store/key_segments")

BLOCK_ENTRIES = 120  # Approximate entries per block. A block is a row; eight blocks fill a page of Postgres
PAGE_ARTICLES = 4_000  # Maximum number of fingerprints per read of keys: about 1 MB
LOOKED_UP = 1_000_000  # Maximum number of articles per read of canonical flags: 8 MB
COPY_ENTRIES = 1_000_000  # Maximum number of entries per write: 12 MB
ARTICLE_BITS = 32  # Number of lower bits of an entry that are the article's id; the upper bits are the key
KEY_BITS = 31


@dataclass(frozen=True, slots=True)
class KeySegment:
    """A sorted list of entries, stored in blocks."""

    id: int
    canonical: bool  # true: entries of originals; false: entries of duplicates
    entries: int
    blocks: int  # number of blocks (rows); they divide the range of all keys into equal parts


def blocks_for(entries: int) -> int:
    return -(-entries // BLOCK_ENTRIES)


def block_of(entries: Bigints, blocks: int) -> Bigints:
    """Return the number of each entry's block, for a segment of `blocks` blocks; in SQL: `dedup.block`."""
    return np.asarray(((entries >> ARTICLE_BITS) + (1 << KEY_BITS - 1)) * blocks >> KEY_BITS)


def first_entry(block: int, blocks: int) -> int:
    """Return the smallest possible entry of a block, for a segment of `blocks` blocks."""
    return (-(-(block << KEY_BITS) // blocks) - (1 << KEY_BITS - 1)) << ARTICLE_BITS


def entries_of(keys: Bigints, articles: Bigints) -> Bigints:
    """Combine each key with its article's id into an entry; in SQL: `dedup.entry`."""
    return np.asarray((keys >> 33 << ARTICLE_BITS) + articles)


def articles_of(entries: Bigints) -> Bigints:
    return np.asarray(entries & ((1 << ARTICLE_BITS) - 1))


def read_table(cursor: Cursor, table: Target) -> Iterator[tuple[Bigints, Flags]]:
    """Yield all entries of a table of fingerprints, unsorted, in pages, with their canonical flags."""
    after = -1
    while True:
        bounds = {"after": after, "articles": PAGE_ARTICLES}
        articles, canonical, counts, keys = one_row(cursor, _sql("keys", table=table), bounds)
        if articles is None:
            return
        yield (
            entries_of(read_arrays(keys, counts), np.repeat(articles, counts)),
            np.repeat(canonical > 0, counts),
        )
        after = int(articles.max())


def make_entries(page: FingerprintPage, canonical: Flags) -> tuple[Bigints, Flags]:
    """Return all entries of a page of fingerprints, and the canonical flag of each entry's article."""
    # Short articles have no buckets, so their content hash is a key instead.
    short = page.bucket_counts == 0
    counts = (page.sentence_counts, page.bucket_counts, short.astype(np.int64))
    keys = np.concatenate([page.sentence_hashes, page.buckets, page.content_hash[short]])
    articles = np.concatenate([np.repeat(page.id, some) for some in counts])
    return entries_of(keys, articles), np.concatenate([np.repeat(canonical, some) for some in counts])


def segments(cursor: Cursor) -> list[KeySegment]:
    """Return the segments in use, the smallest first."""
    return [KeySegment(*row) for row in cursor.execute(_sql("segments")).fetchall()]


def read(cursor: Cursor, some: Collection[int], first: int, end: int) -> Bigints:
    """Return the entries of segments with `first` <= entry < `end`, unsorted."""
    last = end - 1
    # An entry has only the upper 31 bits of a key. The statement needs no others, so the lower 33 bits are 0.
    keys = {"first": first >> ARTICLE_BITS << 33, "last": last >> ARTICLE_BITS << 33}
    data, counts = one_row(cursor, _sql("blocks"), {"segments": bigints(some), **keys})
    if data is None:
        return bigints([])
    found = read_arrays(data, counts)
    return found[(found >= first) & (found < end)]


def read_all(cursor: Cursor) -> None:
    """Read all blocks, so that no look-up is the first to read a page. The first reader marks the rows of the
    page as committed, which after a checkpoint writes the page to the WAL."""
    cursor.execute(_sql("read_all"))


def find_flagged(cursor: Cursor, articles: Bigints, *, canonical: bool) -> Bigints:
    """Return the originals among `articles` if `canonical` is true, else the duplicates; unsorted."""
    pages = [articles[start : start + LOOKED_UP] for start in range(0, len(articles), LOOKED_UP)]
    values = [{"articles": page, "canonical": canonical} for page in pages]
    return np.concatenate([bigints([]), *(one_row(cursor, _sql("flagged"), some)[0] for some in values)])


def has_more_recent(cursor: Cursor, entries: int) -> bool:
    return bool(one_row(cursor, _sql("recent"), {"entries": entries})[0])


def take_recent(cursor: Cursor) -> tuple[Bigints, Bigints]:
    """Delete and return the entries that are in no segment yet, separately for originals and duplicates."""
    row = one_row(cursor, _sql("take_recent"))
    return row[0], row[1]


def next_segment(cursor: Cursor) -> int:
    return int(one_row(cursor, _sql("next_segment"))[0])


def write(cursor: Cursor, segment: int, blocks: int, entries: Bigints) -> None:
    """Write whole blocks of a segment that has `blocks` blocks. `entries`: ascending and unique."""
    into = b"COPY dedup.key_block (segment, number, entries) FROM STDIN (FORMAT BINARY)"
    with cursor.copy(into) as copy:
        copy.write(BEGINNING)
        for data in _rows(segment, blocks, entries):
            copy.write(data)
        copy.write(END)


def _rows(segment: int, blocks: int, entries: Bigints) -> Iterator[bytes]:
    numbers = block_of(entries, blocks)
    starts = np.flatnonzero(begins_run(numbers))
    bounds, step = [*starts.tolist(), len(entries)], max(1, COPY_ENTRIES // BLOCK_ENTRIES)
    for i in range(0, len(starts), step):
        some = bounds[i : i + step + 1]
        data = elements(entries[some[0] : some[-1]]).tobytes()
        rows, size = [], ELEMENT.itemsize
        for number, (start, end) in zip(numbers[some[:-1]].tolist(), pairwise(some), strict=True):
            # Three columns: segment (bigint), number of the block (integer), entries (bigint[]).
            rows.append(struct.pack(">hiqii", 3, 8, segment, 4, number))
            rows.append(struct.pack(">iiiiii", 20 + size * (end - start), 1, 0, INT8, end - start, 1))
            rows.append(data[size * (start - some[0]) : size * (end - some[0])])
        yield b"".join(rows)


def use(cursor: Cursor, segment: KeySegment) -> None:
    """Put a segment in use, so that look-ups read it."""
    cursor.execute(_sql("use"), asdict(segment))


def remove(cursor: Cursor, some: Collection[int]) -> None:
    """Remove segments, and all blocks that belong to no segment in use."""
    cursor.execute(_sql("delete_segments"), {"segments": bigints(some)})
    cursor.execute(_sql("delete_blocks"))


def count_absent(cursor: Cursor) -> int:
    """Count articles that lack an index entry; this reads all fingerprints and all entries."""
    return int(one_row(cursor, _sql("count_absent"))[0])


def add_absent(cursor: Cursor) -> None:
    """Add all missing index entries."""
    cursor.execute(_sql("add_absent"))
