"""Method 14: three steps, each slower and more exact: sketch or sentence, shingles, longest common substring.

A news-technology blog planned this in 2012. Candidates share an uncommon sentence (method 1) or a bucket
(method 4). Candidates with enough common word shingles (method 5) get the score of method 6, all others 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from dedup.base.numbers import Likeness, Pairs
from dedup.extras.lab.algorithms.incidence import sharing
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.methods.common_runs import CommonSubstring
from dedup.extras.lab.methods.keys import Sketches
from dedup.extras.lab.methods.sentences import Sentences
from dedup.extras.lab.methods.shingles import WordShingles


@dataclass
class Cascade(Sentences):
    """The longest common substring over the shorter text, for pairs that pass the cheaper steps."""

    row = "14"
    name = "cascade"
    about = "sketch or sentence, shingles, substring"
    source = "a news-technology blog, 2012"
    finds = "articles that share a sentence or a bucket"

    threshold: float = CommonSubstring.threshold
    floor: float = CommonSubstring.floor
    bound: float = 0.1  # least Jaccard of 5-word shingles for the last step; reports on one event have less

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
