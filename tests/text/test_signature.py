"""Signatures: MinHash, buckets and sketch against pure-Python integers, and the laws of the sources."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_digest

from dedup.text import signature as module
from dedup.text.signature import buckets, equal_share, hash64, hash_set, minhash, signed, sketch

SIZE = 64
ITEMS = st.sets(st.text(max_size=8), min_size=1, max_size=40)

GOLDEN_HASH = 5587912275220284305
GOLDEN_SIGNATURE = [756054415, 822793250, 621367497, 3118791951]
GOLDEN_BUCKETS = [-1608490696339130801, -6970096818025946819]
GOLDEN_SKETCH = 2642852189171927894


def reference(text: str) -> int:
    """xxh3_64 by way of its bytes, most significant first, without a sign."""
    return int.from_bytes(xxh3_64_digest(text.encode()), "big")


def slow_minhash(items: set[str], count: int) -> list[int]:
    """MinHash by the letter: each function applied once to each shingle, in whole numbers."""
    mask = (1 << 64) - 1
    signature = []
    for i in range(count):
        a = reference(f"dedup multiplier {i}") | 1
        b = reference(f"dedup increment {i}")
        signature.append(min(((a * reference(item) + b) & mask) >> 32 for item in items))
    return signature


def random_pair(seed: int, shared: int, each: int) -> tuple[set[str], set[str], float]:
    chooser = random.Random(seed)
    items = [f"{chooser.getrandbits(64):x} {i}" for i in range(shared + 2 * each)]
    a, b = set(items[: shared + each]), set(items[:shared] + items[shared + each :])
    return a, b, shared / (shared + 2 * each)


def test_known_hashes() -> None:
    # xxh3_64 of "" is the published test vector 0x2D06800538D394C2.
    assert hash64("") == 0x2D06800538D394C2
    assert hash64("a") == 0xE6C632B61E964E1F - (1 << 64)
    assert hash64("the quick brown") == GOLDEN_HASH
    assert minhash(hash_set({"the quick brown", "is the time"}), 4).tolist() == GOLDEN_SIGNATURE
    assert buckets(np.array(GOLDEN_SIGNATURE, np.uint32), 2, 2) == GOLDEN_BUCKETS
    assert sketch(hash_set({"the quick brown", "is the time"})) == GOLDEN_SKETCH


@given(st.text(st.characters(codec="utf-8")))
def test_hash64_is_the_reference_hash_in_postgres_bigint_range(text: str) -> None:
    value = hash64(text)
    assert -(2**63) <= value < 2**63
    assert value.to_bytes(8, "big", signed=True) == xxh3_64_digest(text.encode())


@pytest.mark.parametrize(
    ("unsigned", "expected"),
    [(0, 0), (2**63 - 1, 2**63 - 1), (2**63, -(2**63)), (2**64 - 1, -1)],
)
def test_signed_keeps_the_bits(unsigned: int, expected: int) -> None:
    assert signed(unsigned) == expected


@given(ITEMS, st.integers(1, 20))
def test_minhash_is_the_definition_in_whole_numbers(items: set[str], count: int) -> None:
    assert minhash(hash_set(items), count).tolist() == slow_minhash(items, count)


def test_minhash_of_a_set_larger_than_one_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    items = {str(i) for i in range(100)}
    whole = minhash(hash_set(items), SIZE)
    monkeypatch.setattr(module, "_CHUNK", 7)
    assert minhash(hash_set(items), SIZE).tolist() == whole.tolist() == slow_minhash(items, SIZE)


@given(st.lists(st.text(max_size=8), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(items: list[str], chooser: random.Random) -> None:
    more = [*items, *items[: len(items) // 2]]
    chooser.shuffle(more)
    assert minhash(hash_set(more), SIZE).tolist() == minhash(hash_set(items), SIZE).tolist()
    assert sketch(hash_set(more)) == sketch(hash_set(items))


@given(ITEMS, ITEMS)
def test_minhash_of_a_union_is_the_smaller_of_both(a: set[str], b: set[str]) -> None:
    one, other = minhash(hash_set(a), SIZE), minhash(hash_set(b), SIZE)
    assert minhash(hash_set(a | b), SIZE).tolist() == np.minimum(one, other).tolist()
    hashes = {sketch(hash_set(a)), sketch(hash_set(b))}
    assert sketch(hash_set(a | b)) == min(hashes, key=lambda value: value % 2**64)


@given(ITEMS, st.integers(1, 20), st.integers(0, 20))
def test_a_longer_signature_begins_with_the_shorter(items: set[str], count: int, more: int) -> None:
    assert minhash(hash_set(items), count + more)[:count].tolist() == minhash(hash_set(items), count).tolist()


def test_the_empty_set_has_no_signature_and_no_bucket() -> None:
    empty = minhash(hash_set(set()), SIZE)
    assert empty.shape == (0,)
    assert empty.dtype == np.uint32
    assert buckets(empty, 16, 4) == []
    assert equal_share(empty, empty) == 0.0
    assert equal_share(empty, minhash(hash_set({"a"}), SIZE)) == 0.0


@settings(derandomize=True)
@given(st.integers(0, 2**32), st.integers(0, 200), st.integers(0, 200))
def test_equal_share_estimates_jaccard_within_four_standard_errors(seed: int, shared: int, each: int) -> None:
    count = 512
    a, b, jaccard = random_pair(seed, shared + 1, each)
    estimate = equal_share(minhash(hash_set(a), count), minhash(hash_set(b), count))
    error = math.sqrt(jaccard * (1 - jaccard) / count)
    # Two positions more, because close to 0 and 1 the count of equal positions is far from normal.
    assert abs(estimate - jaccard) <= 4 * error + 2 / count


def test_equal_share_is_unbiased() -> None:
    pairs = [random_pair(seed, 7, 5) for seed in range(400)]
    shares = [equal_share(minhash(hash_set(a), SIZE), minhash(hash_set(b), SIZE)) for a, b, _ in pairs]
    jaccard = pairs[0][2]
    error = math.sqrt(jaccard * (1 - jaccard) / SIZE / len(pairs))
    assert abs(sum(shares) / len(shares) - jaccard) <= 4 * error


@given(
    st.lists(st.integers(0, 1), min_size=16, max_size=16),
    st.lists(st.integers(0, 1), min_size=16, max_size=16),
)
def test_buckets_are_equal_exactly_where_all_rows_of_a_band_are(a: list[int], b: list[int]) -> None:
    one, other = (buckets(np.array(values, np.uint32), 5, 3) for values in (a, b))
    assert len(one) == 5
    for band in range(5):
        rows = slice(3 * band, 3 * band + 3)
        assert (one[band] == other[band]) == (a[rows] == b[rows])
    # A band's key is never another band's, even of equal rows.
    assert set(one).isdisjoint({key for band, key in enumerate(other) if key != one[band]})


def test_pairs_share_a_bucket_as_often_as_the_formula_says() -> None:
    bands, rows, trials = 16, 4, 600
    for shared, each in ((4, 8), (8, 6), (14, 3)):
        hits = 0
        for seed in range(trials):
            a, b, jaccard = random_pair(seed, shared, each)
            keys = [set(buckets(minhash(hash_set(items), SIZE), bands, rows)) for items in (a, b)]
            hits += not keys[0].isdisjoint(keys[1])
        expected = 1 - (1 - jaccard**rows) ** bands
        # Four standard errors, and room for sets so small that a function may miss being min-wise.
        slack = 4 * math.sqrt(expected * (1 - expected) / trials) + 0.01
        assert abs(hits / trials - expected) <= slack


def test_buckets_need_enough_values() -> None:
    with pytest.raises(ValueError, match="16 bands of 4 rows need 64 values, not 63"):
        buckets(np.zeros(63, np.uint32), 16, 4)


@given(ITEMS)
def test_sketch_is_the_smallest_unsigned_hash(items: set[str]) -> None:
    assert sketch(hash_set(items)) == signed(min(reference(item) for item in items))


@given(ITEMS, ITEMS)
def test_equal_share_counts_positions(a: set[str], b: set[str]) -> None:
    one, other = minhash(hash_set(a), SIZE), minhash(hash_set(b), SIZE)
    share = equal_share(one, other)
    assert share == sum(x == y for x, y in zip(one.tolist(), other.tolist(), strict=True)) / SIZE
    assert share == equal_share(other, one)
    assert equal_share(one, one) == 1.0
    assert equal_share(one, other[:10]) == 0.0
