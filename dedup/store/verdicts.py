"""Reads the mark of one article and the pairs that decided it. Read-only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dedup.base.answer import Answer
from dedup.base.article import Article
from dedup.base.verdict import COPIES_LIMIT, MATCHES_LIMIT, UNSETTLED_LIMIT, Copy, Match, Verdict
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.store import articles, credited
from dedup.store.credited import ArticleCredit

_sql = Statements("store/verdicts")


@dataclass(frozen=True, slots=True)
class StoredMark:
    article_id: int
    status: str
    stale: bool
    duplicate_of: str | None
    score: float | None
    reason: str | None
    unsettled: int  # number of other articles that are pending or stale, at most `UNSETTLED_LIMIT`
    archived: bool


@dataclass(frozen=True, slots=True)
class MarkedArticle(Answer):
    """A stored article with its text, its mark and its credits.

    Attributes:
        stale: true if a backfill must settle the article again.
        marked_at: time of the mark, in UTC.
        correction: phrase by which the article announces that it is a correction.
    """

    article: Article
    verdict: Verdict
    stale: bool
    marked_at: datetime | None
    credits: tuple[ArticleCredit, ...] = ()
    correction: str | None = None

    def __str__(self) -> str:
        return f"{self.verdict}{', to be settled again' if self.stale else ''}"


def marked_article(cursor: Cursor, source_id: str) -> MarkedArticle | None:
    """Return an article with its mark and pairs; None if it is not stored."""
    mark = stored_mark(cursor, source_id)
    query = _sql("article", fields=articles.fields_sql("a"))
    row = cursor.execute(query, {"source_id": source_id}).fetchone()
    if mark is None or row is None:
        return None
    credits = credited.find_credits(cursor, [source_id]).get(source_id, ())
    marked_at, correction, *stored = row
    found = articles.make_article(stored), verdict(cursor, source_id, mark)
    return MarkedArticle(*found, mark.stale, marked_at, credits, correction)


def stored_mark(cursor: Cursor, source_id: str) -> StoredMark | None:
    row = cursor.execute(_sql("stored_mark"), {"source_id": source_id, "limit": UNSETTLED_LIMIT}).fetchone()
    return StoredMark(*row) if row else None


def verdict(
    cursor: Cursor, source_id: str, mark: StoredMark, pairs: dict[int, Match] | None = None
) -> Verdict:
    """Make a verdict from a mark. `pairs`: the pairs that decided the mark; None: read them."""
    if pairs is None:
        pairs = best_pairs(cursor, mark.article_id) if mark.status in ("duplicate", "similar") else {}
    named, count = copies(cursor, mark.article_id) if mark.status in ("unique", "similar") else ((), 0)
    told = (mark.status, mark.duplicate_of, mark.score, mark.reason)
    found = tuple(pairs.values())
    return Verdict(source_id, *told, found, mark.unsettled, mark.archived, named, count)


def copies(cursor: Cursor, article_id: int, *, settled: bool = False) -> tuple[tuple[Copy, ...], int]:
    """Return the copies with the highest scores, and the number of copies, up to `COPIES_LIMIT`. `settled`:
    skip stale copies."""
    values = {"id": article_id, "settled": settled, "count": COPIES_LIMIT, "limit": MATCHES_LIMIT}
    rows = cursor.execute(_sql("copies"), values).fetchall()
    return tuple(Copy(*row[:3]) for row in rows), rows[0][3] if rows else 0


def best_pairs(cursor: Cursor, article_id: int, relation: str | None = None) -> dict[int, Match]:
    """Return pairs of an article by id of the other article: at most `MATCHES_LIMIT`, the best scores first.

    A duplicate has pairs with originals; an original has pairs with similar articles. `relation`: return only
    pairs of this relation.
    """
    values = {"id": article_id, "relation": relation, "limit": MATCHES_LIMIT}
    rows = cursor.execute(_sql("best_pairs"), values).fetchall()
    return {row[0]: Match(*row[1:]) for row in rows}
