"""A text becomes fingerprints that any long common run shares: finds candidates for exact last steps.

Of every window of consecutive 32-grams the smallest hash is selected, the last one of equals (Schleimer,
Wilkerson, Aiken, "Winnowing", SIGMOD 2003). The choice depends on the window alone, so two texts that
share a run select the same places within it. Windows that do not overlap select different places: a
run of n 32-grams shares at least n // WINDOW of them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from dedup.base.numbers import ranges, runs
from dedup.extras.lab.algorithms.hashing import combine, doubled, letters
from dedup.text.hashing import Hashes

GRAM = 32
"""Characters per gram, a power of two: about six words. With 16, set phrases of news made 20 times as many
candidates."""

WINDOW = 17  # grams per window. One gram in nine is selected: 2 / (WINDOW + 1)
SHORTEST_RUN = GRAM + WINDOW - 1  # characters: every common run of at least this length shares a fingerprint


def fingerprints(text: str) -> Hashes:
    """The selected hashes of a text; empty for texts shorter than `SHORTEST_RUN`.

    The second and later occurrence of a hash are items of their own, so that the number of items two
    texts share counts repetitions too.
    """
    if len(text) < SHORTEST_RUN:
        return np.empty(0, np.uint64)
    hashes, width = letters(text), 1
    while width < GRAM:
        hashes, width = doubled(hashes, width), 2 * width
    windows = sliding_window_view(hashes, WINDOW)[:, ::-1]  # reversed: argmin takes the first of equals
    places = np.unique(np.arange(len(windows)) + WINDOW - 1 - windows.argmin(axis=1))
    selected = np.sort(hashes[places])
    _, sizes = runs(selected)
    occurrence = ranges(0, sizes)
    return combine(selected, occurrence.astype(np.uint64))


def least_shared(run: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many fingerprints two texts share at least that have a run of so many characters in common.

    >>> least_shared(np.array([47, 48, 65, 300])).tolist()
    [0, 1, 2, 15]
    """
    return np.maximum((run - GRAM + 1) // WINDOW, 0)
