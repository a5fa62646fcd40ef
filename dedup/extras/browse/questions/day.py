"""Show a day or a range of days: counts, stories, outlets, and articles without a current mark."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal

from dedup.base.answer import Answer
from dedup.base.times import after_day, from_microseconds, start_of_day
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions.counting import COUNTED, Figures, Grouping, Marks, Only, counted, figures
from dedup.extras.browse.questions.reading import LABEL, ArticleLine, StoryLine, cut, lines_of, rows_of
from dedup.store.stories import StoryOrigin, find_origins, known

_sql = Statements("extras/browse/questions/questions")

LISTED = 10  # Maximum number of stories in a list
OUTLETS, TROUBLES, EXAMPLES = 20, 20, 5  # Maximum numbers of outlets, of troubles, of examples per trouble
FILTERED = 10_000  # Maximum number of articles read, with a filter, to find the nearest day with articles
SPREAD_OUTLETS = 3  # Number of other outlets that a story must reach to be listed as fast


@dataclass(frozen=True, slots=True)
class OutletMarks(Answer):
    """Counts by mark for an outlet."""

    publication: str | None  # None: articles without an outlet
    marks: Marks
    family: str | None  # owner of the outlet, if known


@dataclass(frozen=True, slots=True)
class Trouble(Answer):
    """Articles without a current mark that have the same kind and reason."""

    kind: Literal["pending", "stale", "failed"]
    reason: str | None  # kind of failure, or name of a safety limit; None: the articles wait for a backfill
    articles: int
    examples: tuple[ArticleLine, ...]  # the newest articles


@dataclass(frozen=True, slots=True)
class LanguageMarks(Answer):
    """Counts by mark for a language."""

    language: str | None  # None: articles without a language
    marks: Marks


@dataclass(frozen=True, slots=True)
class Day(Figures):
    """Counts and lists for a day or a range of days."""

    hours: tuple[int, ...]  # number of articles in each of the 24 hours of the day, in UTC
    no_hour: int  # number of articles with a date without an hour
    outlets: tuple[OutletMarks, ...]  # the outlet with the most articles first
    other_outlets: int  # number of outlets left out of `outlets`
    languages: tuple[LanguageMarks, ...]  # the language with the most articles first
    biggest: tuple[StoryLine, ...]  # the stories with the most copies in the range, the largest first
    fastest: tuple[StoryLine, ...]  # stories that reached `SPREAD_OUTLETS` other outlets, the fastest first
    troubles: tuple[Trouble, ...]


def newest_day(cursor: Cursor, /, **only: str | None) -> date | None:
    """Return the UTC day of the newest article that is dated and not in the future; None if there is none.

    `only`: publication, language and credit of the article, if given.
    """
    return _nearest_day(cursor, "<", datetime.now(UTC), Only(**only))


def days_beside(
    cursor: Cursor, /, first: date, last: date, **only: str | None
) -> tuple[date | None, date | None]:
    """Return the nearest days before `first` and after `last` with dated articles that pass the filter."""
    wanted = Only(**only)
    return (
        _nearest_day(cursor, "<", start_of_day(first), wanted),
        _nearest_day(cursor, ">=", after_day(last), wanted),
    )


def _nearest_day(cursor: Cursor, side: str, time: datetime, only: Only) -> date | None:
    parts = {"side": side, "direction": "DESC" if side == "<" else "ASC", "known": known("a"), **only.parts}
    values = {"time": time, "limit": FILTERED if only.given else COUNTED, **only.given}
    row = cursor.execute(_sql("nearest_day", **parts), values).fetchone()
    return row[0].date() if row else None


def day(
    cursor: Cursor,
    first: date | None = None,
    last: date | None = None,
    *,
    by: Grouping | None = None,
    publication: str | None = None,
    language: str | None = None,
    credit: str | None = None,
    family: str | None = None,
    rows: int | None = None,
) -> Day:
    """Return counts and lists for a day, for a range (both days included) or, without days, for the corpus.

    `by`: the grouping; with too many periods, a larger grouping is used. `credit`: only articles that credit
    this agency. `rows`: the maximum number of rows of each list; the default is the maximum of a page.
    Raises InputError for a range that ends before it begins, or for an unknown grouping.
    """
    found, (tally, credits, hours, outlets, languages, biggest, fastest, troubles) = counted(
        cursor,
        "day",
        (first, last),
        Only(publication, language, credit, family),
        {"listed": rows_of(rows, LISTED), "outlets": rows_of(rows, OUTLETS)}
        | {"troubles": rows_of(rows, TROUBLES), "examples": EXAMPLES, "spread": SPREAD_OUTLETS},
        publication=LABEL.format("publication"),
        language=LABEL.format("language"),
    )
    stories = (biggest or []) + (fastest or [])
    ids = {story[0] for story in stories} | {id for trouble in troubles or [] for id in trouble[3]}
    lines = lines_of(cursor, ids)
    by_hour = dict(hours or [])
    names = [row[0] for row in outlets or [] if row[0] is not None]
    families = dict(cursor.execute(_sql("families"), {"names": names}).fetchall())
    return Day(
        **figures(found, tally, credits, by),
        hours=tuple(by_hour.get(hour, 0) for hour in range(24)),
        no_hour=by_hour.get(None, 0),
        outlets=tuple(
            OutletMarks(cut(name), Marks(*counts), families.get(name)) for name, _, *counts in outlets or []
        ),
        other_outlets=max(0, outlets[0][1] - len(outlets)) if outlets else 0,
        languages=tuple(LanguageMarks(cut(name), Marks(*counts)) for name, *counts in languages or []),
        biggest=stories_of(cursor, biggest, lines),
        fastest=stories_of(cursor, fastest, lines),
        troubles=tuple(
            Trouble(kind, cut(reason), articles, tuple(lines[id] for id in examples if id in lines))
            for kind, reason, articles, examples in troubles or []
        ),
    )


def stories_of(
    cursor: Cursor, rows: list[list[Any]] | None, lines: dict[int, ArticleLine]
) -> tuple[StoryLine, ...]:
    """Make stories from rows: id of the original, then fields of `StoryLine`, with times in microseconds."""
    if not rows:
        return ()
    told = find_origins(cursor, [row[0] for row in rows])
    origins = {id: StoryOrigin(one.kind, cut(one.name)) for id, one in told.items()}
    found = []
    for id, copies, outlets, last_at, reached in rows:
        if id in lines:
            spread = None if reached is None else timedelta(microseconds=reached)
            last = None if last_at is None else from_microseconds(last_at)
            found.append(StoryLine(lines[id], copies, outlets, last, spread, origins.get(id)))
    return tuple(found)
