"""Common sentences: worked values and laws of effective stories (docs/semantics.md, section 2)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.settings import Settings
from dedup.rules.common import agreeing_pairs, effective_stories, is_common

BANDS = Settings().bands
LIMIT = Settings().common_stories


def stories(*buckets: Sequence[int]) -> float:
    return effective_stories(len(buckets), agreeing_pairs(buckets), len(buckets[0]))


def copies(count: int, story: int = 1) -> list[list[int]]:
    """Return the buckets of `count` articles that agree in every band."""
    return [[100 * story + band for band in range(BANDS)]] * count


def strangers(count: int) -> list[list[int]]:
    """Return the buckets of `count` articles that agree in no band."""
    return [[-1_000 * i - band for band in range(BANDS)] for i in range(1, count + 1)]


@pytest.mark.parametrize("count", [2, 11, 300])
def test_copies_are_one_story_however_many_they_are(count: int) -> None:
    assert agreeing_pairs(copies(count)) == BANDS * count * (count - 1)
    assert stories(*copies(count)) == 1.0
    assert not is_common(count, agreeing_pairs(copies(count)), BANDS, 1)


@pytest.mark.parametrize("count", [1, 10, 11, 300])
def test_carriers_that_agree_in_nothing_are_a_story_each(count: int) -> None:
    assert agreeing_pairs(strangers(count)) == 0
    assert stories(*strangers(count)) == count
    assert is_common(count, 0, BANDS, LIMIT) == (count > LIMIT)


def test_a_sentence_nobody_carries_has_no_story() -> None:
    assert agreeing_pairs([]) == 0
    assert effective_stories(0, 0, BANDS) == 0.0
    assert not is_common(0, 0, BANDS, 1)


def test_stories_of_many_copies_are_counted_as_stories() -> None:
    for k, n in ((2, 150), (5, 60), (10, 2), (10, 3), (11, 2)):
        carriers = [bucket for story in range(k) for bucket in copies(n, story)]
        assert stories(*carriers) == k
        assert is_common(k * n, agreeing_pairs(carriers), BANDS, LIMIT) == (k > LIMIT)
    # A big story outweighs ten single articles, because Simpson's index weighs stories by their sizes.
    mixed = [*copies(300), *strangers(10)]
    assert stories(*mixed) == pytest.approx(310 * 310 / (300 * 300 + 10))
    assert not is_common(310, agreeing_pairs(mixed), BANDS, LIMIT)


def test_bands_are_weighed_alike() -> None:
    # In half of the bands all 40 articles agree, in the others no two. So two articles drawn at random agree
    # in a band with the probability 1, or 1/40 (the same article twice). Stories are the inverse of the mean.
    half = [[band if band < BANDS // 2 else 1_000 * i + band for band in range(BANDS)] for i in range(40)]
    assert stories(*half) == pytest.approx(2 / (1 + 1 / 40))


def test_one_key_in_two_bands_is_no_agreement() -> None:
    assert agreeing_pairs([[7, 8], [8, 7]]) == 0
    assert agreeing_pairs([[7, 8], [7, 8], [7, 9]]) == 6 + 2


@pytest.mark.parametrize(("carriers", "told"), [(11, "4.8"), (20, "5.8"), (300, "7.5"), (10_000, "7.7")])
def test_copies_that_are_duplicates_never_count_for_more_than_eight_stories(carriers: int, told: str) -> None:
    # Two copies with a shingle Jaccard of 0.6 agree in a band of 4 rows with the probability 0.6 ** 4.
    collisions = Fraction(6, 10) ** 4
    pairs = -int(-collisions * BANDS * carriers * (carriers - 1) // 1)
    found = effective_stories(carriers, pairs, BANDS)
    assert f"{found:.1f}" == told
    assert found <= 7.72
    assert not is_common(carriers, pairs, BANDS, LIMIT)
    assert is_common(carriers, pairs, BANDS, 4)
    assert Settings().duplicate_signature_jaccard ** -Settings().rows == pytest.approx(7.716, abs=0.001)


@pytest.mark.parametrize("carriers", [11, 17, 300])
def test_the_limit_itself_is_not_common(carriers: int) -> None:
    # A corpus has an even number of agreeing pairs, but the rule must hold for odd numbers, too.
    at = -(-BANDS * carriers * carriers // LIMIT) - BANDS * carriers
    assert not is_common(carriers, at, BANDS, LIMIT)
    assert is_common(carriers, at - 1, BANDS, LIMIT)
    assert not is_common(10, 0, BANDS, 10)
    assert is_common(11, 0, BANDS, 10)


CARRIERS = st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), max_size=12)


@given(CARRIERS)
def test_agreeing_pairs_are_counted_pair_by_pair(carriers: list[list[int]]) -> None:
    slow = sum(a[band] == b[band] for a, b in permutations(carriers, 2) for band in range(3))
    assert agreeing_pairs(carriers) == slow
    assert agreeing_pairs(carriers[::-1]) == slow


@given(CARRIERS, st.data())
def test_a_carrier_that_stands_for_several_counts_as_so_many(
    carriers: list[list[int]], data: st.DataObject
) -> None:
    weights = data.draw(st.lists(st.integers(1, 4), min_size=len(carriers), max_size=len(carriers)))
    each = [keys for keys, weight in zip(carriers, weights, strict=True) for _ in range(weight)]
    assert agreeing_pairs(carriers, weights) == agreeing_pairs(each)


@given(CARRIERS, st.integers(1, 12))
def test_the_rule_is_the_probability_of_the_contract(carriers: list[list[int]], limit: int) -> None:
    m = len(carriers)
    drawn = list(product(carriers, repeat=2))
    bands = [Fraction(sum(a[band] == b[band] for a, b in drawn), len(drawn) or 1) for band in range(3)]
    c = sum(bands) / 3
    exact = 1 / c if c else Fraction(0)
    pairs = agreeing_pairs(carriers)
    assert effective_stories(m, pairs, 3) == float(exact)  # one division, which rounds once
    assert is_common(m, pairs, 3, limit) == (exact > limit)


COUNTS = st.tuples(st.integers(0, 100_000), st.floats(0, 1), st.integers(1, 128)).map(
    lambda drawn: (drawn[0], int(drawn[1] ** 4 * drawn[2] * drawn[0] * max(drawn[0] - 1, 0)), drawn[2])
)


@given(COUNTS, st.integers(1, 100_000))
def test_whole_numbers_decide_as_floats_do_away_from_the_edge(
    counts: tuple[int, int, int], limit: int
) -> None:
    found = effective_stories(*counts)
    if abs(found - limit) > 1e-9 * limit:
        assert is_common(*counts, limit) == (found > limit)


@given(COUNTS, st.integers(1, 100), st.integers(0, 10**9))
def test_more_agreement_makes_fewer_stories_and_a_higher_limit_fewer_common_ones(
    counts: tuple[int, int, int], limit: int, more: int
) -> None:
    carriers, pairs, bands = counts
    assert effective_stories(carriers, pairs + more, bands) <= effective_stories(carriers, pairs, bands)
    assert is_common(carriers, pairs + more, bands, limit) <= is_common(carriers, pairs, bands, limit)
    assert is_common(carriers, pairs, bands, limit + 1) <= is_common(carriers, pairs, bands, limit)
    assert is_common(carriers, pairs, bands, limit) <= is_common(carriers + 1, pairs, bands, limit)
    assert 0 <= effective_stories(carriers, pairs, bands) <= carriers
