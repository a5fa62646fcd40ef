"""Group articles that share a sentence hash, a content hash or a bucket key; pair the members of a group."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Flags, begins_run, ranges, runs

Bigints = npt.NDArray[np.int64]
Places = npt.NDArray[np.int32]  # Shape (m,): places of articles in canonical order, or article numbers

Entries = tuple[Bigints, Places]  # Keys, and places of articles with these keys; shape (m,), unordered


def shared(keys: Bigints, places: Places) -> Entries:
    """Return the distinct entries whose key several articles share, sorted by key and place."""
    # First drop most of the keys that occur only once, by a fast sort in place. The sorted integers consist
    # of the upper bits of a key and the number of its entry. Different keys with equal upper bits still stay.
    bits = max(len(keys) - 1, 1).bit_length()
    packed = keys >> bits
    packed <<= bits
    packed |= np.arange(len(keys))
    packed.sort()
    chosen = packed[_several(packed >> bits)] & ((1 << bits) - 1)
    # Few entries remain, so an exact sort of the whole keys costs little.
    keys, places = keys[chosen], places[chosen]
    if not len(keys):
        return keys, places
    order = np.lexsort((places, keys))
    keys, places = keys[order], places[order]
    # Drop repeated entries. A long text without shingles has the same key, its content hash, in all buckets.
    fresh = begins_run(keys, places)
    keys, places = keys[fresh], places[fresh]
    several = _several(keys)
    return keys[several], places[several]


def _several(keys: Bigints) -> Flags:
    """Return, for each of the sorted keys, whether it occurs more than once."""
    again = keys[1:] == keys[:-1]
    found = np.zeros(len(keys), np.bool_)
    found[1:] |= again
    found[:-1] |= again
    return found


class Groups:
    """Groups of articles that share a key, from the entries that `shared` returns."""

    def __init__(self, entries: Entries, size: int) -> None:
        keys, self._places = entries
        self._size = size
        self._set_groups(np.cumsum(begins_run(keys), dtype=np.int32))

    def _set_groups(self, group: Places) -> None:
        """Set the group number of each entry, and index the entries of each article."""
        self._group = group
        starts, sizes = runs(group)
        self._start = np.repeat(starts, sizes).astype(np.int32)
        self._by_place = np.argsort(self._places, kind="stable").astype(np.int32)
        counts = np.bincount(self._places, minlength=self._size)
        self._first = np.concatenate([[0], np.cumsum(counts)])
        # Cumulative counts of comparisons. None makes `work` count again, since `drop` changes the groups.
        self._work: npt.NDArray[np.float64] | None = None

    def work(self, start: int) -> npt.NDArray[np.float64]:
        """Return cumulative counts of comparisons; shape (size - start,).

        Item i counts the comparisons of the articles from `start` to `start` + i with earlier articles.
        """
        if self._work is None:
            earlier = np.arange(len(self._group)) - self._start
            work = np.bincount(self._places, weights=earlier, minlength=self._size)
            self._work = np.concatenate([[0.0], np.cumsum(work)])
        return np.asarray(self._work[start + 1 :] - self._work[start])

    def drop(self, gone: Flags) -> None:
        """Remove the articles flagged in `gone`, shape (size,), from all groups."""
        stay = ~gone[self._places]
        if not stay.all():
            self._places = self._places[stay]
            self._set_groups(self._group[stay])

    def earlier(self, start: int, stop: int, among: Flags) -> Bigints:
        """Return the coded pairs of articles `start` to `stop` - 1 with earlier articles that share a key.

        A pair is repeated for each shared key. `among`: shape (size,): True for allowed earlier articles.
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
    """Return one integer for each pair; integers sort by the later article, then by the earlier article."""
    return later.astype(np.int64) << 32 | earlier


def pair(codes: Bigints) -> tuple[Places, Places]:
    """Return the later and the earlier articles of coded pairs."""
    return (codes >> 32).astype(np.int32), (codes & 0xFFFFFFFF).astype(np.int32)
