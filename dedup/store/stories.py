"""Stories: a canonical article with its duplicates, and what may be said of their times.

Reads views only, as an analyst may. A time of publication is known where there is one that is not
implausible: from 1605 on, and at most 24 hours after the article was stored. One of 00:00:00 UTC is known to
the day only. The views say it in SQL of their own (`migrations/sql/browsing.sql`). The order in which marks
are found is another matter: there the time of storing stands in (docs/semantics.md, sections 5 and 7).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta

from dedup.base import words
from dedup.base.answer import Answer
from dedup.base.errors import NotFoundError
from dedup.base.html import plain_title
from dedup.db.database import Cursor, one_row, prefer_indexes
from dedup.db.roles import may_read_texts
from dedup.db.statements import Statements
from dedup.store.credited import ArticleCredit

_sql = Statements("store/stories")

BEGINNING = 4_000
"""Characters of a text in which its first words are looked for: one that is HTML begins with tags."""


def known(row: str) -> str:
    """SQL: the known time of publication of an article, by the name of its row; null where there is none."""
    return (
        f"CASE WHEN {row}.published_at >= '1605-01-01 00:00:00+00'"
        f" AND {row}.published_at - {row}.added_at <= interval '24 hours' THEN {row}.published_at END"
    )


def delay(at: str, first: str) -> str:
    """SQL: from one known time to another, given as expressions; null where nobody can tell."""
    return (
        f"CASE WHEN ({at} AT TIME ZONE 'UTC')::date <> ({first} AT TIME ZONE 'UTC')::date"
        f" OR ({at} <> date_trunc('day', {at}, 'UTC') AND {first} <> date_trunc('day', {first}, 'UTC'))"
        f" THEN {at} - {first} END"
    )


def delay_between(at: datetime | None, first: datetime | None) -> timedelta | None:
    """From one known time in UTC to another; None where nobody can tell which was first."""
    if at is None or first is None:
        return None
    by_day = time() in (at.time(), first.time())
    return None if by_day and at.date() == first.date() else at - first


@dataclass(frozen=True, slots=True)
class StoryArticle(Answer):
    """An article of a story, without its text.

    Attributes:
        id: its source_id.
        time: when it was published, or stored where that is unknown; in UTC.
        status, score, reason: as of `Verdict`.
        stale: whether that is the last mark, and it is settled again.
        first_words: of its text, where it has no title; else None.
        credits: the agencies that it names as its source.
    """

    id: str
    title: str | None
    publication: str | None
    time: datetime
    status: str
    stale: bool
    score: float | None
    reason: str | None
    first_words: str | None = field(default=None, repr=False)
    credits: tuple[ArticleCredit, ...] = ()


@dataclass(frozen=True, slots=True)
class Story(Answer):
    """A canonical article with its duplicates.

    Attributes:
        original: the canonical article.
        copies: its duplicates, by time.
    """

    original: StoryArticle
    copies: tuple[StoryArticle, ...]

    @property
    def articles(self) -> tuple[StoryArticle, ...]:
        """All of them, the canonical one first."""
        return (self.original, *self.copies)

    def __str__(self) -> str:
        return f"{self.original.id}: {words.counted(len(self.copies), 'copy', 'copies')}"


@dataclass(frozen=True, slots=True)
class StorySummary(Answer):
    """A story in a line.

    Attributes:
        id, title, publication: of the canonical article.
        copies: how many duplicates it has.
        copied_by: publications of those of which times tell who was first, each once, by name.
        first_at, last_at: when the canonical article was published, and the last of all, in UTC; None where
            that is not known.
        also_in: publications of the other duplicates.
        times_known: whether times tell of all of them which was first in this corpus.
        first_words: of the canonical article, where it has no title; else None.
    """

    id: str
    title: str | None
    publication: str | None
    copies: int
    copied_by: tuple[str, ...]
    first_at: datetime | None
    last_at: datetime | None
    also_in: tuple[str, ...] = ()
    times_known: bool = False
    first_words: str | None = field(default=None, repr=False)

    @property
    def spread(self) -> timedelta | None:
        """From the canonical article to the last copy; None where the times do not tell."""
        return delay_between(self.last_at, self.first_at)


@dataclass(frozen=True, slots=True)
class Reprints(Answer):
    """What duplicates there are.

    Attributes:
        duplicates: articles that are one.
        stories: canonical articles that have some.
        most: the stories of the most copies.
    """

    duplicates: int
    stories: int
    most: tuple[StorySummary, ...]


def story(cursor: Cursor, source_id: str) -> Story:
    """The story of the article with this source_id. Raises NotFoundError: it is not stored."""
    prefer_indexes(cursor)
    rows = cursor.execute(_sql("story"), {"source_id": source_id}).fetchall()
    if not rows:
        raise NotFoundError.of(source_id)
    first_words = of_untitled(cursor, ((id, title) for id, title, *_ in rows))
    original, *copies = (
        StoryArticle(*(*mark, first_words.get(mark[0]), tuple(map(ArticleCredit, agencies, places))))
        for *mark, agencies, places in rows
    )
    return Story(original, tuple(copies))


def largest(cursor: Cursor, limit: int) -> list[StorySummary]:
    """The stories of the most copies, the largest first; ties by source_id."""
    times = {"known": known("m"), "delay": delay("at", "top.first_at")}
    rows = cursor.execute(_sql("largest", **times), {"limit": limit}).fetchall()
    first_words = of_untitled(cursor, ((id, title) for id, title, *_ in rows))
    return [
        StorySummary(
            *(id, title, publication, copies, tuple(copied_by), first_at, last_at, tuple(also_in), certain),
            first_words.get(id),
        )
        for id, title, publication, copies, copied_by, first_at, last_at, also_in, certain in rows
    ]


def reprints(cursor: Cursor, most: int) -> Reprints:
    """How many duplicates there are, of how many stories, and the stories of the most copies."""
    duplicates, reprinted = one_row(cursor, _sql("reprints"))
    return Reprints(duplicates, reprinted, tuple(largest(cursor, most)))


def of_untitled(cursor: Cursor, titles: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """The first words of those articles that have no title, by which people know them, by source_id.
    `titles`: source_ids and titles.
    """
    untitled = [source_id for source_id, title in titles if not (title or "").strip()]
    if not untitled or not may_read_texts(cursor):  # a counter knows them by their source_ids
        return {}
    rows = cursor.execute(_sql("beginnings"), {"source_ids": untitled, "characters": BEGINNING}).fetchall()
    return {id: words.first_words(plain_title(text) if html else text) for id, text, html in rows if text}
