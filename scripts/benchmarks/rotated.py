"""Make a corpus of any size that behaves like real news, by copies of real articles with rotated words.

In copy k the letters of every long word are moved k places in the alphabet. Beyond 25 copies, the alphabet is
also stretched (`STEPS`). Everything else stays: short words, capitals and punctuation. So lengths, sentences,
boilerplate and the duplicates within a copy are as in real news. Articles of two different copies share only
runs of short words. Each article is followed by its copies, whose dates are slightly later.

Real new articles differ from the copies in two ways: their words have other frequencies, while a rotated word
is as frequent as the original word; and they continue old stories, while no story is in two copies.
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
"""Factors by which the number of a letter can be multiplied so that all 26 letters stay different."""

MOST_COPIES = len(STEPS) * len(lower)
"""Number of different copies; one more copy would be equal to the first."""

SHIFT = timedelta(seconds=97)
"""Time between the dates of two copies of an article; not whole minutes, as real dates often are."""


class TooManyError(ValueError):
    """Raised if more articles are wanted than there are different copies."""


def rotate(text: str, places: int, step: int = 1) -> str:
    """Replace letter number n of the alphabet by letter n * step + places (modulo 26) in all long words."""
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
    """Yield `count` articles in the given order, each followed by its copies, and keep none in memory.

    Args:
        read: function that returns the original articles; have: number of the original articles.

    Raises:
        TooManyError: there are not enough different copies.
    """
    copies = -(-count // have)
    if copies > MOST_COPIES:
        raise TooManyError(f"{have:,} articles make at most {MOST_COPIES * have:,}, not {count:,}")
    return islice((copied(article, copy) for article in read() for copy in range(copies)), count)
