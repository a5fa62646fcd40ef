"""The first words of articles without a title, by which people know them. Reads views only."""

from __future__ import annotations

from collections.abc import Iterable

from dedup.base.html import plain_title
from dedup.base.words import first_words
from dedup.db.database import Cursor
from dedup.db.statements import Statements

_sql = Statements("store/first_words")

CHARACTERS = 4_000
"""Of a text that are read: before the first words of one that is HTML there are tags."""


def of_untitled(cursor: Cursor, titles: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """The first words of those articles that have no title, by source_id. `titles`: source_ids and titles."""
    untitled = [source_id for source_id, title in titles if not (title or "").strip()]
    if not untitled:
        return {}
    values = {"source_ids": untitled, "characters": CHARACTERS}
    rows = cursor.execute(_sql("beginnings"), values).fetchall()
    return {id: first_words(plain_title(text) if html else text) for id, text, html in rows if text}
