"""How much is done under one hold of the settle lock: as much as others may wait for."""

from __future__ import annotations

HELD_SECONDS = 0.4
"""How long a transaction that settles should take: a hook may have to wait so long for its verdict. Batches
become smaller where they take longer, and grow again."""


def fitting_batch(articles: int, seconds: float) -> int:
    """How many articles the next transaction should take, after one that took so long for so many.

    It may be twice as many at most: what comes next may be related to more.
    """
    return max(1, min(2 * articles, int(articles * HELD_SECONDS / max(seconds, 1e-6))))
