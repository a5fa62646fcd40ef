"""Documents as sets of items, in a sparse matrix: row i has a one in the column of each item of document i.

The product of the matrix with its transpose counts shared items; it is computed in blocks that fit in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, triu

from dedup.base.numbers import Likeness, Pairs, ranges

# Maximum multiplications per block; only a single row may need more. The results take at most 250 MB.
BLOCK_WORK = 20_000_000

PAIRS_AT_ONCE = 50_000  # maximum number of pairs that `shared_of` multiplies in one step
Counts = npt.NDArray[np.int32]  # shape (m,): a count, or a sum of weights, for each pair


def incidence(sets: Iterable[npt.ArrayLike]) -> csr_array:
    """Return a matrix with a row for each set of distinct 64-bit numbers, and a column for each number."""
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
    """Return the number of documents that have each item; shape (items,)."""
    return np.bincount(matrix.indices, minlength=matrix.shape[1])


def shared(matrix: csr_array) -> Iterator[tuple[Pairs, Counts]]:
    """Yield every pair i < j of documents with a common item, once, and the number of their common items.

    In a matrix of weights, the dot product of both rows replaces the number.
    """
    against = matrix.T.tocsr()
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
    return (pairs for pairs, _ in shared(matrix))


def shared_of(matrix: csr_array, pairs: Pairs) -> Counts:
    """Count the common items of each pair; shape (m,)."""
    found = [
        matrix[part[:, 0]].multiply(matrix[part[:, 1]]).sum(axis=1)
        for part in np.array_split(pairs, len(pairs) // PAIRS_AT_ONCE + 1)
    ]
    return np.concatenate(found)


def jaccard(matrix: csr_array, pairs: Pairs, both: Counts) -> Likeness:
    """Return the Jaccard of each pair of rows from the number of common items; 0 if both rows are empty."""
    size = sizes(matrix)
    union = size[pairs[:, 0]] + size[pairs[:, 1]] - both
    return np.asarray(both / np.maximum(union, 1), np.float32)


def join(matrix: csr_array, threshold: float) -> Iterator[Pairs]:
    """Yield the pairs i < j of rows with a Jaccard of at least `threshold` and a common item, each once.

    The result is exact. The method is PPJoin (Xiao, Wang, Lin, Yu, WWW 2008), with the positional filter only
    at the end of a prefix. If two sets x and y have Jaccard t, at least ceil(t |x|) items of x are shared, so
    at most |x| - ceil(t |x|) items of x are not. So any |x| - ceil(t |x|) + 1 items include a shared
    one. The prefix of x is this number of its rarest items, because few other sets have rare items.
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
        # `most` is an upper bound of the number of shared items. Of both sets, take the set whose prefix ends
        # with the rarer item. `both` counts the shared items within this prefix. `rest` counts the items
        # outside this prefix, which may all be shared.
        most = both + np.where(last[a] <= last[b], rest[a], rest[b])
        pairs = pairs[close & (most >= bound / (1 + bound) * (size[a] + size[b]))]
        yield pairs[jaccard(matrix, pairs, shared_of(matrix, pairs)) >= np.float32(threshold)]


def just_below(threshold: float) -> float:
    """Return the next 32-bit float below the threshold."""
    # A score just below the threshold may round up to the threshold in 32 bits. A filter must keep this pair.
    return float(np.nextafter(np.float32(threshold), np.float32(0)))


def rarest(matrix: csr_array, counts: npt.NDArray[np.int64]) -> csr_array:
    """Return a matrix with only the `counts[i]` rarest items of row i, and columns from rare to common."""
    # The filters need the same order of items in all rows, so the sort is stable for equally rare items.
    size = sizes(matrix)
    rank = np.empty(matrix.shape[1], np.int64)
    rank[np.argsort(carriers(matrix), kind="stable")] = np.arange(matrix.shape[1])
    row = np.repeat(np.arange(matrix.shape[0]), size)
    ranks = rank[matrix.indices]
    ranks = ranks[np.lexsort((ranks, row))]
    keep = ranges(0, size) < counts[row]
    ends = np.concatenate([[0], np.cumsum(np.minimum(size, counts))])
    return csr_array((np.ones(ends[-1], np.int32), ranks[keep], ends), shape=matrix.shape)
