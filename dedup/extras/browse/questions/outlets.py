"""Show outlets: the matrix of copies between them, the copies behind a cell, and one outlet in detail."""

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

MATRIX_OUTLETS = 40  # Outlets of a matrix, the ones with the most copies made and given
CELL_PAGE = 50  # Copies of a page
CELL_SCANNED = 5_000  # Articles of the copier read for a page


@dataclass(frozen=True, slots=True)
class Cell(Answer):
    """Copies that one outlet has of another."""

    copier: str
    original: str
    copies: int
    median_delay: timedelta  # from the originals to the copies


@dataclass(frozen=True, slots=True)
class Matrix(Counted):
    """Copies that appeared in a range of days, by the outlets of both articles."""

    copies: int  # all counted duplicates: in `cells`, other, unknown or undated
    outlets: tuple[str, ...]  # the most copies first, at most `MATRIX_OUTLETS`
    cells: tuple[Cell, ...]  # between these outlets, the most copies first
    other: int  # copies with an outlet that is not in `outlets`
    unknown: int  # copies with an unknown outlet
    undated: int  # copies between known outlets whose times do not show the order


@dataclass(frozen=True, slots=True)
class Copied(Answer):
    """A copy and its original."""

    original: ArticleLine
    copy: CopyLine


@dataclass(frozen=True, slots=True)
class CopiedPage(Answer):
    """The copies behind a cell, the newest first, also ones that are not counted; see also `search.Page`."""

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
    """Return the copies between outlets; `first`, `last` and `rows` (outlets) as in `day`.

    The other arguments filter the copies. Raises InputError for a range that ends before it begins.
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
    """Return the copies behind a cell of the matrix; raise InputError for a wrong range or page."""
    only = Only(checks.text("copier", copier), language, credit)
    since, until = reading.page_of_days(first, first if last is None else last, after)
    page = rows_of(rows, CELL_PAGE)
    given = {"original": checks.text("original", original), "limit": CELL_SCANNED, "page": page + 1}
    given |= {"since": since, "until": until[0], "before": until[1], **only.given}
    shown, final = paged(cursor.execute(_sql("copied", **only.parts), given).fetchall(), page)
    lines = lines_of(cursor, {id for row in shown for id in row[:2]})
    place: Any = (lines[final[0]].time, final[0]) if final else None
    # The page is not full: continue after the last article read, not after the last copy found.
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


PARTNERS = 20  # Outlets of a list
NAMES = 1_000  # Outlets, or languages, that a form offers
RECENT = 5_000  # Articles whose languages a form offers, the newest


@dataclass(frozen=True, slots=True)
class Partner(Answer):
    """Another outlet that copies an outlet or is copied by it."""

    publication: str | None  # None: unknown. May be the outlet itself, for copies within it
    copies: int  # with times that show the order
    undated: int  # other copies
    median_delay: timedelta | None  # from the originals to the copies


@dataclass(frozen=True, slots=True)
class OutletPage(Figures):
    """An outlet, in a range of days."""

    copies_from: tuple[Partner, ...]  # outlets of the originals of its duplicates, the most copies first
    other_from: int  # number of such outlets not listed
    delay_from: timedelta | None  # median, without copies of its own articles
    copied_by: tuple[Partner, ...]  # outlets of the copies of its originals, the most copies first
    other_by: int
    delay_by: timedelta | None
    copied_counted: int  # counted copies of its articles
    more_copied: bool  # there are more than counted
    biggest: tuple[StoryLine, ...]  # stories that it began, the most copies first


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
    """Return the originality and the partners of an outlet, also of an unknown one; arguments as in `day`."""
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
    of_side = [row for row in rows if row[0] == side]
    more, seconds = (of_side[0][5] - len(of_side), of_side[0][6]) if of_side else (0, None)
    partners = (Partner(cut(row[1]), row[2], row[3], _span(row[4])) for row in of_side)
    return {name: tuple(partners), f"other_{side}": more, f"delay_{side}": _span(seconds)}


def _span(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)


def names(cursor: Cursor) -> tuple[str, ...]:
    """Return the outlets by name, without ones whose name is too long to be shown."""
    return _named(cursor, "outlet_names")


def agencies(cursor: Cursor) -> tuple[str, ...]:
    """Return the agencies whose credits are read, by name."""
    return _named(cursor, "agency_names")


def languages(cursor: Cursor) -> tuple[str, ...]:
    """Return the languages of the newest articles, by name."""
    return _named(cursor, "language_names")


def _named(cursor: Cursor, statement: str) -> tuple[str, ...]:
    rows = cursor.execute(_sql(statement), {"recent": RECENT, "limit": NAMES})
    return tuple(name for (name,) in rows.fetchall())
