"""Texts without accents, for search: who types `munchen` or `strasse` means München and Straße."""

from __future__ import annotations

import re
import unicodedata

ACCENTS = "\u0300-\u036f"
"""The combining marks that are left out, as a range; those of other scripts are parts of letters."""

LETTERS = {
    **{"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE"},
    **{"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i"},
}
"""Letters that Unicode does not take apart, and what stands for them."""


_IN_PLACE = {ord(letter): plain for letter, plain in LETTERS.items()}


def folded(text: str) -> str:
    """A text without accents. `word_index.FOLDED` says the same in SQL.

    >>> folded("Çağrı, Łódź und die Straße")
    'Cagri, Lodz und die Strasse'
    """
    if text.isascii():
        return text
    bare = re.sub(f"[{ACCENTS}]+", "", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFKC", bare.translate(_IN_PLACE))


def same_word(text: str) -> str:
    """What two names have in common that differ in case and accents alone.

    >>> same_word("LE MONDE") == same_word("Le Mondé")
    True
    """
    return folded(text).casefold()
