"""Corrections: the places in a text where a phrase announces a correction, and where it is only a word."""

from __future__ import annotations

import re
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.text.corrections import HEAD, TAIL, CorrectionReader

PHRASES = ["Corrects", "Corrected:", "Correction:", "An earlier version of this article", "(Corrige"]
READER = CorrectionReader(PHRASES)
PROSE = "The ferry to the islands ran ten minutes late on Monday, and nobody at the pier knew why. "
LONG = PROSE * 30


@pytest.mark.parametrize(
    ("headline", "phrase"),
    [
        ("CORRECTED-UPDATE 2-Bank lends more", "Corrected:"),
        ("(CORRECTED) - Bank lends more", "Corrected:"),
        ("Corrected: Bank lends more", "Corrected:"),
        ("Correction \u2013 the price of milk", "Correction:"),
        ("Corrected prices for milk", None),
        ("Correction agency plans dropped", None),
        ("Corrects", None),
        ("Market sees a correction: brokers", None),
    ],
)
def test_a_headline_begins_with_a_phrase_and_a_colon(headline: str, phrase: str | None) -> None:
    assert READER.read(LONG, headline) == (phrase and (phrase, "headline"))


@pytest.mark.parametrize(
    "note",
    [
        "(Corrects year in headline)",
        "CORRECTION - In the item of Monday read ten for two.",
        "Correction, Dec. 4, 2020: the ferry left at nine.",
        "Correction (Oct. 1, 7:10 p.m.): the ferry left at nine.",
        "*Correction: the ferry left at nine.",
        "Editor's note: An earlier version of this article said nine.",
        "An\u00a0earlier version\nof this article said nine.",
        "An   earlier\n\nversion of this article said nine.",
        "The pier (corrects from jetty) was closed.",
        "--Corrects the item of Monday.",
        "(CORRIGE le nom)",
    ],
)
def test_a_note_counts_at_the_beginning_and_at_the_end_but_not_amid_the_text(note: str) -> None:
    at_beginning, at_end = READER.read(f"{note} {LONG}"), READER.read(f"{LONG}\n\n{note}")
    assert at_beginning is not None
    assert at_end is not None
    assert (at_beginning[1], at_end[1]) == ("beginning", "end")
    assert at_beginning[0] == at_end[0]
    assert READER.read(f"{LONG}\n\n{note}\n\n{LONG}") is None


@pytest.mark.parametrize(
    "words",
    [
        "The market needs a correction: it rose too much.",
        "She said that the memo\ncorrects the record.",
        "A self-correction: that is what he hoped for.",
        "He had read an earlier version of this article.",
        "Corrections officers were at the pier.",
        "About us\nCorrections\nAdvertise",
        "Correctsville: the ferry was late.",
        "Incorrects: none.",
    ],
)
def test_words_in_prose_are_no_correction(words: str) -> None:
    assert READER.read(words) is None
    assert READER.read(f"{LONG}\n\n{words}") is None


def test_places_have_their_size() -> None:
    note = "Correction: nine."
    assert READER.read("x" * (HEAD - 30) + ". " + note) == ("Correction:", "beginning")
    assert READER.read("x" * HEAD + ". " + note + "x" * TAIL) is None
    assert READER.read("x" * HEAD + ". " + note + "x" * (TAIL - 30)) == ("Correction:", "end")


def test_the_longest_phrase_counts_and_an_empty_list_finds_nothing() -> None:
    reader = CorrectionReader(["Correction:", "Correction: An error", "Correction"])
    assert reader.read("Correction: An error was made.") == ("Correction: An error", "beginning")
    assert reader.read("Correction - an error was made.") == ("Correction:", "beginning")
    assert CorrectionReader([]).read("Correction: nine.", "Correction: nine") is None


@pytest.mark.parametrize(
    "phrase",
    ["(((((", "[a-z]", ".*.*.*:", "\\\\\\\\\\", "a|b|c|d:", "\u0130\u0130\u0130\u0130\u0130", "(?:x)+"],
)
def test_a_phrase_is_words_and_no_pattern(phrase: str) -> None:
    reader = CorrectionReader([phrase])
    assert reader.read(f"{phrase} x") == (phrase, "beginning")
    assert reader.read("abcde xxxxx") is None


@pytest.mark.parametrize(
    "hostile",
    [
        *("(", "\n", " ", "correction ", ". correction", "Correction 1", "Correction, 1:", "'- ", "\u00df"),
        *("An earlier version ", "Correction" + " " * 30, "Correction, " + "1" * 40, "\u0130", "(Corrige"),
    ],
)
def test_a_hostile_text_takes_no_longer_than_another(hostile: str) -> None:
    text = hostile * (1_000_000 // len(hostile))
    started = time.process_time()
    for _ in range(10):
        READER.read(text, text[:16_384])
    assert time.process_time() - started < 1  # ten texts of a million characters


@given(st.text(alphabet=string.ascii_letters + " .:-()\n\u2019'", max_size=300), st.sampled_from(PHRASES))
def test_whatever_is_found_is_in_the_text_where_a_sentence_begins(text: str, phrase: str) -> None:
    whole = f"{text}{phrase} x"
    found = READER.read(whole)
    words = re.sub(r"\s+", " ", whole).casefold()
    if found:
        begin = found[0].rstrip(":").casefold()
        assert begin in words
    if re.search(r"(^|[.:(]|\n\n)$", text):
        assert found is not None
