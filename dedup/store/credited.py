"""Looks up the agencies that articles credit. This module loads faster than `credits.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dedup.base.answer import Answer
from dedup.db.database import Cursor
from dedup.db.statements import Statements

_sql = Statements("store/credits")


@dataclass(frozen=True, slots=True)
class ArticleCredit(Answer):
    """An agency that an article credits, with the place and the kind of the credit.

    Attributes:
        place: part of the article, such as "byline".
        kind: "text", "part" (an item of a column), "contribution" or "photo".
    """

    agency: str
    place: str
    kind: str


def find_credits(cursor: Cursor, source_ids: Sequence[str]) -> dict[str, tuple[ArticleCredit, ...]]:
    """Return the credits of articles by source_id; leave out articles without credits."""
    found: dict[str, tuple[ArticleCredit, ...]] = {}
    rows = cursor.execute(_sql("of_articles"), {"source_ids": list(source_ids)}).fetchall()
    for source_id, *credit in rows:
        found[source_id] = (*found.get(source_id, ()), ArticleCredit(*credit))
    return found
