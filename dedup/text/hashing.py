"""Hash words, sentences, shingles and buckets, with or without the key of a corpus (docs/semantics.md, 1.4).

All hashes are multilinear: the data are numbers of 32 bits, each is multiplied by its own coefficient of 64
bits, and the upper 32 bits of the sum modulo 2^64 (with one more coefficient) are the hash. Two such sums
make 64 bits. Over random coefficients this is strongly universal: two different data have equal hashes with
probability 2^-64, or 2^-32 for one sum (Lemire and Kaser, "Strongly universal string hashing is fast", The
Computer Journal 57 (11), 2014).

SHAKE-256 makes the coefficients from a name and the key of the corpus. Without a key they are public, and
anyone can search for words that collide. With a key the bound holds for words of writers who have not seen
hashes: 2^-64 for two words, at most 2^-63 for two sentences or texts, at most 2^-32 + 2^-63 for two shingles.
So do not show the hashes of a corpus with a key to its writers. `batch.py` makes the same hashes over arrays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from dedup.text.normalize import MAX_WORD_CHARACTERS

Hashes = npt.NDArray[np.uint64]  # Shape (n,): unsigned 64-bit hashes of the members of a set
MAX_WORD_BYTES = 4 * MAX_WORD_CHARACTERS  # Of a word in UTF-8
SHINGLE_WORDS = 3  # A stop word and the two words after it
TITLE_END = "/"  # Separates the words of a title and of a short text; no word has it
KEPT_COEFFICIENTS = 1 << 14  # Of each half of a sequence: enough for texts of 8,191 words; 128 kB

# Multipliers of MurmurHash3's 64-bit finaliser (Appleby 2011). It is one to one, so the bound stays. Without
# it the linear hashes of "page 1" and "page 2" lie on a straight line, which spoils MinHash.
MIX = (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53)

_LOW, _ALL = (1 << 32) - 1, (1 << 64) - 1


class Hasher:
    """Hash functions under a key, which may be any text, or without one for "".

    Attributes:
        of_word: shape (2, 1 + 256) of uint64: coefficients of both halves, first the one that is added.
        of_shingle: shape (1 + 6,).
    """

    def __init__(self, key: str = "") -> None:
        self._secret = hashlib.blake2b(key.encode(), digest_size=32).digest() if key else b""
        self.of_word = self._halves("word", 1 + MAX_WORD_BYTES // 4)
        self.of_shingle = self._coefficients("shingle", 1 + 2 * SHINGLE_WORDS)
        self._of_sequence = self._halves("sequence", KEPT_COEFFICIENTS)

    def of_sequence(self, words: int) -> Hashes:
        """Return coefficients, shape (2, 2 + 2 * words or more), for the sum, the count and each word."""
        count = 2 + 2 * words
        if count <= KEPT_COEFFICIENTS:
            return self._of_sequence
        return self._halves("sequence", count)

    def of_buckets(self, bands: int, rows: int, kind: str = "bucket") -> Hashes:
        """Return coefficients, shape (2, bands, 1 + rows)."""
        return np.stack([self._halves(f"{kind} {band}", 1 + rows) for band in range(bands)], axis=1)

    def of_letters(self, count: int) -> Hashes:
        """Return coefficients for a run of at most `count` letters, shape (1 + count,)."""
        return self._coefficients("letters", 1 + count)

    def word(self, word: str) -> int:
        """Return the hash of a word of at most 256 characters; 64 bits, unsigned."""
        data = word.encode()
        # No word has a NUL, so that padding makes no two words equal.
        padded = data + bytes(-len(data) % 4)
        numbers = [int.from_bytes(padded[i : i + 4], "little") for i in range(0, len(padded), 4)]
        found = _joined(numbers, self.of_word)
        for multiplier in MIX:
            found = ((found ^ found >> 33) * multiplier) & _ALL
        return found ^ found >> 33

    def words(self, words: Sequence[str]) -> int:
        """Return the hash of words in order, such as a sentence or a whole text; 64 bits, signed."""
        return signed(_joined([len(words), *self._numbers(words)], self.of_sequence(len(words))))

    def shingle(self, words: Sequence[str]) -> int:
        """Return the hash of the three words of a shingle; 32 bits, unsigned."""
        return _linear(self._numbers(words), self.of_shingle)

    def bucket(self, values: Sequence[int], band: int) -> int:
        """Return the key of a band with these MinHash values; 64 bits, signed."""
        return signed(_joined(values, self._halves(f"bucket {band}", 1 + len(values))))

    def _numbers(self, words: Iterable[str]) -> list[int]:
        hashes = map(self.word, words)
        return [number for found in hashes for number in (found & _LOW, found >> 32)]

    def _halves(self, name: str, count: int) -> Hashes:
        return np.stack([self._coefficients(f"{name} {half}", count) for half in ("upper", "lower")])

    def _coefficients(self, name: str, count: int) -> Hashes:
        # A longer digest begins with the shorter one, so that any count gives the same first coefficients.
        digest = hashlib.shake_256(f"dedup {name}\0".encode() + self._secret).digest(8 * count)
        return np.frombuffer(digest, "<u8").astype(np.uint64)


def hash64(text: str) -> int:
    """Return the xxh3_64 of a text as a signed integer, for the lab: fingerprints do not use it."""
    return signed(xxh3_64_intdigest(text.encode()))


def hash_set(items: Collection[str]) -> Hashes:
    """Return the xxh3_64 of each string of a set, shape (n,), for the lab: fingerprints do not use it."""
    return np.array([xxh3_64_intdigest(item.encode()) for item in items], np.uint64)


def mixed(hashes: Hashes) -> Hashes:
    """Pass each number through MurmurHash3's 64-bit finaliser."""
    for multiplier in MIX:
        hashes = (hashes ^ hashes >> np.uint64(33)) * np.uint64(multiplier)
    return hashes ^ hashes >> np.uint64(33)


def signed(value: int) -> int:
    """Return the signed value with the bits of an unsigned 64-bit value."""
    return value - (1 << 64) if value >> 63 else value


def _linear(numbers: Iterable[int], coefficients: Hashes) -> int:
    first, *others = coefficients.tolist()
    total: int = first + sum(map(int.__mul__, numbers, others))
    return (total & _ALL) >> 32


def _joined(numbers: Sequence[int], halves: Hashes) -> int:
    upper, lower = (_linear(numbers, half) for half in halves)
    return upper << 32 | lower
