"""Methods 1, 1w and 14: sentences that two articles share, except sentences that too many articles have."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from dedup.base.numbers import Likeness, Pairs
from dedup.base.settings import Settings
from dedup.extras.lab.algorithms.incidence import carriers, incidence, jaccard, shared_of, sharing
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.method import Method
from dedup.extras.lab.methods.common_runs import CommonSubstring
from dedup.extras.lab.methods.keys import Sketches
from dedup.extras.lab.methods.shingles import WordShingles
from dedup.text.fingerprint import Fingerprinter

_WORD = re.compile(r"\w+")


@dataclass
class Sentences(Method):
    """Method 1: |A ∩ B| / |A ∪ B| over sets of sentences of at least 20 characters.

    Source: the diary of a newspaper-corpus project, July 2014. The cut-off `most` counts articles, so a story
    with more copies is lost. The product's own rule (`product.py`) counts stories instead.
    """

    row = "1"
    name = "sentences"
    about = "Jaccard of sentences, common ones cut off"
    source = "a newspaper-corpus diary, 2014"
    finds = "articles that share a sentence"

    threshold: float = 0.3
    floor: float = 0.1
    most: int = 10  # a sentence is ignored if more than this number of other articles have it

    def fit(self, corpus: DocumentSet) -> None:
        read = Fingerprinter(Settings()).sentences
        sets = incidence(
            list({key for _, key in read(document.text, document.language) if key is not None})
            for document in corpus
        )
        self._sentences = sets[:, carriers(sets) - 1 <= self.most]

    def candidates(self) -> Iterator[Pairs]:
        return sharing(self._sentences)

    def score(self, pairs: Pairs) -> Likeness:
        return jaccard(self._sentences, pairs, shared_of(self._sentences, pairs))


@dataclass
class WeightedSentences(Sentences):
    """Method 1w: the weight of the shared sentences, divided by the weight of all sentences of both texts.

    Source: the diary of method 1. The weight of a sentence is the product of

    - its rarity, ln((n + 1) / df), if df of n articles have the sentence. Because of n + 1, the weight of a
      sentence in all articles is above 0;
    - its length, the square root of its number of words: long sentences weigh more, but not in proportion;
    - its names, 1 + the share of capitalised words among all words after the first: from 1 to 2.
    """

    row = "1w"
    name = "weighted-sentences"
    about = "row 1, weighted by rarity, length, names"
    source = "a newspaper-corpus diary, 2014"
    finds = "articles that share a sentence"

    def fit(self, corpus: DocumentSet) -> None:
        read = Fingerprinter(Settings()).sentences
        forms: dict[int, float] = {}
        keys: list[set[int]] = []
        for document in corpus:
            keys.append(set())
            for sentence, key in read(document.text, document.language):
                if key is not None:
                    keys[-1].add(key)
                    # A sentence with several spellings has the weight of the spelling that was read first.
                    if key not in forms:
                        forms[key] = form_weight(sentence)
        sets = incidence(map(list, keys))
        rarity = np.log((len(corpus) + 1) / carriers(sets))
        kept = carriers(sets) - 1 <= self.most
        self._sentences = sets[:, kept]
        # The matrix holds square roots of weights: the dot product of two rows adds up shared weights.
        roots = np.sqrt(rarity * np.array([forms[key] for key in sorted(forms)]))[kept]
        self._roots = self._sentences.astype(np.float64)
        self._roots.data = roots[self._sentences.indices]
        self._weights = self._roots.multiply(self._roots).sum(axis=1)

    def score(self, pairs: Pairs) -> Likeness:
        both = shared_of(self._roots, pairs)
        either = self._weights[pairs].sum(axis=1) - both
        found = np.divide(both, either, out=np.zeros(len(pairs)), where=either > 0)
        return np.asarray(np.minimum(found, 1.0), np.float32)  # rounding may give more than 1


def form_weight(sentence: str) -> float:
    """Return the weight of a sentence by its form: its length and its names.

    >>> form_weight("Yesterday he flew to Rome")  # 5 words, 1 name in the last 4
    2.7950849718747373
    """
    found: list[str] = _WORD.findall(sentence)
    inner = found[1:]
    names = sum(word[0].isupper() and len(word) > 1 for word in inner)  # "I" is not a name
    return math.sqrt(len(found)) * (1 + names / max(len(inner), 1))


@dataclass
class Cascade(Sentences):
    """Method 14: three steps, each slower and more exact: sketch or sentence, shingles, common substring.

    A news-technology blog planned this in 2012. Candidates share an uncommon sentence (method 1) or a bucket
    (method 4). Pairs with enough common word shingles (method 5) get the score of method 6, other pairs 0.
    """

    row = "14"
    name = "cascade"
    about = "sketch or sentence, shingles, substring"
    source = "a news-technology blog, 2012"
    finds = "articles that share a sentence or a bucket"

    threshold: float = CommonSubstring.threshold
    floor: float = CommonSubstring.floor
    bound: float = 0.1  # minimum Jaccard of 5-word shingles in the last step; independent reports have less

    def fit(self, corpus: DocumentSet) -> None:
        super().fit(corpus)
        sketches = Sketches()
        sketches.fit(corpus)
        self._either = csr_array(hstack([self._sentences, sketches.keys]))
        self._shingles = WordShingles()
        self._shingles.fit(corpus)
        self._substring = CommonSubstring()
        self._substring.fit(corpus)

    def candidates(self) -> Iterator[Pairs]:
        return sharing(self._either)

    def score(self, pairs: Pairs) -> Likeness:
        found = np.zeros(len(pairs), np.float32)
        left = self._shingles.score(pairs) >= np.float32(self.bound)
        found[left] = self._substring.score(pairs[left])
        return found
