"""Counts and stores quotes: sentences that several outlets share, with their text. Some are common sentences.

`../settling/sentences.py` calls this on request or by schedule. The SQL view `quote` shows the quotes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dedup.db.arrays import bigints
from dedup.db.database import Cursor
from dedup.db.statements import Statements

_sql = Statements("store/quotes")

MAX_QUOTES = 100_000  # Maximum number of stored quotes, about 20 MB; quotes of the most outlets are kept


@dataclass(frozen=True, slots=True)
class CountedQuote:
    """A sentence that enough outlets share. `carrier`: the article from which its words are taken."""

    sentence_hash: int
    outlets: int
    stories: int
    articles: int
    carrier: int


def schedule(cursor: Cursor, minutes: int, outlets: int) -> None:
    """Schedule workers to count quotes and alterations every `minutes` minutes; 0: never."""
    cursor.execute(_sql("unschedule"))
    if minutes:
        cursor.execute(_sql("schedule"), {"minutes": minutes, "outlets": outlets})


def due(cursor: Cursor) -> int | None:
    """Begin a count of quotes if one is due, and return the minimum number of outlets of a quote.
    Return None if no count is due, or if another worker has begun the count.
    """
    row = cursor.execute(_sql("due")).fetchone()
    return row[0] if row else None


def count(cursor: Cursor, outlets: int) -> list[CountedQuote]:
    """Return the sentences that at least `outlets` outlets share, in descending order of outlets."""
    rows = cursor.execute(_sql("count"), {"outlets": outlets, "limit": MAX_QUOTES}).fetchall()
    return [CountedQuote(*row) for row in rows]


def replace(cursor: Cursor, counted: Sequence[CountedQuote], words: Mapping[int, tuple[int, str]]) -> int:
    """Replace all stored quotes by the counted quotes that are in `words`; return the number stored.

    `words`: by hash of a sentence, the revision of the article's text, and the sentence as in that text.
    """
    kept = [one for one in counted if one.sentence_hash in words]
    cursor.execute(_sql("forget_all"))
    cursor.execute(
        _sql("keep"),
        {
            "sentences": bigints([one.sentence_hash for one in kept]),
            "outlets": [one.outlets for one in kept],
            "stories": [one.stories for one in kept],
            "articles": [one.articles for one in kept],
            "carriers": bigints([one.carrier for one in kept]),
            "revisions": [words[one.sentence_hash][0] for one in kept],
            "words": [words[one.sentence_hash][1] for one in kept],
        },
    )
    return len(kept)


def forget_edited(cursor: Cursor) -> None:
    cursor.execute(_sql("forget_edited"))
