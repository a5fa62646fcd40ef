"""Methods 8 and 15, by the words of a text: TF-IDF vectors, and words that occur once.

The vectors are scikit-learn's with its defaults (smoothed idf, length 1), over normalised words. Two reports
on one event have the same words, so such reports look like copies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import LCSseq
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer

from dedup.base.numbers import Likeness, Pairs
from dedup.extras.lab.algorithms.incidence import incidence, shared, shared_of
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.method import Method
from dedup.text.normalize import words


@dataclass
class TfIdf(Method):
    row = "8"
    name = "tfidf"
    about = "cosine of TF-IDF vectors of words"
    source = "Salton and Buckley 1988"
    finds = "every pair"
    quadratic = True

    threshold: float = 0.8  # a usual value for near-duplicates; two reports on one event reach 0.5 and more
    floor: float = 0.4

    def fit(self, corpus: DocumentSet) -> None:
        texts = [document.text for document in corpus]
        if any(words(text) for text in texts):
            found = TfidfVectorizer(analyzer=words, dtype=np.float32).fit_transform(texts)
        else:
            # scikit-learn refuses a corpus without words.
            found = csr_array((len(texts), 1), dtype=np.float32)
        self._vectors = csr_array(found)

    def candidates(self) -> Iterator[Pairs]:
        for pairs, cosines in shared(self._vectors):
            yield pairs[cosines >= self.floor]

    def score(self, pairs: Pairs) -> Likeness:
        return np.clip(shared_of(self._vectors, pairs).astype(np.float32), 0, 1)


@dataclass
class WordsOnce(Method):
    """Keep only the words that occur once in each text, and compare the two lists of words.

    The score is the length of the longest common subsequence of the lists, divided by the length of the
    longer list. The method, DUPNIQ, is for scanned books: two editions of one text have most of these words
    in the same order, even if words between them are misread.
    """

    row = "15"
    name = "words-once"
    about = "common subsequence of words said once"
    source = "Yalniz, Can, Manmatha, CIKM 2011"
    finds = "articles that share enough words said once"
    quadratic = True  # almost any two articles of one language share a word that occurs once

    threshold: float = 0.3
    floor: float = 0.2
    least: int = 4  # least number of characters of a word that counts

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
