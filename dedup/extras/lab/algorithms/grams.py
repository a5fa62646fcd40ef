"""A text becomes the set of its n-grams, as hashes; and sets of hashes become an incidence matrix.

Shingles are hashed (xxh3, 64 bits), since the shingles of a large corpus do not fit in memory as text.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from dedup.base.numbers import Likeness, Pairs
from dedup.extras.lab.algorithms.incidence import jaccard, shared_of
from dedup.extras.lab.documents import Document, DocumentSet
from dedup.extras.lab.method import Method
from dedup.text.hashing import Hashes, hash_set


def word_grams(words: Sequence[str], size: int) -> set[str]:
    """All runs of `size` words, each joined by spaces; none where there are fewer words.

    >>> sorted(word_grams("a rose is a rose".split(), 2))
    ['a rose', 'is a', 'rose is']
    """
    return {" ".join(words[i : i + size]) for i in range(len(words) - size + 1)}


def character_grams(text: str, size: int) -> set[str]:
    """All runs of `size` characters; none where there are fewer."""
    return {text[i : i + size] for i in range(len(text) - size + 1)}


def matrix_of(rows: Iterable[Hashes]) -> csr_array:
    """The incidence matrix of some sets of hashes, one row each; dtype int32. A row names no hash twice."""
    parts = list(rows)
    flat = np.concatenate([np.empty(0, np.uint64), *parts])
    ends = np.concatenate([[0], np.cumsum([len(part) for part in parts], dtype=np.int64)])
    del parts
    items, columns = np.unique(flat, return_inverse=True)
    data = np.ones(len(flat), np.int32)
    matrix = csr_array((data, columns.astype(np.int32), ends), shape=(len(ends) - 1, len(items)))
    matrix.sort_indices()
    return matrix


@dataclass
class SetMethod(Method):
    """A method whose score is the Jaccard of two sets of shingles."""

    def fit(self, corpus: DocumentSet) -> None:
        self._sets = matrix_of(self.shingles(document) for document in corpus)

    def score(self, pairs: Pairs) -> Likeness:
        return jaccard(self._sets, pairs, shared_of(self._sets, pairs))

    @abstractmethod
    def shingles(self, document: Document) -> Hashes:
        """The hashes of the distinct shingles of a document."""


@dataclass
class WordSets(SetMethod):
    """Jaccard of the sets of word n-grams."""

    size: int = 5  # words per shingle; 1 compares sets of words

    def shingles(self, document: Document) -> Hashes:
        return hash_set(word_grams(document.words(), self.size))
