"""A corpus of any size that behaves like real news: copies of real articles with rotated words.

In copy k the letters of every long word are moved k places in the alphabet, and beyond 25 copies by larger
steps; short words, capitals, punctuation and everything else stay. So lengths, sentences, boilerplate and the
duplicates within a copy are as in real news, while articles of two different copies share only runs of short
words. Copies are interleaved: each article is followed by its copies, with slightly shifted dates.

Such a corpus differs from new articles: a word of copy 3 is as frequent as its original, and no two copies
share a story.
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
"""Words of at least 5 letters. Shorter words are mostly grammar, and are not changed."""

STEPS = [step for step in range(1, len(lower)) if math.gcd(step, len(lower)) == 1]
"""Factors for numbers of letters, with which every letter becomes a different letter of the alphabet."""

MOST_COPIES = len(STEPS) * len(lower)
"""Number of different copies; one more copy would be equal to the first."""

SHIFT = timedelta(seconds=97)
"""Shift between the dates of two copies of an article; not whole minutes, which real dates have."""


class TooManyError(ValueError):
    """Raised if more articles are wanted than there are different copies."""


def rotate(text: str, places: int, step: int = 1) -> str:
    """Replace letter number n in long words by the letter number n * step + places."""
    if (places, step) == (0, 1):
        return text
    parts = LONG_WORD.split(text)  # every second part is a long word
    if len(parts) > 1:
        moved = "\n".join(parts[1::2]).encode().translate(_table(places, step))
        parts[1::2] = moved.decode().split("\n")
    return "".join(parts)


def _table(places: int, step: int) -> bytes:
    taken = [(n * step + places) % len(lower) for n in range(len(lower))]
    moved = "".join(letters[n] for letters in (lower, upper) for n in taken)
    return bytes.maketrans((lower + upper).encode(), moved.encode())


def copied(article: Article, copy: int) -> Article:
    """Return copy number `copy` of an article; copy 0 is the article itself."""
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
    """Yield `count` articles, each followed by its copies; the order stays, and no article is held in memory.

    Args:
        read: returns the original articles, at every call; have: number of the original articles.

    Raises:
        TooManyError: there are not enough different copies.
    """
    copies = -(-count // have)
    if copies > MOST_COPIES:
        raise TooManyError(f"{have:,} articles make at most {MOST_COPIES * have:,}, not {count:,}")
    return islice((copied(article, copy) for article in read() for copy in range(copies)), count)
