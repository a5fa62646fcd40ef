"""What two texts share: laws that hold for any two texts, and worked examples."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.text.differences import MAX_ALIGNED_WORDS, Segment, differences, twins
from dedup.text.normalize import words

STORM = "The storm reached the coast on Monday. Two boats were lost. The mayor spoke at noon."

prose = st.lists(
    st.sampled_from(
        ["Rain", "rain", "fell", "on", "the", "town", ".", "! ", "\n\n", " -- ", "雨", "。", "كتاب"]
    )
).map(" ".join)
anything = st.text(max_size=60) | prose


def joined(segments: list[Segment], *, shared: bool | None = None) -> str:
    return "".join(s.text for s in segments if shared is None or s.shared is shared)


@given(anything, anything)
def test_the_segments_of_a_side_are_its_text(a: str, b: str) -> None:
    left, right = differences(a, b)
    assert (joined(left), joined(right)) == (a, b)
    assert all(s.text for s in left + right)


@given(anything)
def test_a_text_shares_everything_with_itself(text: str) -> None:
    left, right = differences(text, text)
    assert left == right
    assert joined(left, shared=True) == text


@given(anything, anything)
def test_the_order_of_the_texts_does_not_matter(a: str, b: str) -> None:
    assert differences(a, b) == differences(b, a)[::-1]


@given(prose, prose)
def test_shared_words_are_in_both_texts(a: str, b: str) -> None:
    left, right = differences(a, b)
    assert set(words(joined(left, shared=True))) == set(words(joined(right, shared=True)))
    assert set(words(joined(left, shared=True))) <= set(words(a)) & set(words(b))


@given(prose, prose)
def test_segments_alternate(a: str, b: str) -> None:
    for side in differences(a, b):
        assert all(one.shared is not two.shared for one, two in itertools.pairwise(side))


def test_a_changed_word_is_all_that_differs() -> None:
    left, right = differences(STORM, STORM.replace("Two boats", "Three boats"))
    assert joined(left, shared=False) == "Two "
    assert joined(right, shared=False) == "Three "


def test_a_moved_sentence_is_shared() -> None:
    moved = "The mayor spoke at noon. The storm reached the coast on Monday."
    assert differences(STORM, moved)[1] == [Segment(moved, True)]
    assert joined(differences(STORM, moved)[0], shared=False) == "Two boats were lost. "


def test_case_punctuation_and_line_ends_make_no_difference() -> None:
    other = STORM.upper().replace(" ", "\n").replace(".", "!")
    assert differences(STORM, other) == ([Segment(STORM, True)], [Segment(other, True)])


def test_small_words_amid_two_different_sentences_are_no_match() -> None:
    a = "Prices of grain rose sharply in the harbour towns this spring"
    b = "A choir of children sang before an old church in winter"
    assert differences(a, b) == ([Segment(a, False)], [Segment(b, False)])


def test_scripts_without_spaces_are_compared_by_character() -> None:
    left, right = differences("市長は月曜日に話した", "市長は火曜日に話した")
    assert (joined(left, shared=False), joined(right, shared=False)) == ("月", "火")


@pytest.mark.parametrize(("a", "b"), [("", ""), ("", "Rain."), (" \n", "!"), ("\x00", "\ud800")])
def test_texts_without_words(a: str, b: str) -> None:
    assert tuple(map(joined, differences(a, b))) == (a, b)


def test_words_behind_the_limit_are_not_aligned() -> None:
    a = " ".join(f"w{i}" for i in range(MAX_ALIGNED_WORDS + 5))
    b = "other " + a
    left, right = differences(a, b)
    assert (joined(left), joined(right)) == (a, b)
    aligned = Counter(words(joined(left, shared=True)))
    assert len(aligned) == MAX_ALIGNED_WORDS - 1


def test_twins_are_found_wherever_they_stand() -> None:
    a = ["The storm reached the coast on Monday.", "Two boats were lost.", "The mayor spoke at noon."]
    b = ["Schools stay closed.", "The mayor spoke at one.", "A storm reached the coast on Monday."]
    assert twins(a, b) == [(0, 2), (1, None), (2, 1), (None, 0)]


def test_the_most_alike_are_twins() -> None:
    near, nearer = "Two red boats were lost off the cape.", "Two boats were lost off the cape."
    assert twins([near, nearer], [nearer]) == [(0, None), (1, 0)]


@given(st.lists(prose, max_size=6), st.lists(prose, max_size=6))
def test_every_sentence_is_told_once(a: list[str], b: list[str]) -> None:
    found = twins(a, b)
    assert [i for i, _ in found if i is not None] == [*range(len(a))]
    assert sorted(j for _, j in found if j is not None) == [*range(len(b))]


def test_many_sentences_of_one_template_take_no_quadratic_time() -> None:
    a = [f"In street number {i} some households of the old town asked for help." for i in range(5_000)]
    b = [sentence.replace("asked", "called") for sentence in reversed(a)]
    assert twins(a, b)[0] == (0, 4_999)
