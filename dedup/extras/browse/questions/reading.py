"""Shared parts of the queries: settings that enforce indexes, articles in lists, and tokens of pages."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, TypeVar

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.article import storable
from dedup.base.errors import InputError
from dedup.base.times import from_microseconds, microseconds, range_of_days
from dedup.base.words import first_words
from dedup.db.arrays import bigints
from dedup.db.connection import set_values
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.store.stories import BEGINNING, StoryOrigin, delay_between, find_first_words

_sql = Statements("extras/browse/questions/questions")

_WAYS = {
    # A bitmap scan would read and sort a whole range, although a page needs only the first rows of the range.
    **dict.fromkeys((f"enable_{way}" for way in ("seqscan", "bitmapscan", "hashjoin", "mergejoin")), "off"),
    "transaction_read_only": "on",
    "work_mem": "64MB",
}

TOKEN_CHARACTERS = 20_000  # Maximum length of a token; two of the longest source_ids fit, as JSON in base64
ROWS = 10_000  # Maximum number of rows of an answer

_Row = TypeVar("_Row")


def begin(cursor: Cursor) -> None:
    """Make the rest of the transaction read-only, and let it reach rows only one by one through indexes."""
    # The planner cannot know how few rows are needed, and would choose plans that read whole tables.
    cursor.execute(set_values(_WAYS, local=True))


def allow(cursor: Cursor, **ways: bool) -> None:
    """Allow or forbid scan and join methods for the next statements of the transaction."""
    values = {f"enable_{way}": "on" if allowed else "off" for way, allowed in ways.items()}
    cursor.execute(set_values(values, local=True))


def rows_of(asked: int | None, shown: int) -> int:
    """Return the number of rows to list: `asked`, at most `ROWS`; or `shown` if `asked` is None."""
    return shown if asked is None else min(checks.whole_number("rows", asked, 1), ROWS)


def paged(read: Sequence[_Row], rows: int) -> tuple[Sequence[_Row], _Row | None]:
    """Return at most `rows` rows, and the row after which the next page begins; None without a next page."""
    return read[:rows], read[rows - 1] if len(read) > rows else None


def token(*values: Any) -> str:
    """Return a token for the next page. `values`: the sort key of the last row of this page."""
    # Times become whole microseconds, which JSON writes exactly.
    told = [microseconds(value) if isinstance(value, datetime) else value for value in values]
    return base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")


def position(word: str, *kinds: type) -> list[Any]:
    """Return the values in a token; raise InputError for a broken token, or if the types are not `kinds`."""
    plain = [int if kind is datetime else kind for kind in kinds]  # a token has times as microseconds
    try:
        if len(word) > TOKEN_CHARACTERS:
            raise ValueError
        padded = word.encode("ascii") + b"=" * (-len(word) % 4)
        values = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        # Types are compared exactly, because `isinstance(True, int)` is true.
        if not isinstance(values, list) or [type(value) for value in values] != plain:
            raise ValueError
        # A visitor may send anything as a token. Postgres would fail on a NUL and on numbers beyond 64 bits.
        if any(type(value) is str and storable(value) != value for value in values):
            raise ValueError
        if any(type(value) is int and not -(2**63) <= value < 2**63 for value in values):
            raise ValueError
        told = zip(values, kinds, strict=True)
        return [from_microseconds(value) if kind is datetime else value for value, kind in told]
    except (ValueError, OverflowError):
        raise InputError("`after` is not a token of this list: begin with the first page") from None


def page_of_days(
    first: date | None, last: date | None, after: str | None
) -> tuple[datetime, tuple[datetime, int]]:
    """Return the bounds of a page: the earliest time, and a position (time, id) later than its articles.

    `after`: the token of the page.
    """
    since, end = range_of_days(first, last)
    if after is None:
        return since, (end, 0)
    time, id = position(after, datetime, int)
    return since, min((end, 0), (time, id))


LABEL_CHARACTERS = 300  # Maximum length of a title, outlet or reason in a list; a cut text ends with …
LINK_CHARACTERS = 2_000  # Maximum length of an address in a list; a longer address is left out
LINE_COPIES = 1_000  # Copies of an article in a list are counted up to this number


@dataclass(frozen=True, slots=True)
class ArticleLine(Answer):
    """An article in a list, without its text. Title, outlet and reason are cut to `LABEL_CHARACTERS`."""

    source_id: str
    title: str | None
    publication: str | None
    time: datetime  # time of publication or, if none is stored, of storing; in UTC
    published: bool  # whether `time` is a plausible time of publication
    status: str
    stale: bool  # the mark is outdated and must be settled again
    archived: bool
    duplicate_of: str | None  # source_id of the original
    score: float | None
    reason: str | None
    copies: int  # number of copies, counted up to `LINE_COPIES`
    url: str | None  # may have any scheme; None if longer than `LINK_CHARACTERS`
    correction: str | None  # phrase by which the article announces that it is a correction
    first_words: str | None = field(default=None, repr=False)  # None if there is a title

    def after(self, other: ArticleLine) -> timedelta | None:
        """Return the delay after another article; None if times do not tell which was first."""
        times = (line.time if line.published else None for line in (self, other))
        return delay_between(*times)


@dataclass(frozen=True, slots=True)
class StoryLine(Answer):
    """A story in a list. Only the counted articles of a range contribute to the figures."""

    original: ArticleLine
    copies: int
    outlets: int  # number of other outlets that have copies, unknown outlets included
    last_at: datetime | None  # time of the last copy, in UTC; None if the time of a copy is unknown
    # Time from the original until `SPREAD_OUTLETS` other outlets had a copy; None if fewer outlets had a copy
    # or the original is not counted.
    reached: timedelta | None
    origin: StoryOrigin | None  # the agency or outlet that the text is from

    @property
    def lasted(self) -> timedelta | None:
        """The time from the original to the last copy; None if unknown."""
        return delay_between(self.last_at, self.original.time if self.original.published else None)


@dataclass(frozen=True, slots=True)
class CopyLine(Answer):
    """A duplicate with its delay, and the measures of its match with the original (None if not stored)."""

    article: ArticleLine
    delay: timedelta | None  # time since the original; negative if the copy came first, None if unknown
    sentence_jaccard: float | None
    signature_jaccard: float | None
    containment: float | None


FURNITURE = 30  # Maximum number of sentences at the beginning of an untitled text that are skipped if common
LEAST = 20  # Minimum number of characters of the sentence that names an untitled article

LABEL = f"left({{}}, {LABEL_CHARACTERS + 1})"  # SQL; an extra character tells `cut` that the text is too long

_LABELS = (1, 2, 10)  # Indexes of title, publication and reason in a row of the statement `lines`


def lines_of(cursor: Cursor, ids: Collection[int]) -> dict[int, ArticleLine]:
    found: dict[int, list[Any]] = {}
    given = {"ids": bigints(list(ids)), "characters": LABEL_CHARACTERS + 1, "copies": LINE_COPIES}
    given |= {"longest": LINK_CHARACTERS, "beginning": BEGINNING, "sentences": FURNITURE}
    for id, *values, common, start in cursor.execute(_sql("lines"), given).fetchall():
        for place in _LABELS:
            values[place] = cut(values[place])
        found[id] = [*values, start and first_words(_first_sentence(start, common))]
    # Attached articles have no text in dedup.article: their texts are in the attached tables.
    others = find_first_words(cursor, ((row[0], row[1]) for row in found.values() if row[-1] is None))
    for values in found.values():
        values[-1] = values[-1] or others.get(values[0])
    return {id: ArticleLine(*values) for id, values in found.items()}


def _first_sentence(start: str, common: Sequence[str]) -> str:
    """Return the first sentence that is not common; the whole text if all its sentences are common."""
    words = (r"\W+".join(re.findall(r"\w+", sentence)) for sentence in common)
    furniture = "|".join(sorted(filter(None, words), key=len, reverse=True))
    for part in re.split(rf"(?:{furniture})\W*", start, flags=re.IGNORECASE) if furniture else [start]:
        if len(part.strip()) >= LEAST:
            sentence = re.match(rf".{{{LEAST},}}?[.!?](?=\s)", part.strip(), re.DOTALL)
            return sentence[0] if sentence else part
    return start


def cut(label: str | None) -> str | None:
    if label is None or len(label) <= LABEL_CHARACTERS:
        return label
    return label[:LABEL_CHARACTERS] + "…"


COPIES_COUNTED = 10_000  # Copies of a story are counted up to this number


def printed_by(cursor: Cursor, article_id: int, *, copied: bool) -> str | None:
    """Return a line such as "AP, printed by 13 outlets; 1 origin" about the story of an article.

    Return None for an outlet's own text without copies. `copied`: whether the story has copies.
    """
    row = cursor.execute(_sql("origin"), {"id": article_id, "counted": COPIES_COUNTED}).fetchone()
    if row is None or not (copied or row[0] == "agency"):
        return None
    return StoryOrigin(*row[:2]).printed_by(row[2])
