"""Quotes: sentences that several outlets share, with their words, common ones included.

They are counted when somebody asks for it (`../settling/sentences.py`), and kept. The view `quote` says the
same to whoever asks in SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dedup.db.arrays import bigints
from dedup.db.database import Cursor
from dedup.db.statements import Statements

_sql = Statements("store/quotes")

MAX_QUOTES = 100_000
"""Sentences that are kept, those of the most outlets: some 20 MB."""


@dataclass(frozen=True, slots=True)
class CountedQuote:
    """A sentence that enough outlets share, and the article whose words it is to have."""

    sentence_hash: int
    outlets: int
    stories: int
    articles: int
    carrier: int


def schedule(cursor: Cursor, minutes: int, outlets: int) -> None:
    """Have workers keep quotes, and alterations, every so many minutes from now on; 0: no more."""
    cursor.execute(_sql("unschedule"))
    if minutes:
        cursor.execute(_sql("schedule"), {"minutes": minutes, "outlets": outlets})


def due(cursor: Cursor) -> int | None:
    """Begin what is due by the schedule: how many outlets make a quote; None: nothing is, or another worker
    has begun it.
    """
    row = cursor.execute(_sql("due")).fetchone()
    return row[0] if row else None


def count(cursor: Cursor, outlets: int) -> list[CountedQuote]:
    """The sentences that so many outlets share, those of the most outlets first."""
    rows = cursor.execute(_sql("count"), {"outlets": outlets, "limit": MAX_QUOTES}).fetchall()
    return [CountedQuote(*row) for row in rows]


def replace(cursor: Cursor, counted: Sequence[CountedQuote], words: Mapping[int, tuple[int, str]]) -> int:
    """Keep these quotes in place of what was kept; returns how many have words. `words`: by the hash of a
    sentence, the revision of the text and how it prints the sentence.
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
