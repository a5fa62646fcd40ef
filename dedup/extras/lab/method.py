"""What a method of the field is: it names candidate pairs, and scores them.

    method = WordShingles(size=5)
    method.fit(corpus)                      # reads every text once
    for pairs in method.candidates():       # arrays of numbers of documents
        scores = method.score(pairs)        # the higher, the more alike

A method is a dataclass whose fields are parameters (`word-shingles:size=3`). It knows no truth and no files.
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
    row: ClassVar[str]  # in the table of methods of the field, such as "1w"; "0" is the product's own rule
    name: ClassVar[str]
    about: ClassVar[str]  # what it computes, in a line
    source: ClassVar[str]
    finds: ClassVar[str]  # where its candidates come from, in a few words
    quadratic: ClassVar[bool] = False  # looks at every pair: its time grows with the square of the corpus

    threshold: float  # a pair of at least this score is called a duplicate; the source's, where it names one
    floor: float  # pairs of lower score are not kept for the precision-recall curve

    @abstractmethod
    def fit(self, corpus: DocumentSet) -> None:
        """Read every text and keep what `candidates` and `score` need."""

    @abstractmethod
    def candidates(self) -> Iterator[Pairs]:
        """The pairs worth scoring, in pieces that fit in memory; each pair once."""

    @abstractmethod
    def score(self, pairs: Pairs) -> Likeness:
        """How alike the documents of each pair are; any pair may be asked for, candidate or not."""

    def accepts(self, pairs: Pairs, scores: Likeness) -> Flags:  # noqa: ARG002  # for those that look again
        """Which pairs the method calls duplicates."""
        return np.asarray(scores >= np.float32(self.threshold))

    def groups(self, size: int, pairs: Pairs, accepted: Flags) -> Groups:
        """The groups it makes of its duplicates among `size` documents: what is linked, directly or not."""
        return linked(size, pairs[accepted])


def similarity(method: Method, a: str, b: str) -> float:
    """The score of two texts that are the whole corpus; for examples and tests."""
    method.fit(DocumentSet.of_texts([a, b]))
    return float(method.score(np.array([[0, 1]], np.int32))[0])
