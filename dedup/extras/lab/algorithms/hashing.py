"""Hashes of all stretches of a text at once: 64-bit numbers, made by doubling.

The hash of a stretch of 2n characters is made of the hashes of its two halves (Karp, Miller, Rosenberg
1972, with hashes for names). Mixing is not linear, so that periodic texts do not collide, as they would
under a polynomial. Equal stretches have equal hashes; unequal ones differ but for a chance of 2^-63.
"""

from __future__ import annotations

import numpy as np

from dedup.text.hashing import Hashes

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # the odd constants of splitmix64 (Steele, Lea, Flood 2014)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def letters(text: str, seed: int = 0) -> Hashes:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    return combine(codes, np.full(1, seed, np.uint64))


def combine(first: Hashes, second: Hashes) -> Hashes:
    """The hash of each pair of hashes, in this order; the shapes broadcast."""
    mixed = first * _GOLDEN + second
    mixed ^= mixed >> np.uint64(30)
    mixed *= _FIRST
    mixed ^= mixed >> np.uint64(27)
    mixed *= _SECOND
    mixed ^= mixed >> np.uint64(31)
    return mixed


def doubled(hashes: Hashes, width: int) -> Hashes:
    """From the hashes of all stretches of `width` characters, those of all stretches of twice as many."""
    return combine(hashes[:-width], hashes[width:])
