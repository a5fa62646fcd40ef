"""Differences between the words of two passages: laws for any texts, and worked examples."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.text.differences import MAX_ALIGNED, Kind, Segment, Segments, differences
from dedup.text.normalize import words

STORM = "The storm reached the coast on Monday and two boats were lost"

prose = st.lists(
    st.sampled_from(
        ["Rain", "rain", "fell", "on", "the", "town", ".", "! ", "\n\n", " -- ", "雨", "。", "كتاب"]
    )
).map(" ".join)
anything = st.text(max_size=60) | prose
MIRRORED = {
    Kind.SAME: Kind.SAME,
    Kind.CHANGED: Kind.CHANGED,
    Kind.ADDED: Kind.REMOVED,
    Kind.REMOVED: Kind.ADDED,
}


def joined(segments: Segments, *, shared: bool | None = None) -> str:
    return "".join(s.text for s in segments if shared is None or s.shared is shared)


@given(anything, anything)
def test_the_segments_of_a_side_are_its_text(a: str, b: str) -> None:
    left, right = differences(a, b)
    assert (joined(left), joined(right)) == (a, b)
    assert all(s.text for s in left + right)


@given(anything)
def test_a_text_shares_everything_with_itself(text: str) -> None:
    assert differences(text, text) == ((Segment(text, Kind.SAME),) * bool(text),) * 2


@given(anything, anything)
def test_the_order_of_the_texts_only_turns_added_into_removed(a: str, b: str) -> None:
    turned = tuple(tuple(Segment(s.text, MIRRORED[s.kind]) for s in side) for side in differences(b, a)[::-1])
    assert differences(a, b) == turned


@given(prose, prose)
def test_shared_words_are_the_same_on_both_sides(a: str, b: str) -> None:
    left, right = differences(a, b)
    assert words(joined(left, shared=True)) == words(joined(right, shared=True))


@given(prose, prose)
def test_kinds_stand_where_they_can(a: str, b: str) -> None:
    left, right = differences(a, b)
    assert {s.kind for s in left} <= {Kind.SAME, Kind.REMOVED, Kind.CHANGED}
    assert {s.kind for s in right} <= {Kind.SAME, Kind.ADDED, Kind.CHANGED}
    changed = [sum(s.kind is Kind.CHANGED for s in side) for side in (left, right)]
    assert changed[0] == changed[1]
    for side in (left, right):
        assert all(one.kind is not two.kind for one, two in itertools.pairwise(side))


def test_words_are_changed_added_or_removed() -> None:
    left, right = differences(STORM, "The storm reached the east coast on Tuesday and boats were lost")
    assert [s for s in left if not s.shared] == [
        Segment("Monday ", Kind.CHANGED),
        Segment("two ", Kind.REMOVED),
    ]
    assert [s for s in right if not s.shared] == [
        Segment("east ", Kind.ADDED),
        Segment("Tuesday ", Kind.CHANGED),
    ]


def test_case_punctuation_and_line_ends_make_no_difference() -> None:
    other = STORM.upper().replace(" ", "\n") + "!"
    assert differences(STORM, other) == ((Segment(STORM, Kind.SAME),), (Segment(other, Kind.SAME),))


def test_small_words_amid_two_different_sentences_are_no_match() -> None:
    a = "Prices of grain rose sharply in the harbour towns this spring"
    b = "A choir of children sang before an old church in winter"
    assert differences(a, b) == ((Segment(a, Kind.CHANGED),), (Segment(b, Kind.CHANGED),))


def test_scripts_without_spaces_are_compared_by_character() -> None:
    left, right = differences("市長は月曜日に話した", "市長は火曜日に話した")
    assert (joined(left, shared=False), joined(right, shared=False)) == ("月", "火")


@pytest.mark.parametrize(("a", "b"), [("", ""), ("", "Rain."), (" \n", "!"), ("\x00", "\ud800")])
def test_texts_without_words(a: str, b: str) -> None:
    assert tuple(map(joined, differences(a, b))) == (a, b)


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
def test_words_behind_the_limit_are_not_aligned() -> None:
    a = " ".join(f"w{i}" for i in range(MAX_ALIGNED + 5))
    b = "other " + a
    left, right = differences(a, b)
    assert (joined(left), joined(right)) == (a, b)
    assert len(Counter(words(joined(left, shared=True)))) == MAX_ALIGNED - 1
