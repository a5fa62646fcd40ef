"""Stores the list of phrases that announce corrections. `credits.py` stores the corrections themselves."""

from __future__ import annotations

from dataclasses import dataclass

from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.text.corrections import MAX_PHRASE, MIN_PHRASE

_sql = Statements("store/credits")


@dataclass(frozen=True, slots=True)
class ListedPhrase(Answer):
    """A listed phrase that announces corrections.

    Attributes:
        articles: number of articles that announce a correction by the phrase.
    """

    phrase: str
    articles: int


def list_phrases(cursor: Cursor) -> list[ListedPhrase]:
    """Return the phrases that announce corrections, the most used phrase first."""
    return [ListedPhrase(*row) for row in cursor.execute(_sql("counted_phrases")).fetchall()]


def add(cursor: Cursor, phrase: str) -> None:
    """Add a phrase to the list. Raises InputError: the phrase is too short or too long."""
    words = " ".join(phrase.split())
    if not MIN_PHRASE <= len(words) <= MAX_PHRASE:
        raise InputError(f"a phrase needs {MIN_PHRASE} to {MAX_PHRASE} characters")
    cursor.execute(_sql("add_phrase"), {"phrase": words})


def remove(cursor: Cursor, phrase: str) -> None:
    """Remove a phrase from the list. Raises InputError: it is not listed."""
    if not cursor.execute(_sql("remove_phrase"), {"phrase": " ".join(phrase.split())}).rowcount:
        raise InputError(f"no phrase is {phrase!r}; `dedup corrections` lists them")
