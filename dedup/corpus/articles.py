"""Articles in and out of the database: load, edit, delete. It decides nothing about marks.

What a change touches is settled again, by the triggers of the schema (`migrations/sql`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import psycopg

from dedup.article import ARTICLE_FIELDS, Article, storable
from dedup.corpus.arrays import bigints
from dedup.corpus.database import Cursor, hold_settle_lock
from dedup.text.tasks import TextTask

_EDITABLE = tuple(name for name in ARTICLE_FIELDS if name != "source_id")


@dataclass(slots=True)
class LoadCounts:
    """What became of the articles of a batch; each is one of these."""

    # new, changed, same: compared with what was stored before
    new: int = 0
    changed: int = 0
    same: int = 0
    superseded: int = 0  # its source_id came again later in the batch, so it was never stored by itself


_TYPES = {name: "timestamptz" if name.endswith("_at") else "text" for name in ARTICLE_FIELDS}
# Texts are sent in binary: as text, an array of them is escaped, which takes 80 bytes for every backslash.
_FORMATS = {"text": "%b", "timestamptz": "%s"}
_ARRAYS = ", ".join(f"{_FORMATS[kind]}::{kind}[]" for kind in _TYPES.values())
_INCOMING = f"unnest({_ARRAYS}) AS i ({', '.join(ARTICLE_FIELDS)})"
_INSERT = f"""
    INSERT INTO dedup.article ({", ".join(ARTICLE_FIELDS)})
    SELECT {", ".join("coalesce(added_at, now())" if n == "added_at" else n for n in ARTICLE_FIELDS)}
    FROM {_INCOMING} ORDER BY source_id
    ON CONFLICT (source_id) DO NOTHING
"""
_UPDATE = f"""
    UPDATE dedup.article a SET {", ".join(f"{n} = coalesce(i.{n}, a.{n})" for n in _EDITABLE)}
    FROM {_INCOMING} WHERE i.source_id = a.source_id AND a.id = ANY (%s)
"""
_CHANGED = f"""
    SELECT a.id FROM {_INCOMING} JOIN dedup.article a USING (source_id)
    WHERE {" OR ".join(f"(i.{n} IS NOT NULL AND i.{n} IS DISTINCT FROM a.{n})" for n in _EDITABLE)}
"""


def store(cursor: Cursor, articles: Sequence[Article]) -> LoadCounts:
    """Store articles: new ones as pending, known ones as edits. A field that is None keeps its stored value.
    An article that brings nothing new is left untouched. A source_id given twice is an article and its edit,
    as if they came in two batches, but it is stored once.
    """
    last = _last_of_each(articles)
    values: list[Any] = [[getattr(a, name) for a in last] for name in ARTICLE_FIELDS]
    values[ARTICLE_FIELDS.index("text")] = [storable(a.text) for a in last]
    counts = LoadCounts(superseded=len(articles) - len(last))
    counts.new = _insert(cursor, values, len(last))
    known = len(last) - counts.new
    if known:
        changed = [row[0] for row in cursor.execute(_CHANGED.encode(), values).fetchall()]
        if changed:
            hold_settle_lock(cursor)  # the edit takes it in any case, but would wait for rows for longer
            cursor.execute(_UPDATE.encode(), [*values, bigints(changed)])
        counts.changed, counts.same = len(changed), known - len(changed)
    return counts


def add(cursor: Cursor, article: Article) -> bool:
    """Store an article if its source_id is new, which needs no right but to insert; whether it was."""
    values: list[Any] = [[getattr(article, name)] for name in ARTICLE_FIELDS]
    values[ARTICLE_FIELDS.index("text")] = [storable(article.text)]
    return cursor.execute(_INSERT.encode(), values).rowcount > 0


def _last_of_each(articles: Sequence[Article]) -> list[Article]:
    last: dict[str, Article] = {}
    for article in articles:
        if before := last.get(article.source_id):
            kept = {name: getattr(before, name) for name in _EDITABLE if getattr(article, name) is None}
            article = replace(article, **kept)
        last[article.source_id] = article
    return list(last.values())


def _insert(cursor: Cursor, values: list[Any], given: int) -> int:
    """Insert those that are new, in the order of their keys, so that two loads do not lock each other out."""
    if given == 1:
        return cursor.execute(_INSERT.encode(), values).rowcount
    with cursor.connection.transaction() as savepoint:
        new = cursor.execute(_INSERT.encode(), values).rowcount
        if new in (0, given):
            return new
        # Others may have to be edited, which takes the settle lock; who has it may wait for the new keys.
        raise psycopg.Rollback(savepoint)
    hold_settle_lock(cursor)
    return cursor.execute(_INSERT.encode(), values).rowcount


@dataclass(frozen=True, slots=True)
class Known:
    """An article as it stands in the corpus, without its text."""

    id: int
    revision: int
    status: str
    stale: bool
    language: str | None
    title: str | None

    @property
    def settled(self) -> bool:
        return self.status != "pending" and not self.stale


def find(cursor: Cursor, source_id: str) -> Known | None:
    """The article with this source_id, or None."""
    row = cursor.execute(
        "SELECT id, revision, status, stale, language, title FROM dedup.article WHERE source_id = %s",
        [source_id],
    ).fetchone()
    return Known(*row) if row else None


def body(row: str) -> str:
    """The present text of a row of `dedup.article`, as SQL; empty where it was in a row that is gone."""
    elsewhere = f"(SELECT t.text FROM dedup.article_text t WHERE t.article_id = {row}.id)"
    return f"coalesce({row}.text, {elsewhere}, '')"


def fields(row: str) -> str:
    """The fields of `Article` from a row of `dedup.article`, as SQL."""
    return ", ".join(body(row) if name == "text" else f"{row}.{name}" for name in ARTICLE_FIELDS)


def texts(cursor: Cursor, ids: Sequence[int]) -> list[TextTask]:
    """What the fingerprints of some articles are made from. Without those in attached tables that have
    changed since the article was last brought up to date.
    """
    rows = cursor.execute(
        f"""
        SELECT a.id, a.revision, a.language, a.title, b.text
        FROM dedup.article a CROSS JOIN LATERAL (SELECT {body("a")} AS text OFFSET 0) AS b
        WHERE a.id = ANY (%s)
          AND (a.text_hash IS NULL OR a.text_hash = sha256(convert_to(b.text, 'UTF8')))
        """.encode(),
        [bigints(ids)],
    ).fetchall()
    return [TextTask(*row) for row in rows]


def partners(cursor: Cursor, source_ids: Sequence[str]) -> list[int]:
    """The ids of articles that have a pair with one of these."""
    rows = cursor.execute(
        """
        SELECT DISTINCT m.id
        FROM unnest(%s::text[]) AS given (source_id)
        -- OFFSET 0: from the article to its pairs, whatever the statistics say of the tables.
        CROSS JOIN LATERAL (
            SELECT id FROM dedup.article WHERE source_id = given.source_id COLLATE "C" OFFSET 0) AS a
        CROSS JOIN LATERAL (
            SELECT * FROM (SELECT other_id FROM dedup.match WHERE article_id = a.id OFFSET 0) AS earlier
            UNION ALL
            SELECT * FROM (SELECT article_id FROM dedup.match WHERE other_id = a.id OFFSET 0) AS later
        ) AS m (id)
        """,
        [list(source_ids)],
    )
    return [row[0] for row in rows.fetchall()]


def note_limit(cursor: Cursor, ids: Sequence[int], limit: str) -> None:
    """Record with articles that are left unsettled which limit left them so; `status` shows it."""
    cursor.execute(
        "UPDATE dedup.article SET limit_fired = %s WHERE id = ANY (%s) AND (status = 'pending' OR stale)",
        [limit, bigints(ids)],
    )


def withdraw(cursor: Cursor, ids: Collection[int]) -> None:
    cursor.execute("SELECT dedup.withdraw(%s::bigint[])", [bigints(ids)])


def remove_pairs(cursor: Cursor, ids: Collection[int]) -> None:
    """Remove the pairs of articles, and have their partners settled again. Needs the settle lock."""
    cursor.execute("SELECT dedup.remove_pairs(%s::bigint[])", [bigints(ids)])


def delete(cursor: Cursor, source_ids: Sequence[str]) -> list[str]:
    """Delete articles; what they were original or partner of is settled again. Returns the source_ids that
    existed.
    """
    rows = cursor.execute(
        "DELETE FROM dedup.article WHERE source_id = ANY (%s) RETURNING source_id", [list(source_ids)]
    )
    return [row[0] for row in rows.fetchall()]


def newest(cursor: Cursor, count: int) -> list[Article]:
    """The newest articles that can be read, the latest first."""
    rows = cursor.execute(
        f"SELECT {fields('a')} FROM dedup.article a WHERE a.id = ANY (%s)"
        " ORDER BY coalesce(a.published_at, a.added_at) DESC, a.source_id",
        [bigints(newest_ids(cursor, count))],
    )
    return [Article(**dict(zip(ARTICLE_FIELDS, row, strict=True))) for row in rows.fetchall()]


def newest_ids(cursor: Cursor, count: int) -> list[int]:
    rows = cursor.execute(
        "SELECT id FROM dedup.article WHERE status <> 'failed'"
        " ORDER BY coalesce(published_at, added_at) DESC, source_id LIMIT %s",
        [count],
    )
    return [row[0] for row in rows.fetchall()]
