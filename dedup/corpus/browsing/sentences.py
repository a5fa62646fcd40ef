"""Common sentences: what is left out of every comparison, by what that hides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from dedup.answer import Answer
from dedup.corpus.browsing import reading
from dedup.corpus.browsing.lines import ArticleLine, lines_of
from dedup.corpus.database import Cursor
from dedup.corpus.overview import CommonSentence
from dedup.errors import InputError, NotFoundError

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


_PIN = "CASE p.common WHEN true THEN 'always' WHEN false THEN 'never' END"
_COMMON = f"""
    c.sentence_hash, c.carriers, c.effective_stories, true, {_PIN}, coalesce(c.example, p.example), c.since
    FROM dedup.common_sentence c LEFT JOIN dedup.sentence_pin p ON p.sentence_hash = c.sentence_hash
"""
_PINNED = f"""
    p.sentence_hash, c.carriers, c.effective_stories, c.sentence_hash IS NOT NULL, {_PIN},
    coalesce(c.example, p.example), c.since
    FROM dedup.sentence_pin p LEFT JOIN dedup.common_sentence c ON c.sentence_hash = p.sentence_hash
"""


def common_sentences(cursor: Cursor, order: SentenceOrder, after: str | None) -> SentencesPage:
    """A page of common sentences. Raises InputError: there is no such order, or `after` is of no page."""
    if order not in _ORDERS:
        raise InputError(f"there is no order {order!r}; there are {', '.join(get_args(SentenceOrder))}")
    column, kind = _ORDERS[order]
    begins, values = "true", []
    if after is not None:
        begins, values = (
            f"(c.{column}, ~c.sentence_hash) < (%s, ~%s::bigint)",
            reading.place(after, kind, int),
        )
    found = cursor.execute(
        f"SELECT {_COMMON} WHERE {begins} ORDER BY c.{column} DESC, ~c.sentence_hash DESC LIMIT %s".encode(),
        [*values, SENTENCES_PAGE + 1],
    ).fetchall()
    shown = [CommonSentence(*row) for row in found[:SENTENCES_PAGE]]
    last = shown[-1] if len(found) > SENTENCES_PAGE else None
    return SentencesPage(
        tuple(shown),
        () if after else _pinned(cursor),
        reading.token(getattr(last, column), last.sentence_hash) if last else None,
    )


def _pinned(cursor: Cursor) -> tuple[CommonSentence, ...]:
    rows: list[tuple[Any, ...]] = cursor.execute(
        f"SELECT {_PINNED} ORDER BY p.pinned_at DESC, p.sentence_hash DESC LIMIT %s".encode(),
        [SENTENCES_PAGE],
    ).fetchall()
    return tuple(CommonSentence(*row) for row in rows)


def sentence(cursor: Cursor, sentence_hash: int) -> SentencePage:
    """A common or pinned sentence, with some of its articles, the originals first."""
    row = cursor.execute(
        f"SELECT {_COMMON} WHERE c.sentence_hash = %(hash)s UNION ALL SELECT {_PINNED}"
        " WHERE p.sentence_hash = %(hash)s AND c.sentence_hash IS NULL".encode(),
        {"hash": sentence_hash},
    ).fetchone()
    if row is None:
        raise NotFoundError(f"sentence {sentence_hash} is neither common nor pinned")
    reading.allow(cursor, "bitmapscan")
    reading.forbid(cursor, "indexscan", "indexonlyscan")
    ids: list[int] = []
    for among, fold in (("", "folded"), ("NOT ", "folded_duplicate")):
        # As `dedup.carrier` looks for them, but no more of them than are shown.
        found = cursor.execute(
            f"""
            SELECT article_id FROM dedup.fingerprint f
            WHERE dedup.{fold}(dedup.keys(f.sentence_hashes, f.buckets, f.content_hash))
                  @> dedup.{fold}(ARRAY[%(hash)s::bigint])
              AND %(hash)s = ANY (f.sentence_hashes) AND {among}f.canonical LIMIT %(limit)s
            """.encode(),
            {"hash": sentence_hash, "limit": CARRIERS - len(ids)},
        ).fetchall()
        ids += [id for (id,) in found]
    reading.allow(cursor, "indexscan", "indexonlyscan")
    reading.forbid(cursor, "bitmapscan")
    lines = lines_of(cursor, ids)
    return SentencePage(CommonSentence(*row), tuple(lines[id] for id in ids if id in lines))
