"""A sentence becomes its normalised form: what is hashed, and what makes two sentences the same.

Unicode NFKC, case folded, runs of word characters joined by one space (docs/semantics.md, section 1). A
word character is a letter, mark, digit or underscore; marks belong to the word, since in Indic scripts they
carry its vowels.
"""

from __future__ import annotations

import re
import sys
import unicodedata

MAX_WORD_CHARACTERS = 256
"""Longer runs are cut into pieces of this size, so one endless "word" costs no more than prose does."""


MAX_MARKS = 30
"""A letter keeps this many marks and loses the rest, as in Unicode's stream-safe form (UAX 15, D4): Python
sorts a run of marks in quadratic time, 12 minutes for a million of them."""


def composed(text: str) -> str:
    """Unicode NFC, in linear time: texts that look the same are the same.

    >>> composed("re\\u0301sume\\u0301") == "r\\u00e9sum\\u00e9"
    True
    """
    return text if text.isascii() else unicodedata.normalize("NFC", _MARK_RUN.sub(r"\1", text))


def words(text: str) -> list[str]:
    """The normalised words of a text, in order.

    >>> words("The U.S. isn't “Ｆｉｎｅ”")
    ['the', 'u', 's', 'isn', 't', 'fine']
    """
    if text.isascii():
        return _PLAIN_WORD.findall(text.lower())
    folded = unicodedata.normalize("NFKC", _MARK_RUN.sub(r"\1", text)).casefold()
    return (_MARKED_WORD if _MARK.search(folded) else _PLAIN_WORD).findall(folded)


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


_MARKS = _mark_class()
_MARK = re.compile(f"[{_MARKS}]")
# NFKC turns the two half-width katakana sound marks, which are letters, into marks.
_MARK_RUN = re.compile(f"([{_MARKS}\uff9e\uff9f]{{{MAX_MARKS}}})[{_MARKS}\uff9e\uff9f]+")
_PLAIN_WORD = re.compile(rf"\w{{1,{MAX_WORD_CHARACTERS}}}")
_MARKED_WORD = re.compile(rf"[\w{_MARKS}]{{1,{MAX_WORD_CHARACTERS}}}")
