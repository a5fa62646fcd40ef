"""Interface of methods: a method names candidate pairs and scores pairs.

    method = WordShingles(size=5)
    method.fit(corpus)                      # reads every text once
    for pairs in method.candidates():       # arrays of numbers of documents
        scores = method.score(pairs)        # the higher, the more alike

A method is a dataclass whose fields are parameters (`word-shingles:size=3`). It sees no truth and no files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dedup.base.numbers import Flags, Groups, Likeness, Pairs, linked
from dedup.extras.lab.documents import DocumentSet


@dataclass
class Method(ABC):
    row: ClassVar[str]  # row in the list of methods, such as "1w"; "0": the product's own rule
    name: ClassVar[str]
    about: ClassVar[str]  # one line that says what the method computes
    source: ClassVar[str]
    finds: ClassVar[str]  # a few words that say which pairs are candidates
    quadratic: ClassVar[bool] = False  # True if the time grows with the square of the number of articles

    threshold: float  # the least score of a duplicate, from the source if the source names a threshold
    floor: float  # pairs with lower scores are not kept, not even for the precision-recall curve

    @abstractmethod
    def fit(self, corpus: DocumentSet) -> None:
        """Read every text and keep what `candidates` and `score` need."""

    @abstractmethod
    def candidates(self) -> Iterator[Pairs]:
        """Yield the pairs worth scoring, in pieces that fit in memory; each pair once."""

    @abstractmethod
    def score(self, pairs: Pairs) -> Likeness:
        """Return the similarity of the documents of each pair; pairs need not be candidates."""

    def accepts(self, pairs: Pairs, scores: Likeness) -> Flags:  # noqa: ARG002  # overriding methods use pairs
        """Return true for each pair that the method calls a duplicate."""
        return np.asarray(scores >= np.float32(self.threshold))

    def groups(self, size: int, pairs: Pairs, accepted: Flags) -> Groups:
        """Group the documents from 0 to `size` - 1 that accepted pairs link, directly or through others."""
        return linked(size, pairs[accepted])
