"""Which articles share a key of one kind, and the pairs that follow, some articles at a time.

Most keys belong to one article and lead nowhere: they are left out at once. What stays are groups, each a
list of articles in ascending order. A key is a number of 64 bits, whatever it stands for.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Flags, begins_run, ranges, runs

Bigints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]  # Shape (m,): places of articles in canonical order, or numbers of theirs

Entries = tuple[Bigints, Places]
"""Keys and the places of the articles that have them, each of shape (m,), in any order."""


def shared(keys: Bigints, places: Places) -> Entries:
    """The entries whose key more than one article has, sorted by key and place; each once."""
    # The number of an entry takes the place of the lower bits of its key: plain numbers are sorted, in place.
    bits = max(len(keys) - 1, 1).bit_length()
    packed = keys >> bits
    packed <<= bits
    packed |= np.arange(len(keys))
    packed.sort()
    chosen = packed[_several(packed >> bits)] & ((1 << bits) - 1)
    # Most are gone after this, so the exact order costs little. A few share those bits and nothing else.
    keys, places = keys[chosen], places[chosen]
    if not len(keys):
        return keys, places
    order = np.lexsort((places, keys))
    keys, places = keys[order], places[order]
    # An article may have a key twice: without shingles, all its buckets are one.
    fresh = begins_run(keys, places)
    keys, places = keys[fresh], places[fresh]
    several = _several(keys)
    return keys[several], places[several]


def _several(keys: Bigints) -> Flags:
    """Which of some sorted keys stand there more than once."""
    again = keys[1:] == keys[:-1]
    found = np.zeros(len(keys), np.bool_)
    found[1:] |= again
    found[:-1] |= again
    return found


class Groups:
    """The articles that share keys of one kind, as groups of places, from what `shared` returns."""

    def __init__(self, entries: Entries, size: int) -> None:
        keys, self._places = entries
        self._size = size
        self._set_groups(np.cumsum(begins_run(keys), dtype=np.int32))

    def _set_groups(self, group: Places) -> None:
        """Take over the number of the group of each entry, and find the entries of each article."""
        self._group = group
        starts, sizes = runs(group)
        self._start = np.repeat(starts, sizes).astype(np.int32)
        self._by_place = np.argsort(self._places, kind="stable").astype(np.int32)
        counts = np.bincount(self._places, minlength=self._size)
        self._first = np.concatenate([[0], np.cumsum(counts)])
        self._work: npt.NDArray[np.float64] | None = (
            None  # counted when it is asked for: one article never does
        )

    def work(self, start: int) -> npt.NDArray[np.float64]:
        """How many earlier members the articles from `start` on lead to, summed; shape (size - start,)."""
        if self._work is None:
            earlier = np.arange(len(self._group)) - self._start
            work = np.bincount(self._places, weights=earlier, minlength=self._size)
            self._work = np.concatenate([[0.0], np.cumsum(work)])
        return np.asarray(self._work[start + 1 :] - self._work[start])

    def drop(self, gone: Flags) -> None:
        """Forget articles that nobody is compared with any more: flags of shape (size,)."""
        stay = ~gone[self._places]
        if not stay.all():
            self._places = self._places[stay]
            self._set_groups(self._group[stay])

    def earlier(self, start: int, stop: int, among: Flags) -> Bigints:
        """Pairs of the articles from `start` to `stop` with earlier ones of their groups, once per key; see
        `code`.

        `among`, shape (size,): the earlier ones that count.
        """
        entries = self._by_place[self._first[start] : self._first[stop]]
        starts = self._start[entries]
        counts = entries - starts
        entries, starts, counts = entries[counts > 0], starts[counts > 0], counts[counts > 0]
        others = self._places[ranges(starts, counts)]
        counting = among[others]
        later = np.repeat(self._places[entries], counts)[counting]
        return code(later, others[counting])


def code(later: Places, earlier: Places) -> Bigints:
    """One number for each pair: they sort by the later one, then by the earlier."""
    return later.astype(np.int64) << 32 | earlier


def pair(codes: Bigints) -> tuple[Places, Places]:
    """The later and the earlier article of coded pairs."""
    return (codes >> 32).astype(np.int32), (codes & 0xFFFFFFFF).astype(np.int32)
