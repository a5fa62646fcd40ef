"""Hashes: xxh3_64 without a key, keyed BLAKE2b with one (docs/semantics.md, section 1.4)."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_digest, xxh3_64_intdigest

from dedup.text.hashing import Hasher, hash64, hash_set, signed

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
KEYS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=100)


def blake(key: str, data: bytes, band: int = 0) -> int:
    """The formula of the contract."""
    secret = hashlib.blake2b(key.encode(), digest_size=32).digest()
    salt = band.to_bytes(8, "little")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8, key=secret, salt=salt).digest(), "little")


def test_known_hashes() -> None:
    # xxh3_64 of "" is the published test vector 0x2D06800538D394C2.
    assert hash64("") == 0x2D06800538D394C2
    assert hash64("a") == 0xE6C632B61E964E1F - (1 << 64)
    assert hash64("the quick brown") == 5587912275220284305
    assert Hasher("secret").text("the quick brown") == -2045400668275135630


@given(TEXTS)
def test_a_hash_is_the_reference_hash_in_postgres_bigint_range(text: str) -> None:
    value = hash64(text)
    assert -(2**63) <= value < 2**63
    assert value.to_bytes(8, "big", signed=True) == xxh3_64_digest(text.encode())
    assert Hasher().text(text) == Hasher("").text(text) == value


@pytest.mark.parametrize(
    ("unsigned", "expected"),
    [(0, 0), (2**63 - 1, 2**63 - 1), (2**63, -(2**63)), (2**64 - 1, -1)],
)
def test_signed_keeps_the_bits(unsigned: int, expected: int) -> None:
    assert signed(unsigned) == expected


@given(KEYS, TEXTS, st.integers(0, 127))
def test_with_a_key_a_hash_is_keyed_blake2b_salted_with_the_band(key: str, text: str, band: int) -> None:
    hasher = Hasher(key)
    assert hasher.text(text) == signed(blake(key, text.encode()))
    assert hasher.unsigned(text.encode(), band) == blake(key, text.encode(), band)
    assert -(2**63) <= hasher.text(text) < 2**63


@given(TEXTS.map(str.encode), st.integers(0, 127))
def test_without_a_key_the_band_is_the_seed(data: bytes, band: int) -> None:
    assert Hasher().unsigned(data, band) == xxh3_64_intdigest(data, band)


@given(KEYS, KEYS, TEXTS)
def test_equal_keys_have_equal_hashes_and_other_keys_others(one: str, other: str, text: str) -> None:
    assert Hasher(one).text(text) == Hasher(one).text(text)
    assert (Hasher(one).text(text) == Hasher(other).text(text)) == (one == other)
    assert Hasher(one).text(text) != hash64(text)


@given(st.sets(TEXTS, max_size=20), st.sampled_from(["", "secret"]))
def test_the_hashes_of_a_set_are_those_of_its_members(items: set[str], key: str) -> None:
    hasher = Hasher(key)
    made = hash_set(items, hasher)
    assert sorted(made.tolist()) == sorted(hasher.unsigned(item.encode()) for item in items)
    if not key:
        assert sorted(hash_set(items).tolist()) == sorted(made.tolist())
