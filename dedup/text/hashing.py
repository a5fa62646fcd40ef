"""Hash words, sentences, shingles and buckets, with or without the key of a corpus (docs/semantics.md, 1.4).

All hashes are multilinear. The data are 32-bit integers. Each integer is multiplied by a different 64-bit
coefficient. The products and one more coefficient are added modulo 2^64. The upper 32 bits of the sum are a
32-bit hash. Two such hashes with different coefficients make a 64-bit hash. With random coefficients,
different data have equal 64-bit hashes with probability 2^-64, and equal 32-bit hashes with probability 2^-32
(Lemire and Kaser, "Strongly universal string hashing is fast", The Computer Journal 57 (11), 2014).

SHAKE-256 makes the coefficients from a name and the key of the corpus. Without a key, the coefficients are
public, and anyone can search for words that collide. With a key, an author who has not seen hashes
finds words that collide only by chance: two words of the author collide with probability 2^-64, two sentences
or texts with at most 2^-63, two shingles with at most 2^-32 + 2^-63. So hide the hashes from authors.
`batch.py` makes the same hashes in arrays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from dedup.text.normalize import MAX_WORD_CHARACTERS

Hashes = npt.NDArray[np.uint64]  # Shape (n,): unsigned 64-bit hashes
MAX_WORD_BYTES = 4 * MAX_WORD_CHARACTERS  # Maximum length of a word, in bytes of UTF-8
SHINGLE_WORDS = 3  # A shingle has a stop word and the two words after it
TITLE_END = "/"  # Put between the title and the words of a short text; never part of a word
KEPT_COEFFICIENTS = 1 << 14  # Cached coefficients per half of the hash, enough for 8,191 words; 128 kB

# Multipliers of MurmurHash3's 64-bit finaliser (Appleby 2011). The finaliser is one to one, so it adds no
# collisions. Without it, the linear hashes of "page 1" and "page 2" lie on a line, which harms MinHash.
MIX = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)

_LOW, _ALL = (1 << 32) - 1, (1 << 64) - 1


class Hasher:
    """Hash functions with a key, which can be any text; "" means no key.

    Attributes:
        of_word: shape (2, 1 + 256), uint64: for each half of the hash, a number to add and 256 factors.
        of_shingle: shape (1 + 6,), uint64: a number to add and six factors.
    """

    def __init__(self, key: str = "") -> None:
        self._secret = hashlib.blake2b(key.encode(), digest_size=32).digest() if key else b""
        self.of_word = self._halves("word", 1 + MAX_WORD_BYTES // 4)
        self.of_shingle = self._coefficients("shingle", 1 + 2 * SHINGLE_WORDS)
        self._of_sequence = self._halves("sequence", KEPT_COEFFICIENTS)

    def of_sequence(self, words: int) -> Hashes:
        """Return coefficients for a sequence of words, shape (2, n), where n is at least 2 + 2 * words."""
        count = 2 + 2 * words
        if count <= KEPT_COEFFICIENTS:
            return self._of_sequence
        return self._halves("sequence", count)

    def of_buckets(self, bands: int, rows: int, kind: str = "bucket") -> Hashes:
        """Return coefficients for bucket keys, shape (2, bands, 1 + rows)."""
        return np.stack([self._halves(f"{kind} {band}", 1 + rows) for band in range(bands)], axis=1)

    def of_letters(self, count: int) -> Hashes:
        """Return coefficients for a run of at most `count` letters, shape (1 + count,)."""
        return self._coefficients("letters", 1 + count)

    def word(self, word: str) -> int:
        """Return the hash of a word of at most 256 characters; 64 bits, unsigned."""
        # Padding with NUL cannot make two words equal, since no word contains NUL.
        return _finalised(_joined(_quads(word.encode()), self.of_word))

    def scope(self, scope: str) -> int:
        """Return the hash of a scope, which changes all hashes of its articles; 64 bits, signed."""
        data = scope.encode()
        numbers = [len(data), *_quads(data)]
        return signed(_finalised(_joined(numbers, self._halves("scope", 1 + len(numbers)))))

    def words(self, words: Sequence[str]) -> int:
        """Return the hash of words in order, such as a sentence or a whole text; 64 bits, signed."""
        return signed(_joined([len(words), *self._numbers(words)], self.of_sequence(len(words))))

    def shingle(self, words: Sequence[str]) -> int:
        """Return the hash of the three words of a shingle; 32 bits, unsigned."""
        return _linear(self._numbers(words), self.of_shingle)

    def bucket(self, values: Sequence[int], band: int) -> int:
        """Return the bucket key of a band, given the MinHash values of the band; 64 bits, signed."""
        return signed(_joined(values, self._halves(f"bucket {band}", 1 + len(values))))

    def _numbers(self, words: Iterable[str]) -> list[int]:
        hashes = map(self.word, words)
        return [number for found in hashes for number in (found & _LOW, found >> 32)]

    def _halves(self, name: str, count: int) -> Hashes:
        return np.stack([self._coefficients(f"{name} {half}", count) for half in ("upper", "lower")])

    def _coefficients(self, name: str, count: int) -> Hashes:
        # A longer digest begins with the shorter digest, so a larger `count` only adds coefficients.
        digest = hashlib.shake_256(f"dedup {name}\0".encode() + self._secret).digest(8 * count)
        return np.frombuffer(digest, "<u8").astype(np.uint64)


def hash64(text: str) -> int:
    """Return the xxh3_64 hash of a text as a signed integer, for the extra `lab`, not for fingerprints."""
    return signed(xxh3_64_intdigest(text.encode()))


def hash_set(items: Collection[str]) -> Hashes:
    """Return the xxh3_64 hash of each string, shape (n,), for the extra `lab`, not for fingerprints."""
    return np.array([xxh3_64_intdigest(item.encode()) for item in items], np.uint64)


def mixed(hashes: Hashes) -> Hashes:
    """Return each hash after MurmurHash3's 64-bit finaliser."""
    for multiplier in MIX:
        hashes = (hashes ^ hashes >> np.uint64(33)) * np.uint64(multiplier)
    return hashes ^ hashes >> np.uint64(33)


def signed(value: int) -> int:
    """Convert an unsigned 64-bit integer to the signed integer with the same bits."""
    return value - (1 << 64) if value >> 63 else value


def _quads(data: bytes) -> list[int]:
    """Return the bytes as numbers of four bytes, little-endian, padded with zeros."""
    padded = data + bytes(-len(data) % 4)
    return [int.from_bytes(padded[i : i + 4], "little") for i in range(0, len(padded), 4)]


def _finalised(value: int) -> int:
    for multiplier in MIX:
        value = ((value ^ value >> 33) * multiplier) & _ALL
    return value ^ value >> 33


def _linear(numbers: Iterable[int], coefficients: Hashes) -> int:
    first, *others = coefficients.tolist()
    total: int = first + sum(map(int.__mul__, numbers, others))
    return (total & _ALL) >> 32


def _joined(numbers: Sequence[int], halves: Hashes) -> int:
    upper, lower = (_linear(numbers, half) for half in halves)
    return upper << 32 | lower
