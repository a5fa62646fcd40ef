"""Method 1: the share of sentences two articles have in common, common sentences cut off at a count.

A newspaper-corpus project's diary, July 2014. The cut-off counts articles, which loses every story with more
copies than that. The product's own rule (`product.py`) counts stories instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dedup.base.numbers import Likeness, Pairs
from dedup.base.settings import Settings
from dedup.extras.lab.algorithms.incidence import carriers, incidence, jaccard, shared_of, sharing
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.method import Method
from dedup.text.fingerprint import Fingerprinter


@dataclass
class Sentences(Method):
    """|A ∩ B| / |A ∪ B| over sets of sentences of at least 20 characters."""

    row = "1"
    name = "sentences"
    about = "Jaccard of sentences, common ones cut off"
    source = "a newspaper-corpus diary, 2014"
    finds = "articles that share a sentence"

    threshold: float = 0.3
    floor: float = 0.1
    most: int = 10  # a sentence that matches more than this many others is ignored

    def fit(self, corpus: DocumentSet) -> None:
        read = Fingerprinter(Settings()).sentences
        sets = incidence(
            [key for _, key in read(document.text, document.language) if key is not None]
            for document in corpus
        )
        self._sentences = sets[:, carriers(sets) - 1 <= self.most]

    def candidates(self) -> Iterator[Pairs]:
        return sharing(self._sentences)

    def score(self, pairs: Pairs) -> Likeness:
        return jaccard(self._sentences, pairs, shared_of(self._sentences, pairs))
