"""What settling reads and writes: pending articles, their neighbours, marks and pairs.

Every statement works on sets; none is called per article. It decides nothing. Read next:
`../engine/settle.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

import numpy as np

from dedup.corpus.arrays import Hashes, hashes
from dedup.corpus.database import Cursor
from dedup.corpus.fingerprints import ORDER_TIME
from dedup.rules.marks import Mark, OrderKey, Pair
from dedup.text.signature import Signature


@dataclass(frozen=True, slots=True)
class Row:
    """A fingerprinted article as settling reads it.

    Attributes:
        canonical: its flag: True or False in a settled article, None in one that takes no part yet.
    """

    id: int
    order: OrderKey
    canonical: bool | None
    content_hash: int
    sentence_hashes: Hashes
    signature: Signature
    buckets: Hashes
    shingle_count: int


_ROW = """
    a.id, {time}, a.source_id, f.canonical, f.content_hash, f.sentence_hashes, f.signature, f.buckets,
    f.shingle_count
"""
_PENDING = """
    SELECT {row} FROM dedup.article a
    JOIN dedup.fingerprint f ON f.article_id = a.id AND f.revision = a.revision
    WHERE a.status = 'pending' AND {chosen} ORDER BY {time}, a.source_id LIMIT %(limit)s
"""
_SHARING = """
    SELECT {row} FROM dedup.sharing(%(canonical)s, %(sentences)s, %(buckets)s, %(contents)s) AS hit
    JOIN dedup.fingerprint f USING (article_id)
    JOIN dedup.article a ON a.id = f.article_id
    WHERE %(after)s::timestamptz IS NULL OR {time} >= %(after)s
    LIMIT %(limit)s
"""


def pending(
    cursor: Cursor, policy: str, *, limit: int | None = None, ids: Sequence[int] | None = None
) -> list[Row]:
    """Pending articles whose present text has a fingerprint, in canonical order.

    Args:
        policy: the setting `canonical_order`.
        limit: only so many, the earliest.
        ids: only these.
    """
    query = _composed(_PENDING, policy, chosen="true" if ids is None else "a.id = ANY (%(ids)s)")
    return _rows(cursor, query, {"limit": limit, "ids": hashes(ids or ())})


def common_among(cursor: Cursor, sentences: Hashes) -> Hashes:
    """Those of the sentence hashes that are common."""
    rows = cursor.execute(
        "SELECT sentence_hash FROM dedup.common_sentence WHERE sentence_hash = ANY (%s)", [sentences]
    ).fetchall()
    return hashes([row[0] for row in rows])


def sharing(
    cursor: Cursor,
    policy: str,
    sentences: Hashes,
    buckets: Hashes,
    contents: Hashes,
    *,
    canonical: bool,
    after: datetime | None = None,
    limit: int | None = None,
) -> list[Row]:
    """Settled articles that have one of these sentences, buckets or content hashes.

    Args:
        contents: of those articles that have no bucket; the others are found by theirs.
        canonical: look among canonical articles, or among the others.
        after: only articles at or after this time in canonical order.
        limit: at most so many, any of them.
    """
    query = _composed(_SHARING, policy)
    return _rows(
        cursor,
        query,
        {
            "canonical": canonical,
            "sentences": sentences,
            "buckets": buckets,
            "contents": contents,
            "after": after,
            "limit": limit,
        },
    )


def reach(cursor: Cursor, latest: datetime) -> datetime | None:
    """Note that articles up to this time are being settled.

    Returns:
        A time that no article settled before is later than; None where nothing was settled.
    """
    row = cursor.execute(
        """
        WITH before AS (SELECT settled_through FROM dedup.corpus_state)
        UPDATE dedup.corpus_state s SET settled_through = greatest(s.settled_through, %s)
        FROM before RETURNING before.settled_through
        """,
        [latest],
    ).fetchone()
    return row[0] if row else None


@dataclass(slots=True)
class Outcome:
    """What one settle transaction decided, ready to be written.

    Attributes:
        duplicates: mark of each article settled as a duplicate.
        canonical: ids settled as canonical; their status follows from their pairs.
        flags: new values of the canonical flag, where it changed.
        pairs: the rows of `match` in which a settled article is the later one.
        displaced: ids that were canonical and no longer are; pairs in which they are the earlier end go.
        unsettled: ids, settled before, that have to be settled again.
    """

    duplicates: dict[int, Mark]
    canonical: list[int]
    flags: dict[int, bool]
    pairs: list[Pair]
    displaced: list[int]
    unsettled: set[int]


def write(cursor: Cursor, outcome: Outcome) -> set[int]:
    """Write an outcome.

    Returns:
        The ids that became pending by it.
    """
    settled = [*outcome.duplicates, *outcome.canonical]
    old = cursor.execute(
        """
        DELETE FROM dedup.match WHERE article_id = ANY (%s) OR other_id = ANY (%s)
        RETURNING article_id, other_id
        """,
        [hashes(settled), hashes(outcome.displaced)],
    ).fetchall()
    displaced = set(outcome.displaced)
    unsettled = outcome.unsettled | {a for a, other in old if other in displaced}
    unsettled -= set(settled)
    if outcome.flags:
        cursor.execute(
            """
            UPDATE dedup.fingerprint f SET canonical = n.canonical
            FROM unnest(%s::bigint[], %s::boolean[]) AS n (id, canonical) WHERE f.article_id = n.id
            """,
            [hashes(outcome.flags), list(outcome.flags.values())],
        )
    _write_pairs(cursor, outcome.pairs)
    _write_duplicates(cursor, outcome.duplicates)
    became = _write_pending(cursor, unsettled)
    touched = {other for _, other in old} | {p.other_id for p in outcome.pairs if p.relation == "similar"}
    _write_canonical(cursor, outcome.canonical, touched - set(settled) - unsettled)
    return became


def _write_pairs(cursor: Cursor, pairs: Sequence[Pair]) -> None:
    if not pairs:
        return
    cursor.execute(
        """
        INSERT INTO dedup.match
            (article_id, other_id, relation, sentence_jaccard, signature_jaccard, containment)
        SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::double precision[],
                             %s::double precision[], %s::double precision[])
        """,
        [
            hashes([p.article_id for p in pairs]),
            hashes([p.other_id for p in pairs]),
            [p.relation for p in pairs],
            [p.sentence_jaccard for p in pairs],
            [p.signature_jaccard for p in pairs],
            [p.containment for p in pairs],
        ],
    )


def _write_duplicates(cursor: Cursor, marks: dict[int, Mark]) -> None:
    if not marks:
        return
    cursor.execute(
        """
        UPDATE dedup.article a
        SET status = 'duplicate', duplicate_of = n.duplicate_of, score = n.score, reason = n.reason,
            marked_at = now()
        FROM unnest(%s::bigint[], %s::bigint[], %s::double precision[], %s::text[])
             AS n (id, duplicate_of, score, reason)
        WHERE a.id = n.id
        """,
        [
            hashes(marks),
            hashes([mark.duplicate_of or 0 for mark in marks.values()]),
            [mark.score for mark in marks.values()],
            [mark.reason for mark in marks.values()],
        ],
    )


def _write_pending(cursor: Cursor, ids: Collection[int]) -> set[int]:
    if not ids:
        return set()
    rows = cursor.execute("SELECT * FROM dedup.make_pending(%s)", [hashes(ids)])
    return {row[0] for row in rows.fetchall()}


def _write_canonical(cursor: Cursor, settled: Sequence[int], touched: Iterable[int]) -> None:
    """Mark canonical articles unique or similar by their pairs; `touched` only if they are settled."""
    cursor.execute(
        """
        WITH chosen AS (
            SELECT id FROM unnest(%(settled)s::bigint[]) AS s (id)
            UNION ALL
            SELECT a.id FROM dedup.article a
            WHERE a.id = ANY (%(touched)s) AND a.status IN ('unique', 'similar')
        ), best AS (
            SELECT id, max(sentence_jaccard) AS sentences, max(signature_jaccard) AS signature
            FROM (
                SELECT c.id, m.sentence_jaccard, m.signature_jaccard
                FROM chosen c JOIN dedup.match m ON m.article_id = c.id
                WHERE m.relation = 'similar'
                UNION ALL
                SELECT c.id, m.sentence_jaccard, m.signature_jaccard
                FROM chosen c JOIN dedup.match m ON m.other_id = c.id
                WHERE m.relation = 'similar'
            ) similar_pair GROUP BY id
        ), mark AS (
            SELECT c.id,
                   CASE WHEN b.id IS NULL THEN 'unique' ELSE 'similar' END AS status,
                   greatest(b.sentences, b.signature) AS score,
                   CASE WHEN b.sentences >= b.signature THEN 'sentences'
                        WHEN b.id IS NOT NULL THEN 'signature' END AS reason
            FROM chosen c LEFT JOIN best b ON b.id = c.id
        )
        UPDATE dedup.article a
        SET status = mark.status, duplicate_of = NULL, score = mark.score, reason = mark.reason,
            marked_at = now()
        FROM mark
        WHERE a.id = mark.id AND (a.status, a.score, a.reason)
              IS DISTINCT FROM (mark.status, mark.score, mark.reason)
        """,
        {"settled": hashes(settled), "touched": hashes(list(touched))},
    )


@cache
def _composed(query: str, policy: str, chosen: str = "true") -> bytes:
    """A query of this module for a canonical order; made of constants only."""
    time = ORDER_TIME[policy]
    return query.format(row=_ROW.format(time=time), time=time, chosen=chosen).encode()


def _rows(cursor: Cursor, query: bytes, values: dict[str, object]) -> list[Row]:
    return [
        Row(
            id=row[0],
            order=(row[1], row[2].encode()),
            canonical=row[3],
            content_hash=row[4],
            sentence_hashes=row[5],
            signature=np.frombuffer(row[6], "<u4"),
            buckets=row[7],
            shingle_count=row[8],
        )
        for row in cursor.execute(query, values).fetchall()
    ]
