"""Shingles (SpotSigs): a stop word and the next two words; examples with the results that the papers give."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.settings import Settings
from dedup.text.fingerprint import Fingerprinter
from dedup.text.normalize import words
from dedup.text.signature import shingles

# Ullman's example. dedup drops full stops, so the short word "dog" begins one more shingle: "dog now is".
FOX = (
    "the quick brown fox jumps over the lazy dog. "
    "now is the time for all good men to come to the aid of the party"
)
FOX_SHINGLES = {
    "the quick brown", "fox jumps over", "the lazy dog", "now is the", "is the time", "the time for",
    "for all good", "all good men", "men to come", "to come to", "to the aid", "the aid of", "aid of the",
    "of the party",
}  # fmt: skip
SUDZO = "I recommend that you buy Sudzo for your laundry"
WORDS = st.lists(st.text("abcd", min_size=1, max_size=6), max_size=30)


def test_worked_example_of_the_length_rule() -> None:
    assert shingles(words(FOX), 4) == FOX_SHINGLES.union({"dog now is"})


def test_worked_example_of_the_stop_word_list() -> None:
    stop_words = set(words("I that you for your"))
    assert shingles(words(SUDZO), 4, stop_words) == {
        "i recommend that",
        "that you buy",
        "you buy sudzo",
        "for your laundry",
    }
    assert shingles(words("buy Sudzo"), 4, stop_words) == set()


def test_the_stop_word_setting_is_normalised_like_the_text() -> None:
    listed = Fingerprinter(Settings(stop_words="I, That", text_min_words=1))
    assert listed.fingerprint(SUDZO).shingle_count == 2
    assert Fingerprinter(Settings(text_min_words=1)).fingerprint(SUDZO).shingle_count == 4


@pytest.mark.parametrize("text", ["", "the", "the quick", "laundry detergent discount"])
def test_texts_without_shingles(text: str) -> None:
    assert shingles(words(text), 4) == set()


@given(WORDS, st.integers(2, 7))
def test_shingles_are_exactly_the_places_of_stop_words(found: list[str], length: int) -> None:
    places = [i for i, word in enumerate(found) if len(word) < length and i + 2 < len(found)]
    expected = Counter(" ".join(found[i : i + 3]) for i in places)
    assert shingles(found, length) == set(expected)


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@given(WORDS, st.sets(st.text("abcd", min_size=1, max_size=6), min_size=1))
def test_a_list_of_stop_words_replaces_the_length_rule(found: list[str], listed: set[str]) -> None:
    made = shingles(found, 4, listed)
    assert made == {" ".join(found[i : i + 3]) for i in range(len(found) - 2) if found[i] in listed}
    assert made == shingles(found, 20, listed)


@pytest.mark.long("dedup", "migrations")
@given(WORDS, st.integers(2, 7))
def test_a_longer_stop_word_length_only_adds_shingles(found: list[str], length: int) -> None:
    assert shingles(found, length) <= shingles(found, length + 1)
