"""Make shingles of words, and of these a signature and LSH buckets (docs/semantics.md, section 1).

A shingle is a stop word followed by the next two words. Prose is full of stop words, navigation and
advertisements have hardly any, so these shingles follow the story and not the page around it. Theobald,
Siddharth, Paepcke, "SpotSigs", SIGIR 2008, with antecedents at distance 1 and chains of 2.

MinHash: Broder, "On the resemblance and containment of documents", 1997. One byte of each value: Li and
Koenig, "b-Bit Minwise Hashing", WWW 2010. Banding: Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets",
chapter 3; two sets of Jaccard s share one of b bands of r rows with probability 1 - (1 - s^r)^b.
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

    Stop words are the given ones or, if there is none, words of fewer characters than `stop_word_length`.

    >>> sorted(shingles("now is the time for all good men".split(), 4))
    ['all good men', 'for all good', 'is the time', 'now is the', 'the time for']
    """
    triples = zip(words, words[1:], words[2:], strict=False)
    if stop_words:
        return {f"{a} {b} {c}" for a, b, c in triples if a in stop_words}
    return {f"{a} {b} {c}" for a, b, c in triples if len(a) < stop_word_length}


ShingleHashes = npt.NDArray[np.uint32]  # Shape (n,): the hashes of the shingles of a text, once each

MinHashes = npt.NDArray[np.uint32]  # Shape (k,): the smallest value of each function; (0,) of an empty set
Signature = npt.NDArray[np.uint8]  # Shape (k,): a byte of each MinHash value, mixed; (0,) of an empty set

EMPTY: Signature = np.empty(0, np.uint8)  # The signature of a text without shingles
BYTE_VALUES = 256  # Two independent bytes are equal once in so many times

# Hashes for one function, or numbers of several functions, at a time: 256 kB stay in the processor's cache,
# and bound the memory.
_CHUNK = 1 << 16

_UPPER = np.uint64(0xFFFFFFFF << 32)

# Shifts and multipliers of MurmurHash3's 32-bit finaliser (Appleby 2011); then it shifts by 16.
MIX32 = ((16, 0x85EBCA6B), (13, 0xC2B2AE35))


def minhash(hashes: ShingleHashes, count: int) -> MinHashes:
    """Return `count` MinHash values of a set of hashes; shape (0,) for an empty set."""
    if not len(hashes):
        return np.empty(0, np.uint32)
    values: MinHashes = minhash_many(hashes, np.zeros(1, np.int64), count)[0]
    return values


def minhash_many(hashes: ShingleHashes, starts: npt.NDArray[np.int64], count: int) -> MinHashes:
    """Return `count` MinHash values of each of n sets; shape (n, count).

    `hashes` has one set after the other, `starts` the start of each, the first at 0. No set is empty.
    """
    multipliers, increments = _functions(count)
    # One function over the hashes of many sets takes half the time of many functions over one set.
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
    """Return the lowest byte of each MinHash value, mixed; shape (k,), or (n, k) of n texts."""
    # The lowest byte of a value follows from the lowest byte of the hash alone: without mixing, texts whose
    # hashes end alike would have equal signatures. The finaliser is one to one, so equal values stay equal.
    mixed = values
    for shift, multiplier in MIX32:
        mixed = (mixed ^ mixed >> np.uint32(shift)) * np.uint32(multiplier)
    return (mixed ^ mixed >> np.uint32(16)).astype(np.uint8)


def buckets(values: MinHashes, coefficients: Hashes) -> npt.NDArray[np.int64]:
    """Return the bucket keys of n texts, shape (n, bands). Equal keys mean equal values of the band.

    `values`: shape (n, k); the first bands * rows count. `coefficients`: `Hasher.of_buckets(bands, rows)`.
    Raises ValueError: there are fewer values.
    """
    bands, rows = coefficients.shape[1], coefficients.shape[2] - 1
    if values.shape[1] < bands * rows:
        raise ValueError(f"{bands} bands of {rows} rows need {bands * rows} values, not {values.shape[1]}")
    parts = values[:, : bands * rows].reshape(-1, bands, rows).astype(np.uint64)
    upper, lower = ((parts * half[:, 1:]).sum(axis=2) + half[:, 0] for half in coefficients)
    keys: npt.NDArray[np.int64] = (upper & _UPPER | lower >> np.uint64(32)).view(np.int64)
    return keys


def estimate(equal: int, size: int) -> float:
    """Return the Jaccard of two sets from the number of equal bytes of `size`; from 0 to 1.

    The bytes of different values are equal once in 256 times, which the formula corrects (Li and Koenig 2010,
    for large sets). The standard error for 256 bytes is at most 0.032.
    """
    # One division of whole numbers, so that every engine has the same result to the last bit.
    return max(0, BYTE_VALUES * equal - size) / ((BYTE_VALUES - 1) * size)


def estimates(equal: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.float64]:
    """Return `estimate` of many pairs, to the last bit; shape (n,). `size` may be 0 if there are no pairs."""
    divisor = max((BYTE_VALUES - 1) * size, 1)
    return np.asarray(np.maximum(0, BYTE_VALUES * equal - size) / divisor)


def jaccard(a: Signature, b: Signature) -> float:
    """Return the estimated Jaccard of the shingle sets of two signatures; 0 if either is empty."""
    if not len(a) or len(a) != len(b):
        return 0.0
    return estimate(int(np.count_nonzero(a == b)), len(a))


def jaccards(a: npt.NDArray[np.uint8], b: npt.NDArray[np.uint8]) -> npt.NDArray[np.float64]:
    """Return `jaccard` of many pairs, to the last bit; shape (n,).

    `a`: shape (n, k). `b`: the same, or shape (k,), one for all. No signature is empty unless n is 0.
    """
    # Counting packed bits moves an eighth of the memory of a sum over bytes.
    equal = np.bitwise_count(np.packbits(a == b, axis=1)).sum(axis=1, dtype=np.int64)
    return estimates(equal, a.shape[1])


@cache
def _functions(count: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Return the multipliers and increments of the hash functions of a 32-bit hash, modulo 2^32."""
    # xxh3_64 of their names, so that nobody has chosen them. Odd multipliers make the functions one to one.
    multipliers, increments = (
        np.array([xxh3_64_intdigest(f"dedup {name} {i}".encode()) for i in range(count)], np.uint64)
        for name in ("multiplier", "increment")
    )
    return multipliers.astype(np.uint32) | np.uint32(1), increments.astype(np.uint32)
