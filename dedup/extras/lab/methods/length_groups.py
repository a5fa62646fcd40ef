"""Method 13: for high thresholds, an exact join that compares only articles of similar length.

Ullman's course: the Stanford group's first solution, and its "more efficient algorithms" for high
similarity; PPJoin (Xiao et al., WWW 2008). Texts of Jaccard 0.8 have sizes within 0.8 of each other, and
meet in the fifth of their shingles that is rarest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dedup.base.numbers import Pairs
from dedup.extras.lab.algorithms.grams import WordSets
from dedup.extras.lab.algorithms.join import join


@dataclass
class LengthGroups(WordSets):
    row = "13"
    name = "length-groups"
    about = "exact join of word shingles, high Jaccard"
    source = "PPJoin, Xiao et al. 2008"
    finds = "every pair above the floor, by an exact join"

    threshold: float = 0.8  # 80 to 90 % is where exact filters beat LSH, as the course says
    floor: float = 0.8  # the same, or the filters would let more through

    def candidates(self) -> Iterator[Pairs]:
        return join(self._sets, self.floor)
