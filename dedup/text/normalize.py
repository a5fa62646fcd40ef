"""Normalise sentences: Unicode NFKC, case folding, and runs of word characters joined by single spaces.

docs/semantics.md, section 1, has the rule. `words` normalises one sentence; `normalised` normalises many and
returns bytes. Constants such as `IDEOGRAPHS` go between the brackets of a regular-expression class.
`kinds` finds in one pass which kinds of characters a text has, so that plain text takes little time.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

import numpy as np
import numpy.typing as npt

MARK, WORD, IDEOGRAPH, SENTENCE_END, INVISIBLE, SPACE, LINE_END = (1 << bit for bit in range(7))
"""Kinds of characters; a character can have several kinds. ASCII space and line feed are not a `SPACE`."""

IDEOGRAPHS = (
    "\u3001-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # With kana
    "\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"  # Full-width punctuation
)
SENTENCE_ENDS = (
    "\u0964\u0965\u06d4\u061f\u1362\u1367\u1368\u3002\uff01\uff1f\uff61\u104b\u17d4\u0589\u0f0d\u2cf9"
)
# Closing quotes and brackets: after the end of a sentence they are part of the sentence.
CLOSERS = (
    "\"')]}\u00bb\u2019\u201d\u203a"
    "\u3009\u300b\u300d\u300f\u3011\u3015\u3017\u3019\u301b\u301e\u301f\uff02\uff07\uff09\uff3d\uff5d\uff63"
)
INVISIBLES = "\u00ad\u2060\ufeff"
LINE_ENDS = "\r\x0b\x0c\x85\u2028\u2029"

Points = npt.NDArray[np.uint32]  # Shape (n,): the code points of a text


def _mark_class() -> str:
    """Return the characters of the Unicode categories Mn, Mc and Me, as ranges for a regular expression."""
    marks = [
        code
        for start, stop in ((0x300, 0x3100), (0xA600, 0xAC00), (0xFB00, 0xFE30), (0x10000, 0x1F000))
        for code in range(start, min(stop, sys.maxunicode))
        if unicodedata.category(chr(code))[0] == "M"
    ]
    ranges: list[list[int]] = []
    for code in marks:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


# Combining marks count as parts of words, since they are vowels in Indic scripts.
MARKS = _mark_class()

# Add the two half-width katakana sound marks, which are letters until NFKC turns them into marks.
LATE_MARKS = MARKS + "\uff9e\uff9f"

_CLASSES = {
    MARK: LATE_MARKS,
    IDEOGRAPH: IDEOGRAPHS,
    SENTENCE_END: SENTENCE_ENDS,
    INVISIBLE: INVISIBLES,
    LINE_END: LINE_ENDS,
}
_CODES = range(sys.maxunicode + 1)
_RANGE = re.compile("(.)-(.)|(.)", re.DOTALL)


def points(text: str) -> Points:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def kinds(text: str) -> int:
    """Return the kinds of all characters in a text, combined by bitwise OR."""
    return int(np.bitwise_or.reduce(table()[points(text)], initial=0))


@cache
def table() -> npt.NDArray[np.uint8]:
    """Return an array of the kinds of each code point; 1.1 MB."""
    made = np.zeros(len(_CODES), np.uint8)
    for kind, inside in _CLASSES.items():
        for first, last, single in _RANGE.findall(inside):
            made[ord(first or single) : ord(last or single) + 1] |= kind
    made[[code for code in _CODES[:0x3001] if chr(code).isspace() and chr(code) not in " \n"]] |= SPACE
    everything = np.arange(len(_CODES), dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    for match in re.finditer(r"\w+", everything):
        made[match.start() : match.end()] |= WORD
    made[made & MARK > 0] |= WORD  # Half-width sound marks count as letters
    return made


# Maximum length of a word. Longer runs are cut, so that an endless "word" takes no more time than prose.
MAX_WORD_CHARACTERS = 256
# Maximum number of marks after a letter, as in Unicode's stream-safe format (UAX 15, D4): Python sorts a run
# of marks in quadratic time, 12 minutes for a million marks.
MAX_MARKS = 30
# Maximum number of characters that one character becomes when normalised: U+FDFA, a phrase of four words.
MOST_GROWTH = 18
# Quotation marks, dashes and other signs that are not parts of words, even after NFKC. Most English texts
# have only ASCII characters and these signs.
COMMON_MARKS = "\u2019\u201c\u201d\u2018\u2013\u2014\u2026\u2022\u20ac\u00a3\u00a0"


def normal_size(text: str) -> int:
    """Return the length that a text would have if each character were normalised (NFKC) and folded alone."""
    if text.isascii():
        return len(text)
    # Count characters instead of making the normal form, which could be 18 times as long as the text.
    counts = np.bincount(points(text))
    found = np.flatnonzero(counts)
    sizes = (len(unicodedata.normalize("NFKC", chr(point)).casefold()) for point in found.tolist())
    return sum(count * size for count, size in zip(counts[found].tolist(), sizes, strict=True))


def composed(text: str) -> str:
    """Return the Unicode NFC of a text, in linear time."""
    return text if text.isascii() else unicodedata.normalize("NFC", without_mark_runs(text))


def words(text: str) -> list[str]:
    """Return the normalised words of a text, in order.

    >>> words("The U.S. isn't “Ｆｉｎｅ”")
    ['the', 'u', 's', 'isn', 't', 'fine']
    """
    if text.isascii():
        return _PLAIN_WORD.findall(text.lower())
    folded = unicodedata.normalize("NFKC", without_mark_runs(text)).casefold()
    return _MARKED_WORD.findall(folded)


def normalised(lines: str) -> bytes:
    r"""Return lines as normalised UTF-8. Words and line feeds are kept; all other characters become spaces.

    Words longer than `MAX_WORD_CHARACTERS` are not cut here; `LONG_RUN` finds these words.

    >>> normalised("The U.S. isn't\n“Ｆｉｎｅ”").split(b"\n")
    [b'the u s  isn t', b' fine ']
    """
    if lines.isascii():
        return lines.encode().translate(_PLAIN)
    plain = lines
    for mark in COMMON_MARKS:
        plain = plain.replace(mark, " ")
    if plain.isascii():
        return plain.encode().translate(_PLAIN)
    found = points(unicodedata.normalize("NFKC", without_mark_runs(lines)).casefold())
    keep = ((table()[found] & WORD) > 0) | (found == ord("\n"))
    return np.where(keep, found, _SPACE).tobytes().decode("utf-32-le").encode()


def without_mark_runs(text: str) -> str:
    """Return a text in which runs of combining marks are cut to `MAX_MARKS`."""
    if len(text) <= MAX_MARKS:  # Usually the text is a single word
        return text
    # Test first whether a run of marks is too long: hardly any is, and the regular expression is slow.
    others = np.flatnonzero((table()[points(text)] & MARK) == 0)
    longest = np.diff(others, prepend=-1, append=len(text)).max(initial=0) - 1
    return _MARK_RUN.sub(r"\1", text) if longest > MAX_MARKS else text


_SPACE = np.array(ord(" "), "<u4")
_PLAIN = bytes(
    ord(c.lower()) if c.isalnum() or c in "_\n" else ord(" ") for c in map(chr, range(128))
) + bytes(128)
_MARK_RUN = re.compile(f"([{LATE_MARKS}]{{{MAX_MARKS}}})[{LATE_MARKS}]+")
_PLAIN_WORD = re.compile(rf"\w{{1,{MAX_WORD_CHARACTERS}}}")
_MARKED_WORD = re.compile(rf"[\w{MARKS}]{{1,{MAX_WORD_CHARACTERS}}}")
LONG_RUN = re.compile(rf"[^ \n]{{{MAX_WORD_CHARACTERS}}}")
