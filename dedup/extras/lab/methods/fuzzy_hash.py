"""Method 12: ssdeep's context-triggered piecewise hash, and its comparison (Kornblum 2006; ppdeep).

A text is cut at places that its own characters select, each piece gives one character of a digest, and
digests are compared by edit distance. Candidates meet both conditions of a score above 0: the block sizes are
equal or one is twice the other; and the digests share 7 characters in a row, or are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import ppdeep

from dedup.base.numbers import Likeness, Pairs
from dedup.extras.lab.algorithms.grams import character_grams
from dedup.extras.lab.algorithms.incidence import incidence, sharing
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.method import Method
from dedup.text.hashing import hash_set

COMMON_CHARACTERS = 7  # the score is 0 if fewer characters in a row are common, unless digests are equal
LONGEST_REPEAT = 3  # ssdeep shortens longer repetitions of a character before it compares


@dataclass
class FuzzyHash(Method):
    """Score: ssdeep's score, from 0 to 100, divided by 100."""

    row = "12"
    name = "fuzzy-hash"
    about = "edit distance of ssdeep digests"
    source = "Kornblum 2006; diary of method 1"
    finds = "articles whose digests share 7 characters in a row"

    threshold: float = 0.5  # our choice, because the source names no threshold
    floor: float = 0.01  # the lowest score above 0, because ssdeep's scores are whole percentages

    def fit(self, corpus: DocumentSet) -> None:
        texts = (document.text.encode(errors="surrogatepass") for document in corpus)
        self._digests = [ppdeep.hash(text) if text else "" for text in texts]

    def candidates(self) -> Iterator[Pairs]:
        return sharing(incidence(hash_set(parts(digest)) for digest in self._digests))

    def score(self, pairs: Pairs) -> Likeness:
        return np.array([compare(self._digests[i], self._digests[j]) for i, j in pairs.tolist()], np.float32)


def compare(a: str, b: str) -> float:
    """Return ssdeep's score of two digests, from 0 to 1; 0 for the digest of an empty text."""
    return ppdeep.compare(a, b) / 100 if a and b else 0.0


def parts(digest: str) -> set[str]:
    """Return the items of a digest. Two digests with a score above 0 share an item.

    An item is a block size with a run of `COMMON_CHARACTERS` characters, or with all its characters.
    """
    if not digest:
        return set()
    size, first, second = digest.split(":")
    first, second = shortened(first), shortened(second)
    found = {f"{size}:{part}" for part in character_grams(first, COMMON_CHARACTERS)}
    found |= {f"{2 * int(size)}:{part}" for part in character_grams(second, COMMON_CHARACTERS)}
    found.add(f"{size}={first}")  # finds equal digests, even with fewer than `COMMON_CHARACTERS` characters
    return found


def shortened(digest: str) -> str:
    """Shorten longer repetitions of a character to 3, as ssdeep does.

    >>> shortened("AAAAAB")
    'AAAB'
    """
    return "".join(c for i, c in enumerate(digest) if i < LONGEST_REPEAT or digest[i - 3 : i] != c * 3)
