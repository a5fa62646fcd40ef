"""Sentences that several outlets share, as `store/quotes.py` keeps them; the view `quote` says the same."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.errors import InputError, NotFoundError
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.extras.browse.questions.reading import ROWS, ArticleLine, lines_of, paged
from dedup.extras.browse.questions.sentences import FIRST

_sql = Statements("extras/browse/questions/quotes")

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
    rows = cursor.execute(_sql("page", order=order), values).fetchall()
    shown, last = paged([Quote(*row) for row in rows], limit)
    return QuotesPage(tuple(shown), reading.token(getattr(last, order), last.sentence_hash) if last else None)


def quote(cursor: Cursor, sentence_hash: int) -> QuotePage:
    """A quote, with the earliest articles that have it. Raises NotFoundError: none is kept."""
    checks.whole_number("sentence_hash", sentence_hash, -(2**63))
    row = cursor.execute(_sql("one"), {"hash": sentence_hash}).fetchone()
    if row is None:
        raise NotFoundError(f"sentence {sentence_hash} is no quote that is kept")
    values = {"hash": sentence_hash, "read": CARRIERS_READ, "limit": CARRIERS_SHOWN}
    ids = [id for (id,) in cursor.execute(_sql("articles"), values).fetchall()]
    lines = lines_of(cursor, ids)
    return QuotePage(Quote(*row), tuple(lines[id] for id in ids if id in lines))
