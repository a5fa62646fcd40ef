"""Decide whether a sentence is common, by its stories and not its articles (docs/semantics.md, section 2).

Draw a carrier of the sentence, put it back, and draw again: c is the probability that the two agree in the
bucket key of a band, on average over the bands. 1 / c is the effective number of stories: so many equally
large ones would agree as often (the inverse of Simpson's index, Simpson 1949).

If n of m carriers have a key, c is the sum of (n / m)^2 over the keys of a band. The corpus keeps P, the
ordered pairs of two carriers that agree, the sum of n (n - 1) over all keys and bands, since it changes by
difference. Each carrier agrees with itself in every band too, so the sum of n^2 is P + bands * m.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def agreeing_pairs(buckets: Sequence[Sequence[int]], weights: Sequence[int] | None = None) -> int:
    """Return P, the ordered pairs of carriers with an equal bucket key, summed over the bands.

    `weights`: number of carriers that each row of buckets counts for; None means 1.

    >>> agreeing_pairs([[7, 8], [7, 9]], [3, 2])  # five agree in the first band; three and two in the second
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
    """Return 1 / c, the number of equally large stories; at most the number of carriers, and 0 without any.

    >>> effective_stories(20, 16 * 10 * 2, 16)  # ten stories, two copies each
    10.0
    """
    return bands * carriers * carriers / (pairs + bands * carriers) if carriers else 0.0


def is_common(carriers: int, pairs: int, bands: int, limit: int) -> bool:
    """Return whether the effective stories exceed `limit`."""
    # Whole numbers, so that every engine decides alike.
    return (pairs + bands * carriers) * limit < bands * carriers * carriers
