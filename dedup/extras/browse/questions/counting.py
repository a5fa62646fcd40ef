"""What is counted of a range of days: which articles, their marks, and the days, weeks or months they are of.

`day.py`, `outlets.py` and `outlet.py` count with this. They read the newest articles of a range up to a
bound, and say from when on they do where it has more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from functools import reduce
from typing import Any, Literal, get_args

from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.times import from_microseconds
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.store.stories import known

_sql = Statements("extras/browse/questions/questions")

COUNTED = 100_000
"""Articles of a range that are counted at most, the newest: half a second. A day of a large newsroom has
5,000."""

Grouping = Literal["day", "week", "month", "year"]
"""What articles are counted together by; weeks begin on Mondays."""

PERIODS, PERIODS_ASKED = 100, 370
"""Periods at most: of the grouping that is chosen where none is asked for, and of one that is. Where there
would be more, the next larger grouping takes its place."""

_DAYS_OF = {"day": 1, "week": 7, "month": 28, "year": 365}
_ZERO = date(2000, 1, 1)


@dataclass(frozen=True, slots=True)
class Marks(Answer):
    """Articles by mark. `stale`: of those that are unique, similar or duplicates: with a mark that is to be
    settled again.
    """

    articles: int = 0
    unique: int = 0
    similar: int = 0
    duplicate: int = 0
    pending: int = 0
    failed: int = 0
    stale: int = 0

    def __add__(self, other: Marks) -> Marks:
        return Marks(*(getattr(self, item.name) + getattr(other, item.name) for item in fields(Marks)))

    @property
    def new(self) -> int:
        """Articles that are no copies."""
        return self.unique + self.similar

    @property
    def share_new(self) -> float | None:
        """Of the articles that have a mark those that are no copies, from 0 to 1; None without any."""
        marked = self.new + self.duplicate
        return self.new / marked if marked else None


@dataclass(frozen=True, slots=True)
class PeriodMarks(Answer):
    """The marks of a day, a week, a month or a year, in UTC. `first`: its first day."""

    first: date
    marks: Marks


@dataclass(frozen=True, slots=True)
class Only(Answer):
    """Which articles of a range are counted: those of an outlet, of a language, that credit an agency; None:
    whatever it is.
    """

    publication: str | None = None
    language: str | None = None
    credit: str | None = None

    @property
    def given(self) -> dict[str, str]:
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def parts(self) -> dict[str, str]:
        """For statements that read a range: the condition, and by which index it is read."""
        return {"only": condition_of(self.given), **self.by_outlet}

    @property
    def by_outlet(self) -> dict[str, str]:
        """For statements that read a range: whether by the index of outlets."""
        return {"of_outlet": "true"} if self.publication is None else {}


def condition_of(names: Iterable[str]) -> str:
    """SQL: that articles are as is given; `credit` names an agency, other names are of columns."""
    return " AND ".join(_CREDIT if name == "credit" else f"{name} = %({name})s" for name in names) or "true"


# A sub-select, and no join, which would read all credits. Whose is a part of a text is not whose text it is.
_CREDIT = (
    "(SELECT true FROM dedup.credit WHERE article_id = id AND place <> 'contribution'"
    " AND agency_id = (SELECT g.id FROM dedup.agency g WHERE g.name = %(credit)s) OFFSET 0)"
)

COUNTS = ", ".join(
    f"(coalesce(sum(articles) FILTER (WHERE {which}), 0))::bigint"
    for which in (
        "true",
        *(f"status = '{name}'" for name in ("unique", "similar", "duplicate", "pending", "failed")),
        "stale",
    )
)
"""SQL: the fields of `Marks`, of a tally of articles."""


@dataclass(frozen=True, slots=True)
class Range:
    """A range of days with both ends; without a first one it begins with the corpus, without any it is all of
    it. `counted`: articles that are read at most.
    """

    first: date | None
    last: date | None
    only: Only
    counted: int

    @property
    def values(self) -> dict[str, Any]:
        since, until = reading.days(self.first, self.last)
        return {"since": since, "until": until, "limit": self.counted, **self.only.given}

    @property
    def parts(self) -> dict[str, str]:
        return {"known": known("a"), **self.only.parts}

    def counted_from(self, cursor: Cursor, number: int, earliest: list[int]) -> datetime | None:
        """From when on articles are counted; None where there are none before. `number`: how many were read;
        `earliest`: the time in microseconds and the id of the first of them.
        """
        if number < self.counted:
            return None
        time, id = from_microseconds(earliest[0]), earliest[1]
        before = {**self.values, "time": time, "id": id}
        parts = {name: part for name, part in self.parts.items() if name == "of_outlet"}
        row = cursor.execute(_sql("any_before", **parts), before).fetchone()
        return time if row and row[0] else None


def range_of(first: date | None, last: date | None, only: Only | None, counted: int | None) -> Range:
    """Without a last day it is the first one alone."""
    last = first if last is None else last
    return Range(first, last, only or Only(), COUNTED if counted is None else counted)


@dataclass(frozen=True, slots=True)
class Grouped:
    """What is counted by period; `undated` has no known time of publication."""

    by: Grouping
    periods: tuple[PeriodMarks, ...]
    undated: Marks

    @property
    def marks(self) -> Marks:
        return total([self.undated, *(one.marks for one in self.periods)])


def grouped(
    tally: Iterable[list[Any]] | None, what: Range, counted_from: datetime | None, by: Grouping | None
) -> Grouped:
    """The periods of a range, the earliest first, those without articles too.

    `tally`: days since 2000, or None for undated articles, each with the fields of `Marks`. `by`: what is
    asked for. Raises InputError: there is no such grouping.
    """
    if by is not None and by not in get_args(Grouping):
        raise InputError(f"there is no grouping {by!r}; there are {', '.join(get_args(Grouping))}")
    of_days: dict[date, Marks] = {}
    undated = Marks()
    for number, *counts in tally or []:
        if number is None:
            undated = Marks(*counts)
        else:
            of_days[_ZERO + timedelta(days=number)] = Marks(*counts)
    first, last = what.first, what.last
    if first and last and (last - first).days > PERIODS_ASKED * _DAYS_OF["year"]:
        first = last = None  # of centuries only the years that there are
    first, last = first or min(of_days, default=None), last or max(of_days, default=None)
    if first and what.first and counted_from:
        first = max(first, counted_from.date())
    chosen = _chosen(first, last, by)
    found: dict[date, Marks] = {}
    if first is not None and last is not None:
        at, end = start_of(first, chosen), start_of(last, chosen)
        found[at] = Marks()
        while at < end:
            at = _next(at, chosen)
            found[at] = Marks()
    for day, marks in of_days.items():
        start = start_of(day, chosen)
        found[start] = found.get(start, Marks()) + marks
    return Grouped(chosen, tuple(PeriodMarks(start, found[start]) for start in sorted(found)), undated)


def total(several: Iterable[Marks]) -> Marks:
    return reduce(Marks.__add__, several, Marks())


def _chosen(first: date | None, last: date | None, by: Grouping | None) -> Grouping:
    """The finest grouping from the asked one on that has no more periods than a page shows."""
    every: tuple[Grouping, ...] = get_args(Grouping)
    most = PERIODS if by is None else PERIODS_ASKED
    days = (last - first).days + 1 if first and last else 1
    for one in every[every.index(by or "day") :]:
        if days <= most * _DAYS_OF[one]:
            return one
    return "year"


def start_of(day: date, by: Grouping) -> date:
    """The first day of the period that a day is in.

    >>> start_of(date(2026, 3, 12), "week"), start_of(date(2026, 3, 12), "month")
    (datetime.date(2026, 3, 9), datetime.date(2026, 3, 1))
    """
    match by:
        case "day":
            return day
        case "week":
            return day - timedelta(days=min(day.weekday(), (day - date.min).days))
        case "month":
            return day.replace(day=1)
        case "year":
            return day.replace(month=1, day=1)


def end_of(day: date, by: Grouping) -> date:
    """The last day of the period that a day is in."""
    try:
        return _next(start_of(day, by), by) - timedelta(days=1)
    except OverflowError:
        return date.max


def _next(start: date, by: Grouping) -> date:
    """The first day of the period after the one that begins on a day."""
    if by == "day":
        return start + timedelta(days=1)
    return start_of(start + timedelta(days={"week": 7, "month": 31, "year": 366}[by]), by)
