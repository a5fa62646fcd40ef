"""Who copies whom: outlets against outlets, and the copies behind each cell."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from dedup.answer import Answer
from dedup.corpus.browsing import reading
from dedup.corpus.browsing.lines import LINE, LINE_COLUMNS, TIME, ArticleLine, CopyLine, line
from dedup.corpus.database import Cursor
from dedup.corpus.statements import statement

MATRIX_OUTLETS = 40
"""Outlets of a matrix, those of the most copies made and given."""

COUNTED = 50_000
"""Articles of a range that are looked at, the newest."""

CELL_PAGE = 50
"""Copies of a page."""

CELL_SCANNED = 5_000
"""Articles of the copier that are looked at for a page."""


@dataclass(frozen=True, slots=True)
class Cell(Answer):
    """How often one outlet had what another had before.

    Attributes:
        copier, original: outlets of the copies and of the canonical articles.
        median_delay: from the canonical articles to the copies.
    """

    copier: str
    original: str
    copies: int
    median_delay: timedelta


@dataclass(frozen=True, slots=True)
class Matrix(Answer):
    """Copies that appeared in a range of days, by the outlets of both articles.

    Attributes:
        first, last: days in UTC, both are in it.
        counted_from: as of `Day`: None where all is counted.
        copies: duplicates that are counted.
        outlets: at most `MATRIX_OUTLETS`, those of the most copies first.
        cells: those with a copy, the most copies first; both outlets are in `outlets`.
        other: copies of which an outlet is not in `outlets`.
        unknown: copies of which an outlet is not known; not among `other`.
    """

    first: date
    last: date
    counted_from: datetime | None
    copies: int
    outlets: tuple[str, ...]
    cells: tuple[Cell, ...]
    other: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Copied(Answer):
    """A copy and the canonical article that it copies."""

    original: ArticleLine
    copy: CopyLine


@dataclass(frozen=True, slots=True)
class CopiedPage(Answer):
    """The copies behind a cell, the newest first, those before `Matrix.counted_from` too.

    `after` and `more` as of `search.Page`.
    """

    copies: tuple[Copied, ...]
    after: str | None
    more: bool


def outlets(cursor: Cursor, first: date, last: date | None = None, *, counted: int = COUNTED) -> Matrix:
    """Who copies whom.

    Args:
        counted: articles that are looked at, at most.

    Raises:
        InputError: as of `reading.days`.
    """
    since, until = reading.days(first, last)
    row = cursor.execute(
        statement("browse_outlets"),
        {"since": since, "until": until, "limit": counted, "outlets": MATRIX_OUTLETS},
    ).fetchone()
    assert row is not None
    number, earliest, copies, unknown, names, cells = row
    shown = tuple(
        Cell(copier, original, count, timedelta(seconds=delay))
        for copier, original, count, delay in cells or []
    )
    return Matrix(
        first=first,
        last=first if last is None else last,
        counted_from=reading.counted_from(cursor, since, earliest) if number == counted else None,
        copies=copies,
        outlets=tuple(names),
        cells=shown,
        other=copies - unknown - sum(cell.copies for cell in shown),
        unknown=unknown,
    )


def copied(
    cursor: Cursor, copier: str, original: str, first: date, last: date | None, after: str | None
) -> CopiedPage:
    """The copies behind a cell, the newest first.

    Raises:
        InputError: as of `reading.days`, or `after` is of no page.
    """
    since, end = reading.days(first, last)
    until = min((end, 0), reading.moment_place(after, end, 0))
    given = {
        "copier": copier,
        "original": original,
        "since": since,
        "until": until[0],
        "before": until[1],
        "scanned": CELL_SCANNED,
    }
    rows = cursor.execute(_COPIED.encode(), given).fetchall()
    ends = rows[CELL_PAGE - 1] if len(rows) > CELL_PAGE else None
    place = (line(ends).time, ends[LINE_COLUMNS]) if ends else None
    more = False
    if place is None:
        place = cursor.execute(_SCANNED_TO.encode(), given).fetchone()
        more = place is not None
    return CopiedPage(
        tuple(_copied(row) for row in rows[:CELL_PAGE]),
        reading.token(reading.microseconds(place[0]), place[1]) if place else None,
        more,
    )


# As the index of outlets has it.
_OF_COPIER = f"""
    SELECT m.* FROM dedup.article m
    WHERE left(m.publication, 100) COLLATE "C" = left(%(copier)s, 100) AND m.publication IS NOT NULL
      AND {TIME} >= %(since)s AND ({TIME}, m.id) < (%(until)s, %(before)s)
    ORDER BY {TIME} DESC, m.id DESC LIMIT %(scanned)s
"""

_COPIED = f"""
    SELECT {LINE}, m.id, o.*, p.sentence_jaccard, p.signature_jaccard, p.containment
    FROM (SELECT c.*, o.source_id AS original_source_id, c.duplicate_of AS original_id
          FROM ({_OF_COPIER}) AS c
          CROSS JOIN LATERAL (SELECT source_id, publication FROM dedup.article a
                              WHERE a.id = c.duplicate_of OFFSET 0) AS o
          WHERE c.publication = %(copier)s AND o.publication = %(original)s LIMIT {CELL_PAGE + 1}) AS m
    CROSS JOIN LATERAL (SELECT {LINE} FROM dedup.mark m WHERE m.id = original_id OFFSET 0) AS o
    LEFT JOIN dedup.match p ON p.article_id = m.id AND p.other_id = m.duplicate_of
"""

_SCANNED_TO = f"""
    SELECT at, id
    FROM (SELECT {TIME} AS at, m.id, row_number() OVER () AS place FROM ({_OF_COPIER}) AS m) AS scanned
    WHERE place = %(scanned)s
"""


def _copied(row: tuple[Any, ...]) -> Copied:
    copy, original = line(row), line(row[LINE_COLUMNS + 1 :])
    return Copied(original, CopyLine(copy, copy.time - original.time, *row[2 * LINE_COLUMNS + 1 :]))
