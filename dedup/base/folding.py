"""Remove accents for search: `munchen` finds München, `strasse` finds Straße."""

from __future__ import annotations

import re
import unicodedata

# The accents of Latin, Greek and Cyrillic. In other scripts, combining marks are parts of letters and stay.
ACCENTS = "\u0300-\u036f"

# Unicode does not decompose these letters into a plain letter and an accent.
LETTERS = {
    **{"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE"},
    **{"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i"},
}

_IN_PLACE = {ord(letter): plain for letter, plain in LETTERS.items()}


def folded(text: str) -> str:
    """Return a text without its accents. `word_index.FOLDED` does the same in SQL.

    >>> folded("Çağrı, Łódź und die Straße")
    'Cagri, Lodz und die Strasse'
    """
    if text.isascii():
        return text
    bare = re.sub(f"[{ACCENTS}]+", "", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFKC", bare.translate(_IN_PLACE))


def same_word(text: str) -> str:
    """Return a key that is equal for names that differ only in case and accents: LE MONDE and Le Mondé."""
    return folded(text).casefold()
