"""Cleaning: line breaks within a paragraph are not content; blank lines and headings end a sentence.

See docs/semantics.md, section 1.1; `test_glued.py` tests the lost spaces of section 1.2.
"""

from __future__ import annotations

import random
import textwrap
from functools import cache

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.base.settings import Settings
from dedup.text.clean import HEADING_MAX_CHARACTERS, HEADING_MAX_SHARE, HEADING_MIN_WIDTH, WIDEST_GAP, blocks
from dedup.text.fingerprint import Fingerprinter

LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
PLAIN = """
    storm coast mayor said the of a in to and it was at on for with Monday Paris river wall after U.S. Mr. 3.5
    1,200 No. é Straße Київ город नदी غدا
"""
SPECIAL = """
    well-known vice-president-elect state-of-the-art O'Neill-Smith -- word--another end.--Then - –dash — "We
    "Stop!" (it [sic] “No” can't $1.25 50% e-mail http://news.example/a-very-long-address/of-one-word
    Donaudampfschifffahrtselektrizitaetenhauptbetriebswerk a- -b -- -- 10--12 co-op, x--
"""
WORDS = st.one_of(
    st.sampled_from(PLAIN.split()),
    st.sampled_from(SPECIAL.split()),
    st.text("abAB1", min_size=1, max_size=30),
)
SENTENCES = st.builds(
    lambda found, end: " ".join(found) + end,
    st.lists(WORDS, min_size=1, max_size=40),
    st.sampled_from([".", ".", "?", "!", '."', ".)", "...", ":", "", ""]),
)
HEADINGS = st.sampled_from(
    ["Read more", "Storm nears coast", "ADVERTISEMENT", "What we know so far", "Share"]
)
PARAGRAPHS = st.one_of(st.lists(SENTENCES, min_size=1, max_size=6).map(" ".join), HEADINGS)
ARTICLES = st.lists(PARAGRAPHS, min_size=1, max_size=4)


@cache
def fingerprinter() -> Fingerprinter:
    return Fingerprinter(Settings(text_min_words=1))


def wrapped(paragraph: str, width: int, on_hyphens: bool) -> list[str]:
    return textwrap.wrap(paragraph, width, break_long_words=False, break_on_hyphens=on_hyphens)


def spread(text: str, chooser: random.Random) -> str:
    """Replace some spaces of a text by runs of spaces, tabs and no-break spaces, at most as wide as a tab."""
    # " \u00a0 " is left out: textwrap may put this no-break space alone on a line, which is then blank.
    gaps = [" ", " ", " ", "  ", "   ", " " * 8, "\t", "\u00a0", "\u00a0\u00a0"]
    return "".join(chooser.choice(gaps) if character == " " else character for character in text)


def edged(line: str, chooser: random.Random) -> str:
    edges = ["", "", " ", "    ", "\t", "\u00a0", " \t\u00a0"]
    return chooser.choice(edges) + line + chooser.choice(edges)


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@given(
    ARTICLES,
    st.integers(1, 140),
    st.booleans(),
    LINE_ENDS,
    st.sampled_from(["as it is", "spread before", "spread after"]),
    st.randoms(use_true_random=False),
)
@example(  # the address is longer than a wrapped line
    ["aaaa bbbb cccc dddd eeee ffff gggg hhhh " * 3 + "http://news.example/" + "x" * 100],
    50,
    True,
    "\n",
    "as it is",
    random.Random(1),
)
@example(  # two dashes in a row, and a break between them
    ["one two -- -- three four --", "x-- --y"], 9, False, "\r\n", "as it is", random.Random(1)
)
def test_rewrapping_does_not_change_the_fingerprint(
    paragraphs: list[str], width: int, on_hyphens: bool, line_end: str, spaces: str, chooser: random.Random
) -> None:
    plain = "\n\n".join(paragraphs)
    if spaces == "spread before":
        paragraphs = [spread(paragraph, chooser) for paragraph in paragraphs]
    lines: list[str] = []
    for paragraph in paragraphs:
        lines += [*wrapped(paragraph, width, on_hyphens), ""]
    if spaces == "spread after":
        lines = [edged(spread(line, chooser), chooser) for line in lines]
    rewrapped = line_end.join(lines)
    assert blocks(rewrapped) == blocks(plain)
    if fingerprinter().sentences(plain):
        made = fingerprinter()
        assert made.sentences(rewrapped) == made.sentences(plain)
        if any(hashed for _, hashed in made.sentences(plain)):
            assert made.fingerprint(rewrapped) == made.fingerprint(plain)


@given(
    st.integers(0, 2**32),
    st.integers(HEADING_MIN_WIDTH, 80),
    st.sampled_from(["as it is", "spread before", "spread after"]),
)
def test_no_line_of_wrapped_capitals_passes_for_a_heading(seed: int, width: int, spaces: str) -> None:
    # Without punctuation and lower-case letters, only the lengths of the lines show that the text is prose.
    chooser = random.Random(seed)
    wide = chooser.random() < 0.3
    gaps = [" " * 8] if wide else [" ", " ", "   ", " " * 6, " " * 8]
    found = ["W" * chooser.choice([1, 4, 8, 12, 16, 20, 24, 90]) for _ in range(60)]
    plain = " ".join(found)
    if spaces == "spread before":
        plain = "".join(word + chooser.choice(gaps) for word in found).strip()
    lines = wrapped(plain, width, True)
    if spaces == "spread after":
        lines = [line.replace(" ", chooser.choice(gaps)) for line in lines]
    assert blocks("\n".join(lines)) == [" ".join(found)]


SHORT_WORDS = st.text("abcdefg", min_size=1, max_size=10)
LONG_PARAGRAPHS = st.lists(SHORT_WORDS, min_size=60, max_size=90).map(
    lambda found: f"The {' '.join(found)} ended."
)
HEADING_LINES = (
    st.lists(SHORT_WORDS, min_size=1, max_size=6)
    .map(lambda found: " ".join(found).capitalize())
    .filter(lambda line: len(line) <= HEADING_MAX_CHARACTERS)
)


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
@given(
    st.lists(st.tuples(HEADING_LINES, LONG_PARAGRAPHS), min_size=1, max_size=3),
    st.integers(0, 100),
    st.sampled_from(["\n", "\n\n"]),
    LINE_ENDS,
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_headings_before_one_line_break_are_blocks_at_any_width_that_leaves_room(
    sections: list[tuple[str, str]],
    more: int,
    between: str,
    line_end: str,
    edges: bool,
    chooser: random.Random,
) -> None:
    longest = max(len(heading) for heading, _ in sections)
    # A wrapped line of words of up to 10 letters is at most 10 characters short of the width.
    width = 10 + more + max(HEADING_MIN_WIDTH, int(longest / HEADING_MAX_SHARE) + 1, longest + WIDEST_GAP + 3)
    expected = [part for section in sections for part in section]
    text = between.join(
        "\n".join([heading, *wrapped(paragraph, width, True)]) for heading, paragraph in sections
    )
    lines = [edged(line, chooser) if edges else line for line in text.split("\n")]
    if between == "\n\n":
        assert blocks(line_end.join(lines)) == expected
    # With single line breaks, a heading may be in one block with the paragraph before it. This paragraph ends
    # with a full stop, so the heading is a separate sentence.
    made = fingerprinter()
    found = [sentence for sentence, _ in made.sentences(line_end.join(lines))]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\u00a0\n\r\n\u3000", []),
        ("One\n\nTwo", ["One", "Two"]),
        ("One\n \t \nTwo", ["One", "Two"]),
        ("One\r\rTwo", ["One", "Two"]),
        ("One\u2029Two", ["One", "Two"]),
        ("One\u2028two\x0bthree\x0cfour\x85five", ["One two three four five"]),
        ("One\u00a0 \t two", ["One two"]),
        ("A soft\u00adhyphen\ufeff and a word\u2060joiner", ["A softhyphen and a wordjoiner"]),
        ("A NUL\0 and a lone \ud800surrogate", ["A NUL and a lone surrogate"]),
        ("A well-\nknown fact", ["A well-known fact"]),
        ("A dash--or two\n--or three --\nhere", ["A dash -- or two -- or three -- here"]),
        ("-- Reuters", ["-- Reuters"]),
        ("One -- --two", ["One -- two"]),
        ("cafe\u0301", ["caf\u00e9"]),
    ],
)
def test_blocks_of_small_texts(text: str, expected: list[str]) -> None:
    assert blocks(text) == expected


PROSE = "The storm that had been seen over the sea since Friday reached the coast on Monday night."


@pytest.mark.parametrize(
    "line",
    ["Storm nears coast", "Read more", "READ MORE »", "Photo (archive)", '"We saw it coming"', "*Live*"],
)
def test_a_short_line_without_punctuation_ends_a_block(line: str) -> None:
    assert blocks(f"{PROSE}\n{line}\n{PROSE}")[-1] == PROSE
    assert blocks(f"{line}\n{PROSE}") == [line, PROSE]


@pytest.mark.parametrize(
    ("line", "following", "why"),
    [
        ("The storm,", PROSE, "it ends in punctuation"),
        ('He said: "Stop."', PROSE, "it ends in punctuation within quotes"),
        ("Storm nears", "coast and brings the rain that the farmers had been waiting for.", "it goes on"),
        ("x" * (HEADING_MAX_CHARACTERS + 1), f"{PROSE} {PROSE}", "it is too long"),
        ("The storm that had been seen over the sea since Friday", PROSE, "it fills most of a line"),
        (
            "The storm that had been seen",
            "Overdonaudampfschifffahrtselektrizitaetenhauptbetriebswerk",
            "no room",
        ),
        ("तूफान आया।", PROSE, "it ends in a danda"),
    ],
)
def test_a_line_that_may_be_wrapped_prose_does_not_end_a_block(line: str, following: str, why: str) -> None:
    assert blocks(f"{line}\n{following}") == [f"{line} {following}"], why


def test_line_breaks_of_a_narrow_text_are_no_headings() -> None:
    assert blocks("Roses\nRed and violets\nBlue and so on until 39") == [
        "Roses Red and violets Blue and so on until 39"
    ]
    wider = "Blue and so on until more than forty wide"
    assert blocks(f"Roses\nRed and violets\n{wider}") == ["Roses", "Red and violets", wider]


CHINESE = st.lists(
    st.one_of(
        st.text("的一是不了人我在有他这中大来上国", min_size=1, max_size=30),
        st.sampled_from(["，", "。", "「走吧。」", "G7", "2024年", "50%", "、", " 报道 "]),
    ),
    min_size=1,
    max_size=20,
).map("".join)


@given(CHINESE, st.integers(1, 60))
def test_rewrapping_a_script_without_spaces_does_not_change_the_fingerprint(text: str, width: int) -> None:
    # Some programs break a line of Chinese between any two characters, but never inside a Latin word or a
    # number.
    units: list[str] = []
    for character in text:
        if units and units[-1][-1].isascii() and character.isascii():
            units[-1] += character
        else:
            units.append(character)
    lines = [""]
    for unit in units:
        if len(lines[-1]) + len(unit) > width:
            lines.append("")
        lines[-1] += unit
    assert blocks("\n".join(line for line in lines if line.strip())) == blocks(text)


def test_korean_keeps_its_spaces() -> None:
    assert blocks("美 국무장관은\n오늘 韓國 에") == ["美 국무장관은 오늘 韓國 에"]
