"""Sentences counted in arrays, to find the common ones (docs/semantics.md, section 2).

The counts are those of `corpus.common_sentences.count_all`, which counts in SQL; a test holds both equal.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import runs
from dedup.settling.memory.keys import Bigints, Entries, Places
from dedup.store.common_sentences import SentenceCount


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
