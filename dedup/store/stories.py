"""Reads stories (originals with their duplicates), only from tables and views that an analyst may read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta

from dedup.base import words
from dedup.base.answer import Answer
from dedup.base.errors import NotFoundError
from dedup.base.html import plain_title
from dedup.base.verdict import Representative
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, one_row, prefer_indexes
from dedup.db.roles import may_read_texts
from dedup.db.statements import Statements
from dedup.store.credited import ArticleCredit

_sql = Statements("store/stories")

BEGINNING = 4_000  # Maximum number of characters read to find first words; HTML has many tags before them


def known(row: str) -> str:
    """Return SQL for the time of publication of the article in `row`; null if missing or implausible."""
    # The view `marked_article` uses the same condition. In canonical order the time of storing replaces a
    # missing or implausible time (docs/semantics.md, sections 5 and 7).
    return (
        f"CASE WHEN {row}.published_at >= '1605-01-01 00:00:00+00'"
        f" AND {row}.published_at - {row}.added_at <= interval '24 hours' THEN {row}.published_at END"
    )


def delay(at: str, first: str) -> str:
    """Return SQL for the interval from the time `first` to the time `at`; null if their order is unknown."""
    # A time of 00:00:00 UTC means that only the day is known; then the interval has whole days.
    days = [f"date_trunc('day', {time}, 'UTC')" for time in (at, first)]
    return (
        f"nullif(CASE WHEN {at} <> {days[0]} AND {first} <> {days[1]} THEN {at} - {first}"
        f" ELSE {days[0]} - {days[1]} END, interval '0')"
    )


def representing(story: str, representative: Representative) -> str:
    """Return SQL for the id of the article that represents a story. `story`: SQL for its original's id."""
    if representative == "first":
        return story
    return f"(SELECT {representative}_id FROM dedup.story_representative WHERE story_id = {story})"


def delay_between(at: datetime | None, first: datetime | None) -> timedelta | None:
    """Return the interval from `first` to `at`, both in UTC; None if a time or their order is unknown."""
    if at is None or first is None:
        return None
    by_day = time() in (at.time(), first.time())
    return (at.date() - first.date() if by_day else at - first) or None


@dataclass(frozen=True, slots=True)
class StoryArticle(Answer):
    """An article of a story, without its text; fields of its mark are as in `Verdict`.

    Attributes:
        id: source_id of the article.
        time: time of publication, in UTC; None if unknown.
        stale: true if a backfill must settle the article again.
        first_words: first words of the text, if the article has no title.
        correction: phrase by which the article announces that it is a correction.
    """

    id: str
    title: str | None
    publication: str | None
    time: datetime | None
    status: str
    stale: bool
    score: float | None
    reason: str | None
    first_words: str | None = field(default=None, repr=False)
    credits: tuple[ArticleCredit, ...] = ()
    correction: str | None = None


@dataclass(frozen=True, slots=True)
class StoryOrigin(Answer):
    """Agency, family of outlets or outlet that stands behind a text (docs/semantics.md, section 13).

    Attributes:
        kind: "agency", "family", "outlet" or "unknown".
        name: name of the agency, family or outlet; None if unknown.
    """

    kind: str
    name: str | None

    def printed_by(self, outlets: int) -> str:
        """Return a line such as "AP, printed by 13 outlets; 1 origin". `outlets`: number of known outlets."""
        name = words.line(self.name, "unknown origin")
        printed = f", printed by {words.counted(outlets, 'outlet')}" if outlets else ""
        return f"{name}{printed}; 1 origin"


@dataclass(frozen=True, slots=True)
class Story(Answer):
    """An original with its duplicates.

    Attributes:
        copies: duplicates in the order of time, undated ones last.
        latest: source_id of the last correction, or without corrections of the last article.
        fullest: source_id of the article with the most words.
        outlets: number of known outlets that printed the story; aliases count once.
    """

    original: StoryArticle
    copies: tuple[StoryArticle, ...]
    latest: str
    fullest: str
    origin: StoryOrigin = StoryOrigin("unknown", None)
    outlets: int = 0

    @property
    def articles(self) -> tuple[StoryArticle, ...]:
        """Articles of the story, the original first."""
        return (self.original, *self.copies)

    def __str__(self) -> str:
        return f"{self.original.id}: {words.counted(len(self.copies), 'copy', 'copies')}"


@dataclass(frozen=True, slots=True)
class StorySummary(Answer):
    """A story in one line.

    Attributes:
        id: source_id of the original; title, publication and first words are of the representative.
        copied_by: publications of duplicates known to be later, sorted by name.
        first_at: time when the original was published, in UTC, if known.
        last_at: time when the last article was published; None unless `times_known`.
        also_in: publications of the other duplicates.
        times_known: true if every duplicate has a known delay.
        first_words: first words of the text, if there is no title.
        representative: source_id of the article that represents the story.
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
    representative: str | None = None

    @property
    def spread(self) -> timedelta | None:
        """Time from the original to the last copy; None if unknown."""
        return delay_between(self.last_at, self.first_at)


@dataclass(frozen=True, slots=True)
class Reprints(Answer):
    """Numbers of duplicates and of their stories, and the stories with the most copies.

    Attributes:
        stories: number of stories with duplicates.
        most: the stories with the most copies.
    """

    duplicates: int
    stories: int
    most: tuple[StorySummary, ...]


def story(cursor: Cursor, source_id: str) -> Story:
    """Return the story of an article. Raises NotFoundError: it is not stored."""
    prefer_indexes(cursor)
    rows = cursor.execute(_sql("story", known=known("m")), {"source_id": source_id}).fetchall()
    if not rows:
        raise NotFoundError.of(source_id)
    first_words = find_first_words(cursor, ((id, title) for id, title, *_ in rows))
    original, *copies = (
        StoryArticle(*(*mark, first_words.get(mark[0]), tuple(map(ArticleCredit, *credits)), correction))
        for *mark, credits, correction in ((*row[:8], row[8:11], row[11]) for row in rows)
    )
    latest, fullest, kind, name = rows[0][13:]
    outlets = len({row[12] for row in rows} - {None})
    return Story(original, tuple(copies), latest, fullest, StoryOrigin(kind, name), outlets)


def find_origins(
    cursor: Cursor, stories: Collection[int], *, settled: bool = False
) -> dict[int, StoryOrigin]:
    """Return who stands behind the text of each story, by id of its original.

    `settled`: leave out stories whose original is pending or failed, and so was not compared.
    """
    values = {"ids": bigints([*stories]), "settled": settled}
    rows = cursor.execute(_sql("origins"), values).fetchall()
    return {id: StoryOrigin(kind, name) for id, kind, name in rows}


def find_largest(
    cursor: Cursor,
    limit: int,
    representative: Representative = "first",
    *,
    since: datetime | None = None,
    scope: str | None = None,
) -> list[StorySummary]:
    """Return the stories with the most copies, sorted by number of copies, then by source_id. `since`: only
    stories with an article of this time or later. `scope`: only stories whose original has this scope."""
    times = {"known": known("m"), "delay": delay("at", "top.first_at")}
    unasked = ({"within": ""} if scope is None else {}) | ({"recent": ""} if since is None else {})
    statement = _sql("largest", representative=representing("top.id", representative), **times, **unasked)
    rows = cursor.execute(statement, {"limit": limit, "scope": scope, "since": since}).fetchall()
    first_words = find_first_words(cursor, ((shown, title) for _, shown, title, *_ in rows))
    return [
        StorySummary(
            *(id, title, publication, copies, tuple(copied_by), first_at, last_at, tuple(also_in), certain),
            *(first_words.get(shown), shown),
        )
        for id, shown, title, publication, copies, copied_by, first_at, last_at, also_in, certain in rows
    ]


def reprints(cursor: Cursor, most: int) -> Reprints:
    duplicates, reprinted = one_row(cursor, _sql("reprints"))
    return Reprints(duplicates, reprinted, tuple(find_largest(cursor, most)))


def find_first_words(cursor: Cursor, titles: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """Return the first words of articles without a title, by source_id. `titles`: source_ids and titles."""
    untitled = [source_id for source_id, title in titles if not (title or "").strip()]
    if not untitled or not may_read_texts(cursor):
        return {}
    rows = cursor.execute(_sql("beginnings"), {"source_ids": untitled, "characters": BEGINNING}).fetchall()
    return {id: words.first_words(plain_title(text) if html else text) for id, text, html in rows if text}
