"""Show common sentences, which comparisons ignore, and quotes: sentences that several outlets share."""

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

SentenceOrder = Literal["carriers", "stories"]  # By number of articles, or by estimated number of stories
SENTENCES_PAGE = 100  # Maximum number of sentences on a page
CARRIERS = 20  # Maximum number of articles shown with a sentence

_ORDERS: Mapping[SentenceOrder, tuple[str, type]] = {  # order -> column, and type of its values
    "carriers": ("carriers", int),
    "stories": ("effective_stories", float),
}

FIRST = 2**31 - 1, 2**63 - 1  # Position of the first page: greater than every count and hash


@dataclass(frozen=True, slots=True)
class SentencesPage(Answer):
    """A page of common sentences."""

    sentences: tuple[CommonSentence, ...]
    pinned: tuple[CommonSentence, ...]  # pinned sentences, newest pin first; empty except on the first page
    after: str | None  # token of the next page


@dataclass(frozen=True, slots=True)
class SentencePage(Answer):
    """A sentence, with some articles that contain the sentence."""

    sentence: CommonSentence
    articles: tuple[ArticleLine, ...]


def common_sentences(
    cursor: Cursor, order: SentenceOrder = "carriers", after: str | None = None, *, rows: int | None = None
) -> SentencesPage:
    """Return common and pinned sentences; raise InputError for an unknown order or a wrong `after`."""
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
    """Return a common or pinned sentence with some articles; raise NotFoundError for any other sentence."""
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


QUOTES_PAGE = 100  # Default number of quotes on a page
CARRIERS_SHOWN, CARRIERS_READ = 50, 10_000  # Maximum articles shown, and read (in 100 ms)
QuoteOrder = Literal["outlets", "stories"]  # Order by number of outlets or of stories, the largest first


@dataclass(frozen=True, slots=True)
class Quote(Answer):
    """A sentence that several outlets share, with counts by `dedup sentences`."""

    sentence_hash: int
    words: str  # the sentence as the article `source_id` has it, at most 500 characters
    outlets: int
    stories: int  # number of stories; 1: the sentence was only reprinted with the rest of the text
    articles: int
    common: bool  # comparisons ignore the sentence
    speech: bool  # the sentence has a quotation mark
    source_id: str  # source_id of the earliest article; if times do not tell, of another article
    publication: str | None  # outlet of the earliest article; None if times do not tell
    appeared_at: datetime | None  # time of the earliest article, in UTC; None if times do not tell
    counted_at: datetime


@dataclass(frozen=True, slots=True)
class QuotesPage(Answer):
    """A page of quotes."""

    quotes: tuple[Quote, ...]
    after: str | None  # token of the next page


@dataclass(frozen=True, slots=True)
class QuotePage(Answer):
    """A quote, with the earliest articles that have the sentence."""

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
    """Return sentences that several outlets share, including common sentences, with the stored counts.

    `speech`: only sentences with a quotation mark. `limit`: at most `ROWS` sentences. Raises InputError for
    an unknown order or a wrong `after`.
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
    """Return a quote with the earliest articles that have the sentence, or raise NotFoundError."""
    checks.whole_number("sentence_hash", sentence_hash, -(2**63))
    row = cursor.execute(_quotes("one"), {"hash": sentence_hash}).fetchone()
    if row is None:
        raise NotFoundError(f"sentence {sentence_hash} is not a stored quote")
    values = {"hash": sentence_hash, "read": CARRIERS_READ, "limit": CARRIERS_SHOWN}
    ids = [id for (id,) in cursor.execute(_quotes("articles"), values).fetchall()]
    lines = lines_of(cursor, ids)
    return QuotePage(Quote(*row), tuple(lines[id] for id in ids if id in lines))
