"""Documents as sets of items, held as one sparse matrix: what most methods count shared items with.

Row i has a one in the column of every item of document i. The product of the matrix with its transpose
counts shared items, and is taken in blocks that fit in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, triu

from dedup.base.numbers import Likeness, Pairs

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
