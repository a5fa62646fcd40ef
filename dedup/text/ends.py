"""Cut a part from an end of a text, between words: a part of a word could look like a name."""

from __future__ import annotations

LONGEST_WORD = 60  # Characters by which a cut is moved at most


def first(text: str, size: int) -> str:
    """Return the first `size` characters of a text, and the rest of a word that would be cut."""
    return text[: _next_end(text, size)]


def last(text: str, size: int) -> str:
    """Return the last `size` characters of a text, without the rest of a word that would be cut."""
    start = len(text) - size
    if start > 0 and text[start - 1].isalnum():
        start = _next_end(text, start)
    return text[max(start, 0) :]


def _next_end(text: str, place: int) -> int:
    limit = min(len(text), place + LONGEST_WORD)
    while place < limit and text[place].isalnum():
        place += 1
    return place
