"""Shingles become a signature: MinHash values, LSH buckets and a sketch.

MinHash: Broder, "On the resemblance and containment of documents", 1997. Banding: Leskovec, Rajaraman,
Ullman, "Mining of Massive Datasets", chapter 3; two sets of Jaccard s share one of b bands of r rows
with probability 1 - (1 - s^r)^b. Each shingle is hashed once with xxh3_64; the k hash functions are
multiply-add-shift (Dietzfelbinger et al. 1997) of that value to 32 bits. Read next: `fingerprint.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

Hashes = npt.NDArray[np.uint64]
"""Shape (n,): the hashes of the members of a set."""

Signature = npt.NDArray[np.uint32]
"""Shape (k,): the smallest value of each hash function; shape (0,) for an empty set."""


def hash64(text: str) -> int:
    """xxh3_64 of the UTF-8 bytes as a signed 64-bit integer, which is what Postgres' bigint holds."""
    return signed(xxh3_64_intdigest(text.encode()))


def signed(value: int) -> int:
    """An unsigned 64-bit value as the signed one of the same bits."""
    return value - (1 << 64) if value >> 63 else value


def hash_set(items: Collection[str]) -> Hashes:
    """The xxh3_64 of each string of a set, once each; shape (n,), in no particular order."""
    return np.array([xxh3_64_intdigest(item.encode()) for item in items], np.uint64)


def sketch(hashes: Hashes) -> int:
    """The smallest hash of a set that is not empty, as a signed number for storage."""
    return signed(int(hashes.min()))


def minhash(hashes: Hashes, count: int) -> Signature:
    """`count` MinHash values of a set of hashes; shape (0,) for an empty set.

    >>> len(minhash(hash_set({"the quick brown"}), 64))
    64
    """
    if not len(hashes):
        return np.empty(0, np.uint32)
    multipliers, increments = _functions(count)
    smallest = np.full(count, np.iinfo(np.uint64).max, np.uint64)
    for start in range(0, len(hashes), _CHUNK):  # bounds memory for very long texts
        values = hashes[start : start + _CHUNK, None] * multipliers
        values += increments
        np.minimum(smallest, values.min(axis=0), out=smallest)
    # The shift keeps order, so it can come after the minimum.
    return (smallest >> np.uint64(32)).astype(np.uint32)


def buckets(signature: Signature, bands: int, rows: int) -> list[int]:
    """One signed 64-bit key per band; equal keys mean that all `rows` values of the band are equal.

    Raises:
        ValueError: the signature has fewer than `bands * rows` values, and is not empty.
    """
    if not len(signature):
        return []
    if len(signature) < bands * rows:
        raise ValueError(f"{bands} bands of {rows} rows need {bands * rows} values, not {len(signature)}")
    data = signature.astype("<u4").tobytes()
    size = 4 * rows
    return [signed(xxh3_64_intdigest(data[i * size : (i + 1) * size], seed=i)) for i in range(bands)]


def equal_share(a: Signature, b: Signature) -> float:
    """The share of equal positions of two signatures: an estimate of the Jaccard of their sets.

    Its standard error is sqrt(s (1 - s) / k), at most 0.0625 for k = 64. 0 if either is empty.
    """
    if not len(a) or len(a) != len(b):
        return 0.0
    return float(np.count_nonzero(a == b)) / len(a)


_CHUNK = 4096


@cache
def _functions(count: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Multipliers (odd) and increments of the hash functions: xxh3_64 of their names, no hidden choice."""

    def values(names: Sequence[str]) -> npt.NDArray[np.uint64]:
        return np.array([xxh3_64_intdigest(name.encode()) for name in names], np.uint64)

    multipliers = values([f"dedup multiplier {i}" for i in range(count)]) | np.uint64(1)
    return multipliers, values([f"dedup increment {i}" for i in range(count)])
