"""A seeded writer of invented English news.

Sentences have 8 to 30 words. Of all words, 30 to 40 % have fewer than 4 characters, as in real news. Each
article has its own part of the word lists, people, places and numbers, so two articles rarely share a
sentence. Equal seeds give equal texts on every machine.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from string import Formatter
from typing import TypeVar

from dedup.extras.lab.hard_cases.case import LISTS

T = TypeVar("T")
NAMES, WORDS = (
    {kind: [word.replace("_", " ") for word in str(words).split()] for kind, words in LISTS[part].items()}
    for part in ("names", "words")
)
SENTENCE_WORDS = (8, 30)  # minimum and maximum number of words of a sentence
PARAGRAPH_SENTENCES = 3  # maximum number of sentences of a paragraph; the first paragraph has only one


class Dice:
    """Random choices that are the same in every version of Python."""

    def __init__(self, seed: str) -> None:
        # Python guarantees a stable sequence for `random()` alone, not for `choice` or `sample`.
        self._random = random.Random(seed).random  # noqa: S311  # no secrets here

    def below(self, stop: int) -> int:
        return int(self._random() * stop)

    def between(self, first: int, last: int) -> int:
        return first + int(self._random() * (last - first + 1))

    def chance(self, share: float) -> bool:
        return self._random() < share

    def pick(self, items: Sequence[T]) -> T:
        return items[int(self._random() * len(items))]

    def picks(self, items: Sequence[T], count: int) -> list[T]:
        left = list(items)
        count = min(count, len(left))
        for i in range(count):
            j = i + int(self._random() * (len(left) - i))
            left[i], left[j] = left[j], left[i]
        return left[:count]


@dataclass(frozen=True, slots=True)
class Draft:
    """An article before it is printed: paragraphs of sentences."""

    headline: str
    paragraphs: tuple[tuple[str, ...], ...]

    @property
    def text(self) -> str:
        return "\n\n".join(" ".join(paragraph) for paragraph in self.paragraphs)


class Writer:
    """A writer about one subject; equal seeds write equal texts."""

    def __init__(self, seed: str) -> None:
        self.dice = dice = Dice(seed)
        people = [(dice.pick(NAMES["first name"]), surname(dice)) for _ in range(6)]
        places = [place(dice) for _ in range(5)]
        self._words: dict[str, Sequence[str]] = {
            **{name: dice.picks(words, len(words) // 3) for name, words in WORDS.items()},
            "person": [f"{first} {last}" for first, last in people],
            "surname": [
                last if dice.chance(0.6) else f"{dice.pick(NAMES['style'])} {last}" for _, last in people
            ],
            "place": places,
            "org": [f"{place(dice)} {name}" for name in dice.picks(NAMES["body"], 4)],
            "number": [_number(dice) for _ in range(14)],
            "small": [str(dice.between(2, 19)) for _ in range(8)],
            "ratio": [f"{dice.between(1, 79)}.{dice.below(10)}" for _ in range(5)],
            "day": [f"{dice.pick(NAMES['month'])} {dice.between(1, 28)}" for _ in range(5)],
            "year": [str(dice.between(1961, 2023)) for _ in range(5)],
            "age": [str(dice.between(19, 89)) for _ in range(3)],
            "clock": [_clock(dice) for _ in range(4)],
            "money": [f"${dice.between(1, 89)}.{dice.below(10)} million" for _ in range(4)],
        }

    def article(self, words: int = 300) -> Draft:
        """Write an article of at least `words` words; the last sentence may exceed this length."""
        paragraphs: list[tuple[str, ...]] = []
        left = words
        while left > 0:
            size = self.dice.between(1, PARAGRAPH_SENTENCES) if paragraphs else 1
            paragraph: list[str] = []
            while left > 0 and len(paragraph) < size:
                paragraph.append(self.sentence())
                left -= paragraph[-1].count(" ") + 1
            paragraphs.append(tuple(paragraph))
        return Draft(self.headline(), tuple(paragraphs))

    def sentence(self) -> str:
        while True:
            found = self.write("sentence")
            if SENTENCE_WORDS[0] <= found.count(" ") + 1 <= SENTENCE_WORDS[1]:
                return found

    def headline(self) -> str:
        return self.write("headline")

    def write(self, symbol: str) -> str:
        """Return a random text for a symbol of the grammar, such as "sentence"; it begins with a capital."""
        parts: list[str] = []
        self._expand(symbol, parts)
        found = _BEFORE_VOWEL.sub(r"\1n ", "".join(parts)).replace("m..", "m.")
        found = _AFTER_QUOTE.sub(lambda match: match[0].upper(), found)
        start = 1 if found.startswith('"') else 0
        return found[:start] + found[start].upper() + found[start + 1 :]

    def _expand(self, symbol: str, parts: list[str]) -> None:
        words = self._words.get(symbol)
        if words is not None:
            parts.append(self.dice.pick(words))
            return
        for literal, inner in self.dice.pick(_GRAMMAR[symbol]):
            parts.append(literal)
            if inner:
                self._expand(inner, parts)


def place(dice: Dice) -> str:
    return dice.pick(NAMES["place start"]) + dice.pick(NAMES["place end"])


def surname(dice: Dice) -> str:
    return "".join(dice.pick(NAMES[part]) for part in ("name start", "name middle", "name end"))


def _number(dice: Dice) -> str:
    return f"{dice.between(21, 10 ** dice.between(2, 5)):,}"


def _clock(dice: Dice) -> str:
    return f"{dice.between(1, 12)}:{dice.below(60):02} {dice.pick(('a.m.', 'p.m.'))}"


_BEFORE_VOWEL = re.compile(r"\b([Aa]) (?=[aeiouAEIO])")
_AFTER_QUOTE = re.compile(r'\. "[a-z]')
_Form = tuple[tuple[str, str | None], ...]
_GRAMMAR: dict[str, tuple[_Form, ...]] = {
    name: tuple(
        tuple((literal, gap) for literal, gap, _, _ in Formatter().parse(" ".join(form.split())))
        for form in forms.split("|")
    )
    for name, forms in LISTS["forms"].items()
}
"""Symbol of the grammar -> variants. A variant is a sequence of pairs (text, next symbol or None)."""
