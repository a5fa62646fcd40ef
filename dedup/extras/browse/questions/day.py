"""What happened on a day, or in a range of days: figures, stories, outlets, and what waits or failed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

from dedup.base.answer import Answer
from dedup.base.times import from_microseconds
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions.counting import Figures, Grouping, Marks, Only, counted, figures
from dedup.extras.browse.questions.reading import LABEL, ArticleLine, StoryLine, cut, lines_of, rows_of
from dedup.store.stories import delay

_sql = Statements("extras/browse/questions/questions")

LISTED = 10
"""Stories of a list."""

OUTLETS, TROUBLES, EXAMPLES = 20, 20, 5
"""Outlets, kinds of troubles, and examples of each that are shown."""

SPREAD_OUTLETS = 3
"""Outlets but its own that a story has to reach to be one of the fastest."""


@dataclass(frozen=True, slots=True)
class OutletMarks(Answer):
    """What an outlet printed; `publication` is None for articles of which that is unknown."""

    publication: str | None
    marks: Marks


@dataclass(frozen=True, slots=True)
class Trouble(Answer):
    """Articles without a mark that counts, of one kind and reason. `reason`: why they failed, or which safety
    limit left them to the next backfill; without numbers. None: they wait for the next backfill as any other.
    `examples`: the newest of them.
    """

    kind: Literal["pending", "stale", "failed"]
    reason: str | None
    articles: int
    examples: tuple[ArticleLine, ...]


@dataclass(frozen=True, slots=True)
class LanguageMarks(Answer):
    """What was printed in a language; `language` is None for articles of which that is not said."""

    language: str | None
    marks: Marks


@dataclass(frozen=True, slots=True)
class Day(Figures):
    """A day, or a range of days.

    Attributes:
        hours: articles by hour of the day, 24 numbers; without `undated`.
        outlets: those of the most articles.
        other_outlets: how many outlets more there are.
        languages: those of the most articles.
        biggest: the stories of the most copies among the articles counted.
        fastest: stories that began in what is counted, those that reached `SPREAD_OUTLETS` soonest.
        troubles: of the articles counted.
    """

    hours: tuple[int, ...]
    outlets: tuple[OutletMarks, ...]
    other_outlets: int
    languages: tuple[LanguageMarks, ...]
    biggest: tuple[StoryLine, ...]
    fastest: tuple[StoryLine, ...]
    troubles: tuple[Trouble, ...]


def newest_day(cursor: Cursor) -> date | None:
    """The day of the newest article that is not in the future, in UTC; None where there is none."""
    row = cursor.execute(_sql("newest_day")).fetchone()
    return row[0].date() if row else None


def day(
    cursor: Cursor,
    first: date | None = None,
    last: date | None = None,
    *,
    by: Grouping | None = None,
    publication: str | None = None,
    language: str | None = None,
    credit: str | None = None,
    rows: int | None = None,
) -> Day:
    """A day, a range of days with both ends, or without any the whole corpus.

    `by`: what its articles are counted by; the next larger grouping takes its place where a page would have
    too many periods, and None takes the finest that makes few. `publication`, `language`: only these
    articles; `credit`: only those that credit this agency. `rows`: of every list at most, in place of what a
    page shows. Raises InputError: the last day is before the first, or there is no such grouping.
    """
    found, (tally, credits, hours, outlets, languages, biggest, fastest, troubles) = counted(
        cursor,
        "day",
        (first, last),
        Only(publication, language, credit),
        {"listed": rows_of(rows, LISTED), "outlets": rows_of(rows, OUTLETS)}
        | {"troubles": rows_of(rows, TROUBLES), "examples": EXAMPLES, "spread": SPREAD_OUTLETS},
        publication=LABEL.format("publication"),
        language=LABEL.format("language"),
        delay=delay("c.known_at", "o.known_at"),
    )
    stories = (biggest or []) + (fastest or [])
    ids = {story[0] for story in stories} | {id for trouble in troubles or [] for id in trouble[3]}
    lines = lines_of(cursor, ids)
    by_hour = dict(hours or [])
    return Day(
        **figures(found, tally, credits, by),
        hours=tuple(by_hour.get(hour, 0) for hour in range(24)),
        outlets=tuple(OutletMarks(cut(name), Marks(*counts)) for name, _, *counts in outlets or []),
        other_outlets=max(0, outlets[0][1] - len(outlets)) if outlets else 0,
        languages=tuple(LanguageMarks(cut(name), Marks(*counts)) for name, *counts in languages or []),
        biggest=stories_of(biggest, lines),
        fastest=stories_of(fastest, lines),
        troubles=tuple(
            Trouble(kind, cut(reason), articles, tuple(lines[id] for id in examples if id in lines))
            for kind, reason, articles, examples in troubles or []
        ),
    )


def stories_of(rows: list[list[Any]] | None, lines: dict[int, ArticleLine]) -> tuple[StoryLine, ...]:
    """Stories as they were counted: id, copies, outlets, and two times in microseconds, or None."""
    found = []
    for id, copies, outlets, last_at, reached in rows or []:
        if id in lines:
            spread = None if reached is None else timedelta(microseconds=reached)
            last = None if last_at is None else from_microseconds(last_at)
            found.append(StoryLine(lines[id], copies, outlets, last, spread))
    return tuple(found)
