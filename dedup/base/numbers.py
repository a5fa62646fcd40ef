"""Types and functions for NumPy arrays of pairs and groups of items, which are numbered from 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Pairs = npt.NDArray[np.int32]  # Shape (m, 2): two item numbers per row, the smaller first
Likeness = npt.NDArray[np.float32]  # Shape (m,): the score of each pair, from 0 to 1
Shares = npt.NDArray[np.float64]  # Shape (m,): a share from 0 to 1 for each pair
Counts = npt.NDArray[np.int32]  # Shape (m,): a count for each pair, or for each item
Flags = npt.NDArray[np.bool_]  # Shape (m,): True or False for each pair or item
Groups = npt.NDArray[np.int32]  # Shape (n,): the group number of each item
Keys = npt.NDArray[np.int64]  # Shape (m,): one integer that encodes each pair

NO_PAIRS: Pairs = np.empty((0, 2), np.int32)


class Columns:
    """Base class of tables: dataclasses with slots. Each slot is a column, an array of shape (m,)."""

    __slots__: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(getattr(self, self.__slots__[0]))

    def __getitem__(self, chosen: npt.NDArray[np.int64] | Flags) -> Self:
        return type(self)(*(getattr(self, name)[chosen] for name in self.__slots__))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return one table with the rows of all parts, in order. At least one part must be given."""
        filled = [part for part in parts if len(part)]
        if len(filled) < 2:
            return filled[0] if filled else parts[0]
        return cls(*(np.concatenate([getattr(part, name) for part in filled]) for name in cls.__slots__))


def pair_keys(pairs: Pairs, size: int) -> Keys:
    """Encode each pair as one integer, in the sort order of pairs. `size`: the number of items."""
    return pairs[:, 0].astype(np.int64) * size + pairs[:, 1]


def pairs_of(keys: Keys, size: int) -> Pairs:
    return np.stack(np.divmod(keys, max(size, 1)), axis=1).astype(np.int32)


def begins_run(*columns: npt.NDArray[Any]) -> Flags:
    """Return for each row whether it differs from the row before it; True for the first row."""
    found = np.zeros(len(columns[0]), np.bool_)
    found[:1] = True
    for column in columns:
        found[1:] |= column[1:] != column[:-1]
    return found


def distinct(values: Keys) -> Keys:
    """Return the distinct values, in ascending order."""
    # np.unique hashes the values, and takes fifty times as long for millions of values (NumPy 2.4).
    ordered = np.sort(values)
    return ordered[begins_run(ordered)]


def runs(*columns: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the start and the length of each run of equal adjacent rows."""
    starts = np.flatnonzero(begins_run(*columns))
    ends = np.append(starts[1:], len(columns[0])) if len(starts) else starts
    return starts, ends - starts


def ranges(
    starts: npt.NDArray[np.integer[Any]] | int, counts: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.int64]:
    """Return joined ranges: range i has `counts[i]` integers from `starts[i]` (or from `starts`, an int)."""
    ends = np.cumsum(counts, dtype=np.int64)
    found: npt.NDArray[np.int64] = np.repeat(starts - (ends - counts), counts)
    found += np.arange(len(found))
    return found


class Components:
    """Connected components of a graph of `size` items; edges (pairs of items) can be added step by step."""

    def __init__(self, size: int) -> None:
        # Each item points at first to itself, later to an item of its component with a smaller number.
        self._above = np.arange(size, dtype=np.int32)

    def join(self, pairs: Pairs) -> None:
        while len(pairs):
            ends = np.sort(self._ends(pairs), axis=1)
            apart = ends[:, 0] != ends[:, 1]
            pairs, ends = pairs[apart], ends[apart]
            np.minimum.at(self._above, ends[:, 1], ends[:, 0])

    def firsts(self) -> Groups:
        """Return for each item the smallest item number in its component."""
        return self._ends(np.arange(len(self._above), dtype=np.int32))

    def _ends(self, things: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Return for each item the last item of the chain of pointers that begins there."""
        while True:
            # Path halving (Tarjan and van Leeuwen 1984): each step doubles the length of the pointers, so a
            # chain of n pointers takes log n steps.
            further = self._above[self._above[things]]
            self._above[things] = further
            if np.array_equal(further, things):
                return things
            things = further


def linked(size: int, pairs: Pairs) -> Groups:
    """Return each item's component number. Components are numbered in the order of their first items."""
    components = Components(size)
    components.join(pairs)
    return np.unique(components.firsts(), return_inverse=True)[1].astype(np.int32)
