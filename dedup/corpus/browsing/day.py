"""What happened on a day, or in a range of days: figures, stories, outlets, and what waits or failed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from dedup.answer import Answer
from dedup.corpus.browsing.lines import ArticleLine, StoryLine

SPREAD_OUTLETS = 3
"""Outlets but its own that a story has to reach to be one of the fastest."""


@dataclass(frozen=True, slots=True)
class Marks(Answer):
    """Articles by mark.

    Attributes:
        stale: of those that are unique, similar or duplicates: with a mark that is to be settled again.
    """

    articles: int
    unique: int
    similar: int
    duplicate: int
    pending: int
    failed: int
    stale: int

    @property
    def new(self) -> int:
        """Articles that are no copies."""
        return self.unique + self.similar

    @property
    def share_new(self) -> float | None:
        """Of the articles that have a mark those that are no copies, from 0 to 1; None without any."""
        marked = self.new + self.duplicate
        return self.new / marked if marked else None


@dataclass(frozen=True, slots=True)
class DayMarks(Answer):
    """The marks of one day, in UTC."""

    day: date
    marks: Marks


@dataclass(frozen=True, slots=True)
class OutletMarks(Answer):
    """What an outlet printed; `publication` is None for articles of which that is unknown."""

    publication: str | None
    marks: Marks


@dataclass(frozen=True, slots=True)
class Trouble(Answer):
    """Articles without a mark that counts, of one kind and reason.

    Attributes:
        reason: why they failed, or which safety limit left them to the next backfill; without numbers.
            None: they wait for the next backfill as any other.
        examples: the newest of them.
    """

    kind: Literal["pending", "stale", "failed"]
    reason: str | None
    articles: int
    examples: tuple[ArticleLine, ...]


@dataclass(frozen=True, slots=True)
class Day(Answer):
    """A day, or a range of days, in UTC. An article counts on the day of its time (`ArticleLine.time`).

    Attributes:
        first, last: both days are in it.
        counted_from: None: all is counted. Else the range has more articles than are counted, and every
            figure is of those from this time on (the first day of `days` may be a part of a day).
        hours: articles by hour of the day, 24 numbers.
        days: the days that are counted, the earliest first, those without articles too.
        outlets: those of the most articles.
        other_outlets: how many outlets more there are.
        biggest: the stories of the most copies among the articles counted.
        fastest: stories that began in what is counted, those that reached `SPREAD_OUTLETS` soonest.
        troubles: of the articles counted.
    """

    first: date
    last: date
    counted_from: datetime | None
    marks: Marks
    hours: tuple[int, ...]
    days: tuple[DayMarks, ...]
    outlets: tuple[OutletMarks, ...]
    other_outlets: int
    biggest: tuple[StoryLine, ...]
    fastest: tuple[StoryLine, ...]
    troubles: tuple[Trouble, ...]
