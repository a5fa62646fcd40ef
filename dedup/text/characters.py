"""Which characters of a text need work: one look tells, so that plain text costs little.

The classes have their home here, as the inside of a regular-expression class; what is done about them is in
`clean.py`, `sentences.py` and `normalize.py`.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

import numpy as np
import numpy.typing as npt

MARK, WORD, IDEOGRAPH, SENTENCE_END, INVISIBLE, SPACE, LINE_END = (1 << bit for bit in range(7))
"""Kinds of characters; a character may be of several. No ASCII space or line feed is a `SPACE`."""

IDEOGRAPHS = (
    "\u3001-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # and kana
    "\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f"  # full-width punctuation
)
SENTENCE_ENDS = (
    "\u0964\u0965\u06d4\u061f\u1362\u1367\u1368\u3002\uff01\uff1f\uff61\u104b\u17d4\u0589\u0f0d\u2cf9"
)
INVISIBLES = "\u00ad\u2060\ufeff"
LINE_ENDS = "\r\x0b\x0c\x85\u2028\u2029"

Points = npt.NDArray[np.uint32]  # Shape (n,): the code points of a text


def _mark_class() -> str:
    """The characters of categories Mn, Mc and Me as the inside of a regular-expression class."""
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


MARKS = _mark_class()

LATE_MARKS = MARKS + "\uff9e\uff9f"
"""NFKC turns the two half-width katakana sound marks, which are letters, into marks."""

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
    """Of which kinds a text has at least one character.

    >>> bool(kinds("caf\\u00e9") & WORD), bool(kinds("caf\\u00e9") & MARK)
    (True, False)
    """
    return int(np.bitwise_or.reduce(table()[points(text)], initial=0))


@cache
def table() -> npt.NDArray[np.uint8]:
    """Of each code point its kinds; 1.1 MB, made once, when the first text needs it."""
    made = np.zeros(len(_CODES), np.uint8)
    for kind, inside in _CLASSES.items():
        for first, last, single in _RANGE.findall(inside):
            made[ord(first or single) : ord(last or single) + 1] |= kind
    made[[code for code in _CODES[:0x3001] if chr(code).isspace() and chr(code) not in " \n"]] |= SPACE
    everything = np.arange(len(_CODES), dtype="<u4").tobytes().decode("utf-32-le", "surrogatepass")
    for match in re.finditer(r"\w+", everything):
        made[match.start() : match.end()] |= WORD
    made[made & MARK > 0] |= WORD  # the half-width sound marks are letters
    return made
