"""Documents as sets of items, held as one sparse matrix: what most methods count shared items with.

Row i has a one in the column of every item of document i. The product of the matrix with its transpose
counts shared items, and is taken in blocks that fit in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, triu

from dedup.base.numbers import Likeness, Pairs, ranges

BLOCK_WORK = 20_000_000
"""Multiplications per block of a product, and so at most as many entries of it: 250 MB."""

PAIRS_AT_ONCE = 50_000  # given pairs whose rows are laid side by side at a time
Counts = npt.NDArray[np.int32]  # shape (m,): a count, or a sum of weights, for each pair


def incidence(sets: Iterable[npt.ArrayLike]) -> csr_array:
    """One row for each set of 64-bit numbers, and a column for each number; a set names none twice."""
    parts = [np.asarray(members).astype(np.int64) for members in sets]
    flat = np.concatenate([np.empty(0, np.int64), *parts])
    ends = np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])
    del parts
    items, columns = np.unique(flat, return_inverse=True)
    data = np.ones(len(flat), np.int32)
    matrix = csr_array((data, columns.astype(np.int32), ends), shape=(len(ends) - 1, len(items)))
    matrix.sort_indices()
    return matrix


def sizes(matrix: csr_array) -> npt.NDArray[np.int64]:
    return np.diff(matrix.indptr)


def carriers(matrix: csr_array) -> npt.NDArray[np.int64]:
    """How many documents have each item; shape (items,)."""
    return np.bincount(matrix.indices, minlength=matrix.shape[1])


def shared(matrix: csr_array, other: csr_array | None = None) -> Iterator[tuple[Pairs, Counts]]:
    """Every pair i < j of documents that share an item, once, with the number of items they share.

    `other`, of the same shape, has weights for ones: the number is then row i of `matrix` times its row j.
    """
    against = (matrix if other is None else other).T.tocsr()
    steps = np.concatenate([[0], np.cumsum(np.diff(against.indptr)[matrix.indices], dtype=np.int64)])
    work = steps[matrix.indptr]
    start, count = 0, matrix.shape[0]
    while start < count:
        stop = max(start + 1, int(np.searchsorted(work, work[start] + BLOCK_WORK, side="right")) - 1)
        product = triu(matrix[start:stop] @ against, k=start + 1, format="coo")
        pairs = np.stack([product.row + start, product.col], axis=1).astype(np.int32)
        yield pairs, product.data
        start = stop


def sharing(matrix: csr_array) -> Iterator[Pairs]:
    """The pairs of `shared` alone."""
    return (pairs for pairs, _ in shared(matrix))


def shared_of(matrix: csr_array, pairs: Pairs) -> Counts:
    """How many items the documents of each pair share; shape (m,)."""
    found = [
        matrix[part[:, 0]].multiply(matrix[part[:, 1]]).sum(axis=1)
        for part in np.array_split(pairs, len(pairs) // PAIRS_AT_ONCE + 1)
    ]
    return np.concatenate(found)


def jaccard(matrix: csr_array, pairs: Pairs, both: Counts) -> Likeness:
    """The Jaccard of each pair of rows, given how many items they share; 0 where both are empty."""
    size = sizes(matrix)
    union = size[pairs[:, 0]] + size[pairs[:, 1]] - both
    return np.asarray(both / np.maximum(union, 1), np.float32)


def join(matrix: csr_array, threshold: float) -> Iterator[Pairs]:
    """The pairs i < j of rows with a Jaccard of at least `threshold`, each once; none share nothing.

    Exact, without looking at most pairs. Two sets of Jaccard t share at least t |x| items, so at most |x| -
    ceil(t |x|) items of x are missing in the other: among any |x| - ceil(t |x|) + 1 items of x is a shared
    one. Taking the rarest (the prefix) makes few pairs meet. Of those, sets of too different sizes are left
    out, and sets that cannot share enough items even if all that follows the prefix is shared. These are the
    prefix, length and (once for the whole prefix) positional filters of PPJoin: Xiao, Wang, Lin, Yu,
    "Efficient similarity joins for near duplicate detection", WWW 2008.
    """
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
