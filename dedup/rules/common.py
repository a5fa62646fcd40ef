"""Decide whether a sentence is common, by counting stories, not articles (docs/semantics.md, section 2).

A carrier is an article that contains the sentence. Draw one carrier at random, put it back, and draw again: c
is the probability that the two carriers have the same bucket key in a band, averaged over the bands. 1 / c is
the effective number of stories: the number of equally large stories with the same c (the inverse of Simpson's
index, Simpson 1949). If n of m carriers have a key, c is the sum of (n / m)^2 over the keys of a band.

The corpus stores P, the number of ordered pairs of different carriers with equal keys: the sum of n (n - 1)
over all keys and bands. P is easy to update. The sum of n^2 is P + bands * m, which counts each carrier with
itself in every band.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def agreeing_pairs(buckets: Sequence[Sequence[int]], weights: Sequence[int] | None = None) -> int:
    """Return P, the number of ordered pairs of carriers with an equal bucket key, summed over the bands.

    `weights`: for each row of buckets, the number of carriers that have this row; None means 1.

    >>> agreeing_pairs([[7, 8], [7, 9]], [3, 2])  # 5 * 4 in the first band; 3 * 2 + 2 * 1 in the second
    28
    """
    each = weights or [1] * len(buckets)
    found = 0
    for band in zip(*buckets, strict=True):
        counts: Counter[int] = Counter()
        for key, weight in zip(band, each, strict=True):
            counts[key] += weight
        found += sum(n * (n - 1) for n in counts.values())
    return found


def effective_stories(carriers: int, pairs: int, bands: int) -> float:
    """Return 1 / c, the effective number of stories: at most the number of carriers, and 0 without carriers.

    >>> effective_stories(20, 16 * 10 * 2, 16)  # ten stories, two copies each
    10.0
    """
    return bands * carriers * carriers / (pairs + bands * carriers) if carriers else 0.0


def is_common(carriers: int, pairs: int, bands: int, limit: int) -> bool:
    """Return whether the effective stories exceed `limit`."""
    # Compare integers, since rounding could make the engines decide differently.
    return (pairs + bands * carriers) * limit < bands * carriers * carriers
