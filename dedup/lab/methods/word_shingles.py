"""Method 5, words: Jaccard of all word n-grams, of every pair. The baseline.

The product that counts shared shingles sees every pair that shares one; the pairs below the floor are left
out there, since nothing but that count decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dedup.lab.algorithms.grams import SetMethod, word_grams
from dedup.lab.algorithms.incidence import jaccard, shared
from dedup.lab.documents import Document
from dedup.numbers import Pairs
from dedup.text.hashing import Hashes, hash_set


@dataclass
class WordShingles(SetMethod):
    """Jaccard of the sets of word n-grams.

    Attributes:
        threshold: half of all shingles of both are shared.
        size: words per shingle; 1 compares sets of words.
    """

    row = "5"
    name = "word-shingles"
    about = "Jaccard of runs of words"
    source = "Broder 1997"
    finds = "every pair"
    quadratic = True

    threshold: float = 0.5
    floor: float = 0.2
    size: int = 5

    def shingles(self, document: Document) -> Hashes:
        return hash_set(word_grams(document.words(), self.size))

    def candidates(self) -> Iterator[Pairs]:
        for pairs, both in shared(self._sets):
            yield pairs[jaccard(self._sets, pairs, both) >= np.float32(self.floor)]
