"""Articles by words, outlet, date, address or source_id, the newest first, page by page.

`dedup init --search` makes the index of words that this needs (`word_index.py`).
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

SEARCH_PAGE = 50
"""Articles of a page."""

WORDS_CHARACTERS = 1_000
"""Of what is searched for, at most."""

SCANNED = 10_000
"""Articles that are looked at for a page where an index does not tell which ones fit."""

FEW = 2_000
"""So many articles with some words are all looked at; of more only those of the newest days."""

STEPS = 60
"""Days, or blocks of them, that are looked through for a page."""

SNIPPET_FROM = 20_000
"""Characters of a text among which the words are looked for."""

AROUND = 120
"""Characters of a snippet before the word, and behind it."""

GIVEN = FOLDED.format("%(words)s::text")
"""SQL: what is searched for, as the index has it."""

Position = tuple[datetime, int]
"""Of an article in the order of pages: its time and its id."""


@dataclass(frozen=True, slots=True)
class Snippet(Answer):
    """A piece of a text around the first of the words: what stands before it, the word, what follows."""

    before: str = field(repr=False)
    word: str = field(repr=False)
    behind: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Found(Answer):
    """An article that was found; `snippet` is None without words, or where only the title has them."""

    article: ArticleLine
    snippet: Snippet | None


@dataclass(frozen=True, slots=True)
class Page(Answer):
    """A page of what was found. `found`: the newest first. `after`: what to give for the next page; None on
    the last. `more`: looking ended before it was through: there may be more, also where little or nothing was
    found, and `after` goes on from there.
    """

    found: tuple[Found, ...]
    after: str | None
    more: bool


@dataclass(frozen=True, slots=True)
class SearchWanted:
    """A search.

    Attributes:
        condition: what no index of articles by time tells; `values`: of statements.
        since: the first moment. `until`: the place that all that is found is before.
        page: articles of a page.
    """

    only: Only
    condition: str
    values: dict[str, Any]
    since: datetime
    until: Position
    page: int


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
    """Articles that meet every condition, the newest first. Days are in UTC, both included.

    `words` must all be in the title or the text, whatever their case and accents, and need
    `dedup init --search`. `dated`: with a time of publication that can be true, or without. `rows`: of the
    page, where it is not 50; such a page has no snippets. Raises InputError without that index, or if `after`
    is of no page.
    """
    for name, value in (("words", words), ("url", url), ("source_id", source_id)):
        checks.optional(checks.text, name, value)
    if words is not None and len(words) > WORDS_CHARACTERS:
        raise InputError(f"at most {WORDS_CHARACTERS:,} characters can be searched for")
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
            raise InputError(f"words cannot be searched yet: `{command}` makes the index")
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
    """The articles of an address or a source_id, the newest first."""
    statement = _sql("named", column=column, condition=what.condition)
    values = {**what.values, "value": what.values[column], "limit": SCANNED, "page": what.page + 1}
    return [(at, id) for at, id in cursor.execute(statement, values).fetchall()]


def _in_order(cursor: Cursor, what: SearchWanted) -> tuple[list[Position], Position | None]:
    """The newest articles, or those of an outlet; and where to go on after `SCANNED` of them."""
    values, outlet = {**what.values, "limit": SCANNED, "page": what.page + 1}, what.only.by_outlet
    statement = _sql("in_order", condition=what.condition, **outlet)
    positions = [(at, id) for at, id in cursor.execute(statement, values).fetchall()]
    if len(positions) > what.page or what.condition == "true":
        return positions, None
    ends = cursor.execute(_sql("in_order_until", **outlet), values).fetchone()
    return positions, (ends[0], ends[1]) if ends else None


def _with_words(cursor: Cursor, what: SearchWanted, words: str) -> tuple[list[Position], Position | None]:
    """The newest articles with these words; and where to go on after `STEPS` looks."""
    row = cursor.execute(_sql("count_words", words=GIVEN), {"words": words}).fetchone()
    if row is None or not row[0]:
        raise InputError("there is no word in what is searched for")
    marks = [] if what.only.publication is None else [mark(what.only.publication)]
    day = what.since.date()
    on_a_day = what.until[0] <= reading.after(day)
    if on_a_day:
        marks.append(mark(day))
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
    """The articles with the words and these marks, the newest first; and whether these are all of them."""
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
    """Of each text the words around the first of those that were searched for."""
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
    if first:
        before = "…" + before.partition(" ")[2]
    if last < len(text):
        behind = behind.rpartition(" ")[0] + "…"
    return Snippet(before, hit[0], behind)
