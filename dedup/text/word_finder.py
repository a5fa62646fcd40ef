"""Find out quickly whether the beginning or the end of a text can have a listed name or phrase.

The readers of `credits.py` and `corrections.py` decide what counts. This module only tells which texts they
can skip: most texts have no listed word, and `native_words.c` sees that ten times as fast as the readers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from dedup.text.native import library

BEGINNING, END = 660, 700  # Characters searched at each end of a text; the readers search no more
NAME, PHRASE = 1, 2
ALL = NAME | PHRASE

MAX_WORDS = 16_000  # Numbers of rows have 16 bits, and a word can take two rows
_EXACT = 3  # Names of at most this number of characters count in their own letter case only
_LONGEST = 32  # Maximum bytes of a word; of a longer word the beginning is searched
_WORD = np.dtype(
    [("bytes", f"S{_LONGEST}"), *((name, np.int32) for name in ("size", "exact", "ends", "next", "flags"))]
)
Row = tuple[bytes, int, bool, bool, int, int]  # The fields of `_WORD`

# Words are looked up by their first three bytes, each as a symbol of five bits: a letter in either case, any
# digit, or any other byte.
_WINDOW, _SYMBOL_BITS, _DIGIT = 3, 5, 27

# In these characters the kernel knows upper and lower case. A searched part of a word begins where no letter
# precedes.
_KNOWN = re.compile(r"(?<![^\W\d_])(?=[^\s])[ -~\xa1-\xfe]+")
# "Editing" does not count as a word, because texts of agencies often end with "editing by" and a name.
_LONG_WORD = re.compile(r"\b(?!editing\b)[^\W_]{5,}")
_ANY_WORD = re.compile(r"[^\W_]+")


class WordFinder:
    """Finder of names of agencies and of words of phrases, in any letter case unless a name is short.

    No letter may precede a found word, and no letter or digit may follow it. One word is searched for each
    phrase. A text with characters that case folding turns into ASCII letters, such as "ß", counts as a find.

    >>> finder = WordFinder(["AP"], ["Corrects"])
    >>> expected = [(NAME, NAME), (PHRASE, PHRASE), (0, 0)]
    >>> finder.find(["The AP.", "(Corrects year)", "A corrected map."]) == expected or not library()
    True
    """

    def __init__(self, names: Iterable[str], phrases: Iterable[str]) -> None:
        given = [(name, NAME, len(name) <= _EXACT) for name in names]
        given += [(word, PHRASE, False) for word in _choose(phrases)]
        rows: list[Row] = []
        self._first = np.full(1 << _WINDOW * _SYMBOL_BITS, -1, np.int16)
        kernel = library()
        # Without the kernel, or with a word that it cannot search, every text counts as a find.
        searched = len(given) <= MAX_WORDS and all(self._add(rows, *one) for one in given)
        self._find = kernel.dedup_find_words if kernel and searched else None
        self._words = np.array(rows, _WORD)

    def find(self, texts: Sequence[str]) -> list[tuple[int, int]]:
        """Return which words the beginning and the end of each text can have: `NAME`, `PHRASE`, both or 0."""
        if not self._find:
            return [(ALL, ALL)] * len(texts)
        parts = [part.encode("utf-8", "surrogatepass") for t in texts for part in (t[:BEGINNING], t[-END:])]
        starts = np.ones(len(parts) + 1, np.int64)
        starts[1:] += np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)) + 1)
        data = b" ".join([b"", *parts, b" " * _LONGEST])
        found = np.zeros(len(parts), np.uint8)
        addresses = (array.ctypes.data for array in (self._first, self._words))
        self._find(data, starts.ctypes.data, len(parts), *addresses, ALL, found.ctypes.data)
        flags = found.tolist()
        return list(zip(flags[0::2], flags[1::2], strict=True))

    def _add(self, rows: list[Row], text: str, flag: int, exact: bool) -> bool:
        """Add a word to the searched words; return whether it can be searched."""
        folded = text if exact else text.casefold()
        # Letters without case, such as Chinese ones, need no folding.
        parts = re.finditer(".+", folded) if exact or folded.upper() == folded else _KNOWN.finditer(folded)
        part = max(parts, key=lambda found: len(found[0]), default=None)
        data = part[0].encode("utf-8", "surrogatepass") if part else b""
        ends = part is not None and part.end() == len(folded) and len(data) <= _LONGEST
        if len(data) < _WINDOW - ends:
            return False
        for following in (b"", b"p")[: 1 + (len(data) < _WINDOW)]:  # The kernel explains the letter p
            window = 0
            for code in (data + following)[:_WINDOW].ljust(_WINDOW):
                window = window << _SYMBOL_BITS | _symbol(code)
            word = data[:_LONGEST]
            rows.append((word, len(word), exact, ends, int(self._first[window]), flag))
            self._first[window] = len(rows) - 1
        return True


def _choose(phrases: Iterable[str]) -> list[str]:
    """Return words of which each phrase has at least one: the words that most phrases have, to need few."""
    folded = [phrase.casefold() for phrase in phrases]
    left = [set(_LONG_WORD.findall(one)) or {max(_ANY_WORD.findall(one) or [""], key=len)} for one in folded]
    chosen = []
    while left:
        counts = Counter(word for words in left for word in words)
        chosen.append(max(counts, key=lambda word: (counts[word], len(word), word)))
        left = [words for words in left if chosen[-1] not in words]
    return chosen


def _symbol(code: int) -> int:
    letter = chr(code).lower()
    if "a" <= letter <= "z":
        return ord(letter) - ord("a") + 1
    return _DIGIT if "0" <= letter <= "9" else 0
