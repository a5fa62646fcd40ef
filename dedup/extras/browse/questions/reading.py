"""What questions share: how they read, by indexes and writing nothing; lines of lists; places of pages."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeVar

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.article import storable
from dedup.base.errors import InputError
from dedup.base.times import from_microseconds, microseconds
from dedup.base.words import first_words
from dedup.db.arrays import bigints
from dedup.db.connection import set_values
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.store.stories import BEGINNING, delay_between, find_first_words, known

_sql = Statements("extras/browse/questions/questions")

_WAYS = {
    # A bitmap scan would read all of a range and sort it, where its first rows are asked for.
    **dict.fromkeys((f"enable_{way}" for way in ("seqscan", "bitmapscan", "hashjoin", "mergejoin")), "off"),
    "transaction_read_only": "on",
    "work_mem": "64MB",
}

TOKEN_CHARACTERS = 20_000
"""A longer word for the next page is none of ours: it names two source_ids at most."""

ROWS = 10_000
"""Most of one answer, whatever is asked for."""

_Row = TypeVar("_Row")


def begin(cursor: Cursor) -> None:
    """For the rest of the transaction: write nothing, and reach rows one by one through indexes. The planner
    cannot know how few rows are wanted; its other plans read whole tables.
    """
    cursor.execute(set_values(_WAYS, local=True))


def allow(cursor: Cursor, **ways: bool) -> None:
    """Let the next statements of the transaction use ways that `begin` has shut, or shut others."""
    values = {f"enable_{way}": "on" if allowed else "off" for way, allowed in ways.items()}
    cursor.execute(set_values(values, local=True))


def rows_of(asked: int | None, shown: int) -> int:
    """Return the number of rows of a list: those asked for, up to `ROWS`, or else those of a page."""
    return shown if asked is None else min(checks.whole_number("rows", asked, 1), ROWS)


def paged(read: Sequence[_Row], rows: int) -> tuple[Sequence[_Row], _Row | None]:
    """The rows of a page, of which one more was looked for; and the last of them where there are others."""
    return read[:rows], read[rows - 1] if len(read) > rows else None


def days(first: date | None, last: date | None) -> tuple[datetime, datetime]:
    """A range of days in UTC: its first moment, and the first one after it; None: there is no such bound."""
    if first is not None and last is not None and last < first:
        raise InputError(f"the range ends on {last}, before it begins on {first}")
    return moment(first or date.min), after(last or date.max)


def moment(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def after(day: date) -> datetime:
    """The first moment after a day in UTC; of the last day that there is, its last one."""
    if day == date.max:
        return datetime.max.replace(tzinfo=UTC)
    return moment(day + timedelta(days=1))


def token(*values: Any) -> str:
    """The word for a place in a list, of the values of its last row."""
    told = [microseconds(value) if isinstance(value, datetime) else value for value in values]
    return base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")


def position(word: str, *kinds: type) -> list[Any]:
    """The values of a token. Raises InputError: it is none, or one of another list."""
    plain = [int if kind is datetime else kind for kind in kinds]
    try:
        if len(word) > TOKEN_CHARACTERS:
            raise ValueError
        padded = word.encode("ascii") + b"=" * (-len(word) % 4)
        values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        if not isinstance(values, list) or [type(value) for value in values] != plain:
            raise ValueError
        if any(type(value) is str and storable(value) != value for value in values):
            raise ValueError
        if any(type(value) is int and not -(2**63) <= value < 2**63 for value in values):
            raise ValueError
        told = zip(values, kinds, strict=True)
        return [from_microseconds(value) if kind is datetime else value for value, kind in told]
    except (ValueError, OverflowError):
        raise InputError("that is no page of this list: begin with the first one") from None


def page_of_days(
    first: date | None, last: date | None, after: str | None
) -> tuple[datetime, tuple[datetime, int]]:
    """Of a range of days, the newest articles first: its first moment, and the place that all of a page is
    before.
    """
    since, end = days(first, last)
    if after is None:
        return since, (end, 0)
    time, id = position(after, datetime, int)
    return since, min((end, 0), (time, id))


# --- lines


LABEL_CHARACTERS = 300
"""Of a title or an outlet in a list; the rest is cut, and an ellipsis says so."""


LINK_CHARACTERS = 2_000
"""A longer address is left out: half of it would lead elsewhere."""

LINE_COPIES = 1_000
"""Copies of an article in a list that are counted."""


@dataclass(frozen=True, slots=True)
class ArticleLine(Answer):
    """An article in a list, without its text.

    Attributes:
        title, publication: cut to `LABEL_CHARACTERS`.
        first_words: of its text, where it has no title; else None.
        url: as it was given, of any scheme; None where there is none, or it is longer than
            `LINK_CHARACTERS`.
        copies: its duplicates, counted up to `LINE_COPIES`.
        time: when it was published, or stored where that is unknown; in UTC.
        published: whether it is the time of publication, and not implausible.
        status, score, reason: as of `Verdict`.
        stale: whether that is the last mark, and it is settled again.
        duplicate_of: source_id of the canonical article, for duplicates.
    """

    source_id: str
    title: str | None
    publication: str | None
    time: datetime
    published: bool
    status: str
    stale: bool
    archived: bool
    duplicate_of: str | None
    score: float | None
    reason: str | None
    copies: int
    url: str | None
    first_words: str | None = field(default=None, repr=False)

    def after(self, other: ArticleLine) -> timedelta | None:
        """How long after another it was published; None where times do not tell which was first."""
        times = (line.time if line.published else None for line in (self, other))
        return delay_between(*times)


@dataclass(frozen=True, slots=True)
class StoryLine(Answer):
    """A story in a list, by what is counted of it.

    Attributes:
        original: the canonical article.
        copies: duplicates that are counted.
        outlets: publications among the copies, each once; an article without one counts as its own.
        last_at: when the last copy that is counted was published, in UTC; None where one's time is unknown.
        reached: from the canonical article until `SPREAD_OUTLETS` outlets but its own had it; None where
            fewer did, or where the canonical article is of an earlier time than is counted.
    """

    original: ArticleLine
    copies: int
    outlets: int
    last_at: datetime | None
    reached: timedelta | None

    @property
    def lasted(self) -> timedelta | None:
        """From the canonical article to the last copy; None where times do not tell."""
        return delay_between(self.last_at, self.original.time if self.original.published else None)


@dataclass(frozen=True, slots=True)
class CopyLine(Answer):
    """A duplicate beside its canonical article. `delay`: how long after the canonical article it appeared;
    below 0 where the order is another one; None where times do not tell. `sentence_jaccard`,
    `signature_jaccard`, `containment`: of the pair; None where it is not stored.
    """

    article: ArticleLine
    delay: timedelta | None
    sentence_jaccard: float | None
    signature_jaccard: float | None
    containment: float | None


LABEL = f"left({{}}, {LABEL_CHARACTERS + 1})"
"""A column of which no more is read than is shown."""

_LABELS = (1, 2, 10)
"""The places of title, publication and reason in a line."""


def lines_of(cursor: Cursor, ids: Collection[int]) -> dict[int, ArticleLine]:
    found: dict[int, list[Any]] = {}
    given = {"ids": bigints(list(ids)), "characters": LABEL_CHARACTERS + 1, "copies": LINE_COPIES}
    given |= {"longest": LINK_CHARACTERS, "beginning": BEGINNING}
    for id, *values in cursor.execute(_sql("lines", known=known("a")), given).fetchall():
        for place in _LABELS:
            values[place] = cut(values[place])
        values[-1] = values[-1] and first_words(values[-1])
        found[id] = values
    # The text of an attached article is elsewhere.
    others = find_first_words(cursor, ((row[0], row[1]) for row in found.values() if row[-1] is None))
    for values in found.values():
        values[-1] = values[-1] or others.get(values[0])
    return {id: ArticleLine(*values) for id, values in found.items()}


def cut(label: str | None) -> str | None:
    """A label of at most `LABEL_CHARACTERS`, and an ellipsis where there is more."""
    if label is None or len(label) <= LABEL_CHARACTERS:
        return label
    return label[:LABEL_CHARACTERS] + "…"
