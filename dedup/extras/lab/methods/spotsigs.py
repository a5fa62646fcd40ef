"""Method 2: Jaccard of stop-word shingles, which prose is full of and page furniture is not.

Theobald, Siddharth, Paepcke, "SpotSigs", SIGIR 2008; Ullman's course; a news-technology blog, 2012. The
pairs are found by the exact join of `../algorithms/join.py`, which stands for the paper's own exact filter by
length and rarity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dedup.base.numbers import Pairs
from dedup.extras.lab.algorithms.grams import SetMethod
from dedup.extras.lab.algorithms.join import join
from dedup.extras.lab.documents import Document
from dedup.text.hashing import Hashes, hash_set
from dedup.text.normalize import words
from dedup.text.signature import shingles


@dataclass
class SpotSigs(SetMethod):
    row = "2"
    name = "spotsigs"
    about = "Jaccard of stop-word shingles"
    source = "Theobald et al., SIGIR 2008"
    finds = "every pair above the floor, by an exact join"

    threshold: float = 0.44  # the best of the paper's tests
    floor: float = 0.2  # the exact join takes longer the lower it is
    stop_word_length: int = 4  # words of fewer characters are stop words
    stop_words: str = ""  # a list, separated by spaces, instead of the length

    def shingles(self, document: Document) -> Hashes:
        listed = frozenset(words(self.stop_words))
        return hash_set(shingles(document.words(), self.stop_word_length, listed))

    def candidates(self) -> Iterator[Pairs]:
        return join(self._sets, self.floor)
