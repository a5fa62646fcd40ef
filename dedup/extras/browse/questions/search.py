"""Search articles by words, outlet, date, address or source_id, the newest first, undated articles last.

A search by words needs the index that `dedup init --search` makes (`word_index.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, NamedTuple

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.folding import folded
from dedup.base.times import after_day, range_of_days, start_of_day
from dedup.base.verdict import StatusName
from dedup.base.words import heading
from dedup.db.arrays import bigints
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.extras.browse.questions.counting import Grouping, Only, by_period, condition_of
from dedup.extras.browse.questions.reading import LABEL_CHARACTERS, ArticleLine, lines_of, paged, rows_of
from dedup.store.stories import known
from dedup.store.word_index import (
    GIVEN,
    WORDS,
    block,
    block_start,
    mark,
    pattern_of,
    require_index,
)

_sql = Statements("extras/browse/questions/questions")

SEARCH_PAGE = 50  # Maximum number of articles on a page
WORDS_CHARACTERS = 1_000  # Maximum length of the words to search for
SCANNED = 10_000  # Maximum number of articles read for a page if no index finds the matching articles
FEW = 2_000  # If at most this number of articles match, all are read; otherwise only the newest days
STEPS = 60  # Maximum number of days, or blocks of days, read for a page
SNIPPET_FROM = 20_000  # Number of characters at the beginning of a text in which a snippet is looked for
AROUND = 120  # Maximum number of characters of a snippet before the word, and also after the word
PLACES = 3  # Maximum number of places in a text that a snippet shows
HITS = 1_000  # Articles found are counted up to this number
FACETS = 12  # Maximum number of outlets, of languages and of agencies by which the found articles are counted

Position = tuple[int, datetime, int]
"""An article's place in the order of results: 1 if it is dated, else 0; its time; its id."""


@dataclass(frozen=True, slots=True)
class Piece(Answer):
    """A part of a text: words of the search, or the text between them."""

    text: str = field(repr=False)
    hit: bool


@dataclass(frozen=True, slots=True)
class Found(Answer):
    """An article that a search found."""

    article: ArticleLine
    heading: tuple[Piece, ...]
    snippet: tuple[Piece, ...]  # empty for a search without words, or if only the title has the words


@dataclass(frozen=True, slots=True)
class Hits(Answer):
    """Counts of the found articles, or of the newest of them."""

    articles: int  # number of articles, counted up to `HITS`
    more: bool  # there are or may be more articles
    counted: int  # number of articles that the other fields count
    undated: int
    by: Grouping  # length of each of `periods`
    periods: tuple[tuple[date, int], ...]  # first day of a period, and number of articles; the earliest first
    # Field of the search -> (value, articles), the value with the most articles first
    facets: dict[str, tuple[tuple[str, int], ...]]


@dataclass(frozen=True, slots=True)
class Page(Answer):
    """A page of found articles."""

    found: tuple[Found, ...]  # the newest first, undated articles last
    after: str | None  # token of the next page; None on the last page
    more: bool  # the search reached a limit: further pages may have articles, even if this page is empty
    hits: Hits | None = None  # on the first page only


@dataclass(frozen=True, slots=True)
class SearchWanted:
    """A search whose arguments have been checked."""

    only: Only
    condition: str  # SQL condition, without the range of time
    given: dict[str, Any]  # parameters of the condition
    since: datetime  # first moment of the range of days
    end: datetime  # first moment after the range of days
    until: Position  # find only articles that come after this position in the order of results
    begins: bool  # this is the first page
    most: int  # maximum number of articles to find
    phases: tuple[bool, ...]  # parts of the search, in order: True finds dated articles, False undated ones

    @property
    def values(self) -> dict[str, Any]:
        dated, until, before = self.until
        days = {"since": self.since, "end": self.end}
        return {**self.given, **days, "dated": dated, "until": until, "before": before}

    def phase(self, dated: bool) -> SearchWanted:
        """Return the part of the search that finds dated or undated articles."""
        condition = f"{self.condition} AND ({known('found')}) IS {'NOT ' if dated else ''}NULL"
        until = self.until if self.until[0] == dated else (int(dated), self.end, 0)
        return replace(self, condition=condition, until=until)


def search(
    cursor: Cursor,
    words: str | None = None,
    *,
    publication: str | None = None,
    language: str | None = None,
    credit: str | None = None,
    family: str | None = None,
    status: StatusName | None = None,
    dated: bool | None = None,
    first: date | None = None,
    last: date | None = None,
    url: str | None = None,
    source_id: str | None = None,
    scope: str | None = None,
    after: str | None = None,
    rows: int | None = None,
) -> Page:
    """Return the articles that fulfil all conditions, the newest first, undated articles last.

    All `words` must be in title or text; case and accents are ignored. The UTC days `first` and `last` are
    included. `dated`: only articles with (True) or without (False) a plausible publication time. `rows`: list
    up to this many articles, without snippets and counts. Raises InputError for a wrong `after`, or for words
    if the corpus has no index of words.
    """
    for name, value in (("words", words), ("url", url), ("source_id", source_id), ("scope", scope)):
        checks.optional(checks.text, name, value)
    if words is not None and len(words) > WORDS_CHARACTERS:
        raise InputError(f"search for at most {WORDS_CHARACTERS:,} characters")
    only, (since, end) = Only(publication, language, credit, family), range_of_days(first, last)
    named = {"status": status, "url": url, "source_id": source_id, "scope": scope}
    given = {name: value for name, value in named.items() if value is not None} | only.given
    size, counting = rows_of(rows, SEARCH_PAGE), rows is None and after is None
    until: Position = (1, end, 0)
    if after is not None:
        flag, time, id = reading.position(after, int, datetime, int)
        until = (int(flag > 0), *min((end, 0), (time, id)))
    phases = tuple(one for one in ((True, False) if dated is None else (dated,)) if one <= until[0])
    most = max(size, HITS) if counting else size
    what = SearchWanted(only, condition_of(given), given, since, end, until, after is None, most, phases)
    if words is not None:
        require_index(cursor)
        # Only bitmap scans can read the GIN index of words; other index scans would walk the index of times.
        reading.allow(cursor, bitmapscan=True, indexscan=False, indexonlyscan=False)
        part = _with_words(cursor, what, words, size)
        reading.allow(cursor, bitmapscan=False, indexscan=True, indexonlyscan=True)
    elif source_id is not None or url is not None:
        part = _in_phases(what, lambda wanted: _named(cursor, wanted))
    else:
        part = _in_phases(what, lambda wanted: _in_order(cursor, wanted))
    page, final = paged(part.positions, size)
    shown = [id for _, _, id in page]
    lines = lines_of(cursor, shown)
    pattern = pattern_of(words) if words and rows is None else None
    snippets = _snippets(cursor, shown, pattern) if pattern else {}
    return Page(
        tuple(
            Found(lines[id], pieces(heading(lines[id]), pattern), snippets.get(id, ()))
            for id in shown
            if id in lines
        ),
        reading.token(*goes_on) if (goes_on := final or part.goes_on) else None,
        more=part.early and final is None,
        hits=_hits(cursor, part) if counting else None,
    )


class Part(NamedTuple):
    """Found articles, and where to continue if a limit stopped the search."""

    positions: list[Position]
    goes_on: Position | None = None
    early: bool = False  # a limit stopped the search
    more: bool = False  # there are or may be more articles
    least: int = 0  # at least this number of articles match


def _in_phases(what: SearchWanted, find: Callable[[SearchWanted], Part]) -> Part:
    """Find dated articles, then undated ones. If a limit stops the search, return where to continue."""
    positions: list[Position] = []
    goes_on, early = None, False
    for dated in what.phases:
        part = find(what.phase(dated))
        positions += part.positions
        early |= part.early
        goes_on = part.goes_on or (None if positions else goes_on)
        # Stop if the page is full, or a limit was reached. But if a limit leaves the first page without dated
        # articles, the page shows undated articles.
        if len(positions) > what.most or (goes_on and (positions or not what.begins)):
            break
    return Part(positions, goes_on, early, early or len(positions) > what.most)


def _hits(cursor: Cursor, part: Part) -> Hits:
    counted = part.positions[:HITS]
    rows = cursor.execute(_sql("hits"), {"ids": bigints([id for _, _, id in counted])}).fetchall()
    facets = {
        name: Counter({value: articles for kind, value, articles in rows if kind == name})
        for name in ("publication", "family", "language", "credit", "day")
    }
    days = {date.fromisoformat(day): articles for day, articles in facets.pop("day").items()}
    by, periods = by_period(days, 0, min(days, default=None), max(days, default=None), None)
    return Hits(
        articles=max(len(counted), min(part.least, HITS)),
        more=part.more,
        counted=len(counted),
        undated=sum(not dated for dated, *_ in counted),
        by=by,
        periods=tuple(periods.items()),
        # Names longer than `LABEL_CHARACTERS` are left out: a link with a cut name would find nothing.
        facets={
            name: tuple(
                (value, n) for value, n in found.most_common(FACETS) if len(value) <= LABEL_CHARACTERS
            )
            for name, found in facets.items()
        },
    )


def _named(cursor: Cursor, what: SearchWanted) -> Part:
    column = "url" if "source_id" not in what.given else "source_id"
    statement = _sql("named", column=column, condition=what.condition)
    values = {**what.values, "value": what.given[column], "limit": SCANNED, "page": what.most + 1}
    return Part(cursor.execute(statement, values).fetchall())


def _in_order(cursor: Cursor, what: SearchWanted) -> Part:
    """Return the newest matching articles. If `SCANNED` articles were read, also return where to continue."""
    values, outlet = {**what.values, "limit": SCANNED, "page": what.most + 1}, what.only.by_outlet
    rows = cursor.execute(_sql("in_order", condition=what.condition, **outlet), values).fetchall()
    positions = [(what.until[0], at, id) for at, id, holds, _ in rows if holds]
    if len(positions) > what.most or not (rows and rows[-1][3]):
        return Part(positions)
    return Part(positions, (what.until[0], *rows[-1][:2]), early=True)


def _with_words(cursor: Cursor, what: SearchWanted, words: str, size: int) -> Part:
    """Return all articles with the words if they are few, else the newest of them. `size`: rows of a page."""
    row = cursor.execute(_sql("count_words", words=GIVEN), {"words": words}).fetchone()
    if row is None or not row[0]:
        raise InputError("the search text has no words: give at least one word")
    marks = [] if what.only.publication is None else [mark(what.only.publication)]
    on_a_day = what.end <= after_day(what.since.date())
    if on_a_day:
        marks.append(mark(what.since.date()))
    known_first = what.phase(what.phases[0]) if len(what.phases) == 1 else what
    # The index finds words, days and outlets, but cannot sort. If articles are few, all are read and sorted.
    found, all_of_them = _matching(cursor, known_first, words, marks, None if on_a_day else FEW)
    if all_of_them:
        return Part(found, more=len(found) > what.most)
    few = replace(what, most=size)
    part = _in_phases(few, lambda wanted: _newest_with_words(cursor, wanted, words, marks))
    return part._replace(least=len(found))


def _newest_with_words(cursor: Cursor, what: SearchWanted, words: str, marks: list[str]) -> Part:
    """Return the newest of many articles with the words. After `STEPS` reads, return where to continue."""
    # The newest block of days is read; if that block has too many hits, its days are read one by one.
    positions: list[Position] = []
    until, full = what.until, None
    for _ in range(STEPS):
        newest = _newest(cursor, until, what.since)
        if newest is None or len(positions) > what.most:
            return Part(positions)
        number, all_of_them = block(newest.date()), False
        if number != full:
            found, all_of_them = _matching(cursor, what, words, [*marks, mark(number)], FEW)
            until = until[0], block_start(number), 0
        if not all_of_them:
            full = number
            found, _ = _matching(cursor, what, words, [*marks, mark(newest.date())], None)
            until = until[0], start_of_day(newest.date()), 0
        positions += [position for position in found if not positions or position < positions[-1]]
    return Part(positions, until, early=True)


def _matching(
    cursor: Cursor, what: SearchWanted, words: str, marks: list[str], limit: int | None
) -> tuple[list[Position], bool]:
    """Return the articles with the words and all `marks`, the newest first; and False if there are more.

    `marks`: index markers of an outlet, a day or a block of days. `limit`: maximum number of articles.
    """
    quoted = (mark.replace("\\", "\\\\").replace("'", "''") for mark in marks)
    values = {**what.values, "words": words, "marks": " & ".join(f"'{mark}'" for mark in quoted)}
    values |= {"limit": None if limit is None else limit + 1}
    statement = _sql("matching", condition=what.condition, indexed=WORDS, words=GIVEN)
    found = cursor.execute(statement, values).fetchall()
    positions = sorted(((dated, at, id) for dated, at, id, holds in found if holds), reverse=True)
    return positions, limit is None or len(found) <= limit


def _newest(cursor: Cursor, until: Position, since: datetime) -> datetime | None:
    reading.allow(cursor, indexscan=True, indexonlyscan=True)
    values = {"until": until[1], "before": until[2], "since": since}
    row = cursor.execute(_sql("newest"), values).fetchone()
    reading.allow(cursor, indexscan=False, indexonlyscan=False)
    return row[0] if row else None


def _snippets(cursor: Cursor, ids: Sequence[int], pattern: re.Pattern[str]) -> dict[int, tuple[Piece, ...]]:
    values = {"characters": SNIPPET_FROM, "ids": bigints(list(ids))}
    rows = cursor.execute(_sql("beginnings"), values).fetchall()
    return {id: _snippet(text, pattern) for id, text in rows}


def _snippet(text: str, pattern: re.Pattern[str]) -> tuple[Piece, ...]:
    """Return the text around the first place of each word, for at most `PLACES` places."""
    firsts: dict[str, tuple[int, int]] = {}
    for hit in pattern.finditer(text):
        if hit[0]:
            firsts.setdefault(folded(hit[0]).lower(), hit.span())
    places: list[list[int]] = []  # begin and end of each place
    for start, end in sorted(firsts.values()):
        if places and start <= places[-1][1]:
            places[-1][1] = end + AROUND
        elif len(places) < PLACES:
            places.append([start - AROUND, end + AROUND])
    found: list[Piece] = []
    for first, last in places:
        shown = text[max(0, first) : last]
        # A cut may be in the middle of a word; leave out the part of that word.
        if first > 0:
            shown = "…" + shown.partition(" ")[2]
        if last < len(text):
            shown = shown.rpartition(" ")[0] + "…"
        found += [*([Piece(" ", False)] if found else []), *pieces(shown, pattern)]
    return tuple(found)


def pieces(text: str, pattern: re.Pattern[str] | None) -> tuple[Piece, ...]:
    """Cut a text where words of the search begin and end; without a pattern, return it in one piece."""
    found, at = [], 0
    for hit in pattern.finditer(text) if pattern else ():
        if hit[0]:
            found += [Piece(text[at : hit.start()], False), Piece(hit[0], True)]
            at = hit.end()
    return tuple(piece for piece in (*found, Piece(text[at:], False)) if piece.text)
