"""What happened on a day, or in a range of days: figures, stories, outlets, and what waits or failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal

from dedup.base.answer import Answer
from dedup.base.times import from_microseconds
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.extras.browse.questions.counting import (
    COUNTS,
    Grouping,
    Marks,
    Only,
    PeriodMarks,
    grouped,
    range_of,
)
from dedup.extras.browse.questions.reading import LABEL, ArticleLine, StoryLine, cut, lines_of
from dedup.store.stories import delay

_sql = Statements("extras/browse/questions/questions")

LISTED = 10
"""Stories of a list."""

OUTLETS, TROUBLES, EXAMPLES = 20, 20, 5
"""Outlets, kinds of troubles, and examples of each that are shown."""

SPREAD_OUTLETS = 3
"""Outlets but its own that a story has to reach to be one of the fastest."""


@dataclass(frozen=True, slots=True)
class OutletMarks(Answer):
    """What an outlet printed; `publication` is None for articles of which that is unknown."""

    publication: str | None
    marks: Marks


@dataclass(frozen=True, slots=True)
class Trouble(Answer):
    """Articles without a mark that counts, of one kind and reason. `reason`: why they failed, or which safety
    limit left them to the next backfill; without numbers. None: they wait for the next backfill as any other.
    `examples`: the newest of them.
    """

    kind: Literal["pending", "stale", "failed"]
    reason: str | None
    articles: int
    examples: tuple[ArticleLine, ...]


@dataclass(frozen=True, slots=True)
class LanguageMarks(Answer):
    """What was printed in a language; `language` is None for articles of which that is not said."""

    language: str | None
    marks: Marks


@dataclass(frozen=True, slots=True)
class CreditCount(Answer):
    """How many articles credit an agency as the source of their text."""

    agency: str
    articles: int


@dataclass(frozen=True, slots=True)
class Day(Answer):
    """A day, or a range of days, in UTC. An article counts on the day of its time (`ArticleLine.time`).

    Attributes:
        first, last: both days are in it. Without a first one it begins with the corpus; without a last one it
            is the whole corpus.
        only: which articles are counted.
        counted_from: None: all is counted. Else the range has more articles than are counted, and every
            figure is of those from this time on (the first of `periods` may be a part of one).
        marks: of all that is counted.
        undated: of those without a time of publication that can be true. They have a time, of storing, and so
            are in `marks`, but neither in `hours` nor in `periods`.
        hours: articles by hour of the day, 24 numbers.
        by: what `periods` are.
        periods: days, weeks, months or years that are counted, the earliest first, those without articles
            too.
        outlets: those of the most articles.
        other_outlets: how many outlets more there are.
        languages: those of the most articles.
        credited: articles that credit an agency, themselves; `credits`: which ones, the most first.
        biggest: the stories of the most copies among the articles counted.
        fastest: stories that began in what is counted, those that reached `SPREAD_OUTLETS` soonest.
        troubles: of the articles counted.
    """

    first: date | None
    last: date | None
    only: Only
    counted_from: datetime | None
    marks: Marks
    undated: Marks
    hours: tuple[int, ...]
    by: Grouping
    periods: tuple[PeriodMarks, ...]
    outlets: tuple[OutletMarks, ...]
    other_outlets: int
    languages: tuple[LanguageMarks, ...]
    credited: int
    credits: tuple[CreditCount, ...]
    biggest: tuple[StoryLine, ...]
    fastest: tuple[StoryLine, ...]
    troubles: tuple[Trouble, ...]


def newest_day(cursor: Cursor) -> date | None:
    """The day of the newest article that is not in the future, in UTC; None where there is none."""
    row = cursor.execute(_sql("newest_day")).fetchone()
    return row[0].date() if row else None


def day(
    cursor: Cursor,
    first: date | None = None,
    last: date | None = None,
    *,
    by: Grouping | None = None,
    only: Only | None = None,
    counted: int | None = None,
    rows: int | None = None,
) -> Day:
    """A day, a range of days, or without any the whole corpus.

    `by`: the finest grouping that few periods have, where it is None. `counted`: articles that are counted at
    most. `rows`: of every list, in place of what a page shows.
    """
    what = range_of(first, last, only, counted)
    reading.allow(cursor, hashjoin=True)  # of what was read with itself, and not of tables
    columns = {"publication": LABEL.format("publication"), "language": LABEL.format("language")}
    columns["delay"] = delay("c.known_at", "o.known_at")
    bounds = {"listed": rows or LISTED, "outlets": rows or OUTLETS, "troubles": rows or TROUBLES}
    bounds |= {"examples": EXAMPLES, "spread": SPREAD_OUTLETS}
    statement = _sql("day", counts=COUNTS, **columns, **what.parts)
    row = cursor.execute(statement, {**what.values, **bounds}).fetchone()
    assert row is not None
    reading.allow(cursor, hashjoin=False)
    number, earliest, hours, tally, outlets, languages, credits, biggest, fastest, troubles = row
    counted_from = what.counted_from(cursor, number, earliest)
    stories = (biggest or []) + (fastest or [])
    ids = {story[0] for story in stories} | {id for trouble in troubles or [] for id in trouble[3]}
    lines = lines_of(cursor, ids)
    by_hour = dict(hours or [])
    found = grouped(tally, what, counted_from, by)
    return Day(
        first=what.first,
        last=what.last,
        only=what.only,
        counted_from=counted_from,
        marks=found.marks,
        undated=found.undated,
        hours=tuple(by_hour.get(hour, 0) for hour in range(24)),
        by=found.by,
        periods=found.periods,
        outlets=tuple(OutletMarks(cut(name), Marks(*counts)) for name, _, *counts in outlets or []),
        other_outlets=max(0, outlets[0][1] - len(outlets)) if outlets else 0,
        languages=tuple(LanguageMarks(cut(name), Marks(*counts)) for name, *counts in languages or []),
        credited=credits[0],
        credits=credits_of(credits),
        biggest=tuple(stories_of(biggest or [], lines)),
        fastest=tuple(stories_of(fastest or [], lines)),
        troubles=tuple(
            Trouble(kind, cut(reason), articles, tuple(lines[id] for id in examples if id in lines))
            for kind, reason, articles, examples in troubles or []
        ),
    )


def credits_of(found: list[Any]) -> tuple[CreditCount, ...]:
    """What is counted of credits: articles, and for each agency its name and theirs."""
    return tuple(CreditCount(agency, articles) for agency, articles in found[1] or [])


def stories_of(rows: Iterable[list[Any]], lines: dict[int, ArticleLine]) -> Iterable[StoryLine]:
    """Stories as they were counted: id, copies, outlets, and two times in microseconds, or None."""
    for id, copies, outlets, last_at, reached in rows:
        if id in lines:
            spread = None if reached is None else timedelta(microseconds=reached)
            last = None if last_at is None else from_microseconds(last_at)
            yield StoryLine(lines[id], copies, outlets, last, spread)
