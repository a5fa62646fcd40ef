"""Methods 6 and 7: the longest common run or subsequence of characters, divided by the length of a text.

A news-technology blog of 2012 used this score as its last, exact step. Runs of white space count as one
space. Candidates share enough winnowing fingerprints to have a run that reaches the floor. No pair with such
a run is missed, if the run has at least `stretches.SHORTEST_RUN` (48) characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import LCSseq

from dedup.base.errors import InputError
from dedup.base.numbers import Likeness, Pairs
from dedup.extras.lab.algorithms.incidence import incidence, just_below, shared
from dedup.extras.lab.algorithms.stretches import fingerprints, least_shared, longest_common_substring
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.method import Method


@dataclass
class CommonSubstring(Method):
    row = "6"
    name = "common-substring"
    about = "longest common run of characters"
    source = "a news-technology blog, 2012"
    finds = "articles that share enough winnowing fingerprints"

    threshold: float = 0.3  # share of the text that is one unchanged run; edits cut a copy into several runs
    floor: float = 0.2  # shorter runs are quotations, or set phrases, which would make many candidates
    over: str = "shorter"  # score = length of the run / length of this text, "shorter" or "longer"

    def __post_init__(self) -> None:
        if self.over not in ("shorter", "longer"):
            raise InputError(f'{self.name}: over must be "shorter" or "longer", not "{self.over}"')

    def fit(self, corpus: DocumentSet) -> None:
        self._texts = [" ".join(document.text.split()) for document in corpus]
        self._lengths = np.array([len(text) for text in self._texts], np.int64)
        self._fingerprints = incidence(fingerprints(text) for text in self._texts)

    def candidates(self) -> Iterator[Pairs]:
        return self.sharing(self.floor)

    def sharing(self, share: float) -> Iterator[Pairs]:
        for pairs, both in shared(self._fingerprints):
            run = np.ceil(just_below(share) * self._bases(pairs)).astype(np.int64)
            yield pairs[both >= least_shared(run)]

    def score(self, pairs: Pairs) -> Likeness:
        lengths = [self.measure(self._texts[i], self._texts[j]) for i, j in pairs.tolist()]
        return np.asarray(np.array(lengths) / np.maximum(self._bases(pairs), 1), np.float32)

    def measure(self, a: str, b: str) -> int:
        return longest_common_substring(a, b).length

    def _bases(self, pairs: Pairs) -> npt.NDArray[np.int64]:
        ends = self._lengths[pairs]
        return np.asarray(ends.min(axis=1) if self.over == "shorter" else ends.max(axis=1))


@dataclass
class CommonSubsequence(CommonSubstring):
    """Method 7: the longest common subsequence, as a last step on candidates of method 6.

    A subsequence survives edits that cut a run in two. Threshold and floor are high because unrelated
    articles of one language have a common subsequence of 0.55 to 0.6 of the longer text.
    """

    row = "7"
    name = "common-subsequence"
    about = "longest common subsequence of characters"
    source = "a variant of method 6"
    finds = "articles that share enough winnowing fingerprints"

    threshold: float = 0.8
    floor: float = 0.6
    over: str = "longer"  # a long article has most characters of any short article, in the same order
    run: float = 0.1  # minimum length of a candidate's common run, as a share of the text that `over` names

    def candidates(self) -> Iterator[Pairs]:
        return self.sharing(self.run)

    def measure(self, a: str, b: str) -> int:
        return int(LCSseq.similarity(a, b))
