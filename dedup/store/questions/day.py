"""What happened on a day, or in a range of days: figures, stories, outlets, and what waits or failed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from typing import Any, Literal

from dedup.base.answer import Answer
from dedup.base.times import from_microseconds
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.store.questions import reading
from dedup.store.questions.reading import COUNTED, LABEL, ArticleLine, StoryLine, cut, lines_of
from dedup.store.stories import delay, known

_sql = Statements("store/questions/questions")

LISTED = 10
"""Stories of a list."""

OUTLETS, TROUBLES, EXAMPLES = 20, 20, 5
"""Outlets, kinds of troubles, and examples of each that are shown."""

SPREAD_OUTLETS = 3
"""Outlets but its own that a story has to reach to be one of the fastest."""


@dataclass(frozen=True, slots=True)
class Marks(Answer):
    """Articles by mark. `stale`: of those that are unique, similar or duplicates: with a mark that is to be
    settled again.
    """

    articles: int
    unique: int
    similar: int
    duplicate: int
    pending: int
    failed: int
    stale: int

    @property
    def new(self) -> int:
        """Articles that are no copies."""
        return self.unique + self.similar

    @property
    def share_new(self) -> float | None:
        """Of the articles that have a mark those that are no copies, from 0 to 1; None without any."""
        marked = self.new + self.duplicate
        return self.new / marked if marked else None


_NONE = Marks(0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class DayMarks(Answer):
    """The marks of one day, in UTC."""

    day: date
    marks: Marks


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
class Day(Answer):
    """A day, or a range of days, in UTC. An article counts on the day of its time (`ArticleLine.time`).

    Attributes:
        first, last: both days are in it.
        counted_from: None: all is counted. Else the range has more articles than are counted, and every
            figure is of those from this time on (the first day of `days` may be a part of a day).
        hours: articles by hour of the day, 24 numbers.
        days: the days that are counted, the earliest first, those without articles too.
        outlets: those of the most articles.
        other_outlets: how many outlets more there are.
        biggest: the stories of the most copies among the articles counted.
        fastest: stories that began in what is counted, those that reached `SPREAD_OUTLETS` soonest.
        troubles: of the articles counted.
    """

    first: date
    last: date
    counted_from: datetime | None
    marks: Marks
    hours: tuple[int, ...]
    days: tuple[DayMarks, ...]
    outlets: tuple[OutletMarks, ...]
    other_outlets: int
    biggest: tuple[StoryLine, ...]
    fastest: tuple[StoryLine, ...]
    troubles: tuple[Trouble, ...]


_COUNTS = ", ".join(
    f"(coalesce(sum(articles) FILTER (WHERE {which}), 0))::bigint"
    for which in (
        "true",
        *(f"status = '{name}'" for name in ("unique", "similar", "duplicate", "pending", "failed")),
        "stale",
    )
)
"""The fields of `Marks`, of a tally of articles."""


def newest_day(cursor: Cursor) -> date | None:
    """The day of the newest article that is not in the future, in UTC."""
    row = cursor.execute(_sql("newest_day")).fetchone()
    return row[0].date() if row else None


def day(cursor: Cursor, first: date, last: date | None = None, *, counted: int = COUNTED) -> Day:
    """A day, or a range of days. `counted`: articles that are counted at most."""
    last = first if last is None else last
    since, until = reading.days(first, last)
    reading.allow(cursor, hashjoin=True)  # of what was read with itself, and not of tables
    columns = {"publication": LABEL.format("publication"), "known": known("a")}
    columns["delay"] = delay("c.known_at", "o.known_at")
    bounds = {"limit": counted, "listed": LISTED, "outlets": OUTLETS, "troubles": TROUBLES}
    bounds |= {"examples": EXAMPLES, "spread": SPREAD_OUTLETS}
    values = {"first": first, "since": since, "until": until, **bounds}
    row = cursor.execute(_sql("day", counts=_COUNTS, **columns), values).fetchone()
    assert row is not None
    reading.allow(cursor, hashjoin=False)
    number, earliest, hours, days, outlets, biggest, fastest, troubles = row
    counted_from = reading.counted_from(cursor, since, earliest) if number == counted else None
    stories = (biggest or []) + (fastest or [])
    ids = {story[0] for story in stories} | {id for trouble in troubles or [] for id in trouble[3]}
    lines = lines_of(cursor, ids)
    by_hour = dict(hours or [])
    by_day = {number: Marks(*counts) for number, *counts in days or []}
    start = (counted_from.date() - first).days if counted_from else 0
    each = [by_day.get(number, _NONE) for number in range(start, (last - first).days + 1)]
    return Day(
        first=first,
        last=last,
        counted_from=counted_from,
        marks=Marks(*(sum(getattr(marks, item.name) for marks in each) for item in fields(Marks))),
        hours=tuple(by_hour.get(hour, 0) for hour in range(24)),
        days=tuple(DayMarks(first + timedelta(days=n), marks) for n, marks in enumerate(each, start)),
        outlets=tuple(OutletMarks(cut(name), Marks(*counts)) for name, _, *counts in outlets or []),
        other_outlets=max(0, outlets[0][1] - OUTLETS) if outlets else 0,
        biggest=tuple(_stories(biggest or [], lines)),
        fastest=tuple(_stories(fastest or [], lines)),
        troubles=tuple(
            Trouble(kind, cut(reason), articles, tuple(lines[id] for id in examples if id in lines))
            for kind, reason, articles, examples in troubles or []
        ),
    )


def _stories(rows: Iterable[list[Any]], lines: dict[int, ArticleLine]) -> Iterable[StoryLine]:
    for id, copies, outlets, last_at, reached in rows:
        if id in lines:
            spread = None if reached is None else timedelta(microseconds=reached)
            last = None if last_at is None else from_microseconds(last_at)
            yield StoryLine(lines[id], copies, outlets, last, spread)
