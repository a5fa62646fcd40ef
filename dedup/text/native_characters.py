"""Give `native.c` the classes of characters, in pages of 128 code points. A page is made on first use."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import numpy.typing as npt

from dedup.text import clean, normalize, sentences

CODES = 0x110000  # The number of code points

_PAGE, _SIGMA = 128, "\u03a3"
# From this code point on, no character decomposes or combines, as a test checks.
_DECOMPOSED = 0x30000
_MANY, _IN_WORD = 1 << 31, 1 << 30

COMBINES, NOT_STORABLE = 1 << 8, 1 << 9
"""Kinds in addition to `normalize.py`: characters that can combine, and characters that Postgres refuses."""


def kinds(data: bytes) -> int:
    """Return the kinds of all characters in a text, given as UTF-32 in the byte order of this machine."""
    return int(np.bitwise_or.reduce(_kinds()[np.frombuffer(data, np.uint32)], initial=0))


@cache
def _kinds() -> npt.NDArray[np.uint16]:
    """Return an array of the kinds of each code point; 2.2 MB."""
    found = normalize.table() | _combining() * np.uint16(COMBINES)
    found[0] |= NOT_STORABLE
    found[0xD800:0xE000] |= NOT_STORABLE
    return found


def is_simple(text: str) -> bool:
    """Return whether the characters of a text, which is in NFC, can be normalised to NFKC one by one."""
    points = normalize.points(text)
    # If no character can combine with the character before it, each can be normalised alone.
    if not _combining()[points].any():
        return True
    # In a text with combining characters, NFKC must not change these. And the text must be in NFKC after each
    # other character is replaced by its NFKC form.
    others = {point: unicodedata.normalize("NFKC", chr(point)) for point in np.unique(points).tolist()}
    if any(_combining()[point] and form != chr(point) for point, form in others.items()):
        return False
    plain = text.translate({point: form for point, form in others.items() if form != chr(point)})
    return unicodedata.is_normalized("NFKC", plain) and normalize.without_mark_runs(text) == text


@cache
def _combining() -> npt.NDArray[np.bool_]:
    """Return for each code point whether its NFKC form can combine with a preceding character."""
    every = [chr(code) for code in range(_DECOMPOSED)]
    alone = {c for c in every if unicodedata.combining(c)}
    # Hangul vowels and final consonants combine with the letter before them.
    alone |= set(map(chr, [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]))
    parts = [unicodedata.decomposition(c).split() for c in every]
    # The second character of a canonical decomposition can combine with the character before it.
    alone |= {chr(int(part[1], 16)) for part in parts if len(part) == 2 and part[0][0] != "<"}
    found = np.zeros(CODES, np.bool_)
    found[[ord(c) for c in alone]] = True
    for code, part in enumerate(parts):
        if part:
            found[code] |= any(c in alone for c in unicodedata.normalize("NFKC", chr(code)))
    return found


# One test for each class of characters, in the order of the classes in native.c.
_TESTS: list[Callable[[str], bool]] = [
    lambda c: c.isalnum() or c == "_",
    lambda c: c.isalnum() and not c.isdecimal(),
    str.isalpha,
    str.islower,
    str.isupper,
    str.isdecimal,
    str.isspace,
    frozenset(normalize.LINE_ENDS).__contains__,
    lambda c: not c.isascii() and bool(normalize.table()[ord(c)] & normalize.IDEOGRAPH),
    lambda c: c.isascii() and c.isalnum(),
    frozenset(normalize.SENTENCE_ENDS).__contains__,
    frozenset(normalize.CLOSERS).__contains__,
    frozenset("\"')]\u2019\u201d\u00bb").__contains__,
    frozenset(sentences.NON_WORDS).__contains__,
    frozenset(sentences._QUOTES).__contains__,
    frozenset(clean._SKIPPED).__contains__,
    clean._PUNCTUATION.__contains__,
    frozenset('("`{[:;&#*@)}]-,').__contains__,
    sentences._PUNCTUATION.__contains__,
    lambda c: not c.isascii() and bool(_combining()[ord(c)]),
    lambda c: len(c.lower()) > 1 or c == _SIGMA,
]


class Pages:
    """Table of the addresses of pages for `native.c`; 0 for a page that no text has needed yet."""

    def __init__(self) -> None:
        self._lock, self._kept = threading.Lock(), list[npt.NDArray[np.uint32]]()
        self.table: npt.NDArray[np.uint64] = np.zeros(CODES // _PAGE, np.uint64)
        self.with_page(0)

    def with_page(self, page: int) -> npt.NDArray[np.uint64]:
        with self._lock:
            if not self.table[page]:
                made = _page(range(page * _PAGE, (page + 1) * _PAGE))
                self._kept.append(made)
                # Change a copy, since C can be reading the old table in another thread.
                table = self.table.copy()
                table[page] = made.ctypes.data
                self.table = table
            return self.table


def _page(codes: Iterable[int]) -> npt.NDArray[np.uint32]:
    entries: list[int] = []
    pool: list[int] = []
    for character in map(chr, codes):
        classes = sum(int(test(character)) << bit for bit, test in enumerate(_TESTS))
        form = unicodedata.normalize("NFKC", character).casefold()
        folded = [_folded(c) for c in form]
        if len(folded) != 1:
            place = 3 * _PAGE + len(pool)
            pool += folded
            folded = [_MANY | len(folded) << 24 | place]
        entries += [classes, ord(character.lower()[0]), folded[0]]
    return np.array(entries + pool, np.uint32)


def _folded(character: str) -> int:
    code = ord(character)
    if character.isascii():
        in_word = character.isalnum() or character == "_"
    else:
        in_word = bool(normalize.table()[code] & normalize.WORD)
    return code | (_IN_WORD if in_word else 0)


PAGES = Pages()
