"""Measures of methods equal values computed in the tests, or a library; groups are tested in judging."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.numbers import linked
from dedup.extras.judging.truth import DIFFERENT, DUPLICATE, UNCLEAR, Tally, Truth
from dedup.extras.lab.evaluation.measures import Evaluation, average_precision, curve, evaluate, tally
from dedup.extras.lab.evaluation.results import MethodResult

GRADES = (DUPLICATE, UNCLEAR, DIFFERENT)
scored = st.lists(
    st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.75, 1.0]), st.sampled_from(GRADES)), max_size=20
)
some_clear = scored.filter(lambda pairs: any(grade != UNCLEAR for _, grade in pairs))


def result(size: int, pairs: dict[tuple[int, int], float], threshold: float = 0.5) -> MethodResult:
    """Return a result in which accepted pairs are linked to groups."""
    keys = np.array(list(pairs), np.int32).reshape(-1, 2)
    scores = np.array(list(pairs.values()), np.float32)
    accepted = scores >= threshold
    words: dict[str, Any] = dict.fromkeys(("label", "row", "name", "about", "source", "finds"), "x")
    return MethodResult(
        **words,
        threshold=threshold,
        outcome="done",
        documents=size,
        pairs=keys,
        scores=scores,
        accepted=accepted,
        groups=linked(size, keys[accepted]),
    )


def truth(
    size: int, grades: dict[tuple[int, int], int], kinds: dict[tuple[int, int], tuple[str, ...]] | None = None
) -> Truth:
    return Truth.of(size, grades, kinds or {})


@pytest.mark.long("dedup", "migrations")
@given(some_clear, st.sampled_from([0.15, 0.5, 0.9]))
def test_tally_is_the_librarys(pairs: list[tuple[float, int]], threshold: float) -> None:
    scores = np.array([s for s, _ in pairs], np.float32)
    grades = np.array([g for _, g in pairs], np.int8)
    found = tally(scores >= threshold, grades, int((grades == DUPLICATE).sum()))
    clear = grades != UNCLEAR
    wanted, called = grades[clear] == DUPLICATE, scores[clear] >= threshold
    from sklearn.metrics import precision_recall_fscore_support  # takes a second to import

    precision, recall, f1, _ = precision_recall_fscore_support(
        wanted, called, average="binary", zero_division=np.nan
    )
    for ours, library in ((found.precision, precision), (found.recall, recall)):
        assert (ours is None) == bool(np.isnan(library))
        assert ours is None or ours == pytest.approx(library)
    assert found.f1 is None or found.f1 == pytest.approx(f1)


def test_missed_are_also_those_that_were_never_seen() -> None:
    found = evaluate(result(5, {(0, 1): 0.9}), truth(5, {(0, 1): DUPLICATE, (2, 3): DUPLICATE}))
    assert found.own == Tally(1, 0, 1)
    assert found.average_precision == 0.5


def test_unclear_pairs_count_for_nobody_unless_strictly() -> None:
    pairs = {(0, 1): 0.9, (2, 3): 0.8, (3, 4): 0.7}
    found = evaluate(result(5, pairs), truth(5, {(0, 1): DUPLICATE, (2, 3): UNCLEAR}))
    assert found.own == Tally(1, 1, 0, unclear=1)
    assert found.strict == Tally(1, 2, 0)


@given(scored)
def test_average_precision_is_the_librarys(pairs: list[tuple[float, int]]) -> None:
    scores = np.array([s for s, _ in pairs], np.float32)
    grades = np.array([g for _, g in pairs], np.int8)
    duplicates = int((grades == DUPLICATE).sum())
    clear = grades != UNCLEAR
    points = curve(scores, grades, duplicates)
    assert [p.threshold for p in points] == sorted({float(s) for s in scores[clear]}, reverse=True)
    if duplicates:
        from sklearn.metrics import average_precision_score

        expected = average_precision_score(grades[clear] == DUPLICATE, scores[clear])
        assert average_precision(points) == pytest.approx(expected)
    else:
        assert average_precision(points) == 0


def test_recall_by_kind_tells_found_from_grouped() -> None:
    known = {(0, 1): DUPLICATE, (0, 2): UNCLEAR, (3, 4): DUPLICATE}
    kinds = {(0, 1): ("level 5",), (0, 2): ("level 5",), (3, 4): ("kind top", "level 10")}
    found = evaluate(result(5, {(0, 1): 0.9, (1, 2): 0.9}), truth(5, known, kinds)).by_kind
    assert [(k.name, k.pairs, k.found, k.grouped) for k in found] == [
        ("kind top", 1, 0, 0),
        ("level 5", 2, 1, 2),
        ("level 10", 1, 0, 0),
    ]


def many_stories() -> Evaluation:
    """Evaluate a method that gives 40 right pairs a score of 0.8, and 39 wrong pairs a score of 0.6."""
    known = {(2 * i, 2 * i + 1): DUPLICATE for i in range(40)}
    pairs = {**dict.fromkeys(known, 0.8), **{(2 * i, 2 * i + 3): 0.6 for i in range(39)}}
    return evaluate(result(80, pairs, threshold=0.5), truth(80, known))


def test_the_tuned_threshold_is_learned_on_the_other_half() -> None:
    found = many_stories()
    assert found.own == Tally(40, 39, 0)
    assert found.tuned == Tally(40, 0, 0)
    assert found.thresholds == pytest.approx((0.7, 0.7))  # the middle between right and wrong scores


def test_tuning_cannot_see_the_half_it_is_measured_on() -> None:
    # The articles are one story, so they are in the same half. The other half has no duplicate, and chooses
    # the threshold 1.0, which finds no pair.
    found = evaluate(result(2, {(0, 1): 0.4}), truth(2, {(0, 1): DUPLICATE}))
    assert found.tuned == Tally(0, 0, 1)
    assert 1.0 in found.thresholds


def test_a_method_that_finds_nothing() -> None:
    found = evaluate(result(4, {}), truth(4, {(0, 1): DUPLICATE}))
    assert found.own == found.tuned == Tally(0, 0, 1)
    assert (found.average_precision, found.curve) == (0, ())
    assert found.groups.b_cubed_precision == 1
