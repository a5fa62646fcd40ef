"""Method 13: for high thresholds, an exact join that compares only articles of similar length.

Ullman's course: the Stanford group's first solution, and its "more efficient algorithms" for high
similarity; PPJoin (Xiao et al., WWW 2008). Texts of Jaccard 0.8 have sizes within 0.8 of each other, and
meet in the fifth of their shingles that is rarest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dedup.lab.algorithms.grams import SetMethod, word_grams
from dedup.lab.algorithms.join import join
from dedup.lab.documents import Document
from dedup.numbers import Pairs
from dedup.text.hashing import Hashes, hash_set


@dataclass
class LengthGroups(SetMethod):
    """Jaccard of the sets of word n-grams, found above the floor only.

    Attributes:
        threshold: 80 to 90 % is where exact filters beat LSH, as the course says.
        floor: the same, or the filters would let more through.
        size: words per shingle.
    """

    row = "13"
    name = "length-groups"
    about = "exact join of word shingles, high Jaccard"
    source = "PPJoin, Xiao et al. 2008"
    finds = "every pair above the floor, by an exact join"

    threshold: float = 0.8
    floor: float = 0.8
    size: int = 5

    def shingles(self, document: Document) -> Hashes:
        return hash_set(word_grams(document.words(), self.size))

    def candidates(self) -> Iterator[Pairs]:
        yield from join(self._sets, self.floor)
