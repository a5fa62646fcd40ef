"""Count the articles of a range of days by mark and by day, week, month or year.

If a range has more than `COUNTED` articles, only the newest are counted: from the time `counted_from` on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from datetime import date, datetime, timedelta
from operator import add
from typing import Any, Literal, TypeVar, get_args

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.times import from_microseconds, range_of_days
from dedup.db.database import Cursor, one_row
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.store.stories import delay, known

_sql = Statements("extras/browse/questions/questions")

COUNTED = 100_000  # Maximum number of articles counted (takes 0.5 s); a large newsroom has 5,000 a day

Grouping = Literal["day", "week", "month", "year"]  # Weeks begin on Mondays

# Maximum number of periods on a page: PERIODS by default, PERIODS_ASKED if a grouping was requested. A range
# with more periods is grouped by longer periods, such as weeks in place of days.
PERIODS, PERIODS_ASKED = 100, 370

_Count = TypeVar("_Count", int, "Marks")

_DAYS_OF = {"day": 1, "week": 7, "month": 28, "year": 365}
_ZERO = date(2000, 1, 1)


@dataclass(frozen=True, slots=True)
class Marks(Answer):
    """Counts of articles by mark; an article that may have been the first of its story counts as `shared`."""

    articles: int = 0
    unique: int = 0
    similar: int = 0
    duplicate: int = 0
    pending: int = 0
    failed: int = 0
    stale: int = 0  # articles to settle again; they are also counted as unique, similar, duplicate or shared
    shared: int = 0  # articles of which times do not tell whether they were the first of their story

    def __add__(self, other: Marks) -> Marks:
        return Marks(*map(add, astuple(self), astuple(other)))

    @property
    def new(self) -> int:
        """The number of known originals: unique and similar articles."""
        return self.unique + self.similar

    @property
    def share_new(self) -> float | None:
        """The share of known originals among settled articles, from 0 to 1; None without settled articles."""
        marked = self.new + self.duplicate + self.shared
        return self.new / marked if marked else None


@dataclass(frozen=True, slots=True)
class PeriodMarks(Answer):
    """Counts by mark for a day, a week, a month or a year, in UTC."""

    first: date  # first day of the period
    marks: Marks


@dataclass(frozen=True, slots=True)
class Only(Answer):
    """A filter for the articles of a range; a field that is None does not filter."""

    publication: str | None = None
    language: str | None = None
    credit: str | None = None  # name of an agency that the article credits
    family: str | None = None  # owner of the outlet; of an alias: the owner of the aliased outlet

    def __post_init__(self) -> None:
        for name, value in self.given.items():
            checks.text(name, value)

    @property
    def given(self) -> dict[str, str]:
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def parts(self) -> dict[str, str]:
        """Return the SQL that replaces `${only}` and `${of_outlet}` in a statement that reads a range."""
        return {"only": condition_of(self.given), **self.by_outlet}

    @property
    def by_outlet(self) -> dict[str, str]:
        """Replace the SQL condition `of_outlet` by "true" (all outlets) if the filter names no outlet."""
        return {"of_outlet": "true"} if self.publication is None else {}


def condition_of(names: Iterable[str]) -> str:
    """Return the SQL condition that each named column equals the parameter with the name of the column.

    The names "credit" and "family" are no columns; they stand for the conditions in `_CONDITIONS`.
    """
    return " AND ".join(_CONDITIONS.get(name, f"{name} = %({name})s") for name in names) or "true"


# A join in place of the sub-select of `credit` would read all credits. `kind = 'text'`: the agency is the
# source of the article's text.
_CONDITIONS = {
    "credit": (
        "(SELECT true FROM dedup.credit WHERE article_id = id AND kind = 'text'"
        " AND agency_id = (SELECT g.id FROM dedup.agency g WHERE g.name = %(credit)s) OFFSET 0)"
    ),
    "family": (
        f"(SELECT owned.family = %(family)s FROM ({_sql('owned').decode()}) AS owned"
        ' WHERE owned.name = publication COLLATE "C" OFFSET 0)'
    ),
}

# SQL that computes the fields of `Marks` from counts by mark (`tally` in questions.sql).
COUNTS = ", ".join(
    f"(coalesce(sum(articles) FILTER (WHERE {which}), 0))::bigint"
    for which in (
        "true",
        *(f"status = '{name}'" for name in ("unique", "similar", "duplicate", "pending", "failed")),
        *("stale", "status = 'shared'"),
    )
)


@dataclass(frozen=True, slots=True)
class CreditCount(Answer):
    """The number of articles that credit an agency as the source of their text."""

    agency: str
    articles: int


@dataclass(frozen=True, slots=True)
class Counted(Answer):
    """Counts of a range of UTC days. Undated articles are counted only if the range is the whole corpus."""

    first: date | None  # None: from the beginning of the corpus
    last: date | None  # the last day, included in the range; None: the whole corpus
    only: Only
    # Time of the earliest counted article, whose period may be incomplete; None if all were counted.
    counted_from: datetime | None


@dataclass(frozen=True, slots=True)
class Figures(Counted):
    """Counts by mark and by credited agency for a range."""

    marks: Marks
    undated: Marks  # articles without a plausible time of publication: counted in `marks`, not in `periods`
    credited: int  # number of articles that credit an agency
    credits: tuple[CreditCount, ...]  # the agency with the most articles first
    by: Grouping  # length of each of `periods`
    periods: tuple[PeriodMarks, ...]  # the earliest first; includes periods without articles


def counted(
    cursor: Cursor,
    statement: str,
    days: tuple[date | None, date | None],
    only: Only,
    bounds: Mapping[str, int],
    **parts: str,
) -> tuple[dict[str, Any], Sequence[Any]]:
    """Run a statement for the range `days`: one day if the last is None, the whole corpus if both are None.

    Returns the fields of `Counted`, and the other columns of the row that the statement returns. Raises
    InputError if the range ends before it begins.
    """
    first, last = days[0], days[0] if days[1] is None else days[1]
    since, until = range_of_days(first, last)
    values = {"since": since, "until": until, "limit": COUNTED, **only.given}
    # An undated article may belong to any day, so it is counted only in the whole corpus.
    dated = "true" if first is None and last is None else "known_at IS NOT NULL"
    parts |= {"known": known("a"), "counts": COUNTS, "dated": dated, **only.parts}
    parts |= {"delay": delay("c.known_at", "o.known_at"), "delay_by": delay("o.known_at", "c.known_at")}
    reading.allow(cursor, hashjoin=True)  # the statement joins rows that it has read, not whole tables
    number, earliest, *rest = one_row(cursor, _sql(statement, **parts), {**values, **bounds})
    reading.allow(cursor, hashjoin=False)
    time = None
    # The limit was reached. If the range has earlier articles, return the time of the earliest counted one.
    if number == COUNTED:
        before = {**values, "time": from_microseconds(earliest[0]), "id": earliest[1]}
        more = cursor.execute(_sql("any_before", **only.by_outlet), before).fetchone()
        time = before["time"] if more and more[0] else None
    return {"first": first, "last": last, "only": only, "counted_from": time}, rest


def figures(
    of: dict[str, Any], tally: list[list[Any]] | None, credits: list[Any], by: Grouping | None
) -> dict[str, Any]:
    """Return the fields of `Figures`; raise InputError for an unknown grouping.

    `of`: the fields of `Counted`. `tally`: for each day its number (days since 2000-01-01; None: undated) and
    the fields of `Marks`. `credits`: the number of articles with a credit, and a list of (agency, articles).
    """
    if by is not None and by not in get_args(Grouping):
        raise InputError(f"there is no grouping {by!r}; there are {', '.join(get_args(Grouping))}")
    numbers = {number: Marks(*counts) for number, *counts in tally or []}
    undated = numbers.pop(None, Marks())
    marks_of = {_ZERO + timedelta(days=number): marks for number, marks in numbers.items()}
    first, last = of["first"], of["last"]
    if first and last and (last - first).days > PERIODS_ASKED * _DAYS_OF["year"]:
        first = last = None  # too many years: list only those from the first to the last article
    first, last = first or min(marks_of, default=None), last or max(marks_of, default=None)
    if first and of["first"] and of["counted_from"]:
        first = max(first, of["counted_from"].date())
    chosen, periods = by_period(marks_of, Marks(), first, last, by)
    return {
        **of,
        "marks": sum(periods.values(), undated),
        "undated": undated,
        "credited": credits[0],
        "credits": tuple(CreditCount(*row) for row in credits[1] or []),
        "by": chosen,
        "periods": tuple(PeriodMarks(start, marks) for start, marks in periods.items()),
    }


def by_period(
    of: Mapping[date, _Count], none: _Count, first: date | None, last: date | None, by: Grouping | None
) -> tuple[Grouping, dict[date, _Count]]:
    """Add up counts of days by period; return the grouping, and each period's first day with the count."""
    chosen = _chosen(first, last, by)
    periods: dict[date, _Count] = {}
    if first is not None and last is not None:
        at, end = start_of(first, chosen), start_of(last, chosen)
        periods[at] = none
        while at < end:
            at = _next(at, chosen)
            periods[at] = none
    for day, count in of.items():
        start = start_of(day, chosen)
        periods[start] = periods.get(start, none) + count
    return chosen, dict(sorted(periods.items()))


def _chosen(first: date | None, last: date | None, by: Grouping | None) -> Grouping:
    """Return the shortest grouping, from `by` (default: day) up, that makes few enough periods for a page."""
    every: tuple[Grouping, ...] = get_args(Grouping)
    most = PERIODS if by is None else PERIODS_ASKED
    days = (last - first).days + 1 if first and last else 1
    for one in every[every.index(by or "day") :]:
        if days <= most * _DAYS_OF[one]:
            return one
    return "year"


def start_of(day: date, by: Grouping) -> date:
    """Return the first day of the period that contains a day.

    >>> start_of(date(2026, 3, 12), "week"), start_of(date(2026, 3, 12), "month")
    (datetime.date(2026, 3, 9), datetime.date(2026, 3, 1))
    """
    if by == "week":
        return day - timedelta(days=day.weekday())  # cannot overflow, because date.min is a Monday
    return day.replace(**{"day": {}, "month": {"day": 1}, "year": {"month": 1, "day": 1}}[by])


def end_of(day: date, by: Grouping) -> date:
    """Return the last day of the period that contains a day."""
    try:
        return _next(start_of(day, by), by) - timedelta(days=1)
    except OverflowError:
        return date.max


def _next(start: date, by: Grouping) -> date:
    # Add the maximum length of a period to get into the next period; then go back to its first day.
    return start_of(start + timedelta(days={"day": 1, "week": 7, "month": 31, "year": 366}[by]), by)
