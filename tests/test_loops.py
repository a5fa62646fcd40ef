"""A loop over cases reports every case that failed."""

from __future__ import annotations

import inspect

import pytest

from tests.loops import each


def test_every_case_that_fails_is_told_by_name() -> None:
    seen = []

    @each("word", ["good", "bad", "worse"])
    @each("number", [1, 2])
    def law(word: str, number: int, tmp_path: str) -> None:
        seen.append((word, number, tmp_path))
        assert word == "good"

    assert list(inspect.signature(law).parameters) == ["tmp_path"]
    with pytest.raises(ExceptionGroup, match="2 of 3 cases") as caught:
        law(tmp_path="here")
    assert [error.__notes__ for error in caught.value.exceptions] == [["word = 'bad'"], ["word = 'worse'"]]
    assert len(seen) == 6


def test_no_cases_are_a_mistake() -> None:
    with pytest.raises(AssertionError, match="no cases for name"):
        each("name", [])
