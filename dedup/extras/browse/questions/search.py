"""Search articles by words, outlet, date, address or source_id, the newest first, page by page.

A search by words needs the index that `dedup init --search` makes (`word_index.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.schema import program
from dedup.base.verdict import StatusName
from dedup.db.arrays import bigints
from dedup.db.database import Cursor
from dedup.db.rendering import schema_of
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.extras.browse.questions.counting import Only, condition_of
from dedup.extras.browse.questions.reading import ArticleLine, lines_of, paged, rows_of
from dedup.store.stories import known
from dedup.store.word_index import (
    FOLDED,
    WORDS,
    block,
    block_start,
    index_is_complete,
    mark,
    pattern_of,
)

_sql = Statements("extras/browse/questions/questions")

SEARCH_PAGE = 50  # Maximum number of articles on a page
WORDS_CHARACTERS = 1_000  # Maximum length of the words to search for
SCANNED = 10_000  # Maximum number of articles read for a page if no index finds the matching articles
FEW = 2_000  # Maximum number of hits that are all read; with more hits, only the newest days are read
STEPS = 60  # Maximum number of days, or blocks of days, read for a page
SNIPPET_FROM = 20_000  # Number of characters at the beginning of a text in which a snippet is looked for
AROUND = 120  # Maximum number of characters of a snippet before the word, and also after the word
GIVEN = FOLDED.format("%(words)s::text")  # SQL: the words without accents, as in the index

Position = tuple[datetime, int]  # Time and id of an article, by which results are ordered


@dataclass(frozen=True, slots=True)
class Snippet(Answer):
    """A piece of a text around the first hit of a search."""

    before: str = field(repr=False)
    word: str = field(repr=False)
    behind: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Found(Answer):
    """An article that a search found."""

    article: ArticleLine
    snippet: Snippet | None  # None for a search without words, or if only the title has the words


@dataclass(frozen=True, slots=True)
class Page(Answer):
    """A page of found articles."""

    found: tuple[Found, ...]  # the newest first
    after: str | None  # token of the next page; None on the last page
    more: bool  # the search reached a limit: further pages may have articles, even if this page is empty


@dataclass(frozen=True, slots=True)
class SearchWanted:
    """A search whose arguments have been checked."""

    only: Only
    condition: str  # SQL condition, without the range of time
    values: dict[str, Any]  # parameters of statements
    since: datetime  # first moment of the range of days
    until: Position  # only articles before this position are found
    page: int  # maximum number of articles on a page


def search(
    cursor: Cursor,
    words: str | None = None,
    *,
    publication: str | None = None,
    language: str | None = None,
    credit: str | None = None,
    status: StatusName | None = None,
    dated: bool | None = None,
    first: date | None = None,
    last: date | None = None,
    url: str | None = None,
    source_id: str | None = None,
    after: str | None = None,
    rows: int | None = None,
) -> Page:
    """Return the articles that fulfil all conditions, the newest first.

    All `words` must be in title or text; case and accents are ignored. The UTC days `first` and `last` are
    included. `dated`: only articles with (True) or without (False) a plausible publication time. `rows`: list
    up to this many articles, without snippets. Raises InputError without word index or for a wrong `after`.
    """
    for name, value in (("words", words), ("url", url), ("source_id", source_id)):
        checks.optional(checks.text, name, value)
    if words is not None and len(words) > WORDS_CHARACTERS:
        raise InputError(f"search for at most {WORDS_CHARACTERS:,} characters")
    only, (since, until) = Only(publication, language, credit), reading.page_of_days(first, last, after)
    named = {"status": status, "url": url, "source_id": source_id}
    given = {name: value for name, value in named.items() if value is not None} | only.given
    condition = condition_of(given)
    if dated is not None:
        condition += f" AND ({known('found')}) IS {'NOT ' if dated else ''}NULL"
    values = {**given, "since": since, "until": until[0], "before": until[1]}
    what = SearchWanted(only, condition, values, since, until, rows_of(rows, SEARCH_PAGE))
    goes_on: Position | None = None
    if words is not None:
        if not index_is_complete(cursor):
            command = f"{program(schema_of(cursor))} init --search"
            raise InputError(f"words cannot be searched yet: run `{command}` to make the index")
        # Only bitmap scans can read the GIN index of words; other index scans would walk the index of times.
        reading.allow(cursor, bitmapscan=True, indexscan=False, indexonlyscan=False)
        positions, goes_on = _with_words(cursor, what, words)
        reading.allow(cursor, bitmapscan=False, indexscan=True, indexonlyscan=True)
    elif source_id is not None or url is not None:
        positions = _named(cursor, what, "url" if source_id is None else "source_id")
    else:
        positions, goes_on = _in_order(cursor, what)
    page, final = paged(positions, what.page)
    shown = [id for _, id in page]
    lines = lines_of(cursor, shown)
    snippets = _snippets(cursor, shown, words) if words and rows is None else {}
    return Page(
        tuple(Found(lines[id], snippets.get(id)) for id in shown if id in lines),
        reading.token(*place) if (place := final or goes_on) else None,
        more=goes_on is not None and final is None,
    )


def _named(cursor: Cursor, what: SearchWanted, column: str) -> list[Position]:
    statement = _sql("named", column=column, condition=what.condition)
    values = {**what.values, "value": what.values[column], "limit": SCANNED, "page": what.page + 1}
    return [(at, id) for at, id in cursor.execute(statement, values).fetchall()]


def _in_order(cursor: Cursor, what: SearchWanted) -> tuple[list[Position], Position | None]:
    """Return the newest matching articles. If `SCANNED` articles were read, also return where to continue."""
    values, outlet = {**what.values, "limit": SCANNED, "page": what.page + 1}, what.only.by_outlet
    statement = _sql("in_order", condition=what.condition, **outlet)
    positions = [(at, id) for at, id in cursor.execute(statement, values).fetchall()]
    if len(positions) > what.page or what.condition == "true":
        return positions, None
    ends = cursor.execute(_sql("in_order_until", **outlet), values).fetchone()
    return positions, (ends[0], ends[1]) if ends else None


def _with_words(cursor: Cursor, what: SearchWanted, words: str) -> tuple[list[Position], Position | None]:
    """Return the newest articles with the words. After `STEPS` reads, stop and add where to continue."""
    row = cursor.execute(_sql("count_words", words=GIVEN), {"words": words}).fetchone()
    if row is None or not row[0]:
        raise InputError("the search text has no words: give at least one word")
    marks = [] if what.only.publication is None else [mark(what.only.publication)]
    day = what.since.date()
    on_a_day = what.until[0] <= reading.after(day)
    if on_a_day:
        marks.append(mark(day))
    # The index has words, days and outlets, but no order. If hits are few, all are read and sorted. Of many
    # hits, the newest block of days is read; if that block has too many hits, its days are read one by one.
    found, all_of_them = _matching(cursor, what, words, marks, None if on_a_day else FEW)
    if all_of_them:
        return found[: what.page + 1], None
    positions: list[Position] = []
    until, full = what.until, None
    for _ in range(STEPS):
        newest = _newest(cursor, until, what.since)
        if newest is None or len(positions) > what.page:
            return positions, None
        number, all_of_them = block(newest.date()), False
        if number != full:
            found, all_of_them = _matching(cursor, what, words, [*marks, mark(number)], FEW)
            until = block_start(number), 0
        if not all_of_them:
            full = number
            found, _ = _matching(cursor, what, words, [*marks, mark(newest.date())], None)
            until = reading.moment(newest.date()), 0
        positions += [position for position in found if not positions or position < positions[-1]]
    return positions, until


def _matching(
    cursor: Cursor, what: SearchWanted, words: str, marks: list[str], limit: int | None
) -> tuple[list[Position], bool]:
    """Return articles with the words and the index terms `marks`, newest first, and whether these are all."""
    quoted = (mark.replace("\\", "\\\\").replace("'", "''") for mark in marks)
    values = {**what.values, "words": words, "marks": " & ".join(f"'{mark}'" for mark in quoted)}
    values |= {"limit": None if limit is None else limit + 1}
    statement = _sql("matching", condition=what.condition, indexed=WORDS, words=GIVEN)
    found = cursor.execute(statement, values).fetchall()
    positions = sorted(((at, id) for at, id, holds in found if holds), reverse=True)
    return positions, limit is None or len(found) <= limit


def _newest(cursor: Cursor, until: Position, since: datetime) -> datetime | None:
    reading.allow(cursor, indexscan=True, indexonlyscan=True)
    values = {"until": until[0], "before": until[1], "since": since}
    row = cursor.execute(_sql("newest"), values).fetchone()
    reading.allow(cursor, indexscan=False, indexonlyscan=False)
    return row[0] if row else None


def _snippets(cursor: Cursor, ids: Sequence[int], given: str) -> dict[int, Snippet]:
    values = {"characters": SNIPPET_FROM, "ids": bigints(list(ids))}
    rows = cursor.execute(_sql("beginnings"), values).fetchall()
    pattern = pattern_of(given)
    return {id: snippet for id, text in rows if (snippet := _snippet(text, pattern))}


def _snippet(text: str, pattern: re.Pattern[str]) -> Snippet | None:
    hit = pattern.search(text)
    if hit is None or not hit[0]:
        return None
    start, end = hit.span()
    first, last = max(0, start - AROUND), min(len(text), end + AROUND)
    before, behind = text[first:start], text[end:last]
    # A cut may be in the middle of a word; leave out the part of that word.
    if first:
        before = "…" + before.partition(" ")[2]
    if last < len(text):
        behind = behind.rpartition(" ")[0] + "…"
    return Snippet(before, hit[0], behind)
