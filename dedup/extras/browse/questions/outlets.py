"""Who copies whom: outlets against outlets, and the copies behind each cell."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.times import microseconds
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.extras.browse.questions.counting import Counted, Only, counted
from dedup.extras.browse.questions.reading import ArticleLine, CopyLine, lines_of, paged, rows_of
from dedup.store.stories import delay

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
    """Who copies whom among the outlets; `first` and `last` as of `day`.

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
    return Matrix(
        **found,
        copies=copies,
        outlets=tuple(names),
        cells=shown,
        other=other,
        unknown=unknown,
        undated=undated,
    )


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
    given = {
        "original": checks.text("original", original),
        "since": since,
        "until": until[0],
        "before": until[1],
    }
    given |= {"limit": CELL_SCANNED, "page": page + 1, **only.given}
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
        reading.token(microseconds(place[0]), place[1]) if place else None,
        more=place is not None and final is None,
    )
