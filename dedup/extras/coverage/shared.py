"""Names, numbers and quotes that two texts share, to show why two articles may tell the same event.

Names are runs of words that begin with a capital letter, so texts in scripts without capitals have no names.
Frequent words are left out, because the first word of a sentence also has a capital. Only the beginning of a
text is searched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dedup.base.answer import Answer
from dedup.extras.coverage.finding import Rarity
from dedup.store.word_counts import words_of

READ_CHARACTERS = 20_000  # Maximum number of characters of a text that are searched
MOST = 8  # Maximum number of names, of numbers and of quotes
LABEL_CHARACTERS = 120  # Maximum length of a name
NAME_WORDS = 5  # Maximum number of words of a name
QUOTE_CHARACTERS = 300  # Maximum length of a quote that is looked for
MIN_QUOTE_WORDS = 4  # Shorter quotes are mostly titles and single terms
MIN_RARITY = 3.0  # about ln 20: names and numbers are listed only if fewer than 1 in 20 articles have them

_NAME_WORD = r"[^\W\d_](?:[\w’'&-]{0,60}\w)?"
_NAME = re.compile(rf"{_NAME_WORD}(?:[ \u00a0](?:& )?{_NAME_WORD}){{0,9}}")
_NUMBER = re.compile(r"(?<![\w.,])[$£€¥]?\d{1,20}(?:[.,:]\d{1,20}){0,6}%?(?!\w)")
_QUOTE = re.compile(rf"[“„«]([^“”„«»\n]{{1,{QUOTE_CHARACTERS}}})[”“»]|\"([^\"\n]{{1,{QUOTE_CHARACTERS}}})\"")


@dataclass(frozen=True, slots=True)
class Shared(Answer):
    """Things that two texts have in common, the rarest first."""

    names: tuple[str, ...] = field(default=(), repr=False)
    numbers: tuple[str, ...] = field(default=(), repr=False)
    quotes: tuple[str, ...] = field(default=(), repr=False)


class Mentions:
    """The names, numbers and quotes of a text: normalised words -> words as printed."""

    def __init__(self, text: str) -> None:
        beginning = text[:READ_CHARACTERS]
        self.names = _names(beginning)
        self.numbers = {found[0].strip("$£€¥%"): found[0] for found in _NUMBER.finditer(beginning)}
        quotes = (" ".join((found[1] or found[2]).split()) for found in _QUOTE.finditer(beginning))
        self.quotes = {key: quote for quote in quotes if len((key := _key(quote)).split()) >= MIN_QUOTE_WORDS}

    def shared_with(self, other: Mentions, rarity: Rarity) -> Shared:
        names = _rarest(self.names, other.names, rarity)
        whole = [names[key] for key in names if not any(f" {key} " in f" {n} " for n in names if n != key)]
        numbers = _rarest(self.numbers, other.numbers, rarity)
        own, said = " \n ".join(self.quotes), " \n ".join(other.quotes)
        quotes = {key: quote for key, quote in self.quotes.items() if key in said}
        quotes |= {key: quote for key, quote in other.quotes.items() if key in own and key not in quotes}
        return Shared(*(tuple([*of][:MOST]) for of in (whole, numbers.values(), quotes.values())))


def _names(text: str) -> dict[str, str]:
    """Find runs of capitalised words, and all parts of runs. Return normalised words -> words as printed.

    >>> sorted(_names("Smith & Nephew, said Anna Berg").values())
    ['Anna', 'Anna Berg', 'Berg', 'Nephew', 'Smith', 'Smith & Nephew']
    """
    found: dict[str, str] = {}
    for run in _NAME.finditer(text):
        words: list[str] = []
        for word in [*run[0].split(), ""]:
            if word[:1].isupper() or (word == "&" and words):
                words.append(word)
                # Keep all parts of a run of words: another text may name the same person with another title.
                for first in range(max(0, len(words) - NAME_WORDS), len(words)):
                    name = " ".join(words[first:])
                    if "&" not in (words[first], word) and len(name) <= LABEL_CHARACTERS:
                        found.setdefault(_key(name), name)
            else:
                words = []
    return found


def _key(words: str) -> str:
    return " ".join(words_of(None, words))


def _rarest(own: dict[str, str], others: dict[str, str], rarity: Rarity) -> dict[str, str]:
    """Return the shared names or numbers that are rare enough, the rarest first."""
    # In a tiny corpus no word reaches `MIN_RARITY`, so the limit is lower there.
    least = min(MIN_RARITY, rarity.highest / 2)
    order = {
        key: max((rarity.of.get(word, 0.0) for word in re.findall(r"\w+", key)), default=0.0)
        for key in own.keys() & others.keys()
    }
    kept = [key for key in order if order[key] >= least and len(key) > 1]
    kept.sort(key=lambda key: (-order[key], -len(key), key))
    # The caller then leaves out names within longer names, so return more than `MOST` here.
    return {key: own[key] for key in kept[: 3 * MOST]}
