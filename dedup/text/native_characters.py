"""What characters are, for `native.c`: pages of 128, made of Python's own tables when a text first has one.

Which texts have a normal form that their characters tell one by one is decided here, too.
"""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import numpy.typing as npt

from dedup.text import clean, normalize, sentences

CODES = 0x110000
"""How many code points there are."""

_PAGE, _SIGMA = 128, "\u03a3"
_DECOMPOSED = 0x30000  # No character from here on is made of others, or combines; a test looks at each
_MANY, _IN_WORD = 1 << 31, 1 << 30

COMBINES, NOT_STORABLE = 1 << 8, 1 << 9
"""Kinds besides those of `normalize.py`: what `is_simple` looks at, and what Postgres refuses."""


def kinds(data: bytes) -> int:
    """Of which kinds a text has at least one character; `data`: each in 32 bits, as this machine has them."""
    return int(np.bitwise_or.reduce(_kinds()[np.frombuffer(data, np.uint32)], initial=0))


@cache
def _kinds() -> npt.NDArray[np.uint16]:
    """Of each code point its kinds; 2.2 MB."""
    found = normalize.table() | _combining() * np.uint16(COMBINES)
    found[0] |= NOT_STORABLE
    found[0xD800:0xE000] |= NOT_STORABLE
    return found


def is_simple(text: str) -> bool:
    """Whether the normal form (NFKC) of any part of a text in NFC is that of its characters one by one.

    It is if none of them combines with what is before it. Else it is if the text is in that form already, but
    for characters that stand for others which do not combine.
    """
    points = normalize.points(text)
    if not _combining()[points].any():
        return True
    others = {point: unicodedata.normalize("NFKC", chr(point)) for point in np.unique(points).tolist()}
    if any(_combining()[point] and form != chr(point) for point, form in others.items()):
        return False
    plain = text.translate({point: form for point, form in others.items() if form != chr(point)})
    return unicodedata.is_normalized("NFKC", plain) and normalize.without_mark_runs(text) == text


@cache
def _combining() -> npt.NDArray[np.bool_]:
    """Of each code point whether its normal form has a character that may change what is before it."""
    every = [chr(code) for code in range(_DECOMPOSED)]
    alone = {c for c in every if unicodedata.combining(c)}
    alone |= set(map(chr, [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)]))
    parts = [
        unicodedata.decomposition(c).split() for c in every
    ]  # the second may compose with what is before it
    alone |= {chr(int(part[1], 16)) for part in parts if len(part) == 2 and part[0][0] != "<"}
    found = np.zeros(CODES, np.bool_)
    found[[ord(c) for c in alone]] = True
    for code, part in enumerate(parts):
        if part:
            found[code] |= any(c in alone for c in unicodedata.normalize("NFKC", chr(code)))
    return found


# Of the classes in native.c, in their order: members where those are listed, else a test.
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
    frozenset(sentences._CLOSERS.replace("\\", "")).__contains__,
    frozenset("\"')]\u2019\u201d\u00bb").__contains__,
    frozenset(sentences.NON_WORDS).__contains__,
    frozenset(sentences._QUOTES).__contains__,
    frozenset(clean._CLOSERS).__contains__,
    clean._PUNCTUATION.__contains__,
    frozenset('("`{[:;&#*@)}]-,').__contains__,
    sentences._PUNCTUATION.__contains__,
    lambda c: not c.isascii() and bool(_combining()[ord(c)]),
    lambda c: len(c.lower()) > 1 or c == _SIGMA,
]


class Pages:
    """What characters are, as `native.c` has it: the addresses of pages, 0 where none was needed yet."""

    def __init__(self) -> None:
        self._lock, self._kept = threading.Lock(), list[npt.NDArray[np.uint32]]()
        self.table: npt.NDArray[np.uint64] = np.zeros(CODES // _PAGE, np.uint64)
        self.with_page(0)

    def with_page(self, page: int) -> npt.NDArray[np.uint64]:
        with self._lock:
            if not self.table[page]:
                made = _page(range(page * _PAGE, (page + 1) * _PAGE))
                self._kept.append(made)
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
