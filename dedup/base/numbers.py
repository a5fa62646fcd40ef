"""Arrays about pairs and groups of things numbered from 0, and the arithmetic they need. NumPy only."""

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
        """Some of the rows."""
        return type(self)(*(getattr(self, name)[chosen] for name in self.__slots__))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The rows of one part after the other, of one at least."""
        filled = [part for part in parts if len(part)]
        if len(filled) < 2:
            return filled[0] if filled else parts[0]
        return cls(*(np.concatenate([getattr(part, name) for part in filled]) for name in cls.__slots__))


def pair_keys(pairs: Pairs, size: int) -> Keys:
    """One number for each pair among `size` things: they sort as the pairs do."""
    return pairs[:, 0].astype(np.int64) * size + pairs[:, 1]


def pairs_of(keys: Keys, size: int) -> Pairs:
    return np.stack(np.divmod(keys, max(size, 1)), axis=1).astype(np.int32)


def begins_run(*columns: npt.NDArray[Any]) -> Flags:
    """Whether each row of some columns differs from the row before it; the first one does."""
    found = np.zeros(len(columns[0]), np.bool_)
    found[:1] = True
    for column in columns:
        found[1:] |= column[1:] != column[:-1]
    return found


def distinct(values: Keys) -> Keys:
    """The different ones of some numbers, in ascending order. `np.unique` hashes them, and of millions takes
    fifty times as long (NumPy 2.4)."""
    ordered = np.sort(values)
    return ordered[begins_run(ordered)]


def runs(*columns: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where each run of equal rows of some columns starts, and how many rows it has."""
    starts = np.flatnonzero(begins_run(*columns))
    ends = np.append(starts[1:], len(columns[0])) if len(starts) else starts
    return starts, ends - starts


def ranges(
    starts: npt.NDArray[np.integer[Any]] | int, counts: npt.NDArray[np.integer[Any]]
) -> npt.NDArray[np.int64]:
    """The numbers from each start (or the one start) on, so many of each, one range after the other."""
    ends = np.cumsum(counts, dtype=np.int64)
    found: npt.NDArray[np.int64] = np.repeat(starts - (ends - counts), counts)
    found += np.arange(len(found))
    return found


class Components:
    """The connected components of `size` things, while pairs that join them come in.

    Every thing points to one of its component that has no larger number, at first to itself. In each round
    the ends of a pair that lead apart are joined at the smaller number. Whoever follows pointers leaves them
    twice as long (path halving: Tarjan and van Leeuwen 1984), so a chain of n takes log n steps and not n.
    """

    def __init__(self, size: int) -> None:
        self._above = np.arange(size, dtype=np.int32)

    def join(self, pairs: Pairs) -> None:
        """Join the ends of some pairs, in any order."""
        while len(pairs):
            ends = np.sort(self._ends(pairs), axis=1)
            apart = ends[:, 0] != ends[:, 1]
            pairs, ends = pairs[apart], ends[apart]
            np.minimum.at(self._above, ends[:, 1], ends[:, 0])

    def firsts(self) -> Groups:
        """Of each thing the first of its component."""
        return self._ends(np.arange(len(self._above), dtype=np.int32))

    def _ends(self, things: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Where the pointers from some things end."""
        while True:
            further = self._above[self._above[things]]
            self._above[things] = further
            if np.array_equal(further, things):
                return things
            things = further


def linked(size: int, pairs: Pairs) -> Groups:
    """The connected components of `size` things under some pairs, in the order of their first members."""
    components = Components(size)
    components.join(pairs)
    return np.unique(components.firsts(), return_inverse=True)[1].astype(np.int32)
