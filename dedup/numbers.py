"""Arrays about pairs and groups of things that are numbered from 0, and the little arithmetic they need.

What is numbered, articles or documents, is the caller's matter. Numpy only: it knows no text, no rule and no
database.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Pairs = npt.NDArray[np.int32]
"""Shape (m, 2): two numbers a row, the smaller first."""

Likeness = npt.NDArray[np.float32]
"""Shape (m,): the score of each pair, from 0 to 1."""

Shares = npt.NDArray[np.float64]
"""Shape (m,): a share from 0 to 1 for each pair."""

Counts = npt.NDArray[np.int32]
"""Shape (m,): a count for each pair, or for each thing."""

Flags = npt.NDArray[np.bool_]
"""Shape (m,): one yes or no for each pair."""

Groups = npt.NDArray[np.int32]
"""Shape (n,): the number of the group of each thing."""

Keys = npt.NDArray[np.int64]
"""Shape (m,): one number for each pair."""

NO_PAIRS: Pairs = np.empty((0, 2), np.int32)


def pair_keys(pairs: Pairs, size: int) -> Keys:
    """One number for each pair among `size` things: they sort as the pairs do."""
    return pairs[:, 0].astype(np.int64) * size + pairs[:, 1]


def pairs_of(keys: Keys, size: int) -> Pairs:
    """The pairs that have these keys."""
    return np.stack(np.divmod(keys, max(size, 1)), axis=1).astype(np.int32)


def linked(size: int, pairs: Pairs) -> Groups:
    """The connected components of `size` things under some pairs, in the order of their first members.

    Every thing points to one of its component that has no larger number, at first to itself. In each round
    the ends of a pair that still point apart are joined at the smaller number; then all pointers are followed
    to their end.
    """
    root = np.arange(size)
    while len(pairs):
        ends = np.sort(root[pairs], axis=1)
        apart = ends[:, 0] != ends[:, 1]
        pairs, ends = pairs[apart], ends[apart]
        np.minimum.at(root, ends[:, 1], ends[:, 0])
        while not np.array_equal(further := root[root], root):
            root = further
    return np.unique(root, return_inverse=True)[1].astype(np.int32)
