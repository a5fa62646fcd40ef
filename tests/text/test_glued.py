"""Lost spaces after sentences are put back, then Punkt decides (docs/semantics.md, section 1.2)."""

from __future__ import annotations

import itertools
import random
import re
import unicodedata
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.base.settings import Settings
from dedup.text import clean
from dedup.text.clean import blocks, unglued
from dedup.text.fingerprint import Fingerprinter
from dedup.text.punkt import NEUTRAL, english
from dedup.text.sentences import SentenceSplitter

FRENCH = "La loi a été rejetée par l'opposition.Les députés ont quitté la salle."


@cache
def fingerprinter() -> Fingerprinter:
    return Fingerprinter(Settings(text_min_words=1))


@cache
def splitter(language: str) -> SentenceSplitter:
    return SentenceSplitter(english() if language == "en" else NEUTRAL)


def test_the_example_of_the_contract() -> None:
    assert splitter("fr").sentences(FRENCH) == [
        "La loi a été rejetée par l'opposition.",
        "Les députés ont quitté la salle.",
    ]


@pytest.mark.parametrize("mark", ".?!…")
@pytest.mark.parametrize("closer", ["", '"', "'", ")", "]", "’", "”", "»"])
def test_a_glued_end_has_one_of_four_marks_and_perhaps_one_closer(mark: str, closer: str) -> None:
    assert unglued(f"the end{mark}{closer}Then more") == f"the end{mark}{closer} Then more"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("the end. Then", "the space is there"),
        ("the end.then", "no capital follows"),
        ("the end.T", "no lower-case letter follows the capital"),
        ("the end.THEN", "two capitals follow"),
        ("the end.3 more", "a number follows"),
        ("vitamin a.Then", "one letter before the mark"),
        ("the U.S.Senate", "capitals before the mark"),
        ("the USa.Then", "one lower-case letter before the mark"),
        ("it was 1.5m.Then", "a digit before the letter"),
        ("it was 1985.Then", "digits before the mark"),
        ("the end,Then", "no mark that ends a sentence"),
        ("the end:Then", "no mark that ends a sentence"),
        ("the end.”)Then", "two closing quotes and brackets"),
        ("the end.“Then", "an opening quote"),
        ("the end.-Then", "a dash"),
        ("the en_.Then", "no letter before the mark"),
        ("Read www.example.com/News.Then", "an address"),
        ("Read WWW.example.com/News.Then", "an address"),
        ("Read (www.example.com/the.Then)", "an address in brackets"),
        ("Read http://example.com/the.Then", "an address"),
        ("Write to john.Smith@example.com.Then", "a mail address"),
        ("Write to ab.Cd.Ef@gh.Ij", "a mail address with many marks"),
        ("他来了.他走了", "a script without case"),
        ("", "nothing"),
        (".", "a mark alone"),
        ("ab.", "nothing follows"),
        ("ab.C", "one character follows"),
    ],
)
def test_what_is_no_glued_end_stays(line: str, why: str) -> None:
    assert unglued(line) == line, why


def test_only_the_address_itself_is_left_alone() -> None:
    line = "First done.Then www.example.com/the.End and more.Then x@y.Ab.Yes after.Then the end"
    assert unglued(line) == (
        "First done. Then www.example.com/the.End and more. Then x@y.Ab.Yes after. Then the end"
    )


def test_letters_of_any_script_with_case_count() -> None:
    assert unglued("на берег.Мэр сказал") == "на берег. Мэр сказал"
    assert unglued("στην ακτή.Ήταν νύχτα") == "στην ακτή. Ήταν νύχτα"
    assert blocks(unicodedata.normalize("NFD", "la santé.Évidemment")) == ["la santé. Évidemment"]


def test_several_ends_in_one_run_are_all_given_back() -> None:
    assert unglued("One left.Two stayed!Three came?Four") == "One left. Two stayed! Three came? Four"
    # Before ".No" there is one lower-case letter, and two are needed.
    assert unglued("left.Right.Up.No") == "left. Right. Up.No"


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Gov.Smith met Sen.Jones.They talked.", ["Gov. Smith met Sen. Jones.", "They talked."]),
        ("Shares of the firm rose.Bonds fell.", ["Shares of the firm rose.", "Bonds fell."]),
        ("It ended at noon.She left.", ["It ended at noon.", "She left."]),
        ("He said: “Stop now!”Then he left.", ["He said: “Stop now!”", "Then he left."]),
    ],
)
def test_whether_a_sentence_ends_there_is_punkts_decision(text: str, sentences: list[str]) -> None:
    assert splitter("en").sentences(text) == sentences
    if text.startswith("Gov."):  # "fr" has no trained parameters here, so no abbreviations
        assert splitter("fr").sentences(text)[0] == "Gov."


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            ["ab", "Ab", "AB", "a", "1", ".", "?", "!", "…", '"', "’", "»", " ", "@", "www.", "é"]
        ),
        st.text(max_size=3),
    ),
    max_size=25,
).map(lambda parts: " ".join("".join(parts).split()))


@given(LINES)
@example("ab.Cd.ef.Gh")
@example("www.ab.Cd ef.Gh")
def test_giving_spaces_back_twice_changes_nothing_and_only_spaces_come(line: str) -> None:
    once = unglued(line)
    assert unglued(once) == once
    assert once.replace(" ", "") == line.replace(" ", "")


def slow(line: str) -> str:
    """Put lost spaces back by the rule in its simplest form, place by place."""
    letter = r"[^\W\d_]"
    made = ""
    for i, character in enumerate(line):
        made += character
        before, after = line[: i + 1], line[i + 1 :]
        ends = re.search(rf"({letter})({letter})[.?!…][\"')\]’”»]?$", before)
        begins = re.match(rf"({letter})({letter})", after)
        if not ends or not begins:
            continue
        run = before.rpartition(" ")[2] + after.partition(" ")[0]
        if "://" in run or "@" in run or re.search(r"\bwww\.", run, re.IGNORECASE):
            continue
        if ends[1].islower() and ends[2].islower() and begins[1].isupper() and begins[2].islower():
            made += " "
    return made


@given(LINES)
def test_the_rule_is_that_of_the_contract(line: str) -> None:
    assert unglued(line) == slow(line)


WORDS = st.text("abcdeé", min_size=2, max_size=8)
SENTENCES = st.builds(
    lambda words, end: " ".join(words).capitalize() + end,
    st.lists(WORDS, min_size=2, max_size=12),
    st.sampled_from([".", "?", "!", '."', ".”", "!»", ".)"]),
)


@pytest.mark.long("dedup", "migrations")
@given(st.lists(SENTENCES, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_a_glued_and_an_unglued_print_have_equal_fingerprints(
    sentences: list[str], chooser: random.Random
) -> None:
    made = fingerprinter()
    for language in ("en", "fr"):
        whole = made.fingerprint(" ".join(sentences), language)
        assert made.fingerprint("".join(sentences), language) == whole
        mixed = "".join(s + chooser.choice(["", " ", "\n"]) for s in sentences)
        assert made.fingerprint(mixed, language) == whole


def test_the_glued_french_print_equals_the_unglued_one() -> None:
    made = fingerprinter()
    glued = made.fingerprint(FRENCH, "fr")
    assert len(glued.sentence_hashes) == 2
    assert glued == made.fingerprint(FRENCH.replace(".Les", ". Les"), "fr")
    assert glued == made.fingerprint(FRENCH.replace(".Les", ".\r\n  Les"), "fr")


HOSTILE = {
    "one word of glued ends": "Abc.",
    "words of glued ends": "Abc.Def ",
    "one address": "www.Abc.Def",
    "half a word of glued ends, then an address": "Abc.",
    "addresses": "www.Abc.Def/Ghi. ",
    "marks": ".",
    "letters and marks": "ab.",
    "quoted ends": 'Abc."',
    "almost addresses": "wwwAbc.",
    "colons": "Abc.:/",
}


def hostile(name: str, count: int) -> str:
    return HOSTILE[name] * count + ("@x" if name.startswith("half") else "")


@pytest.mark.parametrize("name", HOSTILE)
def test_each_character_is_looked_at_once_for_an_address(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[tuple[int, int]] = []

    class Counting:
        def search(self, line: str, start: int, stop: int) -> re.Match[str] | None:
            looked.append((start, stop))
            return address.search(line, start, stop)

    address = clean._WEB_ADDRESS
    monkeypatch.setattr(clean, "_WEB_ADDRESS", Counting())
    text = hostile(name, 500)
    unglued(text)
    assert sum(stop - start for start, stop in looked) <= len(text)
    assert all(first[1] < second[0] for first, second in itertools.pairwise(looked))


@pytest.mark.parametrize("name", HOSTILE)
def test_work_grows_with_the_length_and_no_faster(name: str) -> None:
    looked: list[int] = []

    class Counting(str):
        """A line that records how many characters each call of `find` and `rfind` passes."""

        __slots__ = ()

        def find(self, sub: str, start: Any = 0, end: Any = None) -> int:
            found = super().find(sub, start, end)
            looked.append((len(self) if found < 0 else found) - start)
            return found

        def rfind(self, sub: str, start: Any = 0, end: Any = None) -> int:
            found = super().rfind(sub, start, end)
            looked.append(end - max(found, start))
            return found

    text = hostile(name, 500)
    assert unglued(Counting(text)) == unglued(text)
    assert sum(looked) <= 2 * len(text)


def test_a_lost_space_is_found_in_one_look_at_each_place() -> None:
    # An expression without repetition looks at a fixed number of characters from each start.
    assert not re.search(r"[*+]|\{\d*,", clean._GLUED.pattern)
