"""Methods 2, 3, 5 and 13: the Jaccard of sets of shingles, hashed (xxh3, 64 bits) to fit in memory."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from datasketch import MinHash

from dedup.base.errors import InputError
from dedup.base.numbers import Likeness, Pairs
from dedup.extras.judging.sampling import mixed
from dedup.extras.lab.algorithms.grams import character_grams, word_grams
from dedup.extras.lab.algorithms.incidence import incidence, jaccard, join, shared, shared_of, sharing
from dedup.extras.lab.documents import Document, DocumentSet
from dedup.extras.lab.method import Method
from dedup.text.hashing import Hashes, hash_set
from dedup.text.normalize import words
from dedup.text.signature import shingles

HASH_BITS = np.uint64(0xFFFFFFFF)  # datasketch takes hashes of 32 bits


@dataclass
class SetMethod(Method):
    """A method whose score is the Jaccard of two sets of shingles."""

    def fit(self, corpus: DocumentSet) -> None:
        self._sets = incidence(self.shingles(document) for document in corpus)

    def score(self, pairs: Pairs) -> Likeness:
        return jaccard(self._sets, pairs, shared_of(self._sets, pairs))

    @abstractmethod
    def shingles(self, document: Document) -> Hashes:
        """Return the hashes of the distinct shingles of a document."""


@dataclass
class WordSets(SetMethod):
    """Jaccard of the sets of word n-grams."""

    size: int = 5  # words per shingle; 1 compares sets of words

    def shingles(self, document: Document) -> Hashes:
        return hash_set(word_grams(document.words(), self.size))


@dataclass
class SpotSigs(SetMethod):
    """Method 2: shingles that begin with a stop word; these are frequent in prose, and rare in page menus.

    Theobald, Siddharth, Paepcke, "SpotSigs", SIGIR 2008; an exact join replaces the paper's exact filter.
    """

    row = "2"
    name = "spotsigs"
    about = "Jaccard of stop-word shingles"
    source = "Theobald et al., SIGIR 2008"
    finds = "every pair above the floor, by an exact join"

    threshold: float = 0.44  # the best threshold in the paper's tests
    floor: float = 0.2  # a lower floor makes the exact join slower
    stop_word_length: int = 4  # words of fewer characters are stop words
    stop_words: str = ""  # stop words, separated by spaces, instead of all short words

    def shingles(self, document: Document) -> Hashes:
        listed = frozenset(words(self.stop_words))
        return hash_set(shingles(document.words(), self.stop_word_length, listed))

    def candidates(self) -> Iterator[Pairs]:
        return join(self._sets, self.floor)


@dataclass
class MinHashLSH(WordSets):
    """Method 3: MinHash signatures, banded LSH, and every candidate verified.

    Broder 1997; Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", chapter 3. Two sets of Jaccard s
    share at least one of b bands of r rows with probability 1 - (1 - s^r)^b, steepest near s = (1/b)^(1/r).
    """

    row = "3"
    name = "minhash"
    about = "Jaccard of word shingles, found by LSH"
    source = "Broder 1997"
    finds = "articles that share a band of their MinHash signature"

    threshold: float = 0.5  # for the exact Jaccard of shingles; signatures only find candidates
    floor: float = 0.2
    permutations: int = 128  # values per signature
    bands: int = 32  # 32 bands of 4 rows find half of the pairs with Jaccard 0.38, and 98 % with 0.58
    rows: int = 4

    def __post_init__(self) -> None:
        if self.bands * self.rows > self.permutations:
            raise InputError(
                f"minhash: {self.bands} bands of {self.rows} rows need "
                f"{self.bands * self.rows} permutations, not {self.permutations}"
            )

    def fit(self, corpus: DocumentSet) -> None:
        rows = [self.shingles(document) for document in corpus]
        self._sets = incidence(rows)
        hashes = ((row & HASH_BITS).tolist() for row in rows)
        # `int` replaces the default hash function, SHA-1 of bytes: the numbers are hashes already.
        signed = MinHash.generator(hashes, num_perm=self.permutations, hashfunc=int)
        # One array of all bands gives the same pairs as datasketch's MinHashLSH, in a quarter of the time.
        self._bands = incidence(
            self._buckets(signature.hashvalues) if len(row) else row
            for row, signature in zip(rows, signed, strict=True)
        )

    def _buckets(self, signature: Hashes) -> Hashes:
        """Return one hash for each band; shape (bands,)."""
        values = signature[: self.bands * self.rows].astype(np.uint64).reshape(self.bands, self.rows)
        bucket = np.arange(self.bands, dtype=np.uint64)
        for row in values.T:
            bucket = mixed(bucket, row)
        return bucket

    def candidates(self) -> Iterator[Pairs]:
        return sharing(self._bands)


@dataclass
class WordShingles(WordSets):
    """Method 5 with words: compares every pair; the baseline."""

    row = "5"
    name = "word-shingles"
    about = "Jaccard of runs of words"
    source = "Broder 1997"
    finds = "every pair"
    quadratic = True

    threshold: float = 0.5
    floor: float = 0.2

    def candidates(self) -> Iterator[Pairs]:
        # The counts of `shared` suffice for the score, so pairs below the floor are dropped here already.
        for pairs, both in shared(self._sets):
            yield pairs[jaccard(self._sets, pairs, both) >= np.float32(self.floor)]


@dataclass
class CharacterShingles(WordShingles):
    """Method 5 with characters of normalised words: compares every pair; takes 40 bytes a character."""

    row = "5"
    name = "character-shingles"
    about = "Jaccard of runs of characters"
    source = "Mining of Massive Datasets, 3"
    finds = "every pair"

    size: int = 9  # advised by Mining of Massive Datasets for long documents

    def shingles(self, document: Document) -> Hashes:
        return hash_set(character_grams(" ".join(document.words()), self.size))


@dataclass
class LengthGroups(WordSets):
    """Method 13: for high thresholds, an exact join that compares only articles of similar length.

    PPJoin (Xiao et al., WWW 2008); Ullman's course. Of two texts with a Jaccard of 0.8, the smaller has at
    least 0.8 of the shingles of the larger, and the rarest fifth of each text includes a common shingle.
    """

    row = "13"
    name = "length-groups"
    about = "exact join of word shingles, high Jaccard"
    source = "PPJoin, Xiao et al. 2008"
    finds = "every pair above the floor, by an exact join"

    threshold: float = 0.8  # Ullman's course: exact filters beat LSH if the Jaccard must be 0.8 to 0.9
    floor: float = 0.8  # a lower floor would weaken the filters

    def candidates(self) -> Iterator[Pairs]:
        return join(self._sets, self.floor)
