"""Method 5, characters: Jaccard of all character n-grams, of every pair.

The grams are those of the normalised words joined by a space, so that case, punctuation and line breaks do
not matter. An article has one gram per character, and each takes 40 bytes of memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from dedup.extras.lab.algorithms.grams import character_grams
from dedup.extras.lab.documents import Document
from dedup.extras.lab.methods.word_shingles import WordShingles
from dedup.text.hashing import Hashes, hash_set


@dataclass
class CharacterShingles(WordShingles):
    row = "5"
    name = "character-shingles"
    about = "Jaccard of runs of characters"
    source = "Mining of Massive Datasets, 3"
    finds = "every pair"

    size: int = 9  # what Mining of Massive Datasets advises for long documents

    def shingles(self, document: Document) -> Hashes:
        return hash_set(character_grams(" ".join(document.words()), self.size))
