"""The keys of a whole corpus, in slices where they do not fit in memory; and sentences counted in arrays, to
find the common ones (docs/semantics.md, section 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import runs
from dedup.rules.keys import Bigints, Entries, Places, shared
from dedup.store.common_sentences import SentenceCount


def in_slices(count: int, read: Callable[[], Iterator[Entries]]) -> Entries:
    """`shared` of more entries than fit in memory: one of `count` slices of the key space after the other.

    `read` gives all entries, in pieces; it is called once per slice.
    """
    found = []
    for number in range(count):
        keys, places = [np.empty(0, np.int64)], [np.empty(0, np.int32)]
        for some, at in read():
            chosen = slice(None) if count == 1 else some.view(np.uint64) % count == number
            keys.append(some[chosen])
            places.append(at[chosen])
        found.append(shared(np.concatenate(keys), np.concatenate(places)))
    return np.concatenate([keys for keys, _ in found]), np.concatenate([places for _, places in found])


def frequent(entries: Entries, limit: int) -> Entries:
    """The entries of the keys that more than `limit` articles have; all are sorted by key."""
    keys, places = entries
    _, sizes = runs(keys)
    many = np.repeat(sizes > limit, sizes)
    return keys[many], places[many]


def count(
    entries: Entries, ids: Bigints, places: Places, buckets: npt.NDArray[np.int64]
) -> list[SentenceCount]:
    """What decides whether each of some sentences is common.

    `entries` has all their carriers, sorted by sentence; `places` those carriers, ascending, and `buckets`
    their keys, shape (carriers, bands).
    """
    sentences, carriers = entries
    first, sizes = runs(sentences)
    group = np.repeat(np.arange(len(sizes)), sizes)
    rows = np.searchsorted(places, carriers)
    agreeing = np.zeros(len(sizes), np.int64)
    for band in range(buckets.shape[1] if len(sizes) else 0):
        keys = buckets[rows, band]
        order = np.lexsort((keys, group))
        keys, owner = keys[order], group[order]
        starts, copies = runs(keys, owner)
        np.add.at(agreeing, owner[starts], copies * (copies - 1))
    names, examples = sentences[first], ids[carriers[first]]
    return [
        SentenceCount(*row)
        for row in zip(names.tolist(), sizes.tolist(), agreeing.tolist(), examples.tolist(), strict=True)
    ]
