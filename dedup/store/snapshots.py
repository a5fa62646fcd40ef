"""Reads the corpus for `dedup verify`: whole tables at one moment, without look-ups by hash.

The statements are independent of the statements that settling uses, because `dedup verify` checks settling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dedup.base.settings import Settings
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, one_column, one_row
from dedup.db.statements import Statements
from dedup.rules.marks import Mark, OrderKey, Pair, Status, published_second
from dedup.rules.pair import Relation
from dedup.store import articles
from dedup.store.settling import order_parameters
from dedup.text.fingerprint import Fingerprint, TextTask

_sql = Statements("store/snapshots")

PAGE = 2_000  # Maximum number of originals per read


@dataclass(frozen=True, slots=True)
class StoredArticle:
    """A stored article without its text."""

    id: int
    source_id: str
    order: OrderKey
    published: int  # seconds, from `marks.published_second`
    mark: Mark
    settled: bool
    canonical: bool | None  # the canonical flag; None if the article takes no part in comparisons
    fingerprint: Fingerprint | None  # None if the present text has no fingerprint


def choose_articles(cursor: Cursor, sample: int | None) -> list[int]:
    """Return the ids of all articles that are not archived, or of a random sample of them."""
    cursor.execute("SET TRANSACTION READ ONLY")  # `dedup verify` must change nothing
    return one_column(cursor, _sql("choose"), {"sample": sample})


def count_articles(cursor: Cursor) -> tuple[int, int]:
    row = one_row(cursor, _sql("count_articles"))
    return row[0], row[1]


def common_sentences(cursor: Cursor) -> dict[int, tuple[int, float]]:
    return {key: (carriers, stories) for key, carriers, stories in cursor.execute(_sql("common_sentences"))}


def sentence_counts(cursor: Cursor) -> dict[int, tuple[int, int]]:
    return {key: (carriers, pairs) for key, carriers, pairs in cursor.execute(_sql("sentence_counts"))}


def count_sentences(cursor: Cursor, settings: Settings) -> dict[int, tuple[int, int]]:
    """Count carriers of frequent and pinned sentences, and pairs of carriers with an equal bucket key."""
    # This statement checks the counts that `common_sentences.py` makes, so it counts in another way.
    values = {"limit": settings.common_stories, "bands": settings.buckets}
    rows = cursor.execute(_sql("count_sentences"), values)
    return {key: (carriers, pairs) for key, carriers, pairs in rows}


def sentence_pins(cursor: Cursor) -> dict[int, bool]:
    """Return the pinned sentences by hash: True if always common, False if never common."""
    return dict(cursor.execute(_sql("sentence_pins")).fetchall())


def pair_pins(cursor: Cursor) -> dict[frozenset[int], Relation]:
    return {frozenset((a, b)): Relation(said) for a, b, said in cursor.execute(_sql("pair_pins"))}


def load(cursor: Cursor, settings: Settings, ids: Sequence[int]) -> list[StoredArticle]:
    values = {**order_parameters(settings), "ids": bigints(ids)}
    rows = cursor.execute(_sql("articles"), values).fetchall()
    found = []
    for row in rows:
        article_id, source_id, time, published_at, status, duplicate_of, score, reason, settled, *more = row
        takes_part, flag, version, content, sentences, signature, buckets, words, shingles = more
        made = None
        if version is not None:
            hashes, keys = tuple(sentences.tolist()), tuple(buckets.tolist())
            signed = np.frombuffer(signature, np.uint8)
            made = Fingerprint(version, content, hashes, signed, keys, words, shingles)
        order, published = (time, source_id.encode()), published_second(settings, time, published_at)
        mark = Mark(Status(status), duplicate_of, score, reason)
        canonical = flag if takes_part else None
        found.append(StoredArticle(article_id, source_id, order, published, mark, settled, canonical, made))
    return found


def load_canonical(cursor: Cursor, settings: Settings) -> Iterator[StoredArticle]:
    ids = one_column(cursor, _sql("canonical"))
    for start in range(0, len(ids), PAGE):
        yield from load(cursor, settings, ids[start : start + PAGE])


def texts(cursor: Cursor, ids: Sequence[int]) -> Iterator[TextTask]:
    """Yield the texts of articles, read page by page."""
    for start in range(0, len(ids), PAGE // 4):
        yield from articles.load_texts(cursor, ids[start : start + PAGE // 4])


def pairs(cursor: Cursor, settings: Settings, ids: Sequence[int]) -> dict[int, set[Pair]]:
    """Return the pairs of each later article in `ids`. Skip pairs that are stored only because the later
    article is the best match of the earlier article."""
    values = {**order_parameters(settings), "ids": bigints(ids), "pairs": settings.similar_pairs}
    found: dict[int, set[Pair]] = {id: set() for id in ids}
    for row in cursor.execute(_sql("pairs"), values):
        found[row[0]].add(Pair(*row))
    return found


def best_match_pairs(cursor: Cursor, ids: Sequence[int]) -> dict[int, set[Pair]]:
    """Return each article's pair with its best match; an empty set if the best match is earlier."""
    found: dict[int, set[Pair]] = {id: set() for id in ids}
    for row in cursor.execute(_sql("best_match_pairs"), {"ids": bigints(ids)}):
        found[row[1]].add(Pair(*row))
    return found
