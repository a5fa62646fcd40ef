"""Stored credits compared with what texts and the list of agencies give, for `verify.py`. Read-only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dedup.db.database import Cursor
from dedup.store import credits
from dedup.store.snapshots import StoredArticle
from dedup.text.credits import Credit
from dedup.text.fingerprint import TextTask


class CreditCheck:
    """Credits by the list as it is. `unread`: articles that wait to have theirs read: not compared."""

    def __init__(self, cursor: Cursor) -> None:
        self.unread = 0
        self._cursor, self._reader = cursor, credits.reader(cursor)
        self._waiting = set[int]()
        self._stored: dict[int, list[Credit]] = {}

    def look(self, ids: Sequence[int]) -> None:
        """Read what is stored of the articles that come next."""
        self._stored = credits.stored_of(self._cursor, ids)
        self._waiting = credits.unread_among(self._cursor, ids)
        self.unread += len(self._waiting)

    def difference(self, article: StoredArticle, task: TextTask) -> str | None:
        """What differs in the credits of an article that has a fingerprint of its present text."""
        if article.fingerprint is None or article.id in self._waiting:
            return None
        stored, expected = self._stored.get(article.id, []), list(self._reader.read(task.text, task.byline))
        if stored == expected:
            return None
        return f"{article.source_id}: credits {self._words(stored)}, should be {self._words(expected)}"

    def _words(self, found: Iterable[Credit]) -> str:
        names = self._reader.names
        return ", ".join(f"{names.get(id, f'agency {id}')} ({place})" for id, place in found) or "none"
