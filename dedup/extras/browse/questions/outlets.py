"""Outlets: who copies whom, the copies behind each cell; one of them: how original it is; which exist."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.extras.browse.questions.counting import COUNTED, Counted, Figures, Grouping, Only, counted, figures
from dedup.extras.browse.questions.day import LISTED, OUTLETS, stories_of
from dedup.extras.browse.questions.reading import (
    LABEL,
    ArticleLine,
    CopyLine,
    StoryLine,
    cut,
    lines_of,
    paged,
    rows_of,
)
from dedup.store.stories import delay, known

_sql = Statements("extras/browse/questions/questions")

MATRIX_OUTLETS = 40
"""Outlets of a matrix, those of the most copies made and given."""

CELL_PAGE = 50
"""Copies of a page."""

CELL_SCANNED = 5_000
"""Articles of the copier that are looked at for a page."""


@dataclass(frozen=True, slots=True)
class Cell(Answer):
    """How often one outlet had what another had before. `copier`, `original`: outlets of the copies and of
    the canonical articles. `median_delay`: from the canonical articles to the copies.
    """

    copier: str
    original: str
    copies: int
    median_delay: timedelta


@dataclass(frozen=True, slots=True)
class Matrix(Counted):
    """Copies that appeared in a range of days, by the outlets of both articles.

    Attributes:
        copies: duplicates that are counted.
        outlets: at most `MATRIX_OUTLETS`, those of the most copies first.
        cells: those with a copy, the most copies first; both outlets are in `outlets`.
        other: copies of which an outlet is not in `outlets`.
        unknown: copies of which an outlet is not known; undated: of the others, those of which times do
            not tell who was first. Neither is among `other` or in `cells`.
    """

    copies: int
    outlets: tuple[str, ...]
    cells: tuple[Cell, ...]
    other: int
    unknown: int
    undated: int


@dataclass(frozen=True, slots=True)
class Copied(Answer):
    """A copy and the canonical article that it copies."""

    original: ArticleLine
    copy: CopyLine


@dataclass(frozen=True, slots=True)
class CopiedPage(Answer):
    """The copies behind a cell, the newest first, those before `Matrix.counted_from` too. `after` and `more`
    as of `search.Page`.
    """

    copies: tuple[Copied, ...]
    after: str | None
    more: bool


def outlets(
    cursor: Cursor,
    first: date | None = None,
    last: date | None = None,
    *,
    publication: str | None = None,
    language: str | None = None,
    credit: str | None = None,
    rows: int | None = None,
) -> Matrix:
    """Copies between outlets; `first` and `last` as of `day`.

    `publication`, `language`, `credit`: only these copies. `rows`: outlets at most, in place of what a page
    shows. Raises InputError: the last day is before the first.
    """
    found, (copies, unknown, undated, names, cells) = counted(
        cursor,
        "outlets",
        (first, last),
        Only(publication, language, credit),
        {"outlets": rows_of(rows, MATRIX_OUTLETS)},
        delay=delay("c.known_at", "o.known_at"),
    )
    shown = tuple(
        Cell(copier, original, count, timedelta(seconds=seconds))
        for copier, original, count, seconds in cells or []
    )
    other = copies - unknown - undated - sum(cell.copies for cell in shown)
    counts = {"copies": copies, "other": other, "unknown": unknown, "undated": undated}
    return Matrix(**found, **counts, outlets=tuple(names), cells=shown)


def copied(
    cursor: Cursor,
    copier: str,
    original: str,
    first: date | None = None,
    last: date | None = None,
    after: str | None = None,
    *,
    language: str | None = None,
    credit: str | None = None,
    rows: int | None = None,
) -> CopiedPage:
    """The copies behind a cell of the matrix, the newest first.

    Raises InputError: the last day is before the first, or `after` is of no page.
    """
    only = Only(checks.text("copier", copier), language, credit)
    since, until = reading.page_of_days(first, first if last is None else last, after)
    page = rows_of(rows, CELL_PAGE)
    given = {"original": checks.text("original", original), "limit": CELL_SCANNED, "page": page + 1}
    given |= {"since": since, "until": until[0], "before": until[1], **only.given}
    shown, final = paged(cursor.execute(_sql("copied", **only.parts), given).fetchall(), page)
    lines = lines_of(cursor, {id for row in shown for id in row[:2]})
    place: Any = (lines[final[0]].time, final[0]) if final else None
    if final is None:
        place = cursor.execute(_sql("in_order_until"), given).fetchone()
    return CopiedPage(
        tuple(
            Copied(lines[of], CopyLine(lines[id], lines[id].after(lines[of]), *figures))
            for id, of, *figures in shown
        ),
        reading.token(*place) if place else None,
        more=place is not None and final is None,
    )


# --- one of them


PARTNERS = 20
"""Outlets of a list."""

NAMES = 1_000
"""Outlets, and languages, that a form offers."""

RECENT = 5_000
"""Articles whose languages a form offers, the newest."""


@dataclass(frozen=True, slots=True)
class Partner(Answer):
    """Copies that one outlet has of another, or another of it.

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
    return _named(cursor, "outlet_names")


def agencies(cursor: Cursor) -> tuple[str, ...]:
    """The agencies whose credits are read, by name."""
    return _named(cursor, "agency_names")


def languages(cursor: Cursor) -> tuple[str, ...]:
    """The languages of the newest articles, by name."""
    return _named(cursor, "language_names")


def _named(cursor: Cursor, statement: str) -> tuple[str, ...]:
    rows = cursor.execute(_sql(statement), {"recent": RECENT, "limit": NAMES})
    return tuple(name for (name,) in rows.fetchall())
