"""Shingles become a signature, one byte per MinHash value, and LSH buckets (docs/semantics.md, section 1).

MinHash: Broder, "On the resemblance and containment of documents", 1997. One byte of each value is kept:
Li and Koenig, "b-Bit Minwise Hashing", WWW 2010. Banding: Leskovec, Rajaraman, Ullman, "Mining of Massive
Datasets", chapter 3; two sets of Jaccard s share one of b bands of r rows with probability
1 - (1 - s^r)^b.

Each shingle is hashed once; the k hash functions are multiplications and additions of its low 32 bits,
modulo 2^32. Such a function is one to one, so different shingles never meet in a whole value.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from dedup.text.hashing import Hasher, Hashes, signed

MinHashes = npt.NDArray[np.uint32]
"""Shape (k,): the smallest value of each hash function; shape (0,) for an empty set."""

Signature = npt.NDArray[np.uint8]
"""Shape (k,): the lowest byte of each MinHash value; shape (0,) for an empty set."""

EMPTY: Signature = np.empty(0, np.uint8)
"""The signature of a text without shingles."""

BYTE_VALUES = 256
"""Two bytes that have nothing to do with each other are equal once in so many times."""

_CHUNK = 1_024
"""Shingles hashed at a time: bounds memory for long texts, and fits in the processor's cache."""


def minhash(hashes: Hashes, count: int) -> MinHashes:
    """`count` MinHash values of a set of hashes; shape (0,) for an empty set.

    >>> len(minhash(np.array([7, 8], np.uint64), 256))
    256
    """
    if not len(hashes):
        return np.empty(0, np.uint32)
    low = hashes.astype(np.uint32)
    multipliers, increments = _functions(count)
    smallest = np.full(count, np.iinfo(np.uint32).max, np.uint32)
    for start in range(0, len(low), _CHUNK):
        values = low[start : start + _CHUNK, None] * multipliers
        values += increments
        np.minimum(smallest, values.min(axis=0), out=smallest)
    return smallest


def signature(values: MinHashes) -> Signature:
    """The lowest byte of each MinHash value."""
    return values.astype(np.uint8)


def buckets(values: MinHashes, bands: int, rows: int, hasher: Hasher) -> list[int]:
    """One signed 64-bit key per band, over the first `bands * rows` MinHash values.

    Equal keys mean that all values of the band are equal.

    Raises:
        ValueError: there are fewer values than that, and not none.
    """
    if not len(values):
        return []
    if len(values) < bands * rows:
        raise ValueError(f"{bands} bands of {rows} rows need {bands * rows} values, not {len(values)}")
    data = values.astype("<u4").tobytes()
    size = 4 * rows
    return [signed(hasher.unsigned(data[i * size : (i + 1) * size], i)) for i in range(bands)]


def estimate(equal: int, size: int) -> float:
    """The Jaccard of two sets from how many of `size` signature bytes are equal; from 0 to 1.

    Of the bytes whose values differ one in 256 is equal all the same, and that is taken out:
    (p - 1/256) / (1 - 1/256) for p = equal / size, and at least 0 (Li and Koenig 2010, for large sets).
    The standard error for 256 bytes is at most 0.032.
    """
    return max(0, BYTE_VALUES * equal - size) / ((BYTE_VALUES - 1) * size)


def equal_bytes(a: Signature, b: Signature) -> int:
    """How many positions of two signatures of one length are equal."""
    return int(np.count_nonzero(a == b))


def jaccard(a: Signature, b: Signature) -> float:
    """The estimated Jaccard of the shingle sets of two signatures; 0 if either is empty."""
    if not len(a) or len(a) != len(b):
        return 0.0
    return estimate(equal_bytes(a, b), len(a))


@cache
def _functions(count: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Multipliers (odd) and increments of the hash functions: xxh3_64 of their names, no hidden choice."""

    def values(names: Sequence[str]) -> npt.NDArray[np.uint32]:
        return np.array([xxh3_64_intdigest(name.encode()) for name in names], np.uint64).astype(np.uint32)

    multipliers = values([f"dedup multiplier {i}" for i in range(count)]) | np.uint32(1)
    return multipliers, values([f"dedup increment {i}" for i in range(count)])
