"""Show who copies whom: pairs of outlets, the copies behind a pair, and a single outlet."""

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

PAIRS = 200  # Maximum number of pairs in `CopiedOutlets.cells` and in `shared`: those with the most copies
TIED = 100  # Maximum number of outlets in `CopiedOutlets.shared`, because n outlets make n² / 2 pairs
CELL_PAGE = 50  # Maximum number of copies on a page
CELL_SCANNED = 5_000  # Maximum number of articles of the copying outlet that are read for a page


@dataclass(frozen=True, slots=True)
class Cell(Answer):
    """Two outlets, and the number of copies that `copier` made of articles of `original`.

    If the order is unknown, `copies` is the number of stories of which either outlet may have been the first.
    """

    copier: str
    original: str
    copies: int
    median_delay: timedelta | None  # median time from an original to its copy; None: order unknown


@dataclass(frozen=True, slots=True)
class CopiedOutlets(Counted):
    """Numbers of copies that appeared in a range of days, by copying outlet and outlet of the original."""

    copies: int  # all counted duplicates: the sum of `cells`, `other`, `own`, `unknown` and `undated`
    cells: tuple[Cell, ...]  # pairs of different outlets, the most copies first
    pairs: int  # number of all pairs of different outlets; `cells` may have fewer
    other: int  # copies of pairs that are left out of `cells`
    own: int  # copies that an outlet made of its own articles
    unknown: int  # later copies for which the outlet of the copy or of the original is unknown
    undated: int  # copies that are not known to be later than the original
    shared: tuple[Cell, ...]  # pairs without a known first outlet; the pair with most stories comes first


@dataclass(frozen=True, slots=True)
class Copied(Answer):
    """A copy and its original."""

    original: ArticleLine
    copy: CopyLine


@dataclass(frozen=True, slots=True)
class CopiedPage(Answer):
    """Later copies that one outlet made of the articles of another outlet, the newest first."""

    copies: tuple[Copied, ...]
    after: str | None  # token of the next page; None on the last page
    more: bool  # the search reached a limit: further pages may have copies, even if this page is empty


def outlets(
    cursor: Cursor,
    first: date | None = None,
    last: date | None = None,
    *,
    publication: str | None = None,
    language: str | None = None,
    credit: str | None = None,
    family: str | None = None,
    rows: int | None = None,
) -> CopiedOutlets:
    """Return the numbers of copies between outlets.

    `first`, `last`: as in `day`. `rows`: the maximum number of pairs. The other arguments filter the
    copies. Raises InputError for a range that ends before it begins.
    """
    found, (copies, unknown, undated, own, pairs, cells, shared) = counted(
        cursor,
        "outlets",
        (first, last),
        Only(publication, language, credit, family),
        {"pairs": rows_of(rows, PAIRS), "tied": TIED},
    )
    shown = tuple(
        Cell(copier, original, count, timedelta(seconds=seconds))
        for copier, original, count, seconds in cells or []
    )
    other = copies - unknown - undated - own - sum(cell.copies for cell in shown)
    counts = {"copies": copies, "other": other, "own": own, "unknown": unknown, "undated": undated}
    ties = tuple(Cell(one, other, stories, None) for one, other, stories in shared or [])
    return CopiedOutlets(**found, **counts, pairs=pairs, cells=shown, shared=ties)


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
    family: str | None = None,
    rows: int | None = None,
) -> CopiedPage:
    """Return a page of the copies that an outlet made of another; raise InputError for a wrong argument."""
    only = Only(checks.text("copier", copier), language, credit, family)
    since, until = reading.page_of_days(first, first if last is None else last, after)
    page = rows_of(rows, CELL_PAGE)
    given = {"original": checks.text("original", original), "limit": CELL_SCANNED, "page": page + 1}
    given |= {"since": since, "until": until[0], "before": until[1], **only.given}
    parts = {"delay_copied": delay(known("c"), "o.known_at"), **only.parts}
    shown, final = paged(cursor.execute(_sql("copied", **parts), given).fetchall(), page)
    lines = lines_of(cursor, {id for row in shown for id in row[:2]})
    place: Any = (lines[final[0]].time, final[0]) if final else None
    # If this page is not full, the next page begins after the last article read, not the last copy found.
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


PARTNERS = 20  # Maximum number of outlets in a list of partners
NAMES = 1_000  # Maximum number of names that a field of a form offers
RECENT = 5_000  # Number of newest articles that are read to list languages


@dataclass(frozen=True, slots=True)
class Partner(Answer):
    """An outlet that copies the outlet of the page, or that the outlet of the page copies."""

    publication: str | None  # None: unknown. An outlet that copies itself is its own partner
    copies: int  # copies that are known to be later than the original
    undated: int  # stories of which either outlet may have been the first
    median_delay: timedelta | None  # median time from an original to its copy


@dataclass(frozen=True, slots=True)
class OutletPage(Figures):
    """Counts, partners and stories of an outlet in a range of days."""

    copies_from: tuple[Partner, ...]  # outlets that this outlet copies, the most copies first
    other_from: int  # number of outlets left out of `copies_from`
    delay_from: timedelta | None  # median delay of this outlet's copies of other outlets' articles
    copied_by: tuple[Partner, ...]  # outlets that copy this outlet, the most copies first
    other_by: int  # number of outlets left out of `copied_by`
    delay_by: timedelta | None  # median delay of other outlets' copies of this outlet's articles
    copied_counted: int  # number of later copies of this outlet's articles; at most `COUNTED` copies are read
    more_copied: bool  # reading stopped at `COUNTED` copies, so there may be more
    biggest: tuple[StoryLine, ...]  # stories that this outlet began, the most copies first


def outlet(
    cursor: Cursor,
    publication: str,
    first: date | None = None,
    last: date | None = None,
    *,
    by: Grouping | None = None,
    language: str | None = None,
    credit: str | None = None,
    family: str | None = None,
    rows: int | None = None,
) -> OutletPage:
    """Return counts and partners of an outlet; 0 and empty for an unknown outlet. For arguments see `day`."""
    found, (tally, credits, read, copied, sides, biggest) = counted(
        cursor,
        "outlet",
        (first, last),
        Only(checks.text("publication", publication), language, credit, family),
        {"copied": COUNTED, "partners": rows_of(rows, PARTNERS)}
        | {"listed": rows_of(rows, LISTED), "outlets": rows_of(rows, OUTLETS)},
        label=LABEL.format("other"),
    )
    lines = lines_of(cursor, {story[0] for story in biggest or []})
    return OutletPage(
        **figures(found, tally, credits, by),
        **_partners(sides or [], "from", "copies_from"),
        **_partners(sides or [], "by", "copied_by"),
        copied_counted=copied,
        more_copied=read == COUNTED,
        biggest=stories_of(cursor, biggest, lines),
    )


def _partners(rows: list[list[Any]], side: str, name: str) -> dict[str, Any]:
    of_side = [row for row in rows if row[0] == side]
    more, seconds = (of_side[0][5] - len(of_side), of_side[0][6]) if of_side else (0, None)
    partners = (Partner(cut(row[1]), row[2], row[3], _span(row[4])) for row in of_side)
    return {name: tuple(partners), f"other_{side}": more, f"delay_{side}": _span(seconds)}


def _span(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)


def names(cursor: Cursor) -> tuple[str, ...]:
    """Return the sorted names of outlets, without names that are too long for the index."""
    return _named(cursor, "outlet_names")


def agencies(cursor: Cursor) -> tuple[str, ...]:
    """Return the sorted names of the agencies that articles can credit."""
    return _named(cursor, "agency_names")


def families(cursor: Cursor) -> tuple[str, ...]:
    """Return the sorted names of the families of outlets."""
    return _named(cursor, "family_names")


def languages(cursor: Cursor) -> tuple[str, ...]:
    """Return the sorted languages of the newest articles."""
    return _named(cursor, "language_names")


def _named(cursor: Cursor, statement: str) -> tuple[str, ...]:
    rows = cursor.execute(_sql(statement), {"recent": RECENT, "limit": NAMES})
    return tuple(name for (name,) in rows.fetchall())
