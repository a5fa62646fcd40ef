"""The corpus as `dedup verify` reads it: one frozen moment, whole tables, no look-up by hash.

Read-only, and independent of the statements that settling uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dedup.corpus import articles
from dedup.corpus.arrays import bigints
from dedup.corpus.database import Cursor
from dedup.corpus.fingerprints import from_columns
from dedup.corpus.settling import order_parameters
from dedup.rules.marks import Mark, OrderKey, Pair, Status
from dedup.rules.pair import Relation
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprint
from dedup.text.tasks import TextTask

PAGE = 2_000
"""Rows fetched at a time while all canonical articles are read."""


@dataclass(frozen=True, slots=True)
class StoredArticle:
    """An article as it is stored, without its text."""

    id: int
    source_id: str
    order: OrderKey
    mark: Mark
    settled: bool  # whether it has a mark that need not be settled again
    canonical: bool | None  # its flag where it counts; None in an article that takes no part
    fingerprint: Fingerprint | None  # of its present text; None where there is none


_COLUMNS = """
    a.id, a.source_id, dedup.canonical_time(a.published_at, a.added_at, %(policy)s, %(earliest)s),
    a.status, a.duplicate_of, a.score, a.reason, a.status <> 'pending' AND NOT a.stale,
    a.takes_part, f.canonical, f.version,
    f.content_hash, f.sentence_hashes, f.signature, f.buckets, f.word_count, f.shingle_count
"""


def freeze(cursor: Cursor) -> None:
    """Let the transaction see one moment and change nothing; must be its first statement."""
    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def choose(cursor: Cursor, sample: int | None) -> list[int]:
    """The ids of the articles to check: all that are not archived, or a random sample of them."""
    rows = cursor.execute(
        "SELECT id FROM dedup.article WHERE NOT archived"
        " ORDER BY CASE WHEN %(sample)s::integer IS NULL THEN id ELSE random() END LIMIT %(sample)s",
        {"sample": sample},
    )
    return [row[0] for row in rows.fetchall()]


def count_articles(cursor: Cursor) -> tuple[int, int]:
    """How many articles there are, and how many of them are archived."""
    row = cursor.execute("SELECT count(*), count(*) FILTER (WHERE archived) FROM dedup.article").fetchone()
    assert row is not None
    return row[0], row[1]


def common_sentences(cursor: Cursor) -> dict[int, tuple[int, float]]:
    rows = cursor.execute("SELECT sentence_hash, carriers, effective_stories FROM dedup.common_sentence")
    return {row[0]: (row[1], row[2]) for row in rows.fetchall()}


def sentence_counts(cursor: Cursor) -> dict[int, tuple[int, int]]:
    rows = cursor.execute("SELECT sentence_hash, carriers, pairs FROM dedup.sentence_count")
    return {row[0]: (row[1], row[2]) for row in rows.fetchall()}


def count_sentences(cursor: Cursor, settings: Settings) -> dict[int, tuple[int, int]]:
    """Carriers and agreeing pairs of every sentence that enough articles carry or that is pinned. A
    deliberate second opinion on what `common_sentences.py` counts, by another statement.
    """
    rows = cursor.execute(
        """
        WITH carrier AS (
            SELECT s.sentence_hash, f.buckets
            FROM dedup.fingerprint f CROSS JOIN unnest(f.sentence_hashes) AS s (sentence_hash)
        ), counted AS (
            SELECT sentence_hash, count(*)::integer AS carriers FROM carrier GROUP BY sentence_hash
            HAVING count(*) > %(limit)s OR sentence_hash IN (SELECT sentence_hash FROM dedup.sentence_pin)
        ), bucket AS (
            SELECT c.sentence_hash, count(*) AS n
            FROM carrier c JOIN counted USING (sentence_hash)
            CROSS JOIN generate_series(1, %(bands)s) AS b (band)
            GROUP BY c.sentence_hash, b.band, c.buckets[b.band]
        )
        SELECT sentence_hash, k.carriers, sum(b.n * b.n - b.n)::bigint
        FROM counted k JOIN bucket b USING (sentence_hash)
        GROUP BY sentence_hash, k.carriers
        """,
        {"limit": settings.common_stories, "bands": settings.bands},
    )
    return {row[0]: (row[1], row[2]) for row in rows.fetchall()}


def sentence_pins(cursor: Cursor) -> dict[int, bool]:
    """Sentence hash to whether it is pinned as always or never common."""
    return dict(cursor.execute("SELECT sentence_hash, common FROM dedup.sentence_pin").fetchall())


def pair_pins(cursor: Cursor) -> dict[frozenset[int], Relation]:
    rows = cursor.execute("""
        SELECT a.id, o.id, p.relation FROM dedup.pair_pin p
        JOIN dedup.article a ON a.source_id = p.source_id
        JOIN dedup.article o ON o.source_id = p.other_source_id
    """).fetchall()
    return {frozenset((row[0], row[1])): Relation(row[2]) for row in rows}


def load(cursor: Cursor, settings: Settings, ids: Sequence[int]) -> list[StoredArticle]:
    query = f"""
        SELECT {_COLUMNS}
        FROM dedup.article a LEFT JOIN dedup.fingerprint f ON f.article_id = a.id
            AND f.revision = a.revision
        WHERE a.id = ANY (%(ids)s)
    """
    rows = cursor.execute(query.encode(), {**order_parameters(settings), "ids": bigints(ids)}).fetchall()
    return [_stored(row) for row in rows]


def canonical(cursor: Cursor, settings: Settings) -> Iterator[StoredArticle]:
    rows = cursor.execute(
        "SELECT f.article_id FROM dedup.fingerprint f JOIN dedup.article a ON a.id = f.article_id"
        " WHERE f.canonical AND a.takes_part"
    ).fetchall()
    ids = [row[0] for row in rows]
    for start in range(0, len(ids), PAGE):
        yield from load(cursor, settings, ids[start : start + PAGE])


def texts(cursor: Cursor, ids: Sequence[int]) -> Iterator[TextTask]:
    """What the fingerprints of some articles are made from, page by page."""
    for start in range(0, len(ids), PAGE // 4):
        yield from articles.texts(cursor, ids[start : start + PAGE // 4])


_PAIR = "article_id, other_id, relation, rule, score, sentence_jaccard, signature_jaccard, containment"


def pairs(cursor: Cursor, settings: Settings, ids: Sequence[int]) -> dict[int, set[Pair]]:
    """The stored pairs of some articles with earlier ones, by the later article. A pair that is marked as one
    with the likest article counts only where its later article keeps it too.
    """
    rows = cursor.execute(
        f"""
        SELECT {_PAIR} FROM dedup.match WHERE article_id = ANY (%(ids)s) AND NOT likest
        UNION ALL
        SELECT {_PAIR} FROM (
            SELECT m.*, row_number() OVER (
                PARTITION BY m.article_id ORDER BY m.score DESC, m.rule COLLATE "C", o.time, o.source_id
            ) AS rank
            FROM dedup.match m JOIN (
                SELECT id, source_id,
                       dedup.canonical_time(published_at, added_at, %(policy)s, %(earliest)s) AS time
                FROM dedup.article
            ) AS o ON o.id = m.other_id
            WHERE m.article_id = ANY (%(ids)s)
        ) AS ranked WHERE likest AND (rank <= %(pairs)s OR rule = 'pinned')
        """.encode(),
        {**order_parameters(settings), "ids": bigints(ids), "pairs": settings.similar_pairs},
    )
    found: dict[int, set[Pair]] = {id: set() for id in ids}
    for row in rows.fetchall():
        found[row[0]].add(Pair(*row))
    return found


def likest_pairs(cursor: Cursor, ids: Sequence[int]) -> dict[int, set[Pair]]:
    """The stored pairs of some articles with the later article that is most like them, by the earlier one."""
    rows = cursor.execute(
        f"SELECT {_PAIR} FROM dedup.match WHERE other_id = ANY (%s) AND likest".encode(), [bigints(ids)]
    )
    found: dict[int, set[Pair]] = {id: set() for id in ids}
    for row in rows.fetchall():
        found[row[1]].add(Pair(*row))
    return found


def _stored(row: tuple) -> StoredArticle:  # type: ignore[type-arg]
    article_id, source_id, time, status, duplicate_of, score, reason, settled, *more = row
    takes_part, flag, version, *rest = more
    made = None if version is None else from_columns(version, *rest)
    mark = Mark(Status(status), duplicate_of, score, reason)
    return StoredArticle(
        article_id, source_id, (time, source_id.encode()), mark, settled, flag if takes_part else None, made
    )
