"""One outlet: how much of it is original, from whom it copies, who copies it, how fast; and which exist."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions.counting import COUNTED, Figures, Grouping, Only, counted, figures
from dedup.extras.browse.questions.day import LISTED, OUTLETS, stories_of
from dedup.extras.browse.questions.reading import LABEL, StoryLine, cut, lines_of, rows_of
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
class OutletPage(Figures):
    """An outlet, in a range of days.

    Attributes:
        copies_from: whose articles its duplicates copy. `copied_by`: who copies its canonical articles. Both
            by copies, the most first. `other_from`, `other_by`: how many outlets more there are.
        delay_from, delay_by: the medians of all that are not of the outlet itself; None without any.
        copied_counted: copies of its articles that are counted. `more_copied`: whether there are more.
        biggest: the stories that it began, those of the most copies.
    """

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
    publication: str,
    first: date | None = None,
    last: date | None = None,
    *,
    by: Grouping | None = None,
    language: str | None = None,
    credit: str | None = None,
    rows: int | None = None,
) -> OutletPage:
    """One outlet: how much of it is original, from whom it copies, who copies it; arguments as of `day`.

    An outlet that nothing is stored of has no articles.
    """
    found, (tally, credits, copied, sides, biggest) = counted(
        cursor,
        "outlet",
        (first, last),
        Only(checks.text("publication", publication), language, credit),
        {"copied": COUNTED, "partners": rows_of(rows, PARTNERS)}
        | {"listed": rows_of(rows, LISTED), "outlets": rows_of(rows, OUTLETS)},
        delay_from=delay("c.known_at", "o.known_at"),
        delay_by=delay("o.known_at", "c.known_at"),
        label=LABEL.format("other"),
        known_other=known("o"),
    )
    lines = lines_of(cursor, {story[0] for story in biggest or []})
    return OutletPage(
        **figures(found, tally, credits, by),
        **_partners(sides or [], "from", "copies_from"),
        **_partners(sides or [], "by", "copied_by"),
        copied_counted=copied,
        more_copied=copied == COUNTED,
        biggest=stories_of(biggest, lines),
    )


def _partners(rows: list[list[Any]], side: str, name: str) -> dict[str, Any]:
    """The outlets of one side, how many more there are, and the median of all delays."""
    of_side = [row for row in rows if row[0] == side]
    more, seconds = (of_side[0][5] - len(of_side), of_side[0][6]) if of_side else (0, None)
    partners = (Partner(cut(row[1]), row[2], row[3], _span(row[4])) for row in of_side)
    return {name: tuple(partners), f"other_{side}": more, f"delay_{side}": _span(seconds)}


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
