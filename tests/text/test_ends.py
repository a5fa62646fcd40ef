"""Parts of a text are cut between words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.text.ends import first, last


@pytest.mark.parametrize(
    ("size", "beginning", "end"),
    [
        (0, "", ""),
        (1, "one", ""),
        (3, "one", "two"),
        (4, "one ", " two"),
        (5, "one two", " two"),
        (6, "one two", " two"),
        (7, "one two", "one two"),
        (9, "one two", "one two"),
    ],
)
def test_no_word_is_cut(size: int, beginning: str, end: str) -> None:
    assert (first("one two", size), last("one two", size)) == (beginning, end)


def test_a_cut_moves_by_at_most_sixty_characters() -> None:
    assert len(first("x" * 200, 100)) == 160
    assert len(last("x" * 200, 100)) == 40


@given(st.text(alphabet="ab \n-", max_size=30), st.integers(0, 40))
def test_a_part_consists_of_whole_words(text: str, size: int) -> None:
    beginning, end = first(text, size), last(text, size)
    assert text.startswith(beginning)
    assert text.endswith(end)
    assert len(end) <= size
    assert len(beginning) >= min(size, len(text))
    assert not (text[len(beginning) :][:1].isalnum() and beginning[-1:].isalnum())
    assert not (text[: len(text) - len(end)][-1:].isalnum() and end[:1].isalnum())
