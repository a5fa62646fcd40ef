"""Methods 4, 9 and 10: texts with the same key are duplicates."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from dataclasses import dataclass

from dedup.base.settings import Settings
from dedup.extras.lab.algorithms.same_key import SameKey
from dedup.extras.lab.documents import Document
from dedup.text.hashing import hash_set
from dedup.text.signature import shingles

QUANTUM_RATE = 0.01  # counts are rounded down to multiples of this share of the largest count
SHORTEST_TOKEN = 3  # minimum number of characters of a token
_TOKEN = re.compile(rf"[^\W_]{{{SHORTEST_TOKEN},}}")  # letters and digits


@dataclass
class Sketches(SameKey):
    """Method 4: articles in the same bucket are duplicates, without further comparison.

    The bucket of an article is its smallest shingle hash, modulo the number n of buckets. From a
    news-technology blog, 2012, with the shingles of method 2. The probability that two articles share a
    bucket is their Jaccard (a bucket is a MinHash of one hash function), plus 1 / n by chance.
    """

    row = "4"
    name = "sketches"
    about = "the same bucket of the smallest shingle"
    source = "a news-technology blog, 2012"
    finds = "articles in one bucket"

    buckets: int = 2**20  # 100,000 articles make 5,000 pairs by chance
    stop_word_length: int = Settings().stop_word_length  # a shorter word is a stop word, and begins a shingle

    def key(self, document: Document) -> int | None:
        hashes = hash_set(shingles(document.words(), self.stop_word_length))
        return int(hashes.min()) % self.buckets if len(hashes) else None


@dataclass
class ContentHash(SameKey):
    """Method 9: MD5 of the raw text, for exact copies; an empty text has no key."""

    row = "9"
    name = "content-hash"
    about = "the same MD5 of the text"
    source = "Apache Nutch, MD5Signature"
    finds = "articles of the same hash"

    def key(self, document: Document) -> bytes | None:
        text = document.text.encode(errors="surrogatepass")
        return hashlib.md5(text, usedforsecurity=False).digest() if text else None


@dataclass
class TextProfile(SameKey):
    """Method 10: MD5 of the frequent words and their rounded counts, which small edits seldom change."""

    row = "10"
    name = "text-profile"
    about = "the same MD5 of the frequent words"
    source = "Nutch, TextProfileSignature"
    finds = "articles of the same hash"

    def key(self, document: Document) -> bytes | None:
        lines = "\n".join(f"{token} {count}" for token, count in profile(document.text))
        return hashlib.md5(lines.encode(), usedforsecurity=False).digest() if lines else None


def profile(text: str) -> list[tuple[str, int]]:
    """Return the frequent tokens, the most frequent first, with their rounded counts.

    >>> profile("The cat. The dog! the cat, a bird")
    [('cat', 2), ('the', 2)]
    """
    counts = Counter(_TOKEN.findall(text.lower()))
    step = quantum(max(counts.values(), default=0))
    rounded = ((token, count // step * step) for token, count in counts.items() if count >= step)
    # Tokens with equal counts are in alphabetical order; Nutch leaves their order to chance.
    return sorted(rounded, key=lambda item: (-item[1], item[0]))


def quantum(largest: int) -> int:
    """Return the step to which counts are rounded down, given the largest count.

    >>> [quantum(largest) for largest in (1, 2, 249, 250, 1000)]
    [1, 2, 2, 3, 10]
    """
    step = math.floor(QUANTUM_RATE * largest + 0.5)  # rounds halves up, as Java does
    if step >= 2:
        return step
    return 2 if largest > 1 else 1
