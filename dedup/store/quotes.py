"""Counts and stores quotes: sentences that several outlets share. A quote may also be a common sentence.

`../settling/sentences.py` calls this on request or by schedule. The SQL view `quote` shows the quotes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dedup.db.arrays import bigints
from dedup.db.database import Cursor
from dedup.db.statements import Statements

_sql = Statements("store/quotes")

MAX_QUOTES = 100_000  # Maximum number of stored quotes, about 20 MB; quotes with the most outlets are kept


@dataclass(frozen=True, slots=True)
class CountedQuote:
    """A sentence that enough outlets share. `carrier`: id of the article whose wording is stored.

    `first_known`: the carrier is known to be the earliest article with the sentence.
    """

    sentence_hash: int
    outlets: int
    stories: int
    articles: int
    carrier: int
    first_known: bool


def schedule(cursor: Cursor, minutes: int, outlets: int) -> None:
    """Make workers store quotes and alterations (changed sentences) every `minutes` minutes; 0: never."""
    cursor.execute(_sql("unschedule"))
    if minutes:
        cursor.execute(_sql("schedule"), {"minutes": minutes, "outlets": outlets})


def due(cursor: Cursor) -> int | None:
    """Return the minimum number of outlets of a quote if a count is due, and record that the count begins.
    Return None if no count is due, or if another worker has begun the count."""
    row = cursor.execute(_sql("due")).fetchone()
    return row[0] if row else None


def count(cursor: Cursor, outlets: int) -> list[CountedQuote]:
    """Return the sentences that at least `outlets` outlets share, in descending order of outlets."""
    rows = cursor.execute(_sql("count"), {"outlets": outlets, "limit": MAX_QUOTES}).fetchall()
    return [CountedQuote(*row) for row in rows]


def replace(cursor: Cursor, counted: Sequence[CountedQuote], words: Mapping[int, tuple[int, str]]) -> int:
    """Replace all stored quotes by the quotes of `counted` whose words are known; return their number.

    `words`: maps the hash of a quote to the revision of its carrier's text, and to the quote's words there.
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
            "firsts": [one.first_known for one in kept],
            "revisions": [words[one.sentence_hash][0] for one in kept],
            "words": [words[one.sentence_hash][1] for one in kept],
        },
    )
    return len(kept)


def forget_edited(cursor: Cursor) -> None:
    cursor.execute(_sql("forget_edited"))
