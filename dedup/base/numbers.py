"""Arrays of pairs and groups of things that are numbered from 0, and their arithmetic. NumPy only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Pairs = npt.NDArray[np.int32]  # Shape (m, 2): two numbers a row, the smaller first
Likeness = npt.NDArray[np.float32]  # Shape (m,): the score of each pair, from 0 to 1
Shares = npt.NDArray[np.float64]  # Shape (m,): a share from 0 to 1 for each pair
Counts = npt.NDArray[np.int32]  # Shape (m,): a count for each pair, or for each thing
Flags = npt.NDArray[np.bool_]  # Shape (m,): one yes or no for each pair
Groups = npt.NDArray[np.int32]  # Shape (n,): the number of the group of each thing
Keys = npt.NDArray[np.int64]  # Shape (m,): one number for each pair

NO_PAIRS: Pairs = np.empty((0, 2), np.int32)


class Columns:
    """A table as one array per column, for dataclasses with slots: every attribute is of shape (m,)."""

    __slots__: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(getattr(self, self.__slots__[0]))

    def __getitem__(self, chosen: npt.NDArray[np.int64] | Flags) -> Self:
        return type(self)(*(getattr(self, name)[chosen] for name in self.__slots__))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of all parts, in order; there must be a part, which may be empty."""
        filled = [part for part in parts if len(part)]
        if len(filled) < 2:
            return filled[0] if filled else parts[0]
        return cls(*(np.concatenate([getattr(part, name) for part in filled]) for name in cls.__slots__))


def pair_keys(pairs: Pairs, size: int) -> Keys:
    """Return one number for each pair among `size` things, in the same order as the pairs."""
    return pairs[:, 0].astype(np.int64) * size + pairs[:, 1]


def pairs_of(keys: Keys, size: int) -> Pairs:
    return np.stack(np.divmod(keys, max(size, 1)), axis=1).astype(np.int32)


def begins_run(*columns: npt.NDArray[Any]) -> Flags:
    """Return for each row whether it differs from the row before it; True for the first."""
    found = np.zeros(len(columns[0]), np.bool_)
    found[:1] = True
    for column in columns:
        found[1:] |= column[1:] != column[:-1]
    return found


def distinct(values: Keys) -> Keys:
    """Return the numbers without repetition, in ascending order."""
    # np.unique hashes the numbers, and takes fifty times as long for millions (NumPy 2.4).
    ordered = np.sort(values)
    return ordered[begins_run(ordered)]


def runs(*columns: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the start and the length of each run of equal rows."""
    starts = np.flatnonzero(begins_run(*columns))
    ends = np.append(starts[1:], len(columns[0])) if len(starts) else starts
    return starts, ends - starts


def ranges(
    starts: npt.NDArray[np.integer[Any]] | int, counts: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.int64]:
    """Return ranges of numbers in one array: `counts[i]` numbers from `starts[i]`, or from the one start."""
    ends = np.cumsum(counts, dtype=np.int64)
    found: npt.NDArray[np.int64] = np.repeat(starts - (ends - counts), counts)
    found += np.arange(len(found))
    return found


class Components:
    """Connected components of `size` things, joined by pairs as they come."""

    def __init__(self, size: int) -> None:
        # Each thing points to one of its component with a number that is not larger, at first to itself.
        self._above = np.arange(size, dtype=np.int32)

    def join(self, pairs: Pairs) -> None:
        while len(pairs):
            ends = np.sort(self._ends(pairs), axis=1)
            apart = ends[:, 0] != ends[:, 1]
            pairs, ends = pairs[apart], ends[apart]
            np.minimum.at(self._above, ends[:, 1], ends[:, 0])

    def firsts(self) -> Groups:
        """Return the first thing of each thing's component."""
        return self._ends(np.arange(len(self._above), dtype=np.int32))

    def _ends(self, things: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Follow the pointers of some things to their ends."""
        while True:
            # Path halving (Tarjan and van Leeuwen 1984): each step doubles the length of the pointers, so a
            # chain of n takes log n steps.
            further = self._above[self._above[things]]
            self._above[things] = further
            if np.array_equal(further, things):
                return things
            things = further


def linked(size: int, pairs: Pairs) -> Groups:
    """Number the connected components of `size` things, in the order of their first members."""
    components = Components(size)
    components.join(pairs)
    return np.unique(components.firsts(), return_inverse=True)[1].astype(np.int32)
