"""Methods that give each text one key: texts with the same key are duplicates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

import numpy as np

from dedup.base.numbers import Likeness, Pairs
from dedup.extras.lab.algorithms.incidence import incidence, shared_of, sharing
from dedup.extras.lab.documents import Document, DocumentSet
from dedup.extras.lab.method import Method


@dataclass
class SameKey(Method):
    """A method whose score is 1 for articles with the same key, and 0 for other articles."""

    threshold: float = 1.0
    floor: float = 1.0

    def fit(self, corpus: DocumentSet) -> None:
        numbers: dict[Hashable, int] = {}
        keys = (self.key(document) for document in corpus)
        self.keys = incidence([] if key is None else [numbers.setdefault(key, len(numbers))] for key in keys)

    def candidates(self) -> Iterator[Pairs]:
        return sharing(self.keys)

    def score(self, pairs: Pairs) -> Likeness:
        return shared_of(self.keys, pairs).astype(np.float32)

    @abstractmethod
    def key(self, document: Document) -> Hashable | None:
        """Return the key of a document; None if the document has no content to make a key of."""
