"""Samples of pairs for people to judge, and estimates about all pairs from the judgements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from dedup.base.errors import InputError
from dedup.base.settings import Settings
from dedup.extras.judging.estimate import Design, interval, measures, quality, with_twins
from dedup.extras.judging.sampling import Strata, allocate, draw, permanent_numbers, stratify

DEFAULTS = Settings()
NAN = float("nan")


def strata_of(scores: list[float], opinions: list[tuple[bool, ...]]) -> Strata:
    return stratify(np.array(scores, np.float32), np.array(opinions, bool), DEFAULTS)


@pytest.mark.parametrize(
    ("score", "name"),
    [
        (NAN, "not found by dedup"),
        (0.0, "below 0.3"),
        (0.29, "below 0.3"),
        (0.3, "0.3 to 0.55"),
        (0.55, "0.55 to 0.6"),
        (0.6, "0.6 to 0.65"),  # a score equal to the threshold is in the band above
        (0.69, "0.65 to 0.7"),
        (0.7, "0.7 to 0.75"),
        (0.99, "0.75 to 1"),
        (1.0, "1"),
    ],
)
def test_the_band_of_a_score(score: float, name: str) -> None:
    assert strata_of([score], [(True, True)]).names == (name,)
    assert strata_of([score], [(False, False)]).names == (name,)
    assert strata_of([score], [(True, False)]).names == (f"{name}, methods disagree",)


def test_strata_are_disjoint_and_ordered() -> None:
    found = strata_of(
        [0.9, 0.1, NAN, 0.9, 0.62, 0.9], [(True, True), (False, False), (False, True), *[(True, False)] * 3]
    )
    assert found.names == (
        "not found by dedup, methods disagree",
        "below 0.3",
        "0.6 to 0.65, methods disagree",
        "0.75 to 1",
        "0.75 to 1, methods disagree",
    )
    assert found.sizes.tolist() == [1, 1, 1, 1, 2]
    assert found.stratum.tolist() == [3, 1, 0, 4, 2, 4]
    assert found.importance.tolist() == [2, 1, 6, 1, 2]


def test_other_thresholds_make_other_bands() -> None:
    narrow = Settings().with_values({"duplicate_sentence_jaccard": 1.0, "duplicate_signature_jaccard": 0.5})
    found = stratify(np.array([0.46, 0.96, 1.0], np.float32), np.ones((3, 1), bool), narrow)
    assert found.names == ("0.45 to 0.5", "0.95 to 1", "1")
    assert found.importance.tolist() == [3, 3, 1]


def test_allocation_by_hand() -> None:
    # Each stratum first gets 3 pairs. The shares, sqrt(size) * importance, are 30, 10 and 20. Each further
    # pair goes to the stratum with the lowest (count + 1) / share. For the second stratum this is 4 / 10; for
    # the other strata it stays lower until all pairs are given.
    counts = allocate(np.array([900, 100, 100]), np.array([1.0, 1.0, 2.0]), 21)
    assert counts.tolist() == [11, 3, 7]


def test_allocation_never_wants_more_than_there_is() -> None:
    assert allocate(np.array([1, 2, 50]), np.ones(3), 20).tolist() == [1, 2, 17]
    assert allocate(np.array([1, 2, 5]), np.ones(3), 100).tolist() == [1, 2, 5]
    assert allocate(np.array([9, 9, 9]), np.ones(3), 3).tolist() == [1, 1, 1]
    assert allocate(np.array([], int), np.ones(0), 5).tolist() == []
    with pytest.raises(InputError, match="3 kinds of pairs: pick at least 3"):
        allocate(np.array([9, 9, 9]), np.ones(3), 2)


@given(
    st.lists(
        st.tuples(st.integers(1, 10_000), st.sampled_from([1.0, 2.0, 3.0, 6.0])), min_size=1, max_size=15
    ),
    st.integers(0, 200),
)
def test_allocation_gives_out_the_total(strata: list[tuple[int, float]], more: int) -> None:
    sizes = np.array([size for size, _ in strata])
    total = len(strata) + more
    counts = allocate(sizes, np.array([importance for _, importance in strata]), total)
    assert counts.sum() == min(total, sizes.sum())
    assert (counts >= np.minimum(sizes, 3 if total >= 3 * len(strata) else 1)).all()
    assert (counts <= sizes).all()


def test_a_draw_is_without_replacement_and_from_its_stratum() -> None:
    random = np.random.default_rng(1)
    found = strata_of(random.random(500).tolist(), [(bool(x), True) for x in random.integers(0, 2, 500)])
    drawn = draw(found, 80, random.integers(0, 2**63, 500).astype(np.uint64))
    assert [len(rows) for rows in drawn] == allocate(found.sizes, found.importance, 80).tolist()
    rows = np.concatenate(drawn)
    assert len(set(rows.tolist())) == 80
    for number, members in enumerate(drawn):
        assert (found.stratum[members] == number).all()


def test_every_pair_of_a_stratum_is_drawn_as_often() -> None:
    found = strata_of([0.1] * 40, [(False,)] * 40)
    pairs = np.array([(i, i + 1) for i in range(40)], np.int32)
    ids = [f"article {i}" for i in range(41)]
    times = np.zeros(40)
    for seed in range(1_000):
        times[draw(found, 10, permanent_numbers(ids, pairs, seed))[0]] += 1
    # Binomial(1000, 1/4): the mean is 250, the standard deviation 14
    assert times.min() > 190
    assert times.max() < 310


def test_a_permanent_number_knows_the_ids_and_the_seed_only() -> None:
    pairs = np.array([[0, 1], [0, 2]], np.int32)
    numbers = permanent_numbers(["a", "b", "c"], pairs)
    turned = permanent_numbers(["x", "c", "b", "a"], np.array([[2, 3], [1, 3]], np.int32))
    assert numbers.tolist() == turned.tolist()
    assert numbers[0] != numbers[1]
    assert numbers.tolist() != permanent_numbers(["a", "b", "c"], pairs, seed=1).tolist()


def test_a_bigger_sample_holds_the_smaller_one() -> None:
    found = strata_of([0.1] * 100 + [0.72] * 100, [(False,)] * 200)
    numbers = permanent_numbers([str(i) for i in range(201)], np.array([(i, i + 1) for i in range(200)]))
    few, many = (np.concatenate(draw(found, total, numbers)) for total in (30, 90))
    assert set(few.tolist()) < set(many.tolist())


def test_estimates_by_hand() -> None:
    # In stratum 0, 4 of 100 pairs are judged, so each counts for 25; in stratum 1, 2 of 10, each for 5.
    design = Design(np.array([100, 10]), np.array([0, 0, 0, 0, 1, 1]))
    found = np.array([True, True, False, False, True, False])
    duplicate = np.array([True, False, False, True, True, True])
    assert design.weights().tolist() == [25, 25, 25, 25, 5, 5]
    weights = design.weights()[np.newaxis]
    # Sums of weights: found duplicates 25 + 5, found pairs 25 + 25 + 5, duplicates 25 + 25 + 5 + 5.
    precision, recall, f1 = measures(weights, found, duplicate)
    assert (precision.tolist(), recall.tolist(), f1.tolist()) == ([30 / 55], [30 / 60], [60 / 115])
    both = np.stack([found, duplicate])
    assert measures(weights, both, duplicate)[2].tolist() == [[60 / 115, 1.0]]
    result = quality(design, found, duplicate)
    assert result.f1.value == 60 / 115
    assert (result.judged, result.covered) == (6, 1.0)


def test_strata_nobody_judged_are_told() -> None:
    design = Design(np.array([30, 50, 20]), np.array([0, 0, 2]))
    assert design.covered() == 0.5
    assert design.weights().tolist() == [15, 15, 20]


def test_what_is_not_defined_has_no_value() -> None:
    nothing = quality(Design(np.array([10]), np.array([0, 0])), np.zeros(2, bool), np.zeros(2, bool))
    assert nothing.precision.value is nothing.recall.value is nothing.f1.value is None
    assert interval(NAN, np.array([NAN])).low is None


def test_a_stratum_judged_in_full_does_not_vary() -> None:
    design = Design(np.array([3, 1]), np.array([0, 0, 0, 1]))
    labels = np.ones(4, bool)
    assert design.replicates(labels) == pytest.approx(np.tile([1] * 4 + [0] * 4, (1_000, 1)))
    assert design.replicates(labels, finite=False).std() > 0.1


def test_replicates_spread_as_the_estimate_does() -> None:
    # The variance of an estimated total under simple random sampling: N² (1 - n/N) s² / n
    duplicate = np.array([0, 0, 1, 1, 1, 0, 1, 1], bool)
    design = Design(np.array([40]), np.zeros(8, int))
    totals = design.replicates(duplicate, count=20_000)[:, :8] @ duplicate
    variance = 40**2 * (1 - 8 / 40) * duplicate.var(ddof=1) / 8
    assert totals.mean() == pytest.approx(25, rel=0.01)
    assert totals.var() == pytest.approx(variance, rel=0.05)


@pytest.mark.parametrize("judged", [1, 3, 7, 40])
def test_answers_that_are_all_alike_leave_a_share_open(judged: int) -> None:
    # The share of duplicates in a large stratum follows its posterior: Beta(1/2, judged + 1/2).
    design = Design(np.array([10_000_000]), np.zeros(judged, int))
    truth = np.zeros(judged, bool)
    _, duplicate = with_twins(truth, truth)
    shares = design.replicates(truth, count=20_000) @ duplicate / 10_000_000
    wanted = [0.25, 0.5, 0.75, 0.975]
    assert np.quantile(shares, wanted) == pytest.approx(beta(0.5, judged + 0.5).ppf(wanted), abs=0.015)
    assert not (design.replicates(truth, doubt=False) @ duplicate).any()


def test_answers_that_are_all_alike_prove_little() -> None:
    # Of 58 pairs that were not found, 7 are judged, and none is a duplicate. All 20 found pairs are judged.
    design = Design(np.array([58, 20]), np.array([0] * 7 + [1] * 20))
    found = duplicate = np.arange(27) >= 7
    result = quality(design, found, duplicate).recall
    assert result.value == result.high == 1
    assert result.low == pytest.approx(20 / (20 + 58 * 0.3), abs=0.05)


def test_the_same_seed_gives_the_same_interval() -> None:
    design = Design(np.array([100]), np.zeros(10, int))
    found, truth = np.arange(10) < 6, np.arange(10) % 2 == 0
    assert quality(design, found, truth, seed=3) == quality(design, found, truth, seed=3)
    assert quality(design, found, truth, seed=3) != quality(design, found, truth, seed=4)


@pytest.mark.long("dedup", "migrations")
def test_estimates_are_unbiased_and_intervals_hold_the_truth() -> None:
    # The truth of this population is known. The higher a score, the more probable is a duplicate.
    random = np.random.default_rng(7)
    scores = random.beta(0.6, 1.2, 6_000).astype(np.float32)
    truth = random.random(6_000) < 1 / (1 + np.exp(-14 * (scores - 0.6)))
    found = scores >= 0.6
    other = random.random(6_000) < np.where(found, 0.9, 0.05)
    strata = stratify(scores, np.stack([found, other], axis=1), DEFAULTS)
    wanted = {
        "precision": (truth & found).sum() / found.sum(),
        "recall": (truth & found).sum() / truth.sum(),
        "f1": 2 * (truth & found).sum() / (found.sum() + truth.sum()),
    }
    values: dict[str, list[float]] = {name: [] for name in wanted}
    held, held_plainly = dict.fromkeys(wanted, 0), 0
    draws = 100
    for seed in range(draws):
        drawn = draw(strata, 250, np.random.default_rng(seed).integers(0, 2**63, 6_000).astype(np.uint64))
        rows = np.concatenate(drawn)
        design = Design(strata.sizes, strata.stratum[rows])
        result = quality(design, found[rows], truth[rows], seed, count=250)
        for name, true in wanted.items():
            estimate = getattr(result, name)
            values[name].append(estimate.value)
            held[name] += estimate.low <= true <= estimate.high
        # `doubt` widens intervals for strata in which all answers are alike; here it is off.
        plain = design.replicates(truth[rows], seed, doubt=False, count=250)
        low, high = np.quantile(measures(plain, *with_twins(found[rows], truth[rows]))[2], [0.025, 0.975])
        held_plainly += low <= wanted["f1"] <= high
    for name, true in wanted.items():
        error = np.std(values[name]) / np.sqrt(draws)
        assert abs(np.mean(values[name]) - true) < max(4 * error, 0.005), name
        assert held[name] / draws >= 0.92, (name, held[name])
    assert 0.88 <= held_plainly / draws <= 0.99, held_plainly
