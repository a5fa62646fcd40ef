"""Hashes of words, sequences, shingles and bands: the formulas of docs/semantics.md, section 1.4."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_digest

from dedup.text.batch import Tokens
from dedup.text.hashing import KEPT_COEFFICIENTS, Hasher, hash64, hash_set, signed
from dedup.text.normalize import MAX_WORD_CHARACTERS, normalised

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
KEYS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=100)
WORD = st.text("ab\u00e9\u0644\u0939\U00010348_9", min_size=1, max_size=12)
BANDS = st.integers(0, 127)
SEVERAL = st.lists(WORD, min_size=1, max_size=8)
PLAIN = Hasher()


def coefficients(name: str, key: str, count: int) -> list[int]:
    secret = hashlib.blake2b(key.encode(), digest_size=32).digest() if key else b""
    data = hashlib.shake_256(b"dedup " + name.encode() + b"\0" + secret).digest(8 * count)
    return [int.from_bytes(data[8 * i : 8 * i + 8], "little") for i in range(count)]


def linear(numbers: Sequence[int], name: str, key: str) -> int:
    first, *others = coefficients(name, key, 1 + len(numbers))
    return (first + sum(a * b for a, b in zip(numbers, others, strict=True))) % 2**64 // 2**32


def both(numbers: Sequence[int], name: str, key: str) -> int:
    return linear(numbers, f"{name} upper", key) * 2**32 + linear(numbers, f"{name} lower", key)


def slow_word(word: str, key: str) -> int:
    data = word.encode() + bytes(-len(word.encode()) % 4)
    found = both([int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)], "word", key)
    found = (found ^ found >> 33) * 0xFF51AFD7ED558CCD % 2**64
    found = (found ^ found >> 33) * 0xC4CEB9FE1A85EC53 % 2**64
    return found ^ found >> 33


def numbers(words: Sequence[str], key: str) -> list[int]:
    return [half for word in words for half in (slow_word(word, key) % 2**32, slow_word(word, key) // 2**32)]


@given(WORD, st.sampled_from(["", "secret"]))
def test_the_hash_of_a_word_is_that_of_the_contract(word: str, key: str) -> None:
    assert Hasher(key).word(word) == slow_word(word, key)


@given(SEVERAL, st.sampled_from(["", "secret"]))
def test_the_hash_of_a_sequence_is_that_of_the_contract(words: list[str], key: str) -> None:
    assert Hasher(key).words(words) == signed(both([len(words), *numbers(words, key)], "sequence", key))


@given(st.lists(WORD, min_size=3, max_size=3), st.sampled_from(["", "secret"]))
def test_the_hash_of_a_shingle_is_that_of_the_contract(words: list[str], key: str) -> None:
    assert Hasher(key).shingle(words) == linear(numbers(words, key), "shingle", key)


@pytest.mark.long("dedup", "migrations")
@given(
    st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=6),
    st.integers(0, 127),
    st.sampled_from(["", "k"]),
)
def test_the_key_of_a_band_is_that_of_the_contract(values: list[int], band: int, key: str) -> None:
    assert Hasher(key).bucket(values, band) == signed(both(values, f"bucket {band}", key))


def test_known_hashes() -> None:
    # The published test vector: xxh3_64 of "" is 0x2D06800538D394C2.
    assert hash64("") == 0x2D06800538D394C2
    assert PLAIN.word("the") == KNOWN["word"]
    assert PLAIN.words(["the", "quick", "brown"]) == KNOWN["words"]
    assert PLAIN.shingle(["the", "quick", "brown"]) == KNOWN["shingle"]
    assert Hasher("secret").words(["the", "quick", "brown"]) == KNOWN["keyed"]


KNOWN = {
    "word": 16143088760597707206,
    "words": -6177571668487806650,
    "shingle": 2789226325,
    "keyed": 1281364944789638138,
}


@given(TEXTS)
def test_the_hash_of_the_lab_is_xxh3(text: str) -> None:
    assert hash64(text).to_bytes(8, "big", signed=True) == xxh3_64_digest(text.encode())
    assert hash_set([text]).astype(np.int64).tolist() == [hash64(text)]


@pytest.mark.parametrize(
    ("unsigned", "expected"),
    [(0, 0), (2**63 - 1, 2**63 - 1), (2**63, -(2**63)), (2**64 - 1, -1)],
)
def test_signed_keeps_the_bits(unsigned: int, expected: int) -> None:
    assert signed(unsigned) == expected


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@given(KEYS, KEYS, SEVERAL)
def test_equal_keys_have_equal_hashes_and_other_keys_others(one: str, other: str, words: list[str]) -> None:
    assert Hasher(one).words(words) == Hasher(one).words(words)
    assert (Hasher(one).words(words) == Hasher(other).words(words)) == (one == other)
    assert Hasher(one).words(words) != PLAIN.words(words)


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@given(SEVERAL, SEVERAL)
def test_sequences_have_equal_hashes_exactly_where_they_are_equal(one: list[str], other: list[str]) -> None:
    assert (PLAIN.words(one) == PLAIN.words(other)) == (one == other)
    assert PLAIN.words([*one, one[-1]]) != PLAIN.words(one)


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
def test_the_order_of_the_words_counts_however_regular_it_is() -> None:
    # Thue-Morse sequences of 2,048 words: a polynomial hash modulo 2^64 is the same for both.
    one = ["ab"[bin(i).count("1") % 2] for i in range(2_048)]
    other = ["ba"[bin(i).count("1") % 2] for i in range(2_048)]
    assert PLAIN.words(one) != PLAIN.words(other)
    seen = set()
    for i in range(200):
        words = ["a"] * 200
        words[i] = "b"
        seen.add(PLAIN.words(words))
    assert len(seen) == 200


def test_words_that_count_up_have_hashes_that_do_not() -> None:
    # With a linear hash alone, the hashes of consecutive numbers would differ by a few fixed steps.
    found = [PLAIN.word(f"page{number}") for number in range(1_000, 2_000)]
    steps = {(b - a) % 2**64 for a, b in pairwise(found)}
    assert len(steps) == len(found) - 1


def test_coefficients_beyond_those_that_are_kept_go_on_from_them() -> None:
    many = KEPT_COEFFICIENTS
    kept, more = PLAIN.of_sequence(1), PLAIN.of_sequence(many)
    assert kept.shape == (2, KEPT_COEFFICIENTS)
    assert more.shape == (2, 2 + 2 * many)
    assert np.array_equal(more[:, :KEPT_COEFFICIENTS], kept)


LINES = st.lists(
    st.lists(st.one_of(WORD, st.integers(250, 600).map(lambda n: "x\u00e9" * n)), max_size=6),
    min_size=1,
    max_size=6,
)


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@given(LINES, st.sampled_from(["", "secret"]))
def test_the_hashes_over_arrays_are_those_of_the_plain_functions(lines: list[list[str]], key: str) -> None:
    hasher = Hasher(key)
    tokens = Tokens(normalised("".join(" ".join(line) + "\n" for line in lines)), hasher)
    cut = [
        [word[i : i + MAX_WORD_CHARACTERS] for word in line for i in range(0, len(word), MAX_WORD_CHARACTERS)]
        for line in lines
    ]
    words = [word for line in cut for word in line]
    assert tokens.hashes.tolist() == [hasher.word(word) for word in words]
    assert tokens.lengths.tolist() == [len(word) for word in words]
    assert np.diff(tokens.lines).tolist() == [len(line) for line in cut]
    assert tokens.line_characters().tolist() == [len(" ".join(line)) for line in cut]
    full = np.flatnonzero(np.diff(tokens.lines))
    found = tokens.sequences(tokens.lines[full], tokens.lines[full + 1])
    assert found.tolist() == [hasher.words(line) for line in cut if line]
    at = np.arange(max(len(words) - 2, 0))
    assert tokens.shingles(at).tolist() == [hasher.shingle(words[i : i + 3]) for i in at.tolist()]


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@pytest.mark.parametrize("count", [KEPT_COEFFICIENTS // 2 - 1, KEPT_COEFFICIENTS // 2, 20_000])
def test_a_long_sequence_has_the_hash_of_the_plain_function(count: int) -> None:
    words = [f"w{random.Random(i).randrange(100)}" for i in range(count)]
    tokens = Tokens((" ".join(words) + "\n").encode(), PLAIN)
    assert tokens.sequences(np.array([0]), np.array([count])).tolist() == [PLAIN.words(words)]
