"""Which agencies articles credit, for whoever is shown an article. Read-only.

It loads nothing of what reads credits, which is in `credits.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dedup.base.answer import Answer
from dedup.db.database import Cursor
from dedup.db.statements import Statements

_sql = Statements("store/credits")


@dataclass(frozen=True, slots=True)
class ArticleCredit(Answer):
    """An agency that an article credits, and where; at `contribution` only part of the text is its own."""

    agency: str
    place: str


def of_articles(cursor: Cursor, source_ids: Sequence[str]) -> dict[str, tuple[ArticleCredit, ...]]:
    """The credits of some articles; those without any are left out."""
    found: dict[str, tuple[ArticleCredit, ...]] = {}
    rows = cursor.execute(_sql("of_articles"), {"source_ids": list(source_ids)}).fetchall()
    for source_id, *credit in rows:
        found[source_id] = (*found.get(source_id, ()), ArticleCredit(*credit))
    return found
