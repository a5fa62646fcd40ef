"""Who copies whom: outlets against outlets, and the copies behind each cell."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from dedup.answer import Answer
from dedup.corpus.browsing.lines import ArticleLine, CopyLine

MATRIX_OUTLETS = 40
"""Outlets of a matrix, those of the most copies made and given."""


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
    """The copies behind a cell, the newest first; `after` and `more` as of `search.Page`."""

    copies: tuple[Copied, ...]
    after: str | None
    more: bool
