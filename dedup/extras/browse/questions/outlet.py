"""One outlet: how much of it is original, from whom it copies, who copies it, how fast; and which exist."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from dedup.base.answer import Answer
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.extras.browse.questions.counting import (
    COUNTED,
    COUNTS,
    Grouping,
    Marks,
    Only,
    PeriodMarks,
    grouped,
    range_of,
)
from dedup.extras.browse.questions.day import LISTED, OUTLETS, CreditCount, credits_of, stories_of
from dedup.extras.browse.questions.reading import LABEL, StoryLine, cut, lines_of
from dedup.store.stories import delay, known

_sql = Statements("extras/browse/questions/questions")

PARTNERS = 20
"""Outlets of a list."""

NAMES = 1_000
"""Outlets, and languages, that a form offers."""

RECENT = 5_000
"""Articles whose languages a form offers, the newest."""


@dataclass(frozen=True, slots=True)
class Partner(Answer):
    """What one outlet has of another, or another of it.

    Attributes:
        publication: the other one; None for articles of which that is unknown. It may be the outlet itself:
            copies within it.
        copies: those of which times tell which was first. `undated`: the others.
        median_delay: from the canonical articles to the copies; None without any.
    """

    publication: str | None
    copies: int
    undated: int
    median_delay: timedelta | None


@dataclass(frozen=True, slots=True)
class OutletPage(Answer):
    """An outlet, in a range of days, in UTC.

    Attributes:
        first, last, only, counted_from, marks, undated, credited, credits, by, periods: as of `Day`, of its
            articles.
        copies_from: whose articles its duplicates copy. `copied_by`: who copies its canonical articles. Both
            by copies, the most first. `other_from`, `other_by`: how many outlets more there are.
        delay_from, delay_by: the medians of all that are not of the outlet itself; None without any.
        copied_counted: copies of its articles that are counted. `more_copied`: whether there are more.
        biggest: the stories that it began, those of the most copies.
    """

    first: date | None
    last: date | None
    only: Only
    counted_from: datetime | None
    marks: Marks
    undated: Marks
    credited: int
    credits: tuple[CreditCount, ...]
    by: Grouping
    periods: tuple[PeriodMarks, ...]
    copies_from: tuple[Partner, ...]
    other_from: int
    delay_from: timedelta | None
    copied_by: tuple[Partner, ...]
    other_by: int
    delay_by: timedelta | None
    copied_counted: int
    more_copied: bool
    biggest: tuple[StoryLine, ...]


def outlet(
    cursor: Cursor,
    only: Only,
    first: date | None = None,
    last: date | None = None,
    *,
    by: Grouping | None = None,
    counted: int | None = None,
    rows: int | None = None,
) -> OutletPage:
    """An outlet, which `only` names, without any day in the whole corpus. `by`, `counted`, `rows`: as of
    `day`.
    """
    what = range_of(first, last, only, counted)
    reading.allow(cursor, hashjoin=True)  # of what was read with itself, and not of tables
    columns = {"delay_from": delay("c.known_at", "o.known_at"), "delay_by": delay("o.known_at", "c.known_at")}
    columns |= {"label": LABEL.format("other"), "known_other": known("o"), "counts": COUNTS}
    bounds = {"copied": COUNTED, "partners": rows or PARTNERS, "listed": rows or LISTED}
    bounds |= {"outlets": rows or OUTLETS}
    row = cursor.execute(_sql("outlet", **columns, **what.parts), {**what.values, **bounds}).fetchone()
    assert row is not None
    reading.allow(cursor, hashjoin=False)
    number, earliest, tally, credits, copied, sides, biggest = row
    counted_from = what.counted_from(cursor, number, earliest)
    found = grouped(tally, what, counted_from, by)
    (copies_from, other_from, delay_from), (copied_by, other_by, delay_by) = (
        _partners(sides or [], side) for side in ("from", "by")
    )
    lines = lines_of(cursor, {story[0] for story in biggest or []})
    return OutletPage(
        what.first,
        what.last,
        what.only,
        counted_from,
        found.marks,
        found.undated,
        credits[0],
        credits_of(credits),
        found.by,
        found.periods,
        copies_from,
        other_from,
        delay_from,
        copied_by,
        other_by,
        delay_by,
        copied_counted=copied,
        more_copied=copied == COUNTED,
        biggest=tuple(stories_of(biggest or [], lines)),
    )


def _partners(rows: list[list[Any]], wanted: str) -> tuple[tuple[Partner, ...], int, timedelta | None]:
    """The outlets of one side, how many more there are, and the median of all delays."""
    of_side = [row for row in rows if row[0] == wanted]
    partners = tuple(
        Partner(cut(name), copies, undated, _span(seconds))
        for _, name, copies, undated, seconds, _, _ in of_side
    )
    more, seconds = (of_side[0][5] - len(of_side), of_side[0][6]) if of_side else (0, None)
    return partners, more, _span(seconds)


def _span(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)


def names(cursor: Cursor) -> tuple[str, ...]:
    """The outlets that there are, by name; `NAMES` at most, and none of a longer name than is shown."""
    return tuple(name for (name,) in cursor.execute(_sql("outlet_names"), {"limit": NAMES}).fetchall())


def agencies(cursor: Cursor) -> tuple[str, ...]:
    """The agencies whose credits are read, by name."""
    return tuple(name for (name,) in cursor.execute(_sql("agency_names"), {"limit": NAMES}).fetchall())


def languages(cursor: Cursor) -> tuple[str, ...]:
    """The languages of the newest articles, by name."""
    values = {"recent": RECENT, "limit": NAMES}
    return tuple(name for (name,) in cursor.execute(_sql("language_names"), values).fetchall())
