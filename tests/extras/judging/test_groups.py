"""Quality of groups: each measure equals a value worked out by hand, its definition, or another library."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.extras.judging.truth import (
    DIFFERENT,
    DUPLICATE,
    STORY_SIZES,
    UNCLEAR,
    Tally,
    Truth,
    adjusted_rand,
    b_cubed,
    score_groups,
)

GRADES = (DUPLICATE, UNCLEAR, DIFFERENT)
groupings = st.lists(st.integers(0, 4), min_size=1, max_size=9)


def truth(size: int, grades: dict[tuple[int, int], int]) -> Truth:
    return Truth.of(size, grades, {})


def test_tally_by_hand() -> None:
    found = Tally(right=3, wrong=1, missed=2)
    assert (found.precision, found.recall, found.f1) == (3 / 4, 3 / 5, 6 / 9)
    assert Tally(0, 0, 0).precision is Tally(0, 0, 0).recall is Tally(0, 0, 0).f1 is None
    assert Tally(0, 0, 5).f1 == 0


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
    # Stories {0,1,2} {3,4,5}, groups {0,1} {2,3} {4,5}. Of 15 pairs, 6 are in stories, 3 in groups, 2 in
    # both; chance expects 3*6/15 = 1.2 in both. So the index is (2 - 1.2) / ((3 + 6)/2 - 1.2).
    known = dict.fromkeys([(0, 1), (1, 2), (3, 4), (4, 5)], DUPLICATE)
    groups = np.array([0, 0, 1, 1, 2, 2], np.int32)
    assert score_groups(groups, truth(6, known)).adjusted_rand == pytest.approx(0.8 / 3.3)


@pytest.mark.long("dedup", "migrations")
@given(groupings, st.data())
def test_adjusted_rand_is_the_librarys(story: list[int], data: st.DataObject) -> None:
    group = data.draw(st.lists(st.integers(0, 4), min_size=len(story), max_size=len(story)))
    found = adjusted_rand(np.array(story, np.int32), np.array(group, np.int32))
    from sklearn.metrics import adjusted_rand_score  # takes a second, which tests that are left out save

    assert found == pytest.approx(adjusted_rand_score(story, group))


def test_adjusted_rand_of_a_large_corpus_does_not_overflow() -> None:
    # One group has a million articles of one story and one article of another: no better than chance.
    story = np.zeros(1_000_001, np.int32)
    story[-1] = 1
    assert adjusted_rand(story, np.zeros_like(story)) == 0
    assert adjusted_rand(story, story) == 1
    assert adjusted_rand(story[:0], story[:0]) == 1


def test_recall_by_size_of_story_by_hand() -> None:
    # A story of two is found. Of a story of six, four are in one group: 6 of its 15 pairs are found.
    known = dict.fromkeys([(0, 1), *combinations(range(2, 8), 2)], DUPLICATE)
    groups = np.array([0, 0, 1, 1, 1, 1, 2, 3, 4], np.int32)
    bands = score_groups(groups, truth(9, known)).by_size
    assert [(b.least, b.most) for b in bands] == list(STORY_SIZES)
    assert [(b.stories, b.pairs, b.found) for b in bands[:3]] == [(1, 1, 1), (1, 15, 6), (0, 0, 0)]
    assert bands[1].recall == 6 / 15
    assert bands[2].recall is None


def test_the_last_band_has_no_end() -> None:
    known = dict.fromkeys([(0, i) for i in range(1, 150)], DUPLICATE)
    bands = score_groups(np.zeros(150, np.int32), truth(150, known)).by_size
    assert (bands[-1].stories, bands[-1].found) == (1, 149)


@pytest.mark.long("dedup", "migrations")
@given(groupings, st.data())
def test_pairs_of_groups_are_counted_without_being_listed(story: list[int], data: st.DataObject) -> None:
    size = len(story)
    group = data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    grades = {
        (i, j): data.draw(st.sampled_from(GRADES)) if story[i] != story[j] else DUPLICATE
        for i, j in combinations(range(size), 2)
    }
    unnamed = {pair for pair in grades if grades[pair] == DIFFERENT and data.draw(st.booleans())}
    named = {pair: grade for pair, grade in grades.items() if pair not in unnamed}
    found = score_groups(np.array(group, np.int32), truth(size, named))
    together = {pair for pair in grades if group[pair[0]] == group[pair[1]]}
    wanted = {pair for pair, grade in grades.items() if grade == DUPLICATE}
    wrong = {pair for pair in together if grades[pair] == DIFFERENT}
    unclear = {pair for pair in together if grades[pair] == UNCLEAR}
    assert found.pairs == Tally(len(together & wanted), len(wrong), len(wanted - together), len(unclear))
    assert found.unnamed == len(together & unnamed)
