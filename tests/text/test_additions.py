"""Additions: the grams, words, sentences and numbers that a copy has and its original lacks."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.settings import Settings
from dedup.text.additions import Addition, find_addition
from dedup.text.fingerprint import Fingerprinter

FINGERPRINTER = Fingerprinter(Settings())
STORY = (
    "The council of Ghent closed the old bridge on Monday after 12 cracks were found. "
    "Repairs will cost 1,200 euros a day until spring. "
    "Drivers must use the northern road in the meantime."
)


def added(copy: str, original: str = STORY) -> Addition:
    found = find_addition(*(FINGERPRINTER.sentences(text) for text in (copy, original)))
    assert found
    return found


def plain_words(text: str) -> list[str]:
    """Return the words of a text, found character by character."""
    words, word = [], ""
    for character in unicodedata.normalize("NFKC", text).casefold() + " ":
        if character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M":
            word += character
        elif word:
            words.append(word)
            word = ""
    return words


def plain_grams(words: list[str], size: int) -> set[tuple[str, ...]]:
    return {tuple(words[start : start + size]) for start in range(len(words) - size + 1)}


@pytest.mark.parametrize(
    "copy", [STORY, STORY.upper(), STORY.replace("bridge on", "bridge\n on"), STORY.partition(". ")[0]]
)
def test_a_reprint_an_excerpt_and_other_letters_add_nothing(copy: str) -> None:
    found = added(copy)
    assert found.adds_nothing
    assert (found.words_added, found.numbers) == (0, ())
    assert str(found) == "adds nothing to its original"


def test_a_changed_number_is_one_word_one_sentence_and_one_number() -> None:
    found = added(STORY.replace("12", "14"))
    assert not found.adds_nothing
    assert (found.words_added, found.grams - found.grams_in_original) == (1, 3)
    assert found.numbers == ("14",)
    assert [sentence.split()[-5:] for sentence in found.sentences] == [
        ["after", "14", "cracks", "were", "found."]
    ]
    assert str(found) == "adds 1 sentence, the number 14 to its original"


def test_added_sentences_and_numbers_come_in_the_order_of_the_copy_each_once() -> None:
    first, second = "Police counted 47 lorries on Tuesday.", "They had counted 1,047 of them in 2019."
    found = added(f"{second} {STORY} {first} {second} {first}")
    assert found.sentences == (second, first)
    assert found.numbers == ("1,047", "2019", "47")
    assert str(found) == "adds 2 sentences, the numbers 1,047, 2019, 47 to its original"


def test_a_number_is_the_same_with_a_point_or_a_comma_and_in_wide_digits() -> None:
    assert added(STORY.replace("1,200", "1.200").replace("12 ", "１２ ")).numbers == ()
    assert added(STORY.replace("1,200", "200")).numbers == ("200",)


def test_many_numbers_are_counted_in_a_line() -> None:
    table = ", ".join(f"x {number} y" for number in range(100, 115))
    assert str(added(f"{STORY} {table}")).endswith("108, 109 and 5 more to its original")


def test_an_omission_adds_no_word_but_new_neighbours() -> None:
    first, _, last = STORY.split(". ")
    found = added(f"{first}. {last}")
    assert (found.adds_nothing, found.words_added, found.sentences) == (False, 0, ())
    assert str(found) == "adds no words to its original: words are left out or moved"


@pytest.mark.parametrize(
    ("copy", "nothing"), [("Ghent closed", True), ("Ghent", True), ("Ghent opens", False)]
)
def test_a_copy_of_one_or_two_words_is_one_gram(copy: str, nothing: bool) -> None:
    found = added(copy)
    assert (found.grams, found.adds_nothing) == (1, nothing)
    assert found.words_added == (0 if nothing else len(copy.split()))


def test_a_text_without_words_adds_nothing_that_could_be_told() -> None:
    assert find_addition([], [("Some words.", None)]) is None
    assert find_addition([("Some words.", None)], []) is None


TEXTS = st.lists(
    st.sampled_from([*"abcde", "Éa", "12", "1,2", "x. Y", "don't", "ﬁ", "\n\n", "a\u0301"]), max_size=14
).map(" ".join)


@given(TEXTS, TEXTS)
def test_grams_are_those_of_a_plain_count(copy: str, original: str) -> None:
    found = find_addition(*(FINGERPRINTER.sentences(text) for text in (copy, original)))
    ours, theirs = plain_words(copy), plain_words(original)
    assert (found is None) == (not ours or not theirs)
    if found:
        size = min(3, len(ours))
        grams, known = plain_grams(ours, size), plain_grams(theirs, size)
        assert (found.words, found.grams, found.grams_in_original) == (
            len(ours),
            len(grams),
            len(grams & known),
        )
        assert found.adds_nothing == (grams <= known)
        covered = {
            place
            for start in range(len(ours) - size + 1)
            for place in range(start, start + size)
            if tuple(ours[start : start + size]) in known
        }
        assert found.words_added == len(ours) - len(covered)
