"""Sentences: the common ones, which are left out of every comparison, by what that hides; and those that
several outlets share, as `store/quotes.py` keeps them (the view `quote` says the same).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.errors import InputError, NotFoundError
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.extras.browse.questions.reading import ROWS, ArticleLine, lines_of, paged, rows_of
from dedup.store.overview import CommonSentence

_sql, _quotes = Statements("extras/browse/questions/questions"), Statements("extras/browse/questions/quotes")

SentenceOrder = Literal["carriers", "stories"]
"""The sentences of the most articles first, or those of the most effective stories."""

SENTENCES_PAGE = 100
"""Sentences of a page."""

CARRIERS = 20
"""Articles with a sentence that are shown."""

_ORDERS: Mapping[SentenceOrder, tuple[str, type]] = {
    "carriers": ("carriers", int),
    "stories": ("effective_stories", float),
}
"""The column that an order is by, and its kind."""


FIRST = 2**31 - 1, 2**63 - 1
"""Begin of the first page, as counts and a hash that no sentence reaches."""


@dataclass(frozen=True, slots=True)
class SentencesPage(Answer):
    """Common sentences. `sentences`: a page of those that are ignored. `pinned`: the pinned ones, common or
    not, the newest first; at most a page. Only on the first page. `after`: what to give for the next page;
    None on the last.
    """

    sentences: tuple[CommonSentence, ...]
    pinned: tuple[CommonSentence, ...]
    after: str | None


@dataclass(frozen=True, slots=True)
class SentencePage(Answer):
    """One sentence, with some of the articles that carry it."""

    sentence: CommonSentence
    articles: tuple[ArticleLine, ...]


def common_sentences(
    cursor: Cursor, order: SentenceOrder = "carriers", after: str | None = None, *, rows: int | None = None
) -> SentencesPage:
    """The sentences that are ignored, and the pinned ones.

    Raises InputError: there is no such order, or `after` is of no page.
    """
    if order not in _ORDERS:
        raise InputError(f"there is no order {order!r}; there are {', '.join(get_args(SentenceOrder))}")
    column, kind = _ORDERS[order]
    page = rows_of(rows, SENTENCES_PAGE)
    place, hash = FIRST if after is None else reading.position(after, kind, int)
    values = {"place": place, "hash": hash, "limit": page + 1}
    found = cursor.execute(_sql("sentences", order=column), values).fetchall()
    shown, last = paged([CommonSentence(*row) for row in found], page)
    pinned = [] if after else cursor.execute(_sql("pinned"), {"limit": page}).fetchall()
    goes_on = reading.token(getattr(last, column), last.sentence_hash) if last else None
    return SentencesPage(tuple(shown), tuple(CommonSentence(*row) for row in pinned), goes_on)


def sentence(cursor: Cursor, sentence_hash: int) -> SentencePage:
    """A common or pinned sentence with some of its articles, the originals first. Raises NotFoundError: it is
    neither.
    """
    values = {"hash": checks.whole_number("sentence_hash", sentence_hash, -(2**63))}
    row = cursor.execute(_sql("sentence"), values).fetchone()
    if row is None:
        raise NotFoundError(f"sentence {sentence_hash} is neither common nor pinned")
    ids: list[int] = []
    for statement in ("canonical_carriers", "duplicate_carriers"):
        given = {**values, "limit": CARRIERS - len(ids)}
        ids += [id for (id,) in cursor.execute(_sql(statement), given).fetchall()]
    lines = lines_of(cursor, ids)
    return SentencePage(CommonSentence(*row), tuple(lines[id] for id in dict.fromkeys(ids) if id in lines))


# --- shared by outlets


QUOTES_PAGE = 100
"""Quotes of a page."""

CARRIERS_SHOWN, CARRIERS_READ = 50, 10_000
"""Articles with a sentence that are shown, and among how many the earliest are looked for: 100 ms."""

QuoteOrder = Literal["outlets", "stories"]
"""The sentences of the most outlets first, or those of the most stories."""


@dataclass(frozen=True, slots=True)
class Quote(Answer):
    """A sentence that several outlets share, as it was counted.

    Attributes:
        words: as the earliest article prints it; its first 500 characters.
        outlets, stories, articles: how many have it. Of one story it was reprinted with the rest.
        common: whether it is a common sentence, which counts for nothing.
        speech: whether it holds a quotation mark.
        source_id, publication, appeared_at: of the earliest article; the time in UTC, None where unknown.
    """

    sentence_hash: int
    words: str
    outlets: int
    stories: int
    articles: int
    common: bool
    speech: bool
    source_id: str
    publication: str | None
    appeared_at: datetime | None
    counted_at: datetime


@dataclass(frozen=True, slots=True)
class QuotesPage(Answer):
    """Some quotes. `after`: what to give for the next page; None on the last."""

    quotes: tuple[Quote, ...]
    after: str | None


@dataclass(frozen=True, slots=True)
class QuotePage(Answer):
    """A quote, with the earliest articles that have it."""

    quote: Quote
    articles: tuple[ArticleLine, ...]


def quotes(
    cursor: Cursor,
    order: QuoteOrder = "outlets",
    *,
    speech: bool = False,
    after: str | None = None,
    limit: int = QUOTES_PAGE,
) -> QuotesPage:
    """Sentences that several outlets share, as `keep_sentences` counted them, common ones included.

    `speech`: only those with a quotation mark. `limit`: at most so many, up to `ROWS`. Raises InputError:
    there is no such order, or `after` is of no page.
    """
    checks.whole_number("limit", limit, 1, ROWS)
    if order not in get_args(QuoteOrder):
        raise InputError(f"there is no order {order!r}; there are {', '.join(get_args(QuoteOrder))}")
    place, hash = FIRST if after is None else reading.position(after, int, int)
    values = {"place": place, "hash": hash, "speech": speech, "limit": limit + 1}
    rows = cursor.execute(_quotes("page", order=order), values).fetchall()
    shown, last = paged([Quote(*row) for row in rows], limit)
    return QuotesPage(tuple(shown), reading.token(getattr(last, order), last.sentence_hash) if last else None)


def quote(cursor: Cursor, sentence_hash: int) -> QuotePage:
    """A quote, with the earliest articles that have it. Raises NotFoundError: none is kept."""
    checks.whole_number("sentence_hash", sentence_hash, -(2**63))
    row = cursor.execute(_quotes("one"), {"hash": sentence_hash}).fetchone()
    if row is None:
        raise NotFoundError(f"sentence {sentence_hash} is no quote that is kept")
    values = {"hash": sentence_hash, "read": CARRIERS_READ, "limit": CARRIERS_SHOWN}
    ids = [id for (id,) in cursor.execute(_quotes("articles"), values).fetchall()]
    lines = lines_of(cursor, ids)
    return QuotePage(Quote(*row), tuple(lines[id] for id in ids if id in lines))
