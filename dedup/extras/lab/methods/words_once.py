"""Method 15: the words that occur once in a text, and their longest common subsequence in two texts.

DUPNIQ, for scanned books: two editions of one text have most of these words in the same order, even if words
between are misread. The score is the length of that subsequence over the larger number of such words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import LCSseq

from dedup.base.numbers import Likeness, Pairs
from dedup.extras.lab.algorithms.incidence import incidence, shared
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.method import Method


@dataclass
class WordsOnce(Method):
    row = "15"
    name = "words-once"
    about = "common subsequence of words said once"
    source = "Yalniz, Can, Manmatha, CIKM 2011"
    finds = "articles that share enough words said once"
    quadratic = True  # almost any two articles of one language share such a word

    threshold: float = 0.3
    floor: float = 0.2
    least: int = 4  # characters of a word that counts

    def fit(self, corpus: DocumentSet) -> None:
        numbers: dict[str, int] = {}
        self._once = [
            [numbers.setdefault(word, len(numbers)) for word in self._said_once(document.words())]
            for document in corpus
        ]
        self._counts = np.array([len(words) for words in self._once], np.int64)
        self._sets = incidence(self._once)

    def _said_once(self, words: list[str]) -> list[str]:
        counts = Counter(words)
        return [word for word in words if counts[word] == 1 and len(word) >= self.least]

    def candidates(self) -> Iterator[Pairs]:
        for pairs, both in shared(self._sets):
            yield pairs[both >= self.floor * self._more(pairs) * (1 - 1e-6)]

    def score(self, pairs: Pairs) -> Likeness:
        common = [LCSseq.similarity(self._once[i], self._once[j]) for i, j in pairs.tolist()]
        return np.asarray(np.array(common) / np.maximum(self._more(pairs), 1), np.float32)

    def _more(self, pairs: Pairs) -> npt.NDArray[np.int64]:
        return np.asarray(self._counts[pairs].max(axis=1))
