"""Method 11: SimHash, 64 bits: similar texts have hashes that differ in few bits.

Charikar, STOC 2002. Each word votes for every bit with that bit of the word's hash (xxh3), weighted by the
word's count. Manku, Jain, Das Sarma, "Detecting near-duplicates for web crawling", WWW 2007, allow 3 of 64
bits to differ. Two such hashes agree in one of 4 blocks of 16 bits, so candidates by block are complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dedup.base.numbers import Likeness, Pairs
from dedup.extras.lab.algorithms.incidence import incidence, sharing
from dedup.extras.lab.documents import DocumentSet
from dedup.extras.lab.method import Method
from dedup.text.hashing import hash_set

BITS = 64
MOST_BITS = 3  # maximum number of different bits: fewer than the blocks, so that one block stays equal


@dataclass
class SimHash(Method):
    """Score: the share of equal bits. The floor leaves out pairs with more than 3 different bits."""

    row = "11"
    name = "simhash"
    about = "64-bit SimHash, at most 3 bits different"
    source = "Charikar 2002; Manku 2007"
    finds = "articles that share one of 4 blocks of 16 bits"

    threshold: float = 1 - MOST_BITS / BITS
    floor: float = 1 - MOST_BITS / BITS

    def fit(self, corpus: DocumentSet) -> None:
        found = [Counter(document.words()) for document in corpus]
        self._some = np.array([bool(counts) for counts in found], np.bool_)
        self._hashes = np.array([simhash(counts) for counts in found], np.uint64)

    def candidates(self) -> Iterator[Pairs]:
        blocks = self._hashes.view(np.uint16).reshape(-1, BITS // 16).astype(np.int64)
        blocks += np.arange(BITS // 16) << 16  # adds each block's position: only blocks of one position match
        rows = zip(blocks, self._some, strict=True)
        return sharing(incidence(row if some else [] for row, some in rows))

    def score(self, pairs: Pairs) -> Likeness:
        a, b = pairs[:, 0], pairs[:, 1]
        equal = 1 - np.bitwise_count(self._hashes[a] ^ self._hashes[b]) / np.float32(BITS)
        return np.where(self._some[a] & self._some[b], equal, 0).astype(np.float32)


def simhash(counts: Counter[str]) -> int:
    """Return the SimHash of words weighted by their counts; 0 without words. A tied vote gives a 0."""
    if not counts:
        return 0
    weights = np.fromiter(counts.values(), np.int64, len(counts))
    votes = weights @ (2 * bits(list(counts)) - 1)
    return int(np.packbits(votes > 0).view(">u8")[0])


def bits(items: list[str]) -> npt.NDArray[np.int64]:
    """Return the bits of the hash of each string, the highest first; shape (n, 64)."""
    rows = hash_set(items).astype(">u8").view(np.uint8).reshape(-1, BITS // 8)
    return np.unpackbits(rows, axis=1).astype(np.int64)
