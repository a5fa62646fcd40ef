"""Signatures: MinHash, bytes and buckets against integers in plain Python, and laws from the literature.

See docs/semantics.md, sections 1.7, 1.8 and 3.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xxhash import xxh3_64_intdigest

from dedup.text import signature as module
from dedup.text.hashing import Hasher, hash_set
from dedup.text.signature import (
    EMPTY,
    MinHashes,
    ShingleHashes,
    Signature,
    estimate,
    jaccard,
    minhash,
    minhash_many,
    signature,
)

SIZE = 256
BANDS, ROWS = 16, 4
PLAIN = Hasher()
ITEMS = st.sets(st.text(max_size=8), min_size=1, max_size=40)

GOLDEN_VALUES = [1590908749, 2034712444, 2494781745, 30392010]
GOLDEN_SIGNATURE = [20, 237, 114, 221]
GOLDEN_BUCKETS = [4348309907640601551, -8674091726762832450]


def hashes_of(items: Iterable[str]) -> ShingleHashes:
    """Hash a set of strings as if they were shingles."""
    return hash_set(set(items)).astype(np.uint32)


def buckets(values: MinHashes, bands: int, rows: int, hasher: Hasher) -> list[int]:
    """Return the bucket keys of one text."""
    found: list[int] = module.buckets(values[None], hasher.of_buckets(bands, rows))[0].tolist()
    return found


def reference(text: str) -> int:
    """Return xxh3_64 of a text as an unsigned integer."""
    return int(xxh3_64_intdigest(text.encode()))


def slow_minhash(hashes: list[int], count: int) -> list[int]:
    """Return MinHash values by the definition: each function is applied to each shingle, in whole numbers."""
    found = []
    for i in range(count):
        a = reference(f"dedup multiplier {i}") % 2**32 | 1
        b = reference(f"dedup increment {i}") % 2**32
        found.append(min((a * (x % 2**32) + b) % 2**32 for x in hashes))
    return found


def signed_set(items: set[str], size: int = SIZE) -> Signature:
    """Return the signature of a set of strings."""
    return signature(minhash(hashes_of(items), size))


def random_pair(seed: int, shared: int, each: int) -> tuple[set[str], set[str], float]:
    chooser = random.Random(seed)
    items = [f"{chooser.getrandbits(64):x} {i}" for i in range(shared + 2 * each)]
    a, b = set(items[: shared + each]), set(items[:shared] + items[shared + each :])
    return a, b, shared / (shared + 2 * each)


def standard_error(exact: float, size: int) -> float:
    """Return the standard deviation of the estimate: Li and Koenig's variance for one byte per value."""
    equal = exact + (1 - exact) / 256
    return math.sqrt(equal * (1 - equal) / size) * 256 / 255


def mixed(value: int) -> int:
    """Return the result of MurmurHash3's 32-bit finaliser, computed by its definition."""
    value = (value ^ value >> 16) * 0x85EBCA6B % 2**32
    value = (value ^ value >> 13) * 0xC2B2AE35 % 2**32
    return value ^ value >> 16


def test_known_values() -> None:
    values = minhash(hashes_of({"the quick brown", "is the time"}), 4)
    assert values.tolist() == GOLDEN_VALUES
    assert signature(values).tolist() == GOLDEN_SIGNATURE
    assert buckets(values, 2, 2, PLAIN) == GOLDEN_BUCKETS


def test_a_byte_is_that_of_the_mixed_value() -> None:
    # Compare with published results of this finaliser, then with the definition in whole numbers.
    assert [mixed(value) for value in (0, 1, 2**32 - 1)] == [0, 0x514E28B7, 0x81F16F39]
    values = np.array([0, 1, 2**32 - 1, *minhash(hashes_of(map(str, range(50))), SIZE)], np.uint32)
    assert signature(values).tolist() == [mixed(value) % 256 for value in values.tolist()]
    assert signature(values.reshape(7, 37)).tolist() == signature(values).reshape(7, 37).tolist()


@pytest.mark.parametrize("count", [8, 100])
def test_sets_with_equal_low_bytes_of_hashes_are_not_similar(count: int) -> None:
    # The low byte of a x + b depends on the low byte of x only. Before values were mixed, a person could
    # choose words that made all signatures equal.
    chooser = random.Random(count)
    one, other = (
        np.array([chooser.getrandbits(24) << 8 | 7 for _ in range(count)], np.uint32) for _ in range(2)
    )
    found = jaccard(signature(minhash(one, SIZE)), signature(minhash(other, SIZE)))
    assert found <= 5 * standard_error(0.0, SIZE)


@pytest.mark.parametrize("members", [8, 12, 30])
def test_small_sets_are_estimated_as_exactly_as_large_ones(members: int) -> None:
    # Values are mixed before one byte of each is kept. Otherwise two members of sets that agree by chance
    # under one function would agree under many functions, and such errors would not average out.
    raw = []
    for seed in range(400):
        a, b, _ = random_pair(seed, 0, members)
        raw.append(np.count_nonzero(signed_set(a) == signed_set(b)) / SIZE - 1 / 256)
    rms = math.sqrt(sum(error**2 for error in raw) / len(raw))
    assert rms <= 1.15 * standard_error(0.0, SIZE)


@given(ITEMS, st.integers(1, 20))
def test_minhash_is_the_definition_in_whole_numbers(items: set[str], count: int) -> None:
    hashes = hashes_of(items)
    assert minhash(hashes, count).tolist() == slow_minhash(hashes.tolist(), count)


def test_minhash_of_a_set_larger_than_one_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = hashes_of({str(i) for i in range(100)})
    whole = minhash(hashes, 64)
    monkeypatch.setattr(module, "_CHUNK", 7)
    assert minhash(hashes, 64).tolist() == whole.tolist() == slow_minhash(hashes.tolist(), 64)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=8), st.integers(1, 40))
def test_minhash_of_many_sets_is_that_of_each(sizes: list[int], chunk: int) -> None:
    hashes = hashes_of(str(i) for i in range(sum(sizes)))
    starts = np.cumsum([0, *sizes[:-1]])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_CHUNK", chunk)
        found = minhash_many(hashes, starts, 5)
    alone = [minhash(part, 5).tolist() for part in np.split(hashes, starts[1:])]
    assert found.tolist() == alone


@given(st.lists(st.text(max_size=8), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_order_and_repetition_do_not_matter(items: list[str], chooser: random.Random) -> None:
    more = [*items, *items[: len(items) // 2]]
    chooser.shuffle(more)
    assert minhash(hashes_of(more), SIZE).tolist() == minhash(hashes_of(items), SIZE).tolist()


@given(ITEMS, ITEMS)
def test_minhash_of_a_union_is_the_smaller_of_both(a: set[str], b: set[str]) -> None:
    one, other = minhash(hashes_of(a), SIZE), minhash(hashes_of(b), SIZE)
    assert minhash(hashes_of(a | b), SIZE).tolist() == np.minimum(one, other).tolist()


@given(ITEMS, st.integers(1, 20), st.integers(0, 20))
def test_a_longer_signature_begins_with_the_shorter(items: set[str], count: int, more: int) -> None:
    assert (
        minhash(hashes_of(items), count + more)[:count].tolist() == minhash(hashes_of(items), count).tolist()
    )


def test_a_hash_function_is_one_to_one() -> None:
    # An odd multiplier makes a function one-to-one: different shingles never get the same whole value.
    multipliers, increments = module._functions(SIZE)
    assert (multipliers % 2 == 1).all()
    assert len(set(multipliers.tolist())) == len(set(increments.tolist())) == SIZE


@given(ITEMS)
def test_a_signature_is_a_byte_of_each_mixed_value(items: set[str]) -> None:
    values = minhash(hashes_of(items), SIZE)
    made = signature(values)
    assert made.dtype == np.uint8
    assert made.tolist() == [mixed(value) % 256 for value in values.tolist()]
    assert len(made.tobytes()) == 256


def test_the_empty_set_has_no_signature_and_no_bucket() -> None:
    empty = minhash(hashes_of(set()), SIZE)
    assert empty.shape == signature(empty).shape == EMPTY.shape == (0,)
    assert empty.dtype == np.uint32
    assert signature(empty).dtype == EMPTY.dtype == np.uint8
    assert jaccard(EMPTY, EMPTY) == 0.0
    assert jaccard(EMPTY, signed_set({"a"})) == jaccard(signed_set({"a"}), EMPTY) == 0.0


@pytest.mark.parametrize(
    ("equal", "expected"),
    [(0, 0.0), (1, 0.0), (2, 1 / 255), (77, 76 / 255), (78, 77 / 255), (154, 0.6), (205, 0.8), (256, 1.0)],
)
def test_the_estimate_worked_by_hand(equal: int, expected: float) -> None:
    assert estimate(equal, SIZE) == expected


@given(st.integers(0, 1_024), st.integers(4, 1_024))
def test_the_estimate_is_the_formula_and_grows_with_equal_bytes(equal: int, size: int) -> None:
    equal = min(equal, size)
    share = Fraction(equal, size)
    exact = max(Fraction(0), (share - Fraction(1, 256)) / (1 - Fraction(1, 256)))
    assert estimate(equal, size) == float(exact)
    assert 0 <= estimate(equal, size) <= 1
    assert equal == 0 or estimate(equal, size) >= estimate(equal - 1, size)


@settings(derandomize=True)
@given(st.integers(0, 2**32), st.integers(0, 200), st.integers(0, 200), st.sampled_from([128, 256, 1_024]))
def test_the_estimate_is_within_five_standard_errors_of_the_exact_jaccard(
    seed: int, shared: int, each: int, size: int
) -> None:
    a, b, exact = random_pair(seed, shared + 20, each)
    found = jaccard(signed_set(a, size), signed_set(b, size))
    # Allow two more bytes: if the Jaccard is close to 0 or 1, the count of equal bytes is not normally
    # distributed.
    assert abs(found - exact) <= 5 * standard_error(exact, size) + 2 / size


@pytest.mark.parametrize(("shared", "each"), [(70, 50), (150, 50), (50, 150), (300, 10)])
def test_the_estimate_is_unbiased_and_as_exact_as_the_source_says(shared: int, each: int) -> None:
    errors = []
    for seed in range(200):
        a, b, exact = random_pair(seed, shared, each)
        errors.append(jaccard(signed_set(a), signed_set(b)) - exact)
    expected = standard_error(exact, SIZE)
    assert abs(sum(errors) / len(errors)) <= 5 * expected / math.sqrt(len(errors))
    rms = math.sqrt(sum(error**2 for error in errors) / len(errors))
    assert 0.7 * expected <= rms <= 1.3 * expected
    assert expected <= 0.033  # measured on real news: 0.026 to 0.035 (docs/semantics.md)


@pytest.mark.parametrize("size", [1, 64, 200, 255, 256, 1_000])
def test_every_estimate_is_one_division_rounded_once(size: int) -> None:
    # (p - 1/256) / (1 - 1/256) is rounded three times and differs from the exact value at most sizes.
    exact = [float(max(Fraction(0), Fraction(256 * e - size, 255 * size))) for e in range(size + 1)]
    assert [estimate(e, size) for e in range(size + 1)] == exact
    assert module.estimates(np.arange(size + 1), size).tolist() == exact
    if size == 200:
        assert exact != [max(0, (e / size - 1 / 256) / (1 - 1 / 256)) for e in range(size + 1)]


def test_disjoint_sets_estimate_about_nothing() -> None:
    found = [jaccard(*(signed_set(items) for items in random_pair(seed, 0, 100)[:2])) for seed in range(300)]
    # One byte in 256 is equal by chance. The estimate subtracts this share, and is 0 instead of negative.
    assert max(found) <= 5 * standard_error(0.0, SIZE)
    assert sum(found) / len(found) <= standard_error(0.0, SIZE)


@given(ITEMS, ITEMS)
def test_the_estimate_is_symmetric_and_one_for_equal_sets(a: set[str], b: set[str]) -> None:
    one, other = signed_set(a), signed_set(b)
    assert jaccard(one, other) == jaccard(other, one)
    assert jaccard(one, signed_set(set(a))) == 1.0
    equal = sum(x == y for x, y in zip(one.tolist(), other.tolist(), strict=True))
    assert np.count_nonzero(one == other) == equal
    assert jaccard(one, other) == estimate(equal, SIZE)
    assert jaccard(one, other[:10]) == 0.0  # signatures of different sizes are of different versions


@given(ITEMS, st.sampled_from(["", "secret"]))
def test_a_bucket_is_the_hash_of_its_whole_values(items: set[str], key: str) -> None:
    hasher = Hasher(key)
    values = minhash(hashes_of(items), SIZE)
    expected = [hasher.bucket(values[4 * i : 4 * i + 4].tolist(), i) for i in range(BANDS)]
    assert buckets(values, BANDS, ROWS, hasher) == expected


@given(
    st.lists(st.integers(0, 1), min_size=16, max_size=16),
    st.lists(st.integers(0, 1), min_size=16, max_size=16),
    st.sampled_from(["", "secret"]),
)
def test_buckets_are_equal_exactly_where_all_rows_of_a_band_are(a: list[int], b: list[int], key: str) -> None:
    one, other = (buckets(np.array(values, np.uint32), 5, 3, Hasher(key)) for values in (a, b))
    assert len(one) == 5
    for band in range(5):
        rows = slice(3 * band, 3 * band + 3)
        assert (one[band] == other[band]) == (a[rows] == b[rows])
    # Keys of different bands are never equal, even if the rows are.
    assert set(one).isdisjoint({key for band, key in enumerate(other) if key != one[band]})


def test_equal_bytes_are_no_bucket_where_the_whole_values_differ() -> None:
    one = np.arange(64, dtype=np.uint32)
    of_byte = {mixed(value) % 256: value for value in range(100, 10_000)}
    other = np.array([of_byte[byte] for byte in signature(one).tolist()], np.uint32)
    assert signature(one).tolist() == signature(other).tolist()
    assert set(buckets(one, BANDS, ROWS, PLAIN)).isdisjoint(buckets(other, BANDS, ROWS, PLAIN))


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
def test_pairs_share_a_bucket_as_often_as_the_formula_says() -> None:
    trials = 600
    for shared, each in ((4, 8), (8, 6), (14, 3)):
        hits = 0
        for seed in range(trials):
            a, b, exact = random_pair(seed, shared, each)
            keys = [set(buckets(minhash(hashes_of(items), 64), BANDS, ROWS, PLAIN)) for items in (a, b)]
            hits += not keys[0].isdisjoint(keys[1])
        expected = 1 - (1 - exact**ROWS) ** BANDS
        # Allow four standard errors, and 0.01 more: the functions are not exactly min-wise on small sets.
        slack = 4 * math.sqrt(expected * (1 - expected) / trials) + 0.01
        assert abs(hits / trials - expected) <= slack


def test_buckets_need_enough_values() -> None:
    with pytest.raises(ValueError, match="16 bands of 4 rows need 64 values, not 63"):
        buckets(np.zeros(63, np.uint32), BANDS, ROWS, PLAIN)
