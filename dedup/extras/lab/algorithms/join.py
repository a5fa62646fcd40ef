"""Every pair of sets of at least a given Jaccard, exactly, without looking at most pairs.

Two sets of Jaccard t share at least t |x| items, so at most |x| - ceil(t |x|) items of x are missing in
the other: among any |x| - ceil(t |x|) + 1 items of x is a shared one. Taking the rarest (the prefix) makes
few pairs meet. Of those, sets of too different sizes are left out, and sets that cannot share enough items
even if all that follows the prefix is shared. These are the prefix, length and (once for the whole prefix)
positional filters of PPJoin: Xiao, Wang, Lin, Yu, "Efficient similarity joins for near duplicate
detection", WWW 2008.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from dedup.base.numbers import Pairs, ranges
from dedup.extras.lab.algorithms.incidence import carriers, jaccard, shared, shared_of, sizes


def join(matrix: csr_array, threshold: float) -> Iterator[Pairs]:
    """The pairs i < j of rows with a Jaccard of at least `threshold`, each once; none share nothing."""
    size = sizes(matrix)
    bound = just_below(threshold)
    prefixes = rarest(matrix, size - np.ceil(bound * size).astype(np.int64) + 1)
    last = np.zeros(len(size), np.int64)
    some = sizes(prefixes) > 0
    last[some] = prefixes.indices[prefixes.indptr[1:][some] - 1]
    rest = size - sizes(prefixes)
    for pairs, both in shared(prefixes):
        a, b = pairs[:, 0], pairs[:, 1]
        close = np.minimum(size[a], size[b]) >= bound * np.maximum(size[a], size[b])
        # Of the two prefixes, all items of the one that ends first are before the end of the other: what they
        # share is counted. The rest of that set may at best be shared too.
        most = both + np.where(last[a] <= last[b], rest[a], rest[b])
        pairs = pairs[close & (most >= bound / (1 + bound) * (size[a] + size[b]))]
        yield pairs[jaccard(matrix, pairs, shared_of(matrix, pairs)) >= np.float32(threshold)]


def just_below(threshold: float) -> float:
    """The next smaller 32-bit number, as scores are, so that a filter loses no pair: 0.7 * 10 is over 7."""
    return float(np.nextafter(np.float32(threshold), np.float32(0)))


def rarest(matrix: csr_array, counts: npt.NDArray[np.int64]) -> csr_array:
    """The matrix with only the `counts[i]` items of each row i that the fewest documents have.

    Its columns are numbered again, the rarest item first, and are sorted in each row. Items of equally many
    documents come in one order for all rows, which the filters need.
    """
    size = sizes(matrix)
    rank = np.empty(matrix.shape[1], np.int64)
    rank[np.argsort(carriers(matrix), kind="stable")] = np.arange(matrix.shape[1])
    row = np.repeat(np.arange(matrix.shape[0]), size)
    ranks = rank[matrix.indices]
    ranks = ranks[np.lexsort((ranks, row))]
    keep = ranges(0, size) < counts[row]
    ends = np.concatenate([[0], np.cumsum(np.minimum(size, counts))])
    return csr_array((np.ones(ends[-1], np.int32), ranks[keep], ends), shape=matrix.shape)
