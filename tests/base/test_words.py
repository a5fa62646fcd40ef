"""Times, durations and sizes in the wording of the pages."""

from __future__ import annotations

import doctest
import re
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base import words


def test_the_examples_of_the_docstrings_hold() -> None:
    found = doctest.testmod(words)
    assert (found.failed, found.attempted > 5) == (0, True)


@given(st.text(), st.integers(2, 50))
def test_a_line_is_one_line_and_no_longer_than_asked(text: str, most: int) -> None:
    shown = words.line(text, "none", most)
    assert len(shown) <= max(most, len("none"))
    assert shown == " ".join(shown.split())
    assert bool(text.split()) == (shown != "none") or text.split() == ["none"]


def test_a_long_line_of_spaces_costs_nothing_and_says_that_it_is_cut() -> None:
    assert words.line(f"a{' ' * 1_000_000}b") == "a…"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (29, "0 min"),
        (31, "1 min"),
        (3_600, "1 h"),
        (86_400 * 400, "400 d"),
        (90_060, "1 d 1 h"),
        (-60, "−1 min"),
    ],
)
def test_a_span_in_its_two_largest_units(seconds: int, said: str) -> None:
    assert words.span(timedelta(seconds=seconds)) == said


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 B"), (1_000, "1.0 kB"), (2.5e9, "2.5 GB"), (5e12, "5.0 TB")]
)
def test_sizes_beyond_gigabytes_too(count: float, said: str) -> None:
    assert words.size(count) == said


COUNTED = re.compile(
    r"\{(?![A-Z_.]+:)[^{}]*:,\}"
    r" (?:articles|rows|texts|copies|marks|changes|versions|dates lost|quotes|differences)\b"
)
"""A count in a message before a plural noun, which would read "1 articles" for the count 1."""

ELSEWHERE = ("extras/",)


def test_no_message_says_1_articles() -> None:
    folder = Path(words.__file__).parents[1]
    wrong = [
        f"{path.relative_to(folder)}: {found[0]}"
        for path in sorted(folder.rglob("*.py"))
        if not path.relative_to(folder).as_posix().startswith(ELSEWHERE)
        for found in COUNTED.finditer(path.read_text("utf-8"))
    ]
    assert not wrong, "use dedup.base.words.counted:\n" + "\n".join(wrong)
