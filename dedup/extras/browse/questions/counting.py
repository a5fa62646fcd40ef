"""What is counted of a range of days: which articles, their marks, and the days, weeks or months they are of.

`day.py`, `outlets.py` and `outlet.py` count with this. They read the newest articles of a range up to a
bound, and say from when on they do where it has more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import date, datetime, timedelta
from operator import add
from typing import Any, Literal, get_args

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.times import from_microseconds
from dedup.db.database import Cursor, one_row
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
        return Marks(*map(add, astuple(self), astuple(other)))

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

    def __post_init__(self) -> None:
        for name, value in self.given.items():
            checks.text(name, value)

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
class CreditCount(Answer):
    """The number of articles that credit an agency as the source of their text."""

    agency: str
    articles: int


@dataclass(frozen=True, slots=True)
class Counted(Answer):
    """Counts of a range of days, in UTC. An article counts on the day of its time.

    Attributes:
        first, last: both days are in it. Without a first one it begins with the corpus; without a last one it
            is the whole corpus.
        only: which articles are counted.
        counted_from: None: all is counted. Else the range has more articles than are counted, and every
            figure is of those from this time on (the first of `periods` may be a part of one).
    """

    first: date | None
    last: date | None
    only: Only
    counted_from: datetime | None


@dataclass(frozen=True, slots=True)
class Figures(Counted):
    """Marks and credits of a range.

    Attributes:
        marks: of all that is counted.
        undated: of those without a time of publication that can be true. They have a time, of storing, and so
            are in `marks`, but not in `periods`.
        credited: articles that credit an agency, themselves; `credits`: which ones, the most first.
        by: what `periods` are: days, weeks, months or years that are counted, the earliest first, those
            without articles too.
    """

    marks: Marks
    undated: Marks
    credited: int
    credits: tuple[CreditCount, ...]
    by: Grouping
    periods: tuple[PeriodMarks, ...]


def counted(
    cursor: Cursor,
    statement: str,
    days: tuple[date | None, date | None],
    only: Only,
    bounds: Mapping[str, int],
    **parts: str,
) -> tuple[dict[str, Any], Sequence[Any]]:
    """Run a statement that reads a range of days; without a last one it is the first one alone.

    Returns the fields of `Counted`, and what else is in its one row. Raises InputError: the last day is
    before the first.
    """
    first, last = days[0], days[0] if days[1] is None else days[1]
    since, until = reading.days(first, last)
    values = {"since": since, "until": until, "limit": COUNTED, **only.given}
    parts |= {"known": known("a"), "counts": COUNTS, **only.parts}
    reading.allow(cursor, hashjoin=True)  # of what was read with itself, and not of tables
    number, earliest, *rest = one_row(cursor, _sql(statement, **parts), {**values, **bounds})
    reading.allow(cursor, hashjoin=False)
    time = None
    if number == COUNTED:
        before = {**values, "time": from_microseconds(earliest[0]), "id": earliest[1]}
        more = cursor.execute(_sql("any_before", **only.by_outlet), before).fetchone()
        time = before["time"] if more and more[0] else None
    return {"first": first, "last": last, "only": only, "counted_from": time}, rest


def figures(
    of: dict[str, Any], tally: list[list[Any]] | None, credits: list[Any], by: Grouping | None
) -> dict[str, Any]:
    """The fields of `Figures`.

    `of`: those of `Counted`. `tally`: days since 2000, or None for undated articles, each with the fields of
    `Marks`. `credits`: how many articles have some, and for each agency its name and theirs. `by`: what is
    asked for. Raises InputError: there is no such grouping.
    """
    if by is not None and by not in get_args(Grouping):
        raise InputError(f"there is no grouping {by!r}; there are {', '.join(get_args(Grouping))}")
    numbers = {number: Marks(*counts) for number, *counts in tally or []}
    undated = numbers.pop(None, Marks())
    marks_of = {_ZERO + timedelta(days=number): marks for number, marks in numbers.items()}
    first, last = of["first"], of["last"]
    if first and last and (last - first).days > PERIODS_ASKED * _DAYS_OF["year"]:
        first = last = None  # of centuries only the years that there are
    first, last = first or min(marks_of, default=None), last or max(marks_of, default=None)
    if first and of["first"] and of["counted_from"]:
        first = max(first, of["counted_from"].date())
    chosen = _chosen(first, last, by)
    periods: dict[date, Marks] = {}
    if first is not None and last is not None:
        at, end = start_of(first, chosen), start_of(last, chosen)
        periods[at] = Marks()
        while at < end:
            at = _next(at, chosen)
            periods[at] = Marks()
    for day, marks in marks_of.items():
        start = start_of(day, chosen)
        periods[start] = periods.get(start, Marks()) + marks
    return {
        **of,
        "marks": sum(periods.values(), undated),
        "undated": undated,
        "credited": credits[0],
        "credits": tuple(CreditCount(*row) for row in credits[1] or []),
        "by": chosen,
        "periods": tuple(PeriodMarks(start, periods[start]) for start in sorted(periods)),
    }


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
    if by == "week":
        return day - timedelta(days=day.weekday())  # the first day that there is, is a Monday
    return day.replace(**{"day": {}, "month": {"day": 1}, "year": {"month": 1, "day": 1}}[by])


def end_of(day: date, by: Grouping) -> date:
    """The last day of the period that a day is in."""
    try:
        return _next(start_of(day, by), by) - timedelta(days=1)
    except OverflowError:
        return date.max


def _next(start: date, by: Grouping) -> date:
    """The first day of the period after the one that begins on a day."""
    return start_of(start + timedelta(days={"day": 1, "week": 7, "month": 31, "year": 366}[by]), by)
