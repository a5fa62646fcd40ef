"""Cut a part from an end of a text, between words: a part of a word could look like a name."""

from __future__ import annotations

import re

_REST_OF_WORD = re.compile(r"[^\W_]{0,60}")  # A cut is moved by at most 60 characters


def first(text: str, size: int) -> str:
    """Return the first `size` characters of a text, and the rest of a word that would be cut."""
    return text[: _between_words(text, size)]


def last(text: str, size: int) -> str:
    """Return the last `size` characters of a text, without the rest of a word that would be cut."""
    return text[_between_words(text, max(len(text) - size, 0)) :]


def _between_words(text: str, place: int) -> int:
    """Return `place`, or the end of the word around it."""
    found = _REST_OF_WORD.match(text, place) if text[place - 1 : place].isalnum() else None
    return found.end() if found else place
