"""Method 4: one bucket per article, that of its smallest shingle hash. The bare filter.

A news-technology blog, 2012: hash every shingle; the smallest hash mod n is the bucket. Two articles
share it with the probability of their Jaccard (it is a MinHash of one function), and by chance once in
n pairs. Its shingles are the blog's, those of method 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from dedup.base.settings import Settings
from dedup.extras.lab.algorithms.same_key import SameKey
from dedup.extras.lab.documents import Document
from dedup.text.hashing import hash_set
from dedup.text.signature import shingles


@dataclass
class Sketches(SameKey):
    row = "4"
    name = "sketches"
    about = "the same bucket of the smallest shingle"
    source = "a news-technology blog, 2012"
    finds = "articles in one bucket"

    buckets: int = 2**20  # 100,000 articles meet by chance in 5,000 pairs
    stop_word_length: int = Settings().stop_word_length  # words of fewer characters start a shingle

    def key(self, document: Document) -> int | None:
        hashes = hash_set(shingles(document.words(), self.stop_word_length))
        return int(hashes.min()) % self.buckets if len(hashes) else None
