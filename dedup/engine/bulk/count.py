"""Sentences counted in arrays, to find the common ones (docs/semantics.md, section 2).

The counts are those of `corpus.common_sentences.count_all`, which counts in SQL; a test holds both equal.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dedup.corpus.common_sentences import SentenceCount
from dedup.engine.bulk.keys import Bigints, Entries, Places


def frequent(entries: Entries, limit: int) -> Entries:
    """The entries of the keys that more than `limit` articles have.

    Args:
        entries: sorted by key.
    """
    keys, places = entries
    sizes = _run_lengths(keys)
    many = np.repeat(sizes > limit, sizes)
    return keys[many], places[many]


def count(
    entries: Entries, ids: Bigints, places: Places, buckets: npt.NDArray[np.int64]
) -> list[SentenceCount]:
    """What decides whether each of some sentences is common.

    Args:
        entries: of these sentences and all their carriers, sorted by sentence.
        ids: of all articles.
        places: ascending, of the carriers; buckets: their keys, a row for each and a column for each band.
    """
    sentences, carriers = entries
    sizes = _run_lengths(sentences)
    group = np.repeat(np.arange(len(sizes)), sizes)
    rows = np.searchsorted(places, carriers)
    agreeing = np.zeros(len(sizes), np.int64)
    for band in range(buckets.shape[1] if len(sizes) else 0):
        keys = buckets[rows, band]
        order = np.lexsort((keys, group))
        keys, owner = keys[order], group[order]
        another = np.ones(len(keys), np.bool_)
        another[1:] = (keys[1:] != keys[:-1]) | (owner[1:] != owner[:-1])
        starts = np.flatnonzero(another)
        copies = np.diff(np.append(starts, len(keys)))
        np.add.at(agreeing, owner[starts], copies * (copies - 1))
    starts = np.cumsum(sizes) - sizes
    names, examples = sentences[starts], ids[carriers[starts]]
    return [
        SentenceCount(*row)
        for row in zip(names.tolist(), sizes.tolist(), agreeing.tolist(), examples.tolist(), strict=True)
    ]


def _run_lengths(keys: Bigints) -> Bigints:
    """How often each key stands in a row."""
    if not len(keys):
        return np.empty(0, np.int64)
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return np.diff(np.append(starts, len(keys)))
