"""Articles that another transaction kept from being stored, until someone can store them.

Whoever has an open transaction that inserted or edited an article holds it; a caller who brings a new version
of it does not wait for that.
"""

from __future__ import annotations

from collections.abc import Sequence

from dedup.base.article import ARTICLE_FIELDS, Article, storable
from dedup.base.errors import InputError
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.store import articles

_sql = Statements("store/deferred")


def add(cursor: Cursor, article: Article) -> None:
    """Keep an article; takes no lock that anyone else could hold."""
    if _attached(cursor, [article.source_id]):
        raise InputError("the article is a row of an attached table: change it there")
    values = {name: getattr(article, name) for name in ARTICLE_FIELDS}
    cursor.execute(_sql("add"), values | {"text": storable(article.text)})


def _attached(cursor: Cursor, source_ids: Sequence[str]) -> set[str]:
    rows = cursor.execute(_sql("attached"), {"source_ids": list(source_ids)})
    return {row[0] for row in rows.fetchall()}


def any_of(cursor: Cursor, source_id: str) -> bool:
    row = cursor.execute(_sql("any_of"), {"source_id": source_id}).fetchone()
    return bool(row and row[0])


def count(cursor: Cursor) -> int:
    row = cursor.execute(_sql("count")).fetchone()
    return int(row[0]) if row else 0


def waiting(cursor: Cursor, limit: int) -> list[str]:
    """The source_ids of some articles that wait, those that came first."""
    rows = cursor.execute(_sql("waiting"), {"limit": limit}).fetchall()
    return [row[0] for row in rows]


def store(cursor: Cursor, source_ids: Sequence[str]) -> None:
    """Store every waiting version of these articles, in the order in which they came. Needs the settle lock.
    Raises BusyError: at the end of the transaction: one of them is still held.
    """
    rows = cursor.execute(_sql("take"), {"source_ids": list(source_ids)}).fetchall()
    attached = _attached(cursor, source_ids)  # since it was kept: the row says what it is
    for row in (
        row for row in rows if row[0] not in attached
    ):  # one by one: what a later version leaves out an earlier one may have said
        articles.store(cursor, [Article(**dict(zip(ARTICLE_FIELDS, row, strict=True)))])


def delete(cursor: Cursor, source_ids: Sequence[str]) -> None:
    cursor.execute(_sql("delete"), {"source_ids": list(source_ids)})
