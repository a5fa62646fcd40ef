"""Method 1w: shared sentences, where rare, long ones with names weigh more.

The list of improvements of the same diary as method 1. The weight of a sentence is the product of

- its rarity, ln((n + 1) / df): n articles, df of them have it. One more than n, so that a sentence of all
  articles still weighs something;
- its length, the square root of its words: long sentences say more, but not in proportion;
- its names, 1 + the share of capitalised words among those after the first: from 1 to 2. Scripts without
  capitals have 1; a sentence written in different ways counts as it was first written.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from dedup.base.numbers import Likeness, Pairs
from dedup.base.settings import Settings
from dedup.extras.lab.algorithms.incidence import carriers, incidence, shared_of
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.methods.sentences import Sentences
from dedup.text.fingerprint import Fingerprinter

_WORD = re.compile(r"\w+")


@dataclass
class WeightedSentences(Sentences):
    """The weight of the shared sentences over the weight of all sentences of both."""

    row = "1w"
    name = "weighted-sentences"
    about = "the same, weighted: rarity, length, names"
    source = "the same diary"
    finds = "articles that share a sentence"

    def fit(self, corpus: DocumentSet) -> None:
        read = Fingerprinter(Settings()).sentences
        forms: dict[int, float] = {}
        keys: list[list[int]] = []
        for document in corpus:
            keys.append([])
            for sentence, key in read(document.text, document.language):
                if key is not None:
                    keys[-1].append(key)
                    if key not in forms:
                        forms[key] = form_weight(sentence)
        sets = incidence(keys)  # its columns are in the order of `forms`: that of first appearance
        rarity = np.log((len(corpus) + 1) / carriers(sets))
        kept = carriers(sets) - 1 <= self.most
        self._sentences = sets[:, kept]
        # Roots of the weights: the product of two rows then adds up the weights they share.
        roots = np.sqrt(rarity * np.array(list(forms.values())))[kept]
        self._roots = self._sentences.astype(np.float64)
        self._roots.data = roots[self._sentences.indices]
        self._weights = self._roots.multiply(self._roots).sum(axis=1)

    def score(self, pairs: Pairs) -> Likeness:
        both = shared_of(self._roots, pairs)
        either = self._weights[pairs].sum(axis=1) - both
        found = np.divide(both, either, out=np.zeros(len(pairs)), where=either > 0)
        return np.asarray(np.minimum(found, 1.0), np.float32)  # 1 exactly, whatever the rounding


def form_weight(sentence: str) -> float:
    """What a sentence weighs by its form: its length and its names.

    >>> form_weight("Yesterday he flew to Rome")  # 5 words, 1 name in the last 4
    2.7950849718747373
    """
    found: list[str] = _WORD.findall(sentence)
    inner = found[1:]
    names = sum(word[0].isupper() and len(word) > 1 for word in inner)  # "I" is no name
    return math.sqrt(len(found)) * (1 + names / max(len(inner), 1))
