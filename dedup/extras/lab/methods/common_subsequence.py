"""Method 7: the longest common subsequence of characters, over the length: the relative of method 6.

It survives edits that cut a run in two, and finds much in any two texts: articles of one language share
more than half of their characters in order. So it is a last step on the candidates of method 6: a pair
without a common run is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rapidfuzz.distance import LCSseq

from dedup.base.numbers import Pairs
from dedup.extras.lab.methods.common_substring import CommonSubstring


@dataclass
class CommonSubsequence(CommonSubstring):
    """Threshold and floor: two articles of one language share 0.55 to 0.6 of the longer by chance."""

    row = "7"
    name = "common-subsequence"
    about = "longest common subsequence of characters"
    source = "the relative of method 6"
    finds = "articles that share enough winnowing fingerprints"

    threshold: float = 0.8
    floor: float = 0.6
    over: str = "longer"  # any long article holds much of a short one in order
    run: float = 0.1  # a candidate may have a common run of this share of the text, as in method 6

    def candidates(self) -> Iterator[Pairs]:
        return self.sharing(self.run)

    def measure(self, a: str, b: str) -> int:
        return int(LCSseq.similarity(a, b))
