"""Every measure, worked by hand or against a library."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, precision_recall_fscore_support

from dedup.lab.evaluation.measures import (
    STORY_SIZES,
    Evaluation,
    Tally,
    average_precision,
    b_cubed,
    curve,
    evaluate,
    score_groups,
    tally,
)
from dedup.lab.evaluation.results import Result
from dedup.lab.evaluation.truth import DIFFERENT, DUPLICATE, UNCLEAR, Truth
from dedup.lab.method import linked

GRADES = (DUPLICATE, UNCLEAR, DIFFERENT)
groupings = st.lists(st.integers(0, 4), min_size=1, max_size=9)
scored = st.lists(
    st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.75, 1.0]), st.sampled_from(GRADES)), max_size=20
)
some_clear = scored.filter(lambda pairs: any(grade != UNCLEAR for _, grade in pairs))


def result(size: int, pairs: dict[tuple[int, int], float], threshold: float = 0.5) -> Result:
    """A result whose groups are linked."""
    keys = np.array(list(pairs), np.int32).reshape(-1, 2)
    scores = np.array(list(pairs.values()), np.float32)
    accepted = scores >= threshold
    words: dict[str, Any] = dict.fromkeys(("label", "row", "name", "about", "source", "finds"), "x")
    return Result(
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


def test_tally_by_hand() -> None:
    found = Tally(right=3, wrong=1, missed=2)
    assert (found.precision, found.recall, found.f1) == (3 / 4, 3 / 5, 6 / 9)
    assert Tally(0, 0, 0).precision is Tally(0, 0, 0).recall is Tally(0, 0, 0).f1 is None
    assert Tally(0, 0, 5).f1 == 0


@given(some_clear, st.sampled_from([0.15, 0.5, 0.9]))
def test_tally_is_the_librarys(pairs: list[tuple[float, int]], threshold: float) -> None:
    scores = np.array([s for s, _ in pairs], np.float32)
    grades = np.array([g for _, g in pairs], np.int8)
    found = tally(scores >= threshold, grades, int((grades == DUPLICATE).sum()))
    clear = grades != UNCLEAR
    wanted, called = grades[clear] == DUPLICATE, scores[clear] >= threshold
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
    assert found.own == Tally(1, 1, 0)
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
        expected = average_precision_score(grades[clear] == DUPLICATE, scores[clear])
        assert average_precision(points) == pytest.approx(expected)
    else:
        assert average_precision(points) == 0


@given(groupings, st.data())
def test_b_cubed_is_its_definition(story: list[int], data: st.DataObject) -> None:
    group = data.draw(st.lists(st.integers(0, 4), min_size=len(story), max_size=len(story)))
    documents = range(len(story))
    precision, recall = [], []
    for i in documents:
        mine = {j for j in documents if group[j] == group[i]}
        true = {j for j in documents if story[j] == story[i]}
        precision.append(len(mine & true) / len(mine))
        recall.append(len(mine & true) / len(true))
    found = b_cubed(np.array(story, np.int32), np.array(group, np.int32))
    assert found == pytest.approx((np.mean(precision), np.mean(recall)))


def test_b_cubed_by_hand() -> None:
    # Stories {0,1,2} and {3}; groups {0,1} and {2,3}.
    story, group = np.array([0, 0, 0, 1], np.int32), np.array([5, 5, 6, 6], np.int32)
    assert b_cubed(story, group) == pytest.approx(((1 + 1 + 0.5 + 0.5) / 4, (2 / 3 + 2 / 3 + 1 / 3 + 1) / 4))
    assert b_cubed(np.empty(0, np.int32), np.empty(0, np.int32)) == (1.0, 1.0)


def test_adjusted_rand_by_hand() -> None:
    # Six documents in stories {0,1,2} {3,4,5}; groups {0,1} {2,3} {4,5}: of the pairs 2 are together in both,
    # 3 in the groups, 6 in the stories, of 15: expected 3*6/15 = 1.2; (2 - 1.2) / ((3 + 6)/2 - 1.2).
    pairs = {(0, 1): 1.0, (2, 3): 1.0, (4, 5): 1.0}
    known = dict.fromkeys([(0, 1), (1, 2), (3, 4), (4, 5)], DUPLICATE)
    assert evaluate(result(6, pairs), truth(6, known)).groups.adjusted_rand == pytest.approx(0.8 / 3.3)


@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=8))
def test_linked_is_the_librarys_components(size: int, edges: list[tuple[int, int]]) -> None:
    pairs = np.array([(a % size, b % size) for a, b in edges], np.int32).reshape(-1, 2)
    graph = networkx.Graph()
    graph.add_nodes_from(range(size))
    graph.add_edges_from(pairs.tolist())
    groups = linked(size, pairs)
    found = {frozenset(np.flatnonzero(groups == g).tolist()) for g in groups}
    assert found == {frozenset(c) for c in networkx.connected_components(graph)}


def test_recall_by_size_of_story_by_hand() -> None:
    # A pair, found; a story of six of which four are grouped: 6 of its 15 pairs.
    known = dict.fromkeys([(0, 1), *combinations(range(2, 8), 2)], DUPLICATE)
    pairs = {(0, 1): 1.0, (2, 3): 1.0, (3, 4): 1.0, (4, 5): 1.0}
    bands = evaluate(result(9, pairs), truth(9, known)).groups.by_size
    assert [(b.least, b.most) for b in bands] == list(STORY_SIZES)
    assert [(b.stories, b.pairs, b.found) for b in bands[:3]] == [(1, 1, 1), (1, 15, 6), (0, 0, 0)]
    assert bands[1].recall == 6 / 15
    assert bands[2].recall is None


def test_the_last_band_has_no_end() -> None:
    known = dict.fromkeys([(0, i) for i in range(1, 150)], DUPLICATE)
    bands = evaluate(result(150, dict.fromkeys(known, 1.0)), truth(150, known)).groups.by_size
    assert (bands[-1].stories, bands[-1].found) == (1, 149)


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
    """Forty pairs with a score of 0.8, and as many wrong ones with 0.6."""
    known = {(2 * i, 2 * i + 1): DUPLICATE for i in range(40)}
    pairs = {**dict.fromkeys(known, 0.8), **{(2 * i, 2 * i + 3): 0.6 for i in range(39)}}
    return evaluate(result(80, pairs, threshold=0.5), truth(80, known))


def test_the_tuned_threshold_is_learned_on_the_other_half() -> None:
    found = many_stories()
    assert found.own == Tally(40, 39, 0)
    assert found.tuned == Tally(40, 0, 0)
    assert found.thresholds == pytest.approx((0.7, 0.7))  # halfway between right and wrong


def test_tuning_cannot_see_the_half_it_is_measured_on() -> None:
    # One duplicate: the half without it learns nothing, and so finds nothing in the other.
    found = evaluate(result(2, {(0, 1): 0.4}), truth(2, {(0, 1): DUPLICATE}))
    assert found.tuned == Tally(0, 0, 1)
    assert 1.0 in found.thresholds


def test_a_method_that_finds_nothing() -> None:
    found = evaluate(result(4, {}), truth(4, {(0, 1): DUPLICATE}))
    assert found.own == found.tuned == Tally(0, 0, 1)
    assert (found.average_precision, found.curve) == (0, ())
    assert found.groups.b_cubed_precision == 1


@given(groupings, st.data())
def test_pairs_of_groups_are_counted_without_being_listed(story: list[int], data: st.DataObject) -> None:
    size = len(story)
    group = data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    grades = {
        (i, j): data.draw(st.sampled_from(GRADES)) if story[i] != story[j] else DUPLICATE
        for i, j in combinations(range(size), 2)
    }
    found = score_groups(np.array(group, np.int32), truth(size, grades)).pairs
    together = {pair for pair in grades if group[pair[0]] == group[pair[1]]}
    wanted = {pair for pair, grade in grades.items() if grade == DUPLICATE}
    wrong = {pair for pair in together if grades[pair] == DIFFERENT}
    assert found == Tally(len(together & wanted), len(wrong), len(wanted - together))
