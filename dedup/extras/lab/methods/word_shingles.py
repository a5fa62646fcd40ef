"""Method 5, words: Jaccard of all word n-grams, of every pair. The baseline.

The product that counts shared shingles sees every pair that shares one; the pairs below the floor are left
out there, since nothing but that count decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dedup.base.numbers import Pairs
from dedup.extras.lab.algorithms.grams import WordSets
from dedup.extras.lab.algorithms.incidence import jaccard, shared


@dataclass
class WordShingles(WordSets):
    row = "5"
    name = "word-shingles"
    about = "Jaccard of runs of words"
    source = "Broder 1997"
    finds = "every pair"
    quadratic = True

    threshold: float = 0.5
    floor: float = 0.2

    def candidates(self) -> Iterator[Pairs]:
        for pairs, both in shared(self._sets):
            yield pairs[jaccard(self._sets, pairs, both) >= np.float32(self.floor)]
