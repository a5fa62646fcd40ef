"""Method 8: the cosine of TF-IDF vectors, of every pair.

The vectors are scikit-learn's with its defaults (smoothed idf, length 1), over normalised words. Two reports
on one event have the same words, so such reports look like copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer

from dedup.base.numbers import Likeness, Pairs
from dedup.extras.lab.algorithms.incidence import shared, shared_of
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

    threshold: float = 0.8  # usual for near-duplicates; reports on one event reach 0.5 and more
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
