"""Common sentences: what is left out of every comparison, by what that hides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from dedup.api import checks
from dedup.base.answer import Answer
from dedup.base.errors import InputError, NotFoundError
from dedup.db.database import Cursor
from dedup.db.statements import Statements
from dedup.extras.browse.questions import reading
from dedup.extras.browse.questions.reading import ArticleLine, lines_of, paged, rows_of
from dedup.store.overview import CommonSentence

_sql = Statements("extras/browse/questions/questions")

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
