"""Make shingles from words, and signatures and LSH buckets from shingles (docs/semantics.md, section 1).

A shingle is a stop word and the next two words. Prose has many stop words; menus and advertisements have
hardly any. So the shingles represent the story, not the page around the story. Source: Theobald, Siddharth,
Paepcke, "SpotSigs", SIGIR 2008, with distance 1 (skipping no word) and chains of 2 (words after a stop word).

MinHash: Broder, "On the resemblance and containment of documents", 1997. One byte of each value: Li and
Koenig, "b-Bit Minwise Hashing", WWW 2010. Banding: Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets",
chapter 3; two sets of Jaccard s share at least one of b bands of r rows with probability 1 - (1 - s^r)^b.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from dedup.text.hashing import Hashes


def shingles(words: Sequence[str], stop_word_length: int, stop_words: Collection[str] = ()) -> set[str]:
    """Return the shingles of normalised words, each as three words joined by spaces.

    Stop words are `stop_words` or, if empty, all words with fewer characters than `stop_word_length`.

    >>> sorted(shingles("now is the time for all good men".split(), 4))
    ['all good men', 'for all good', 'is the time', 'now is the', 'the time for']
    """
    triples = zip(words, words[1:], words[2:], strict=False)
    if stop_words:
        return {f"{a} {b} {c}" for a, b, c in triples if a in stop_words}
    return {f"{a} {b} {c}" for a, b, c in triples if len(a) < stop_word_length}


ShingleHashes = npt.NDArray[np.uint32]  # Shape (n,): the distinct hashes of the shingles of a text

MinHashes = npt.NDArray[np.uint32]  # Shape (k,): the smallest value of each function; (0,) for an empty set
Signature = npt.NDArray[np.uint8]  # Shape (k,): one byte of each mixed MinHash value; (0,) for an empty set

EMPTY: Signature = np.empty(0, np.uint8)  # The signature of a text without shingles
BYTE_VALUES = 256  # Number of values of a byte; two independent bytes are equal with probability 1 / 256

# Maximum number of values computed per step. They take 256 kB, which limits the memory and fits in the
# processor's cache.
_CHUNK = 1 << 16

_UPPER = np.uint64(0xFFFFFFFF << 32)

# Shifts and multipliers of MurmurHash3's 32-bit finaliser (Appleby 2011); the last step is a shift by 16.
MIX32 = ((16, 0x85EBCA6B), (13, 0xC2B2AE35))


def minhash(hashes: ShingleHashes, count: int) -> MinHashes:
    """Return `count` MinHash values of a set of hashes; shape (0,) for an empty set."""
    if not len(hashes):
        return np.empty(0, np.uint32)
    values: MinHashes = minhash_many(hashes, np.zeros(1, np.int64), count)[0]
    return values


def minhash_many(hashes: ShingleHashes, starts: npt.NDArray[np.int64], count: int) -> MinHashes:
    """Return `count` MinHash values of each of n sets; shape (n, count).

    `hashes` has all sets in sequence; `starts` has the index where each set starts. No set may be empty.
    """
    multipliers, increments = _functions(count)
    # Apply each function to the hashes of many sets at once: one set after the other takes twice as long.
    smallest = np.full((count, len(starts)), np.iinfo(np.uint32).max, np.uint32)
    buffer = np.empty(min(_CHUNK, count * len(hashes)), np.uint32)
    for start in range(0, len(hashes), _CHUNK):
        x = hashes[start : start + _CHUNK]
        first = int(np.searchsorted(starts, start, "right")) - 1
        last = int(np.searchsorted(starts, start + len(x)))
        inside = np.maximum(starts[first:last] - start, 0)
        step = max(1, _CHUNK // len(x))
        for i in range(0, count, step):
            block = multipliers[i : i + step, None]
            values = buffer[: len(block) * len(x)].reshape(len(block), len(x))
            np.multiply(block, x, out=values)
            values += increments[i : i + step, None]
            found = smallest[i : i + step, first:last]
            np.minimum(found, np.minimum.reduceat(values, inside, axis=1), out=found)
    return np.ascontiguousarray(smallest.T)


def signature(values: MinHashes) -> Signature:
    """Return the lowest byte of each MinHash value after mixing; shape (k,), or (n, k) for n texts."""
    # Without mixing, the lowest byte of a value would depend only on the lowest bytes of the hashes, and
    # texts with the same lowest bytes would have equal signatures. Mixing keeps different values different.
    mixed = values
    for shift, multiplier in MIX32:
        mixed = (mixed ^ mixed >> np.uint32(shift)) * np.uint32(multiplier)
    return (mixed ^ mixed >> np.uint32(16)).astype(np.uint8)


def buckets(values: MinHashes, coefficients: Hashes) -> npt.NDArray[np.int64]:
    """Return the bucket keys of n texts, shape (n, bands). Equal keys mean equal MinHash values in a band.

    `values`: shape (n, k), of which the first bands * rows are used. `coefficients`:
    `Hasher.of_buckets(bands, rows)`. Raises ValueError: k is too small.
    """
    bands, rows = coefficients.shape[1], coefficients.shape[2] - 1
    if values.shape[1] < bands * rows:
        raise ValueError(f"{bands} bands of {rows} rows need {bands * rows} values, not {values.shape[1]}")
    parts = values[:, : bands * rows].reshape(-1, bands, rows).astype(np.uint64)
    upper, lower = ((parts * half[:, 1:]).sum(axis=2) + half[:, 0] for half in coefficients)
    keys: npt.NDArray[np.int64] = (upper & _UPPER | lower >> np.uint64(32)).view(np.int64)
    return keys


def estimate(equal: int, size: int) -> float:
    """Return the estimated Jaccard of two sets, from 0 to 1, if `equal` of `size` signature bytes are equal.

    The formula corrects for chance: bytes of different values are equal with probability 1 / 256 (Li and
    Koenig 2010, for large sets). The standard error for 256 bytes is at most 0.032.
    """
    # A single division of integers, so that every engine gets the same result to the last bit.
    return max(0, BYTE_VALUES * equal - size) / ((BYTE_VALUES - 1) * size)


def estimates(equal: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.float64]:
    """Return the result of `estimate` for each of n pairs; shape (n,). `size` can be 0 if n is 0."""
    divisor = max((BYTE_VALUES - 1) * size, 1)
    return np.asarray(np.maximum(0, BYTE_VALUES * equal - size) / divisor)


def jaccard(a: Signature, b: Signature) -> float:
    """Return the estimated Jaccard of two shingle sets, given the signatures; 0 if a signature is empty."""
    if not len(a) or len(a) != len(b):
        return 0.0
    return estimate(int(np.count_nonzero(a == b)), len(a))


def jaccards(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Return the result of `jaccard` for each of n pairs; shape (n,).

    `a`: shape (n, k). `b`: shape (n, k), or (k,) to compare one signature with all. k is 0 only if n is 0.
    """
    # Counting packed bits reads only an eighth of the memory that a sum over bytes reads.
    equal = np.bitwise_count(np.packbits(a == b, axis=1)).sum(axis=1, dtype=np.int64)
    return estimates(equal, a.shape[1])


@cache
def _functions(count: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Return the multipliers and increments of `count` MinHash functions, modulo 2^32."""
    # The numbers are hashes (xxh3_64) of names, to show that they were not hand-picked. Odd multipliers make
    # each function one to one.
    multipliers, increments = (
        np.array([xxh3_64_intdigest(f"dedup {name} {i}".encode()) for i in range(count)], np.uint64)
        for name in ("multiplier", "increment")
    )
    return multipliers.astype(np.uint32) | np.uint32(1), increments.astype(np.uint32)
