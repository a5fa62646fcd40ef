"""The finder of words rules out texts: it may find too much, but never misses what the readers would find."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.base.article import TextTask
from dedup.store.credits import Reader
from dedup.text.credits import Agency
from dedup.text.native import library
from dedup.text.word_finder import ALL, BEGINNING, END, NAME, PHRASE, WordFinder

AGENCIES = [
    Agency(1, "AP", ("AP", "Associated Press")),
    Agency(2, "dpa", ("dpa", "Deutsche Presse-Agentur")),
    Agency(3, "Reuters", ("Reuters", "Thomson/Reuters")),
    Agency(4, "T\u00e9lam", ("T\u00e9lam", "Wolffb\u00fcro")),
    Agency(5, "Xinhua", ("\u65b0\u534e\u793e", "Europapre\u00df")),
]
PHRASES = ["Corrects", "Corrected:", "An earlier version of this article", "Because of an editing error"]
READER = Reader(AGENCIES, PHRASES)
PROSE = "The ferry ran late on Monday. Nobody saw it from the pier.\n" * 40

needs_kernel = pytest.mark.skipif(library() is None, reason="the compiled kernel is missing")
names = [spelling for agency in AGENCIES for spelling in agency.spellings]
cased = [change(word) for word in (*names, *PHRASES) for change in (str, str.upper, str.lower, str.title)]
marks = [
    *("(", ") - ", "/", "\n", " ", ". ", "- ", ", ", "\u2014", "\u00a9 ", "x", "7"),
    *("By ", "The ", "Source: ", "Photo: ", " Photo", "Copyright", " files from ", "Contributing: "),
    " contributed to this report with ",
]
pieces = st.sampled_from([*cased, *marks]) | st.text(max_size=3) | st.integers(0, 620).map("x ".__mul__)


@given(st.lists(st.lists(pieces, max_size=12).map("".join), min_size=1, max_size=4))
def test_reading_many_texts_finds_the_same_as_reading_each(texts: list[str]) -> None:
    tasks = [TextTask(number, 1, None, None, text) for number, text in enumerate(texts)]
    assert READER.read_many(tasks) == {task.id: READER.read(task) for task in tasks}


@needs_kernel
def test_a_character_matches_every_character_that_folds_to_it() -> None:
    for code in range(0x80, sys.maxunicode + 1):
        folded = chr(code).casefold()
        if folded != chr(code) or "\xa1" <= folded <= "\xfe":
            for name in (f"abcd{folded}efgh", f"{folded}efgh", f"abcd{folded}"):
                text = name.replace(folded, chr(code))
                (found,) = WordFinder([name], []).find([text])
                assert found[0] & NAME, (name, text)


@needs_kernel
@pytest.mark.parametrize(
    "word", ["AP", "Reuters", "REUTERS", "T\u00c9LAM", "wolffb\u00fcro", "\u65b0\u534e\u793e"]
)
def test_names_count_at_both_ends(word: str) -> None:
    texts = [f"{word} {PROSE}", f"{PROSE}({word})", f"{PROSE}{word}{PROSE}", PROSE]
    assert WordFinder(names, PHRASES).find(texts) == [(NAME, 0), (0, NAME), (0, 0), (0, 0)]


@needs_kernel
def test_names_count_as_words() -> None:
    finder = WordFinder(["AP"], [])
    assert finder.find(["7AP", "AP", "(APPhoto)"]) == [(NAME, NAME)] * 3
    assert finder.find(["MAP", "AP7", "APs"]) == [(0, 0)] * 3


@needs_kernel
def test_phrases_count_by_one_word() -> None:
    finder = WordFinder([], PHRASES)
    assert finder.find(["VERSION", "corrects", "a version", "the ferry", "because", "editing"]) == [
        *[(PHRASE, PHRASE)] * 3,
        (0, 0),
        (PHRASE, PHRASE),
        (0, 0),
    ]


@pytest.mark.parametrize(
    ("found", "phrases"),
    [(["x"], []), (["\u010cedok"], []), ([], ["((((("]), ([], ["a|b|c"]), (["Ann"] * 40_000, [])],
)
def test_words_that_cannot_be_searched_can_be_in_any_text(found: list[str], phrases: list[str]) -> None:
    assert WordFinder(found, phrases).find(["ferry", ""]) == [(ALL, ALL)] * 2


@needs_kernel
@pytest.mark.parametrize(
    ("before", "found"), [(0, (NAME, 0)), (BEGINNING - 8, (NAME, 0)), (BEGINNING, (0, 0))]
)
def test_the_beginning_has_its_size(before: int, found: tuple[int, int]) -> None:
    assert WordFinder(["Reuters"], []).find(["x" * before + " Reuters" + " x" * END]) == [found]


@needs_kernel
@pytest.mark.parametrize(("after", "found"), [(0, (0, NAME)), (END - 8, (0, NAME)), (END, (0, 0))])
def test_the_end_has_its_size(after: int, found: tuple[int, int]) -> None:
    assert WordFinder(["Reuters"], []).find(["x " * BEGINNING + "Reuters " + "x" * after]) == [found]
