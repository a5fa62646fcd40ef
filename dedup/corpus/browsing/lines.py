"""An article and a story in a line, as lists of pages show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from dedup.answer import Answer

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
