"""Normalisation: the conditions under which two sentences are the same (docs/semantics.md, section 1.3)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.text import normalize
from dedup.text.normalize import (
    MAX_MARKS,
    MAX_WORD_CHARACTERS,
    MOST_GROWTH,
    composed,
    normal_size,
    words,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("\u2026 -- \u201c!\u201d", []),
        ("The U.S. isn't \u201cFine\u201d", ["the", "u", "s", "isn", "t", "fine"]),
        ("3.5 percent, $1,200", ["3", "5", "percent", "1", "200"]),
        ("snake_case e-mail", ["snake_case", "e", "mail"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("Ὀδυσσεύς ὈΔΥΣΣΕΎΣ", ["ὀδυσσεύσ", "ὀδυσσεύσ"]),
        ("Ｆｉｎｅ ﬁne ⑤ ²", ["fine", "fine", "5", "2"]),
        ("Київ київ", ["київ", "київ"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("வணக்கம்", ["வணக்கம்"]),
        ("አዲስ፡አበባ", ["አዲስ", "አበባ"]),
        ("他走了。是的", ["他走了", "是的"]),
        ("ｶﾞ ガ", ["ガ", "ガ"]),
        ("e\u0301te\u0301", ["été"]),
    ],
)
def test_words_of_many_scripts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def slow_words(text: str) -> list[str]:
    """Return the words of a text by the rule in its simplest form, character by character."""
    found, word = [], ""
    for character in unicodedata.normalize("NFKC", text).casefold() + " ":
        letter = character.isalnum() or character == "_" or unicodedata.category(character)[0] == "M"
        if letter:
            word += character
        if word and (not letter or len(word) == MAX_WORD_CHARACTERS):
            found.append(word)
            word = ""
    return found


@given(st.text(max_size=60))
@example("x" * (2 * MAX_WORD_CHARACTERS + 1))
@example("é" * (MAX_WORD_CHARACTERS + 1))
@example("का" * MAX_WORD_CHARACTERS)
def test_words_follow_the_rule_letter_by_letter(text: str) -> None:
    assert words(text) == slow_words(text)


def test_every_mark_of_unicode_belongs_to_its_word() -> None:
    # Beyond this range, the only marks of Unicode are variation selectors. A selector is no vowel sign, and
    # need not stay within a word.
    parted = [
        code
        for code in range(0x1F000)
        if unicodedata.category(chr(code))[0] == "M" and len(words(f"x{chr(code)}x")) != 1
    ]
    assert parted == []


@given(st.text(max_size=60))
def test_composition_does_not_matter(text: str) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert words(unicodedata.normalize(form, text)) == words(text)


@given(st.text("abcXYZ éÉßẞ ŒœДд ΑΣσς.-", max_size=60))
def test_case_does_not_matter(text: str) -> None:
    assert words(text.upper()) == words(text.lower()) == words(text)


@given(st.text(max_size=60))
def test_composed_is_nfc(text: str) -> None:
    assert composed(text) == unicodedata.normalize("NFC", text)


def test_a_letter_keeps_a_bounded_number_of_marks() -> None:
    text = "a" + "\u0323" * (MAX_MARKS + 5) + "b"
    assert composed(text) == "\u1ea1" + "\u0323" * (MAX_MARKS - 1) + "b"
    assert words(text) == [composed(text)]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pair", ["\u0301\u0327", "\uff9e\u0301", "\uff9f\u0327"], ids=["marks", "ga", "pa"])
def test_an_endless_run_of_marks_costs_no_quadratic_time(pair: str) -> None:
    # Python sorts a run of marks by insertion; without the limit this would take many minutes.
    assert len(composed("a" + pair * 500_000)) <= MAX_MARKS + 1
    assert sum(map(len, words("a" + pair * 500_000))) <= MAX_MARKS + 1


def test_the_run_limit_covers_whatever_becomes_a_mark() -> None:
    late = {
        character
        for character in map(chr, [*range(0xD800), *range(0xE000, 0x1F000)])
        if unicodedata.combining(unicodedata.normalize("NFKD", character)[0])
        and len(normalize._MARK_RUN.sub("", character * (MAX_MARKS + 1))) > 0
    }
    assert late == set()


EVERY_CHARACTER = [*map(chr, [*range(0xD800), *range(0xE000, 0x110000)])]


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
def test_no_character_becomes_more_than_is_said() -> None:
    grown = {c: len(unicodedata.normalize("NFKC", c).casefold()) for c in EVERY_CHARACTER}
    assert max(grown.values()) == MOST_GROWTH == grown["\ufdfa"]
    # Cleaning composes texts to NFC first. No character is longer in NFC than in folded NFKC.
    assert [c for c, size in grown.items() if len(unicodedata.normalize("NFC", c)) > size] == []


GROWING = st.text(st.one_of(st.sampled_from("\ufdfa\u3316ΐßǖ\u0323\u0344\U0001d1c0é e"), st.characters()))


@given(GROWING)
@example("\ud800ß")
@example("ǖ\u0323" * 20)  # another mark follows: the letter comes apart into a letter and two marks
def test_a_normal_form_is_about_as_long_as_was_counted(text: str) -> None:
    made = unicodedata.normalize("NFKC", text).casefold()
    assert normal_size(text) == sum(len(unicodedata.normalize("NFKC", c).casefold()) for c in text)
    assert len(made) <= 2 * normal_size(text)


def test_short_words_are_not_searched_for_long_runs_of_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search took most of the time of a comparison of two texts."""
    monkeypatch.setattr(normalize, "points", lambda text: pytest.fail("it was searched"))
    assert words("e\u0301" * (MAX_MARKS // 2)) == ["é" * (MAX_MARKS // 2)]
