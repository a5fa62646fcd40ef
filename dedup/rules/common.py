"""Decide whether a sentence is common, by counting stories, not articles (docs/semantics.md, section 2).

A carrier is an article that contains the sentence. Carriers that tell one story often have equal bucket keys.
Draw a carrier at random, put it back, and draw again: c is the probability that both draws have the same
bucket key in a band, averaged over the bands. 1 / c is the effective number of stories: ten stories, each
with two identical carriers, have c = 1 / 10. (1 / c is the inverse of Simpson's index, Simpson 1949.)

The corpus does not store c, but a number that is easy to update: P, the number of ordered pairs of different
carriers with an equal bucket key, summed over the bands. `effective_stories` computes 1 / c from P.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def agreeing_pairs(buckets: Sequence[Sequence[int]], weights: Sequence[int] | None = None) -> int:
    """Return P, the number of ordered pairs of carriers with an equal bucket key, summed over the bands.

    `weights`: for each row of buckets, the number of carriers that have this row; None means 1.

    >>> agreeing_pairs([[7, 8], [7, 9]], [3, 2])  # key 7: 5 carriers, 5 * 4 pairs; key 8: 3 * 2; key 9: 2 * 1
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
    """Return the effective number of stories, from 0 (without carriers) to the number of carriers.

    >>> effective_stories(carriers=20, pairs=16 * 10 * 2, bands=16)  # 10 stories of 2 copies: 2 pairs a band
    10.0
    """
    # Return 1 / c. Both draws may give the same carrier, but `pairs` has no pair of a carrier with itself. So
    # `carriers` pairs are added for each band.
    return bands * carriers * carriers / (pairs + bands * carriers) if carriers else 0.0


def is_common(carriers: int, pairs: int, bands: int, limit: int) -> bool:
    """Return whether the effective stories exceed `limit`."""
    # Compare integers, since rounding could make the engines decide differently.
    return (pairs + bands * carriers) * limit < bands * carriers * carriers
