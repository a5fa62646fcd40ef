"""Common runs of characters of two texts: the longest run, and fingerprints that show any long common run.

Stretches of 1, 2, 4, … characters are hashed at every position of a text. The hash of 2n characters is made
of the hashes of the two halves (Karp, Miller, Rosenberg 1972).
"""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from dedup.base.numbers import ranges, runs
from dedup.extras.judging.sampling import mixed
from dedup.text.hashing import Hashes

# Characters of the shortest stretch that is tested: two texts of one language surely share shorter stretches.
SURELY_SHARED = 8

# Characters per gram, a power of two: about six words. With 16, idioms made 20 times as many candidates.
GRAM = 32

WINDOW = 17  # grams per window. On average one gram in nine is selected: 2 / (WINDOW + 1)
SHORTEST_RUN = GRAM + WINDOW - 1  # characters: texts with a common run of this length share a fingerprint

_LAST_BIT = np.uint64(1)


def letters(text: str, seed: int = 0) -> Hashes:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    return mixed(codes, np.full(1, seed, np.uint64))


def doubled(hashes: Hashes, width: int) -> Hashes:
    """Return the hashes of all stretches of 2 * `width` characters, from the hashes for `width`."""
    # `mixed` is not linear: with a linear hash, such as a polynomial, periodic texts would collide.
    return mixed(hashes[:-width], hashes[width:])


class CommonRun(NamedTuple):
    """A common run of two texts: `a[start_a : start_a + length] == b[start_b : start_b + length]`."""

    length: int
    start_a: int
    start_b: int


def longest_common_substring(a: str, b: str) -> CommonRun:
    """Return the longest run of characters that both texts have; if several are longest, one of these.

    >>> longest_common_substring("the old house", "an old horse")
    CommonRun(length=7, start_a=3, start_b=2)
    """
    if len(a) <= len(b) and (start := b.find(a)) >= 0:
        return CommonRun(len(a), 0, start)
    if len(b) < len(a) and (start := a.find(b)) >= 0:
        return CommonRun(len(b), start, 0)
    # Colliding hashes can only make the run too long. If the run of `a` differs from the run of `b`, try
    # hashes of another seed.
    for seed in count():
        length, i, j = found = _longest(a, b, seed)
        if a[i : i + length] == b[j : j + length]:
            return found
    raise AssertionError("count() does not end")


def _longest(a: str, b: str, seed: int) -> CommonRun:
    """Return the longest common run by comparing hashes only, in O(n log² n) time."""
    # First find the largest power of two that is the length of a common stretch. Then try to lengthen this
    # common run by each smaller power of two. `places`: for each text, the starts of its common runs.
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
            mixed(hashed[: len(at)], step[at + length])  # `fitting` drops only places at the end of a text
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
    """Return the hashes that both arrays have, ascending, with the last bit cleared."""
    # The last bit tells which text a hash is from. A sort puts equal hashes of both texts side by side.
    both = np.sort(np.concatenate([a & ~_LAST_BIT, b | _LAST_BIT]))
    return np.asarray(both[:-1][both[:-1] ^ _LAST_BIT == both[1:]])


def _among(hashes: Hashes, common: Hashes) -> npt.NDArray[np.bool_]:
    plain = hashes & ~_LAST_BIT
    at = np.minimum(np.searchsorted(common, plain), len(common) - 1)
    return np.asarray(common[at] == plain)


def fingerprints(text: str) -> Hashes:
    """Return the selected hashes of a text; empty for texts shorter than `SHORTEST_RUN`.

    In every `WINDOW` consecutive 32-grams the smallest hash is selected; if several are smallest, the last
    (Schleimer, Wilkerson, Aiken, "Winnowing", SIGMOD 2003). The choice depends on the window alone, so two
    texts select the same grams in a common run. A common run of n 32-grams contains n // WINDOW windows that
    do not overlap. Each of them selects a different gram, so the texts share at least n // WINDOW
    fingerprints.
    """
    if len(text) < SHORTEST_RUN:
        return np.empty(0, np.uint64)
    hashes, width = letters(text), 1
    while width < GRAM:
        hashes, width = doubled(hashes, width), 2 * width
    windows = sliding_window_view(hashes, WINDOW)[:, ::-1]  # reversed, so argmin takes the last of equals
    places = np.unique(np.arange(len(windows)) + WINDOW - 1 - windows.argmin(axis=1))
    selected = np.sort(hashes[places])
    # Each repetition of a hash becomes a different item, so that repetitions count as shared items, too.
    _, sizes = runs(selected)
    occurrence = ranges(0, sizes)
    return mixed(selected, occurrence.astype(np.uint64))


def least_shared(run: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the least number of shared fingerprints of two texts with a common run of `run` characters.

    >>> least_shared(np.array([47, 48, 65, 300])).tolist()
    [0, 1, 2, 15]
    """
    return np.maximum((run - GRAM + 1) // WINDOW, 0)
