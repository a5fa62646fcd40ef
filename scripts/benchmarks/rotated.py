"""A corpus of any size that behaves like a given one: the same articles again, in words of their own.

In copy k the letters of every long word are moved k places on in the alphabet, and beyond 25 copies taken by
larger steps; short words, capitals, punctuation and all else stay. So lengths, sentences, boilerplate and the
duplicates within a copy are those of real news, while articles of two copies share only runs of short words
and are strangers to each other. Copies are interleaved: article by article, and by a small shift of dates.

It is not new news: a word of copy 3 is as frequent as its original, and no copy knows another's stories.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from string import ascii_lowercase as lower
from string import ascii_uppercase as upper

from dedup import Article

LONG_WORD = re.compile(r"([^\W\d_]{5,})")
"""Words of at least 5 letters; shorter ones are mostly grammar, and a language keeps them."""

STEPS = [step for step in range(1, len(lower)) if math.gcd(step, len(lower)) == 1]
"""By which the alphabet is gone through once before it begins again."""

MOST_COPIES = len(STEPS) * len(lower)
"""The alphabet goes round; the copy after the last would be the first."""

SHIFT = timedelta(seconds=97)
"""Between the dates of two copies of an article; the stamps of real news are minutes."""


class TooManyError(ValueError):
    """More articles are asked for than there are different copies."""


def rotate(text: str, places: int, step: int = 1) -> str:
    """The text with another alphabet in its long words: of letter n the one at n * step + places."""
    if (places, step) == (0, 1):
        return text
    parts = LONG_WORD.split(text)  # every second one is a long word
    if len(parts) > 1:
        moved = "\n".join(parts[1::2]).encode().translate(_table(places, step))
        parts[1::2] = moved.decode().split("\n")
    return "".join(parts)


def _table(places: int, step: int) -> bytes:
    taken = [(n * step + places) % len(lower) for n in range(len(lower))]
    moved = "".join(letters[n] for letters in (lower, upper) for n in taken)
    return bytes.maketrans((lower + upper).encode(), moved.encode())


def copied(article: Article, copy: int) -> Article:
    """An article as copy number `copy` has it; copy 0 is the article itself."""
    if not copy:
        return article
    places, step = copy % len(lower), STEPS[copy // len(lower)]
    return replace(
        article,
        source_id=f"{article.source_id}+{copy}",
        text=rotate(article.text, places, step),
        title=article.title and rotate(article.title, places, step),
        published_at=article.published_at and article.published_at + copy * SHIFT,
        added_at=article.added_at and article.added_at + copy * SHIFT,
    )


def grown(read: Callable[[], Iterable[Article]], have: int, count: int) -> Iterator[Article]:
    """`count` articles, in the order of the given ones, each with its copies; nothing is held in memory.

    Args:
        read: gives the articles again; have: how many they are.

    Raises:
        TooManyError: that needs more copies than there are.
    """
    copies = -(-count // have)
    if copies > MOST_COPIES:
        raise TooManyError(f"{have:,} articles make at most {MOST_COPIES * have:,}, not {count:,}")
    return islice((copied(article, copy) for article in read() for copy in range(copies)), count)
