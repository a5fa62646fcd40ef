"""Algorithms of the lab equal simple algorithms: common substring, winnowing, join and fuzzy parts."""

from __future__ import annotations

import numpy as np
import ppdeep
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from dedup.extras.lab.algorithms import stretches
from dedup.extras.lab.algorithms.incidence import incidence, join, rarest, shared
from dedup.extras.lab.algorithms.stretches import (
    SHORTEST_RUN,
    fingerprints,
    least_shared,
    letters,
    longest_common_substring,
)
from dedup.extras.lab.methods.fuzzy_hash import compare, parts
from dedup.text.hashing import Hashes

FIRST = "Selling a beautiful house in California."
SECOND = "Buying a beautiful crip in California."


def simple_length(a: str, b: str) -> int:
    """Return the length of the longest common substring by dynamic programming."""
    best, row = 0, [0] * (len(b) + 1)
    for x in a:
        row = [0] + [row[j] + 1 if x == y else 0 for j, y in enumerate(b)]
        best = max(best, *row)
    return best


def check(a: str, b: str) -> None:
    length, i, j = longest_common_substring(a, b)
    assert length == simple_length(a, b)
    assert a[i : i + length] == b[j : j + length]
    assert len(a[i : i + length]) == length


@given(st.text("ab", max_size=60), st.text("ab", max_size=60))
def test_common_substring_of_two_letters(a: str, b: str) -> None:
    check(a, b)


@given(st.text(max_size=12), st.text(max_size=40), st.text(max_size=12), st.text(max_size=12))
def test_common_substring_of_any_characters(before: str, run: str, between: str, after: str) -> None:
    check(before + run + between, after + run)


@given(
    st.text("abc", min_size=1, max_size=5), st.integers(0, 40), st.integers(0, 40), st.text("abc", max_size=9)
)
def test_common_substring_of_periodic_texts(period: str, times: int, others: int, extra: str) -> None:
    check(period * times + extra, extra + period * others + "a")


def test_common_substring_of_worked_example() -> None:
    # The published example names " in California." with 15 characters, but "ing a beautiful " has 16.
    length, start, _ = longest_common_substring(FIRST, SECOND)
    assert (length, FIRST[start : start + length]) == (16, "ing a beautiful ")
    assert " in California." in FIRST
    assert " in California." in SECOND
    length, start, _ = longest_common_substring(FIRST.removeprefix("Selling "), SECOND)
    assert (length, FIRST.removeprefix("Selling ")[start : start + length]) == (15, " in California.")


@pytest.mark.parametrize(("a", "b"), [("", ""), ("", "a"), ("a", ""), ("a", "b")])
def test_common_substring_of_nothing(a: str, b: str) -> None:
    assert longest_common_substring(a, b).length == 0


def test_common_substring_of_long_bad_cases() -> None:
    size = 50_000
    morse = "".join("ab"[i.bit_count() % 2] for i in range(size))  # has collisions of polynomial hashes
    half = size // 2
    assert longest_common_substring("a" * size, "a" * (size - 1) + "b" + "a" * 9).length == size - 1
    assert longest_common_substring("ab" * half, "ab" * 15_000 + "c" + "ab" * 9_000).length == 30_000
    assert longest_common_substring(morse, morse[half:] + "c" + morse[:half]).length == half
    assert longest_common_substring("a" * size, "b" * size).length == 0


def test_colliding_hashes_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:

    # With the seeds 0 and 1, all letters have the same hash.
    def bad(text: str, seed: int = 0) -> Hashes:
        return letters(text, seed) if seed > 1 else np.zeros(len(text), np.uint64)

    monkeypatch.setattr(stretches, "letters", bad)
    assert longest_common_substring("the old house", "an old horse").length == 7


@given(
    st.text("ab", max_size=50),
    st.text("ab", min_size=1, max_size=12),
    st.integers(1, 30),
    st.text("ab", max_size=50),
    st.text("abc", max_size=50),
    st.text("abc", max_size=50),
)
def test_common_runs_share_as_many_fingerprints_as_promised(
    before: str, period: str, times: int, after: str, other_before: str, other_after: str
) -> None:
    run = (period * times)[:200]
    a, b = before + run + after, other_before + run + other_after
    both = len(np.intersect1d(fingerprints(a), fingerprints(b)))
    promised = int(least_shared(np.array([simple_length(a, b)]))[0])
    assert both >= promised
    if len(run) >= SHORTEST_RUN:
        assert promised >= 1


@given(st.text("ab", max_size=300))
def test_fingerprints_are_distinct_and_none_for_short_texts(text: str) -> None:
    found = fingerprints(text)
    assert len(np.unique(found)) == len(found)
    assert (len(found) > 0) == (len(text) >= SHORTEST_RUN)


SETS = st.lists(st.sets(st.integers(0, 15), max_size=12), max_size=12)
THRESHOLDS = st.one_of(
    st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 1.0]), st.floats(0.01, 1.0)
)


@pytest.mark.long("dedup", "migrations")
@given(SETS, THRESHOLDS)
@example([{*range(6), 10, 11, 12}, {*range(6), 13}], 0.60000001)  # equals 0.6 in 32 bits
def test_join_loses_nothing_and_invents_nothing(sets: list[set[int]], threshold: float) -> None:
    expected = [
        (i, j)
        for j in range(len(sets))
        for i in range(j)
        if sets[i] & sets[j]
        and np.float32(len(sets[i] & sets[j]) / len(sets[i] | sets[j])) >= np.float32(threshold)
    ]
    found = [tuple(pair) for pairs in join(incidence(map(list, sets)), threshold) for pair in pairs.tolist()]
    assert sorted(found) == sorted(expected)


def test_prefixes_are_the_rarest_items() -> None:
    the, cat, sat = range(3)
    matrix = incidence([[the, cat, sat], [the, cat], [the]])
    kept = rarest(matrix, np.array([2, 1, 1]))
    assert kept.toarray().tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 1]]  # the columns are sat, cat, the
    assert rarest(csr_array(np.empty((0, 0), np.int32)), np.empty(0, np.int64)).shape == (0, 0)


@given(st.lists(st.lists(st.floats(0.125, 4, width=16), min_size=3, max_size=3), max_size=9))
def test_products_of_weights_are_exact(rows: list[list[float]]) -> None:
    dense = np.array(rows).reshape(-1, 3)
    expected = {(i, j): dense[i] @ dense[j] for j in range(len(rows)) for i in range(j)}
    found = {
        tuple(pair): value
        for pairs, values in shared(csr_array(dense))
        for pair, value in zip(pairs.tolist(), values.tolist(), strict=True)
    }
    assert found == pytest.approx(expected)


DIGESTS = st.builds(
    "{}:{}:{}".format,
    st.sampled_from([3, 6, 12, 24]),
    st.text("ABC", min_size=1, max_size=14),
    st.text("ABC", min_size=1, max_size=14),
)


@given(DIGESTS, DIGESTS)
def test_fuzzy_digests_that_share_no_part_score_nothing_and_the_others_something(a: str, b: str) -> None:
    if not parts(a) & parts(b):
        assert ppdeep.compare(a, b) == 0
    assert compare(a, b) == ppdeep.compare(a, b) / 100
    assert compare(a, a) == 1
    assert compare(a, "") == compare("", "") == 0
