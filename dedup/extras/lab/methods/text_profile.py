"""Method 10: MD5 of the frequent words and their rounded counts: a tolerant exact match.

TextProfileSignature of Apache Nutch. Small edits change no rounded count, or are of words too rare to be in
the profile.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from dataclasses import dataclass

from dedup.extras.lab.algorithms.same_key import SameKey
from dedup.extras.lab.documents import Document

QUANTUM_RATE = 0.01  # of the largest count: how coarsely counts are rounded

SHORTEST_TOKEN = 3
"""Characters."""

_TOKEN = re.compile(rf"[^\W_]{{{SHORTEST_TOKEN},}}")  # letters and digits


@dataclass
class TextProfile(SameKey):
    """1 where the profiles are the same, else 0; a text without tokens is like none."""

    row = "10"
    name = "text-profile"
    about = "the same MD5 of the frequent words"
    source = "Nutch, TextProfileSignature"
    finds = "articles of the same hash"

    def key(self, document: Document) -> bytes | None:
        lines = "\n".join(f"{token} {count}" for token, count in profile(document.text))
        return hashlib.md5(lines.encode(), usedforsecurity=False).digest() if lines else None


def profile(text: str) -> list[tuple[str, int]]:
    """The tokens that count, the most frequent first, with their rounded counts.

    Tokens of equal rounded count are in the order of the alphabet; Nutch leaves their order to chance.

    >>> profile("The cat. The dog! the cat, a bird")
    [('cat', 2), ('the', 2)]
    """
    counts = Counter(_TOKEN.findall(text.lower()))
    step = quantum(max(counts.values(), default=0))
    rounded = ((token, count // step * step) for token, count in counts.items() if count >= step)
    return sorted(rounded, key=lambda item: (-item[1], item[0]))


def quantum(largest: int) -> int:
    """The step to which counts are rounded down, given the largest count.

    >>> [quantum(largest) for largest in (1, 2, 249, 250, 1000)]
    [1, 2, 2, 3, 10]
    """
    step = math.floor(QUANTUM_RATE * largest + 0.5)  # halves up, as in Java
    if step >= 2:
        return step
    return 2 if largest > 1 else 1
