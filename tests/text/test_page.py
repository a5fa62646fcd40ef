"""Section 1 of docs/semantics.md, programmed again from the page, gives the same results as dedup.

The tests read the classes of characters from the page and take each step in its simplest form.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.base.settings import Settings
from dedup.text import clean
from dedup.text.clean import blocks
from dedup.text.fingerprint import Fingerprinter
from dedup.text.normalize import (
    CLOSERS,
    IDEOGRAPHS,
    INVISIBLES,
    LATE_MARKS,
    LINE_ENDS,
    MAX_MARKS,
    SENTENCE_ENDS,
    words,
)
from dedup.text.punkt import PunktModel
from dedup.text.sentences import NON_WORDS, TOKEN
from tests.text.test_sentences import MODELS, splitter
from tests.text.test_sentences import PIECES as SENTENCE_PIECES

PAGE = (Path(__file__).parents[2] / "docs" / "semantics.md").read_text("utf-8")

INVISIBLE, MARK, LINE_END, PUNCTUATION, CLOSING, CHINESE, ENDS = range(7)
"""Numbers of the rows in the page's table of character classes."""


@cache
def classes() -> list[set[str]]:
    """Return the characters of each class, as the page lists them."""
    table = PAGE.split("| class | characters |\n|---|---|\n")[1].split("\n\n")[0]
    found = []
    for row in table.splitlines():
        listed = row.split("|", 2)[2]
        points = re.findall(r"(?<!from )U\+([0-9A-F]{4,5})(?:-U\+([0-9A-F]{4,5}))?", listed)
        found.append(
            {chr(code) for one, last in points for code in range(int(one, 16), int(last or one, 16) + 1)}
        )
        for code, shown in re.findall(r"U\+([0-9A-F]{4}) `(.)`", listed):
            assert chr(int(code, 16)) == shown
    assert len(found) == 7
    found[MARK] = {"\uff9e", "\uff9f"} | {
        chr(code) for code in range(0x1F000) if unicodedata.category(chr(code)) in ("Mn", "Mc", "Me")
    }
    return found


def members(inside: str) -> set[str]:
    """Return all characters that a character class of a regular expression matches."""
    return set(re.findall(f"[{inside}]", "".join(map(chr, range(0x110000))), re.DOTALL))


def test_the_classes_of_the_page_are_those_of_the_code() -> None:
    assert classes() == [
        set(INVISIBLES),
        members(LATE_MARKS),
        set(LINE_ENDS),
        set(clean._PUNCTUATION),
        set(CLOSERS),
        members(IDEOGRAPHS),
        set(SENTENCE_ENDS),
    ]


@pytest.mark.parametrize("mark", "%/•·#*&†¿")
def test_what_unicode_calls_punctuation_may_end_a_heading(mark: str) -> None:
    assert unicodedata.category(mark) == "Po"
    prose = "The storm that had been seen over the sea since Friday reached the coast on Monday night."
    assert blocks(f"Storm nears {mark}\n{prose}") == [f"Storm nears {mark}", prose]


def test_marks_are_cut_before_the_text_is_composed() -> None:
    # If the text were composed first, the accent would be part of the letter, and one more dot would stay.
    assert blocks("e\u0301" + "\u0323" * (MAX_MARKS + 5)) == [
        unicodedata.normalize("NFC", "e\u0301" + "\u0323" * (MAX_MARKS - 1))
    ]


def slow_blocks(text: str) -> list[str]:
    """Return the blocks of a text by the steps of the page, one after the other."""
    known = classes()
    text = "".join(c for c in text if c not in known[INVISIBLE] | {"\0"} and not "\ud800" <= c <= "\udfff")
    kept, run = "", 0
    for c in text:
        run = run + 1 if c in known[MARK] else 0
        kept += c if run <= 30 else ""
    text = unicodedata.normalize("NFC", kept).replace("\r\n", "\n").replace("\u2029", "\n\n")
    given = "".join("\n" if c in known[LINE_END] else c for c in text).split("\n")
    single = [" ".join(line.split()) for line in given]
    given = [line.strip(" ") for line in given]
    widest = [max((len(line) for line in form if " " in line), default=0) for form in (given, single)]

    def heading(i: int) -> bool:
        line, following = single[i], single[i + 1]
        end = line.rstrip("".join(known[CLOSING]) + " *") or line
        return (
            len(line) <= min(60, 0.6 * widest[1])
            and widest[1] >= 40
            and end[-1] not in known[PUNCTUATION]
            and not following[0].islower()
            and all(
                len(form[i]) + 8 + len(form[i + 1].split(" ")[0]) <= width
                for form, width in zip((given, single), widest, strict=True)
            )
        )

    found: list[list[str]] = [[]]
    for i, line in enumerate(single):
        if line:
            found[-1].append(line)
        if not line or (i + 1 < len(single) and single[i + 1] and heading(i)):
            found.append([])
    return [unglued(without_spaces(dashed(unhyphened(" ".join(lines))))) for lines in found if lines]


def spaces_out(line: str, goes: object) -> str:
    """Remove a space wherever `goes` returns true for the two characters before it and the one after it."""
    assert callable(goes)
    return "".join(
        c for i, c in enumerate(line) if not (c == " " and goes(line[max(i - 2, 0) : i], line[i + 1 : i + 2]))
    )


def unhyphened(line: str) -> str:
    def word(c: str) -> bool:
        return c.isalnum() or c == "_"

    return spaces_out(line, lambda b, a: len(b) == 2 and b[1] == "-" and word(b[0]) and word(a))


def dashed(line: str) -> str:
    return " -- ".join(re.split(r" ?--+(?: ?--+)* ?", line)).strip(" ")


def without_spaces(line: str) -> str:
    chinese = classes()[CHINESE]

    def goes(before: str, after: str) -> bool:
        b = before[-1:]
        plain = [c.isascii() and c.isalnum() for c in (b, after)]
        if b in chinese:
            return after in chinese or plain[1]
        return after in chinese and (plain[0] or b == "%")

    return spaces_out(line, goes)


def unglued(line: str) -> str:
    def letter(c: str, case: str) -> bool:
        return c.isalnum() and (c.islower() if case == "lower" else c.isupper())

    made, i = "", 0
    while i < len(line):
        made += line[i]
        if line[i] in ".?!…" and i >= 2 and letter(line[i - 2], "lower") and letter(line[i - 1], "lower"):
            stop = i + 2 if line[i + 1 : i + 2] and line[i + 1] in "\"')]’”»" else i + 1
            following = line[stop : stop + 2]
            around = line[: i + 1].split(" ")[-1] + line[i + 1 :].split(" ")[0]
            address = "://" in around or "@" in around or re.search(r"\bwww\.", around, re.IGNORECASE)
            if len(following) == 2 and letter(following[0], "upper") and letter(following[1], "lower"):
                made += line[i + 1 : stop] + ("" if address else " ")
                i = stop - 1
        i += 1
    return made


def slow_sentences(text: str, model: PunktModel) -> list[str]:
    """Return the sentences of a text by the rules of the page, one by one."""
    found = []
    for block in blocks(text):
        piece = ""
        for c in block + "\0":
            ended = piece.rstrip("".join(classes()[CLOSING]))[-1:] in classes()[ENDS]
            goes_on = c in classes()[CLOSING] or (c in classes()[ENDS] and piece[-1:] in classes()[ENDS])
            if ended and not goes_on:
                found += slow_split(piece.strip(" "), model)
                piece = ""
            piece += c
        found += slow_split(piece[:-1].strip(" "), model)
    return found


def slow_split(piece: str, model: PunktModel) -> list[str]:
    marks: list[tuple[int, int]] = []  # (start of a run of characters, place of an end mark in it)
    for i, c in enumerate(piece[:-1]):
        if c in ".?!" and (piece[i + 1] in NON_WORDS or (piece[i + 1] == " " and piece[i + 2 :])):
            run = piece.rfind(" ", 0, i) + 1
            marks = [one for one in marks if one[0] != run or one[1] == run] + [(run, i)]
    sentences, start = [], 0
    closing = "".join(classes()[CLOSING] | set("‘“«"))
    for word, mark in marks:
        stop = mark + 2 if piece[mark + 1] != " " else (piece + " ").index(" ", mark + 2)
        context = piece[word : min(stop, mark + 201)]
        tokens = re.findall(TOKEN, context)
        if mark - word > 200 or any(ends_between(a, b, model) for a, b in pairwise(tokens)):
            sentences.append(piece[start : mark + 1])
            start = mark + 1
    sentences.append(piece[start:])
    for i in range(1, len(sentences)):
        closed = re.match(f" ?[{re.escape(closing)}]+(?= |--|$)", sentences[i])
        if closed:
            sentences[i - 1] += closed[0]
            sentences[i] = sentences[i][closed.end() :]
        sentences[i] = sentences[i].removeprefix(" ")
    return [sentence for sentence in sentences if sentence]


def ends_between(a: str, b: str, model: PunktModel) -> bool:
    def one_period(token: str) -> bool:
        return token.endswith(".") and not token.endswith("..") and token != "."

    def abbreviated(token: str) -> bool:
        word = token.lower()[:-1]
        return one_period(token) and bool({word, word.split("-")[-1]} & model.abbrev_types)

    def ends(token: str) -> bool:
        return token in (".", "?", "!") or (one_period(token) and not abbreviated(token))

    def kind(token: str, bare: bool) -> str:
        if re.search(r"^-?[\.,]?\d[\d,\.-]*\.?$", token):
            return "##number##"
        return (token.lower().removesuffix(".") if bare else "") or token.lower()

    if not a.endswith("."):
        return ends(a)
    kinds = kind(a, True), kind(b, ends(b))
    if kinds in model.collocations:
        return False
    flags, starts = model.ortho_context.get(kinds[1], 0), None
    if b in (";", ":", ",", ".", "!", "?"):
        starts = False
    elif b[0].isupper():
        starts = True if flags & 112 and not flags & 4 else None
    elif b[0].islower():
        starts = False if flags & 14 or not flags & 16 else None
    letter = unicodedata.category(a[0])[0] == "L" or unicodedata.numeric(a[0], None) is not None
    initial = len(a) == 2 and (letter or a[0] == "_") and unicodedata.category(a[0]) != "Nd"
    likely = starts or (b[0].isupper() and kinds[1] in model.sent_starters)
    if (abbreviated(a) or (len(a) > 1 and not a.strip("."))) and not initial and likely:
        return True
    if initial or kinds[0] == "##number##":
        if starts is False:
            return False
        if initial and starts is None and b[0].isupper():
            return ends(a) and bool(flags & 112)
    return ends(a)


ODD = "%/•·#*&†¿!.,;:?-–—…。，！？、।॥؟،۔።፣\"')]}’”»「」（）：％›"
PIECES = st.one_of(
    st.sampled_from(
        ["storm", "Storm", "the old harbour of the town", "well", "é", "É", "G7", "2024", "_", "²"]
    ),
    st.sampled_from(
        ["東京", "の", "한국", "𠀀", "-", "--", "---", "://", "www.", "@", ".The", 'e."The', "…Ab"]
    ),
    st.sampled_from(list(ODD)),
    st.sampled_from(["\u0301", "\u0323" * 31, "e" + "\u0301" * 32, "\uff9e" * 31, "\U000e0100", "\u0958"]),
    st.sampled_from(
        ["\0", "\ud800", "\u00ad", "\u2060", "\ufeff", "\t", "\u00a0", "\u3000", "\x1c", "\u200b"]
    ),
    st.sampled_from([" ", " ", "  ", " " * 9]),
)
LINES = st.lists(PIECES, max_size=14).map("".join)
TEXTS = st.tuples(
    st.lists(LINES, max_size=6),
    st.sampled_from(["\n", "\n\n", "\r\n", "\r", "\x0b", "\x85", "\u2028", "\u2029"]),
).map(lambda drawn: drawn[1].join(drawn[0]))


@given(TEXTS)
@example("Storm nears %\nThe storm that had been seen over the sea since Friday reached the coast.")
@example("Storm nears ©*\nThe storm that had been seen over the sea since Friday reached the coast.")
@example("東京 (a) é 東京 50% 東京 % 東 京 . 東 G7 の")
def test_the_blocks_of_a_text_are_those_of_the_page(text: str) -> None:
    assert blocks(text) == slow_blocks(text)


ENDS_AND_CLOSERS = st.text("。！؟।.?!…」』）’”\"')« ab", min_size=1, max_size=8)
BLOCKS_OF_ALL = st.lists(st.one_of(SENTENCE_PIECES, ENDS_AND_CLOSERS), max_size=20).map(" ".join)


@pytest.mark.parametrize("name", ["english", "invented"])
@given(BLOCKS_OF_ALL)
@example("So he. Said it. Then he. said so. top. said. co. A 5. may 5. May 5. x J. May J. the")
@example(
    "Then . . . he. ” ) « -- ran. （「so。」』）” 。。」。 ！？” " + "x" * 201 + ". y " + "u.s. " + "Y" * 300
)
def test_the_sentences_of_a_text_are_those_of_the_page(name: str, text: str) -> None:
    assert splitter(name).sentences(text) == slow_sentences(text, MODELS[name]())


def test_the_version_is_what_the_page_says() -> None:
    def sha256(text: str) -> str:
        return hashlib.sha256(text.encode()).hexdigest()

    table = PAGE.split("| setting, kind *fingerprint* |")[1].split("\n\n")[0]
    names = re.findall(r"^\| `(\w+)` =", table, re.MULTILINE)
    for settings in (Settings(), Settings(damaged_print="on", hash_key="it's")):
        lines = [
            f"{name}={getattr(settings, name)!r}"
            for name in names
            if name != "default_language" and (name != "damaged_print" or settings.damaged_print == "on")
        ]
        empty = "abbrev_types.txt\0\0collocations.tab\0\0sent_starters.txt\0\0ortho_context.tab\0\0"
        (revision,) = re.findall(r"this page describes revision (\d+)", PAGE)
        four = [revision, unicodedata.unidata_version, sha256("\n".join(lines)), sha256(empty)]
        version = int.from_bytes(bytes.fromhex(sha256("\n".join(four)))[:8], "little", signed=True)
        assert Fingerprinter(settings).version("de") == version


def test_the_token_pattern_is_that_of_the_page() -> None:
    shown = PAGE.split("**The token pattern**")[1].split("\n\n")
    (pattern,) = (line.strip() for line in shown[1].splitlines())
    several, non_word = shown[2].splitlines()
    several = several.split("SEVERAL ")[1].strip()
    listed = non_word.split("one of")[1].split()
    assert "".join(listed) == NON_WORDS
    pattern = pattern.replace("SEVERAL", several).replace("NON_WORD", f"[{re.escape(NON_WORDS)}]")
    assert pattern == TOKEN.pattern.replace('\\"', '"')


@pytest.mark.long("dedup/text", "dedup/base/settings.py", "tests/reference")
def test_a_word_character_is_what_the_page_says() -> None:
    known = classes()[MARK]
    wrong = []
    for code in range(0x110000):
        c = chr(code)
        if "\ud800" <= c <= "\udfff" or unicodedata.normalize("NFKC", c).casefold() != c:
            continue  # normalisation replaces this character
        letter = unicodedata.category(c)[0] == "L" or unicodedata.numeric(c, None) is not None
        if (words(f"_{c}_") == [f"_{c}_"]) != (letter or c in known or c == "_"):
            wrong.append(f"U+{code:04X}")
    assert wrong == []
