"""The corpus as `dedup verify` reads it: one frozen moment, whole tables, no look-up by hash.

Read-only, and independent of the statements that settling uses. Read next: `../engine/verify.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dedup.corpus.arrays import hashes
from dedup.corpus.database import Cursor
from dedup.corpus.fingerprints import ORDER_TIME, read_fingerprint
from dedup.rules.marks import Mark, OrderKey, Pair, Status
from dedup.settings import Settings
from dedup.text.fingerprint import Fingerprint

PAGE = 2_000
"""Rows fetched at a time while all canonical articles are read."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An article as it is stored, without its text."""

    id: int
    source_id: str
    order: OrderKey
    mark: Mark
    canonical: bool | None
    fingerprint: Fingerprint | None


_COLUMNS = """
    a.id, a.source_id, {time}, a.status, a.duplicate_of, a.score, a.reason, f.canonical, f.version,
    f.content_hash, f.sentence_hashes, f.signature, f.buckets, f.sketch, f.word_count, f.shingle_count
"""


def freeze(cursor: Cursor) -> None:
    """Let the transaction see one moment and change nothing; must be its first statement."""
    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")


def choose(cursor: Cursor, sample: int | None) -> list[int]:
    """The ids of the articles to check: all that have a mark, or a random sample of them."""
    rows = cursor.execute(
        "SELECT id FROM dedup.article WHERE status <> 'pending'"
        " ORDER BY CASE WHEN %(sample)s::integer IS NULL THEN id ELSE random() END LIMIT %(sample)s",
        {"sample": sample},
    )
    return [row[0] for row in rows.fetchall()]


def count_pending(cursor: Cursor) -> int:
    """How many articles have no mark yet."""
    row = cursor.execute("SELECT count(*) FROM dedup.article WHERE status = 'pending'").fetchone()
    assert row is not None
    return int(row[0])


def uncounted(cursor: Cursor) -> bool:
    """Whether fingerprints changed since the common sentences were counted."""
    row = cursor.execute(
        "SELECT recount_all OR EXISTS (SELECT FROM dedup.sentence_change) FROM dedup.corpus_state"
    ).fetchone()
    assert row is not None
    return bool(row[0])


def common_sentences(cursor: Cursor) -> dict[int, int]:
    """The stored common sentences with their numbers of stories."""
    return dict(cursor.execute("SELECT sentence_hash, stories FROM dedup.common_sentence").fetchall())


def count_common(cursor: Cursor, rule: Settings) -> dict[int, int]:
    """The common sentences counted from all fingerprints, pins included; see `too_common` of the oracle."""
    rows = cursor.execute(
        """
        WITH carrier AS (
            SELECT s.sentence_hash, f.sketch, f.buckets
            FROM dedup.fingerprint f CROSS JOIN unnest(f.sentence_hashes) AS s (sentence_hash)
        ), counted AS (
            SELECT sentence_hash, count(DISTINCT sketch)::integer AS stories, count(*) AS carriers
            FROM carrier GROUP BY sentence_hash
        ), concentrated AS (
            SELECT sentence_hash
            FROM (
                SELECT c.sentence_hash, k.carriers, count(*) AS copies
                FROM carrier c JOIN counted k USING (sentence_hash)
                CROSS JOIN generate_series(1, %(bands)s) AS b (band)
                WHERE k.stories > %(stories)s
                GROUP BY c.sentence_hash, k.carriers, c.sketch, b.band, coalesce(c.buckets[b.band], 0)
            ) AS copy
            GROUP BY sentence_hash, carriers
            HAVING sum(copies * (copies - 1))
                >= %(concentration)s::float8 * (%(bands)s * carriers * (carriers - 1))::float8
        )
        SELECT sentence_hash, coalesce(c.stories, 0)
        FROM counted c FULL JOIN dedup.sentence_pin p USING (sentence_hash)
        WHERE coalesce(p.common, c.stories > %(stories)s
            AND sentence_hash NOT IN (SELECT sentence_hash FROM concentrated))
        """,
        {
            "bands": rule.bands,
            "stories": rule.common_stories,
            "concentration": rule.common_concentration,
        },
    )
    return dict(rows.fetchall())


def load(cursor: Cursor, policy: str, ids: Sequence[int]) -> list[Stored]:
    """Some articles with their marks and fingerprints."""
    query = f"""
        SELECT {_COLUMNS.format(time=ORDER_TIME[policy])}
        FROM dedup.article a LEFT JOIN dedup.fingerprint f ON f.article_id = a.id
        WHERE a.id = ANY (%s)
    """
    return [_stored(row) for row in cursor.execute(query.encode(), [hashes(ids)]).fetchall()]


def canonical(cursor: Cursor, policy: str) -> Iterator[Stored]:
    """Every canonical article, page by page."""
    cursor.execute(
        f"""
            DECLARE canonical_page NO SCROLL CURSOR FOR
            SELECT {_COLUMNS.format(time=ORDER_TIME[policy])}
            FROM dedup.article a JOIN dedup.fingerprint f ON f.article_id = a.id
            WHERE f.canonical
        """.encode()
    )
    while rows := cursor.execute(f"FETCH {PAGE} FROM canonical_page".encode()).fetchall():
        for row in rows:
            yield _stored(row)
    cursor.execute("CLOSE canonical_page")


def texts(cursor: Cursor, ids: Sequence[int]) -> Iterator[tuple[int, str | None, str]]:
    """Id, language and text of some articles, page by page."""
    for start in range(0, len(ids), PAGE // 4):
        rows = cursor.execute(
            "SELECT id, language, text FROM dedup.article WHERE id = ANY (%s)",
            [hashes(ids[start : start + PAGE // 4])],
        ).fetchall()
        yield from rows


def pairs(cursor: Cursor, ids: Sequence[int]) -> set[Pair]:
    """The stored pairs in which one of these is the later article."""
    rows = cursor.execute(
        "SELECT article_id, other_id, relation, sentence_jaccard, signature_jaccard, containment"
        " FROM dedup.match WHERE article_id = ANY (%s)",
        [hashes(ids)],
    )
    return {Pair(*row) for row in rows.fetchall()}


def _stored(row: tuple) -> Stored:  # type: ignore[type-arg]
    article_id, source_id, time, status, duplicate_of, score, reason, flag, version, *rest = row
    made = None if version is None else read_fingerprint(version, *rest)
    mark = Mark(Status(status), duplicate_of, score, reason)
    return Stored(article_id, source_id, (time, source_id.encode()), mark, flag, made)
