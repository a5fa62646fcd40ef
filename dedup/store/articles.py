"""Stores, edits, reads and deletes articles. Other modules decide marks.

If a stored article changes, triggers (`migrations/sql`) make the affected marks stale or pending. If another
open transaction has locked an article, a new version of the article is deferred: a backfill stores it later.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import psycopg

from dedup.base.article import ARTICLE_FIELDS, Article, TextTask, kept_json, storable
from dedup.base.errors import AttachedError
from dedup.db.arrays import Bigints, bigints
from dedup.db.database import Cursor, hold_settle_lock, one_column, one_row
from dedup.db.statements import Statements

_sql = Statements("store/articles")

_EDITABLE = tuple(name for name in ARTICLE_FIELDS if name != "source_id")


@dataclass(slots=True)
class LoadCounts:
    """Numbers of new, changed, unchanged and superseded articles in a batch, and ids of these articles."""

    new: int = 0
    changed: int = 0
    same: int = 0
    superseded: int = 0  # replaced by a later article of the batch with the same source_id
    new_ids: list[int] = field(default_factory=list, compare=False)
    known_ids: list[int] = field(default_factory=list, compare=False)  # ids of articles stored before
    edited_ids: list[int] = field(default_factory=list, compare=False)  # ids of changed articles


def store(cursor: Cursor, articles: Sequence[Article]) -> LoadCounts:
    """Insert new articles as pending; update stored articles, where a None field keeps its stored value."""
    # If two articles have the same source_id, the second is an edit of the first, so the two are merged.
    last: dict[str, Article] = {}
    for article in articles:
        if before := last.get(article.source_id):
            kept = {name: getattr(before, name) for name in _EDITABLE if getattr(article, name) is None}
            article = replace(article, **kept)
        last[article.source_id] = article
    values = _column_values(last.values())
    counts = LoadCounts(superseded=len(articles) - len(last))
    counts.new_ids = _insert(cursor, values, len(last))
    counts.new = len(counts.new_ids)
    known = len(last) - counts.new
    if known:
        stored = cursor.execute(_sql("stored"), values).fetchall()
        new = set(counts.new_ids)
        counts.known_ids = [id for id, _, _ in stored if id not in new]
        changed = {id: revision for id, revision, differs in stored if differs}
        if changed:
            # Take the lock here: the UPDATE trigger would take it without the short timeout for row locks.
            hold_settle_lock(cursor)
            rows = cursor.execute(_sql("update"), {**values, "ids": bigints(changed)}).fetchall()
            counts.edited_ids = [id for id, revision in rows if revision > changed[id]]
        counts.changed, counts.same = len(changed), known - len(changed)
    return counts


def add(cursor: Cursor, article: Article) -> bool:
    """Store an article if its source_id is new; return True if it was new. Needs only the right to insert."""
    return cursor.execute(_sql("insert"), _column_values([article])).rowcount > 0


def _column_values(articles: Collection[Article]) -> dict[str, Any]:
    given = [article_values(article) for article in articles]
    return {name: [values[name] for values in given] for name in ARTICLE_FIELDS}


def article_values(article: Article) -> dict[str, Any]:
    """Return the fields of an article as parameters of an SQL statement."""
    values = {name: getattr(article, name) for name in ARTICLE_FIELDS}
    return values | {"text": storable(article.text), "kept": kept_json(article.kept)}


def _insert(cursor: Cursor, values: dict[str, Any], given: int) -> list[int]:
    """Insert the articles that are new; return their ids. `given`: number of articles in `values`."""
    if given == 1:
        return one_column(cursor, _sql("insert"), values)
    with cursor.connection.transaction() as savepoint:
        new = one_column(cursor, _sql("insert"), values)
        if len(new) in (0, given):
            return new
        # Some articles are stored already, and editing them needs the settle lock. Waiting for the lock now
        # may be a deadlock: the holder of the lock may wait for the rows that were just inserted. So undo the
        # insert, and repeat it under the lock.
        raise psycopg.Rollback(savepoint)
    hold_settle_lock(cursor)
    return one_column(cursor, _sql("insert"), values)


@dataclass(frozen=True, slots=True)
class ArticleState:
    """A stored article without its text."""

    id: int
    revision: int
    status: str
    stale: bool
    language: str | None
    title: str | None
    scope: str | None

    @property
    def settled(self) -> bool:
        return self.status != "pending" and not self.stale


def find(cursor: Cursor, source_id: str) -> ArticleState | None:
    row = cursor.execute(_sql("find"), {"source_id": source_id}).fetchone()
    return ArticleState(*row) if row else None


def count(cursor: Cursor) -> int:
    return int(one_row(cursor, _sql("count"))[0])


def body_sql(row: str) -> str:
    """Return SQL for the present text of an article; '' if the article's row in an attached table is gone.

    `row`: the alias of `dedup.article`. The text may be HTML (see `html_sql`), which `extract_text` converts.
    """
    elsewhere = f"(SELECT t.text FROM dedup.article_text t WHERE t.article_id = {row}.id)"
    return f"coalesce({row}.text, {elsewhere}, '')"


def html_sql(row: str) -> str:
    """Return SQL that is true if an article's text is HTML, which occurs only in attached tables."""
    elsewhere = f"(SELECT t.html FROM dedup.article_text t WHERE t.article_id = {row}.id)"
    return f"CASE WHEN {row}.attachment_id IS NULL THEN false ELSE {elsewhere} END"


def extract_text(text: str, html: bool) -> str:
    """Extract plain text from HTML. Raises InputError: the text is HTML, but trafilatura is not installed."""
    if not html:
        return text
    from dedup.base.html import readable as read

    return read(text)


def fields_sql(row: str) -> str:
    """Return SQL for the columns of a row of `dedup.article` from which `make_article` makes an article."""
    names = (body_sql(row) if name == "text" else f"{row}.{name}" for name in ARTICLE_FIELDS)
    return ", ".join([*names, html_sql(row)])


def make_article(row: Sequence[Any]) -> Article:
    """Make an article from a row with the columns of `fields_sql`."""
    *values, markup = row
    given = dict(zip(ARTICLE_FIELDS, values, strict=True))
    return Article(**given | {"text": extract_text(given["text"], markup)})


def load_texts(cursor: Cursor, ids: Sequence[int]) -> list[TextTask]:
    """Return the texts of articles, except texts in attached tables that changed since the last sync."""
    query = _sql("texts", text=body_sql("a"), html=html_sql("a"))
    rows = cursor.execute(query, {"ids": bigints(ids)}).fetchall()
    return [
        TextTask(id, revision, language, title, extract_text(text, markup), byline=byline, scope=scope)
        for id, revision, language, title, text, byline, scope, markup in rows
    ]


def find_partners(cursor: Cursor, source_ids: Sequence[str]) -> list[int]:
    """Return the ids of articles that are in a stored pair with an article of `source_ids`."""
    return one_column(cursor, _sql("partners"), {"source_ids": list(source_ids)})


def note_limit(cursor: Cursor, ids: Sequence[int], limit: str) -> None:
    """Record which safety limit stopped the settling of these articles; `dedup status` shows the limit."""
    cursor.execute(_sql("note_limit"), {"limit": limit, "ids": bigints(ids)})


def withdraw(cursor: Cursor, ids: Collection[int]) -> None:
    cursor.execute(_sql("withdraw"), {"ids": bigints(ids)})


def remove_pairs(cursor: Cursor, ids: Collection[int]) -> None:
    """Remove all pairs of articles, and make the other article of each pair stale. Needs the settle lock."""
    cursor.execute(_sql("remove_pairs"), {"ids": bigints(ids)})


def delete(cursor: Cursor, source_ids: Sequence[str]) -> list[str]:
    """Delete articles; return the source_ids that existed. Triggers make dependent marks pending or stale."""
    return one_column(cursor, _sql("delete"), {"source_ids": list(source_ids)})


def find_names(cursor: Cursor, ids: Bigints) -> dict[int, str]:
    """Map ids to source_ids; ids of no article are left out."""
    return dict(cursor.execute(_sql("names"), {"ids": ids}).fetchall())


def newest(cursor: Cursor, count: int) -> list[Article]:
    """Return at most `count` articles that have not failed, the newest first."""
    values = {"ids": bigints(newest_ids(cursor, count))}
    rows = cursor.execute(_sql("newest", fields=fields_sql("a")), values).fetchall()
    return [make_article(row) for row in rows]


def newest_ids(cursor: Cursor, count: int) -> list[int]:
    return one_column(cursor, _sql("newest_ids"), {"count": count})


def defer(cursor: Cursor, article: Article) -> None:
    """Keep an article until a backfill can store it. Raises AttachedError: a row of an attached table."""
    if find_attached(cursor, [article.source_id]):
        raise AttachedError
    cursor.execute(_sql("defer"), article_values(article))


def find_attached(cursor: Cursor, source_ids: Sequence[str]) -> set[str]:
    """Return the articles of `source_ids` that are rows of attached tables."""
    return set(one_column(cursor, _sql("attached"), {"source_ids": list(source_ids)}))


def is_deferred(cursor: Cursor, source_id: str) -> bool:
    return bool(one_row(cursor, _sql("any_deferred"), {"source_id": source_id})[0])


def count_deferred(cursor: Cursor) -> int:
    return int(one_row(cursor, _sql("count_deferred"))[0])


def list_deferred(cursor: Cursor, limit: int) -> list[str]:
    """Return the source_ids of at most `limit` deferred articles, the first deferred first."""
    return one_column(cursor, _sql("deferred"), {"limit": limit})


def store_deferred(cursor: Cursor, source_ids: Sequence[str]) -> None:
    """Store all deferred versions of these articles in the order in which they came. Needs the settle lock.

    If another transaction still locks one of these articles, `Database.transaction` raises BusyError.
    """
    rows = cursor.execute(_sql("take_deferred"), {"source_ids": list(source_ids)}).fetchall()
    if not rows:
        return
    # If an article is now a row of an attached table, the row alone is valid: skip the deferred versions.
    attached = find_attached(cursor, source_ids)
    for row in rows:  # one by one, because each version edits the version before
        if row[0] not in attached:
            store(cursor, [Article(**dict(zip(ARTICLE_FIELDS, row, strict=True)))])


def forget_deferred(cursor: Cursor, source_ids: Sequence[str]) -> None:
    cursor.execute(_sql("forget_deferred"), {"source_ids": list(source_ids)})
