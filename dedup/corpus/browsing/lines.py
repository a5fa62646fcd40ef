"""An article and a story in a line, as lists of pages show them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dedup.answer import Answer
from dedup.corpus.arrays import bigints
from dedup.corpus.database import Cursor

LABEL_CHARACTERS = 300
"""Of a title or an outlet in a list; the rest is cut, and an ellipsis says so."""


@dataclass(frozen=True, slots=True)
class ArticleLine(Answer):
    """An article in a list, without its text.

    Attributes:
        title, publication: cut to `LABEL_CHARACTERS`.
        time: when it was published, or stored where that is unknown; in UTC.
        published: whether it is the time of publication.
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


@dataclass(frozen=True, slots=True)
class StoryLine(Answer):
    """A story in a list, by what is counted of it.

    Attributes:
        original: the canonical article.
        copies: duplicates that are counted.
        outlets: publications among the copies, each once; an article without one counts as its own.
        last_at: time of the last copy that is counted, in UTC.
        reached: from the canonical article until `SPREAD_OUTLETS` outlets but its own had it; None where
            fewer did, or where the canonical article is of an earlier time than is counted.
    """

    original: ArticleLine
    copies: int
    outlets: int
    last_at: datetime
    reached: timedelta | None


@dataclass(frozen=True, slots=True)
class CopyLine(Answer):
    """A duplicate beside its canonical article.

    Attributes:
        delay: how long after the canonical article it appeared; below 0 where the order is another one.
        sentence_jaccard, signature_jaccard, containment: of the pair; None where it is not stored.
    """

    article: ArticleLine
    delay: timedelta
    sentence_jaccard: float | None
    signature_jaccard: float | None
    containment: float | None


TIME = "coalesce(m.published_at, m.added_at)"
"""The time of an article of the view `mark` as m, by which pages order; as the indexes have it."""

LABEL = f"left({{}}, {LABEL_CHARACTERS + 1})"
"""A column of which no more is read than is shown."""

LINE = ", ".join(
    (
        "m.source_id",
        LABEL.format("m.title"),
        LABEL.format("m.publication"),
        TIME,
        "m.published_at IS NOT NULL",
        "m.status",
        "m.stale",
        "m.archived",
        "m.original_source_id",
        "m.score",
        LABEL.format("m.reason"),
    )
)
"""The columns of a line, of the view `mark` as m."""

LINE_COLUMNS = 11
_LABELS = (1, 2, 10)


def line(row: Sequence[Any]) -> ArticleLine:
    """The line that the first columns of a row are, as `LINE` has them."""
    values = list(row[:LINE_COLUMNS])
    for place in _LABELS:
        values[place] = cut(values[place])
    return ArticleLine(*values)


def cut(label: str | None) -> str | None:
    """A label of at most `LABEL_CHARACTERS`, and an ellipsis where there is more."""
    if label is None or len(label) <= LABEL_CHARACTERS:
        return label
    return label[:LABEL_CHARACTERS] + "…"


def lines_of(cursor: Cursor, ids: Collection[int]) -> dict[int, ArticleLine]:
    """The lines of articles by their ids; of those that are gone none."""
    rows = cursor.execute(
        f"SELECT {LINE}, m.id FROM dedup.mark m WHERE m.id = ANY (%s)".encode(), [bigints(list(ids))]
    )
    return {row[LINE_COLUMNS]: line(row) for row in rows.fetchall()}
