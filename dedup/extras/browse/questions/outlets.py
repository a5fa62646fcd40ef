"""Who copies whom: outlets against outlets, and the copies behind each cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from dedup.base.answer import Answer
from dedup.base.times import microseconds
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.extras.browse.questions.counting import Only, range_of
from dedup.extras.browse.questions.reading import ArticleLine, CopyLine, lines_of
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
class Matrix(Answer):
    """Copies that appeared in a range of days, by the outlets of both articles.

    Attributes:
        first, last, only, counted_from: as of `Day`; what is counted are the copies.
        copies: duplicates that are counted.
        outlets: at most `MATRIX_OUTLETS`, those of the most copies first.
        cells: those with a copy, the most copies first; both outlets are in `outlets`.
        other: copies of which an outlet is not in `outlets`.
        unknown: copies of which an outlet is not known; undated: of the others, those of which times do
            not tell who was first. Neither is among `other` or in `cells`.
    """

    first: date | None
    last: date | None
    only: Only
    counted_from: datetime | None
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
    only: Only | None = None,
    counted: int | None = None,
    rows: int | None = None,
) -> Matrix:
    """Who copies whom. `counted`: articles that are looked at, at most. `rows`: outlets of the matrix, in
    place of those that a page shows.
    """
    what = range_of(first, last, only, counted)
    row = cursor.execute(
        _sql("outlets", delay=delay("c.known_at", "o.known_at"), **what.parts),
        {**what.values, "outlets": rows or MATRIX_OUTLETS},
    ).fetchone()
    assert row is not None
    number, earliest, copies, unknown, undated, names, cells = row
    shown = tuple(
        Cell(copier, original, count, timedelta(seconds=seconds))
        for copier, original, count, seconds in cells or []
    )
    return Matrix(
        first=what.first,
        last=what.last,
        only=what.only,
        counted_from=what.counted_from(cursor, number, earliest),
        copies=copies,
        outlets=tuple(names),
        cells=shown,
        other=copies - unknown - undated - sum(cell.copies for cell in shown),
        unknown=unknown,
        undated=undated,
    )


def copied(
    cursor: Cursor,
    copier: str,
    original: str,
    first: date | None,
    last: date | None,
    after: str | None,
    only: Only | None = None,
    rows: int | None = None,
) -> CopiedPage:
    page, only = rows or CELL_PAGE, replace(only or Only(), publication=copier)
    since, until = reading.page_of_days(first, last, after)
    given = {"original": original, "since": since, "until": until[0], "before": until[1], **only.given}
    given |= {"limit": CELL_SCANNED, "page": page + 1}
    found = cursor.execute(_sql("copied", **only.parts), given).fetchall()
    shown = found[:page]
    lines = lines_of(cursor, {id for row in shown for id in row[:2]})
    place, more = None, False
    if len(found) > page:
        final = shown[-1][0]
        place = lines[final].time, final
    else:
        place = cursor.execute(_sql("in_order_until"), given).fetchone()
        more = place is not None
    return CopiedPage(
        tuple(
            Copied(lines[of], CopyLine(lines[id], lines[id].after(lines[of]), *figures))
            for id, of, *figures in shown
        ),
        reading.token(microseconds(place[0]), place[1]) if place else None,
        more,
    )
