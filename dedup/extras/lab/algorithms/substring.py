"""The longest run of characters that two texts have in common, exactly, in O(n log² n).

Stretches of 1, 2, 4, ... characters are hashed at every place of both texts, as long as the texts share
one; then the length is found from the largest power of two down, keeping only the places that still agree.
Hashes that collide could only make the result too long, so the last step compares the characters, and
starts again with other hashes if they differ.
"""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dedup.extras.lab.algorithms.hashing import combine, doubled, letters
from dedup.text.hashing import Hashes

SURELY_SHARED = 8
"""Characters: texts of one language share shorter stretches, so that looking for one is wasted time."""

_LAST_BIT = np.uint64(1)


class CommonRun(NamedTuple):
    """A run of characters of both texts: `a[start_a : start_a + length]`, and the same of b."""

    length: int
    start_a: int
    start_b: int


def longest_common_substring(a: str, b: str) -> CommonRun:
    """The longest run of characters in both texts; one of them where there are several.

    >>> longest_common_substring("the old house", "an old horse")
    Run(length=7, start_a=3, start_b=2)
    """
    if len(a) <= len(b) and (start := b.find(a)) >= 0:
        return CommonRun(len(a), 0, start)
    if len(b) < len(a) and (start := a.find(b)) >= 0:
        return CommonRun(len(b), start, 0)
    for seed in count():
        length, i, j = found = _longest(a, b, seed)
        if a[i : i + length] == b[j : j + length]:
            return found
    raise AssertionError("count() does not end")


def _longest(a: str, b: str, seed: int) -> CommonRun:
    levels = [(letters(a, seed), letters(b, seed))]  # level k: stretches of 2^k characters
    while 2 * (width := 1 << len(levels) - 1) <= min(len(a), len(b)):
        longer = (doubled(levels[-1][0], width), doubled(levels[-1][1], width))
        if 2 * width >= SURELY_SHARED and not len(_common(*longer)):
            break
        levels.append(longer)
    length = 0
    places = [np.arange(len(a)), np.arange(len(b))]
    hashes = [np.zeros(len(a), np.uint64), np.zeros(len(b), np.uint64)]
    for level in range(len(levels) - 1, -1, -1):
        fitting = [at[at + length < len(step)] for at, step in zip(places, levels[level], strict=True)]
        longer_hashes = [
            combine(hashed[: len(at)], step[at + length])  # places ascend: those that fit come first
            for hashed, at, step in zip(hashes, fitting, levels[level], strict=True)
        ]
        common = _common(longer_hashes[0], longer_hashes[1])
        if len(common):
            length += 1 << level
            kept = [_among(hashed, common) for hashed in longer_hashes]
            places = [at[keep] for at, keep in zip(fitting, kept, strict=True)]
            hashes = [hashed[keep] for hashed, keep in zip(longer_hashes, kept, strict=True)]
    if not length:
        return CommonRun(0, 0, 0)
    return CommonRun(length, int(places[0][0]), int(places[1][np.argmax(hashes[1] == hashes[0][0])]))


def _common(a: Hashes, b: Hashes) -> Hashes:
    """The hashes in both, ascending, without their last bit, which here says where a hash is from."""
    both = np.sort(np.concatenate([a & ~_LAST_BIT, b | _LAST_BIT]))
    return np.asarray(both[:-1][both[:-1] ^ _LAST_BIT == both[1:]])


def _among(hashes: Hashes, common: Hashes) -> npt.NDArray[np.bool_]:
    plain = hashes & ~_LAST_BIT
    at = np.minimum(np.searchsorted(common, plain), len(common) - 1)
    return np.asarray(common[at] == plain)
