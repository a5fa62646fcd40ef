"""Compare a copy with its original: find the words, sentences and numbers that only the copy has.

docs/semantics.md, section 7, defines an addition. Words are compared in grams of three consecutive words, so
a stretch of words that moved, or that stands in another sentence, adds hardly anything.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field

from dedup.base.answer import Answer
from dedup.base.words import counted, some
from dedup.text.normalize import without_mark_runs, words

GRAM_WORDS = 3  # Words per gram; with only two, any text has grams such as "of the" by chance

NUMBERS_NAMED = 10  # The sentence that describes an addition names at most ten numbers

# Points and commas count alike, since some languages write 1,200 and others 1.200.
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

Cut = Sequence[tuple[str, int | None]]
"""Sentences of a text in order, each with its hash, or None if the sentence does not count."""


@dataclass(frozen=True, slots=True)
class Addition(Answer):
    """The words, sentences and numbers that a copy adds to its original.

    Attributes:
        words: number of words of the copy.
        words_added: number of words that are in no gram of the original.
        grams: number of different grams of the copy, at least 1.
        grams_in_original: number of these grams that the original has.
        sentences: sentences that count and that the original lacks.
        numbers: numbers in digits that the original lacks.
    """

    words: int
    words_added: int
    grams: int
    grams_in_original: int
    sentences: tuple[str, ...] = field(repr=False)
    numbers: tuple[str, ...] = field(repr=False)

    @property
    def adds_nothing(self) -> bool:
        """True if the original has every gram (consecutive words) of the copy."""
        return self.grams == self.grams_in_original

    def __str__(self) -> str:
        if self.adds_nothing:
            return "adds nothing to its original"
        parts = [counted(len(self.sentences), "sentence")] if self.sentences else []
        if self.numbers:
            plural = "s" if len(self.numbers) > 1 else ""
            parts.append(f"the number{plural} {some(self.numbers, NUMBERS_NAMED)}")
        if not parts and not self.words_added:
            return "adds no words to its original: words are left out or moved"
        return f"adds {', '.join(parts or [counted(self.words_added, 'word')])} to its original"


def find_addition(copy: Cut, original: Cut) -> Addition | None:
    """Return the addition of a copy to its original; None if either text has no words.

    >>> original = [("The fire killed 12 people in Ghent.", 1), ("Police left on Monday.", 2)]
    >>> copy = [("The fire killed 14 people in Ghent.", 3), ("Police left on Monday.", 2)]
    >>> find_addition(copy, original)
    Addition(words=11, words_added=1, grams=9, grams_in_original=6)
    >>> print(find_addition(copy, original))
    adds 1 sentence, the number 14 to its original
    """
    text, other = ("\n".join(sentence for sentence, _ in cut) for cut in (copy, original))
    given, earlier = words(text), words(other)
    if not given or not earlier:
        return None
    size = min(GRAM_WORDS, len(given))  # A copy of one or two words has one shorter gram
    found, known = _grams(given, size), frozenset(_grams(earlier, size))
    kept = bytearray(len(given))
    for place, gram in enumerate(found):
        if gram in known:
            kept[place : place + size] = b"\1" * size
    distinct = frozenset(found)
    hashes = {key for _, key in original}
    sentences: dict[int, str] = {}
    for sentence, key in copy:
        if key is not None and key not in hashes:
            sentences.setdefault(key, sentence)
    numbers = _numbers(text)
    for number in _numbers(other):
        numbers.pop(number, None)
    return Addition(
        words=len(given),
        words_added=kept.count(0),
        grams=len(distinct),
        grams_in_original=len(distinct & known),
        sentences=tuple(sentences.values()),
        numbers=tuple(numbers.values()),
    )


def _grams(given: Sequence[str], size: int) -> list[tuple[str, ...]]:
    return [*zip(*(given[start:] for start in range(size)), strict=False)]


def _numbers(text: str) -> dict[str, str]:
    """Map each number of a text, with points in place of commas, to the number as printed."""
    found: dict[str, str] = {}
    for number in _NUMBER.findall(unicodedata.normalize("NFKC", without_mark_runs(text))):
        found.setdefault(number.replace(",", "."), number)
    return found
