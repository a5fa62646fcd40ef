"""Sets of the n-grams of a text: runs of n words or n characters."""

from __future__ import annotations

from collections.abc import Sequence


def word_grams(words: Sequence[str], size: int) -> set[str]:
    """Return the runs of `size` words, each joined by spaces.

    >>> sorted(word_grams("a rose is a rose".split(), 2))
    ['a rose', 'is a', 'rose is']
    """
    return {" ".join(words[i : i + size]) for i in range(len(words) - size + 1)}


def character_grams(text: str, size: int) -> set[str]:
    return {text[i : i + size] for i in range(len(text) - size + 1)}
