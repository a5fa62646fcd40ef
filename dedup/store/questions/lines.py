"""An article and a story in a line, as lists of pages show them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from dedup.base.answer import Answer
from dedup.db.arrays import bigints
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.store.known_times import delay_between, known

_sql = Statements("store/questions/questions")

LABEL_CHARACTERS = 300
"""Of a title or an outlet in a list; the rest is cut, and an ellipsis says so."""


@dataclass(frozen=True, slots=True)
class ArticleLine(Answer):
    """An article in a list, without its text.

    Attributes:
        title, publication: cut to `LABEL_CHARACTERS`.
        time: when it was published, or stored where that is unknown; in UTC.
        published: whether it is the time of publication, and not implausible.
        status, score, reason: as of `Verdict`.
        stale: whether that is the last mark, and it is settled again.
        duplicate_of: source_id of the canonical article, for duplicates.
    """

    source_id: str
    title: str | None
    publication: str | None
    time: datetime
    published: bool
    status: str
    stale: bool
    archived: bool
    duplicate_of: str | None
    score: float | None
    reason: str | None

    def after(self, other: ArticleLine) -> timedelta | None:
        """How long after another it was published; None where times do not tell which was first."""
        times = (line.time if line.published else None for line in (self, other))
        return delay_between(*times)


@dataclass(frozen=True, slots=True)
class StoryLine(Answer):
    """A story in a list, by what is counted of it.

    Attributes:
        original: the canonical article.
        copies: duplicates that are counted.
        outlets: publications among the copies, each once; an article without one counts as its own.
        last_at: when the last copy that is counted was published, in UTC; None where one's time is unknown.
        reached: from the canonical article until `SPREAD_OUTLETS` outlets but its own had it; None where
            fewer did, or where the canonical article is of an earlier time than is counted.
    """

    original: ArticleLine
    copies: int
    outlets: int
    last_at: datetime | None
    reached: timedelta | None

    @property
    def lasted(self) -> timedelta | None:
        """From the canonical article to the last copy; None where times do not tell."""
        return delay_between(self.last_at, self.original.time if self.original.published else None)


@dataclass(frozen=True, slots=True)
class CopyLine(Answer):
    """A duplicate beside its canonical article. `delay`: how long after the canonical article it appeared;
    below 0 where the order is another one; None where times do not tell. `sentence_jaccard`,
    `signature_jaccard`, `containment`: of the pair; None where it is not stored.
    """

    article: ArticleLine
    delay: timedelta | None
    sentence_jaccard: float | None
    signature_jaccard: float | None
    containment: float | None


LABEL = f"left({{}}, {LABEL_CHARACTERS + 1})"
"""A column of which no more is read than is shown."""

_LABELS = (1, 2, 10)
"""The places of title, publication and reason in a line."""


def lines_of(cursor: Cursor, ids: Collection[int]) -> dict[int, ArticleLine]:
    found = {}
    given = {"ids": bigints(list(ids)), "characters": LABEL_CHARACTERS + 1}
    for id, *values in cursor.execute(_sql("lines", known=known("a")), given).fetchall():
        for place in _LABELS:
            values[place] = cut(values[place])
        found[id] = ArticleLine(*values)
    return found


def cut(label: str | None) -> str | None:
    """A label of at most `LABEL_CHARACTERS`, and an ellipsis where there is more."""
    if label is None or len(label) <= LABEL_CHARACTERS:
        return label
    return label[:LABEL_CHARACTERS] + "…"
