"""What settling reads and writes: articles to settle, what shares something with them, marks and pairs.

Every statement works on sets; none is called per article. It decides nothing; see `../engine/settle.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np

from dedup.corpus.arrays import Bigints, bigints
from dedup.corpus.database import Cursor
from dedup.corpus.statements import statement
from dedup.rules.marks import Mark, OrderKey, Pair
from dedup.rules.pair import Relation
from dedup.settings import Settings
from dedup.text.signature import Signature

Among = Literal["canonical", "duplicate", "waiting"]
"""Which articles to look among: canonical ones and duplicates that take part, or those that do not yet."""

PairPins = dict[frozenset[bytes], Relation]
"""The source_ids of two articles, as UTF-8, to what a person has said they are to each other."""


@dataclass(frozen=True, slots=True)
class FingerprintRow:
    """A fingerprinted article as settling reads it.

    Attributes:
        stored_canonical: its flag as it is stored.
        canonical: the same where it counts; None in an article that takes no part yet.
        settled: whether it has a mark that need not be settled again.
        pinned: whether a pin of a pair names it.
    """

    id: int
    order: OrderKey
    stored_canonical: bool
    canonical: bool | None
    settled: bool
    pinned: bool
    content_hash: int
    sentence_hashes: Bigints
    signature: Signature
    buckets: Bigints
    shingle_count: int


def next_unsettled(cursor: Cursor, settings: Settings, limit: int) -> list[FingerprintRow]:
    """The next articles to settle that have a fingerprint; the earliest, near enough (see the statement)."""
    return _rows(cursor, settings, "next_unsettled", limit=limit)


def unsettled_among(cursor: Cursor, settings: Settings, ids: Collection[int]) -> list[FingerprintRow]:
    """Of these articles those to settle that have a fingerprint."""
    return _rows(cursor, settings, "unsettled_among", ids=bigints(ids))


def named(cursor: Cursor, settings: Settings, names: Collection[bytes]) -> list[FingerprintRow]:
    """Fingerprinted articles by their source_ids."""
    if not names:
        return []
    return _rows(cursor, settings, "named", names=[name.decode() for name in names])


def sharing(
    cursor: Cursor,
    settings: Settings,
    among: Among,
    sentences: Bigints,
    buckets: Bigints,
    contents: Bigints,
    *,
    after: datetime | None = None,
    limit: int | None = None,
) -> list[FingerprintRow]:
    """Fingerprinted articles that have one of these sentences, buckets or content hashes.

    Args:
        contents: of short texts, which have no buckets; the others are found by theirs.
        after: only articles at or after this time in canonical order.
        limit: at most so many, any of them.
    """
    return _rows(
        cursor,
        settings,
        "sharing",
        among=among,
        sentences=sentences,
        buckets=buckets,
        contents=contents,
        after=after,
        limit=limit,
    )


def common_among(cursor: Cursor, sentences: Bigints) -> Bigints:
    """Those of the sentence hashes that are common."""
    rows = cursor.execute(
        "SELECT sentence_hash FROM dedup.common_sentence WHERE sentence_hash = ANY (%s)", [sentences]
    ).fetchall()
    return bigints([row[0] for row in rows])


def pair_pins(cursor: Cursor, rows: Sequence[FingerprintRow]) -> PairPins:
    """The pins of pairs in which one of these articles is, by source_id."""
    names = [row.order[1].decode() for row in rows if row.pinned]
    if not names:
        return {}
    found = cursor.execute(
        """
        SELECT source_id, other_source_id, relation FROM dedup.pair_pin
        WHERE source_id = ANY (%(names)s)
        UNION
        SELECT source_id, other_source_id, relation FROM dedup.pair_pin
        WHERE other_source_id = ANY (%(names)s)
        """,
        {"names": names},
    ).fetchall()
    return {frozenset((row[0].encode(), row[1].encode())): Relation(row[2]) for row in found}


def reach(cursor: Cursor, settings: Settings, latest: datetime) -> datetime | None:
    """Note that articles up to this time are being settled.

    Returns:
        A time that no article settled before is later than; None where nothing was settled.
    """
    row = cursor.execute(_REACH, [latest]).fetchone()
    if row is None or row[0]:
        return row and row[0]
    # A new corpus; or marks that came by a restore of data alone.
    row = cursor.execute(
        "SELECT max(dedup.canonical_time(published_at, added_at, %(policy)s, %(earliest)s))"
        " FROM dedup.article WHERE takes_part",
        order_parameters(settings),
    ).fetchone()
    before: datetime | None = row[0] if row else None
    if before:
        cursor.execute(_REACH, [before])
    return before


_REACH = """
    WITH before AS (SELECT settled_through FROM dedup.corpus_state)
    UPDATE dedup.corpus_state s SET settled_through = greatest(s.settled_through, %s)
    FROM before RETURNING before.settled_through
"""


def count_unsettled(cursor: Cursor, limit: int | None = None) -> int:
    """How many articles are pending or stale, with a fingerprint or without; counting stops at `limit`."""
    row = cursor.execute(
        "SELECT count(*) FROM ("
        "SELECT FROM dedup.article WHERE status = 'pending' OR stale LIMIT %s) AS found",
        [limit],
    ).fetchone()
    assert row is not None
    return int(row[0])


@dataclass(slots=True)
class Outcome:
    """What one settle transaction decided, ready to be written.

    Attributes:
        duplicates: mark of each article settled as a duplicate.
        canonical: ids settled as canonical; their status follows from their pairs.
        flags: new values of the stored canonical flag, where it changes.
        pairs: the rows of `match` in which a settled article is the later one.
        displaced: ids that were canonical and no longer are.
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
        The ids that became stale by it.
    """
    settled = [*outcome.duplicates, *outcome.canonical]
    old = cursor.execute(
        "DELETE FROM dedup.match WHERE article_id = ANY (%s) RETURNING other_id", [bigints(settled)]
    ).fetchall()
    unsettled = (outcome.unsettled | _decided_by(cursor, outcome.displaced)) - set(settled)
    if outcome.flags:
        cursor.execute(
            """
            UPDATE dedup.fingerprint f SET canonical = n.canonical
            FROM unnest(%s::bigint[], %s::boolean[]) AS n (id, canonical) WHERE f.article_id = n.id
            """,
            [bigints(outcome.flags), list(outcome.flags.values())],
        )
    _write_pairs(cursor, outcome.pairs)
    write_duplicates(cursor, outcome.duplicates)
    became = make_stale(cursor, unsettled)
    touched = {row[0] for row in old} | {p.other_id for p in outcome.pairs if p.relation == "similar"}
    mark_canonical(cursor, outcome.canonical, touched - set(settled) - unsettled)
    return became


def _decided_by(cursor: Cursor, ids: Sequence[int]) -> set[int]:
    """The later articles of the pairs of these: what was decided by their being canonical."""
    if not ids:
        return set()
    rows = cursor.execute("SELECT article_id FROM dedup.match WHERE other_id = ANY (%s)", [bigints(ids)])
    return {row[0] for row in rows.fetchall()}


def _write_pairs(cursor: Cursor, pairs: Sequence[Pair]) -> None:
    if not pairs:
        return
    cursor.execute(
        """
        INSERT INTO dedup.match (article_id, other_id, relation, rule, score,
                                 sentence_jaccard, signature_jaccard, containment)
        SELECT * FROM unnest(%s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::double precision[],
                             %s::double precision[], %s::double precision[], %s::double precision[])
        """,
        [
            bigints([p.article_id for p in pairs]),
            bigints([p.other_id for p in pairs]),
            [p.relation for p in pairs],
            [p.rule for p in pairs],
            [p.score for p in pairs],
            [p.sentence_jaccard for p in pairs],
            [p.signature_jaccard for p in pairs],
            [p.containment for p in pairs],
        ],
    )


def write_duplicates(cursor: Cursor, marks: dict[int, Mark], *, stale: bool = False) -> None:
    """Mark articles as duplicates.

    Args:
        stale: the marks are provisional: to be settled again, and no reason to take part.
    """
    if not marks:
        return
    cursor.execute(
        """
        UPDATE dedup.article a
        SET status = 'duplicate', stale = %(stale)s, takes_part = a.takes_part OR NOT %(stale)s,
            duplicate_of = n.duplicate_of, score = n.score, reason = n.reason, limit_fired = NULL,
            marked_at = now()
        FROM unnest(%(ids)s::bigint[], %(originals)s::bigint[], %(scores)s::double precision[],
                    %(reasons)s::text[]) AS n (id, duplicate_of, score, reason)
        WHERE a.id = n.id
        """,
        {
            "stale": stale,
            "ids": bigints(marks),
            "originals": bigints([mark.duplicate_of or 0 for mark in marks.values()]),
            "scores": [mark.score for mark in marks.values()],
            "reasons": [mark.reason for mark in marks.values()],
        },
    )


def make_stale(cursor: Cursor, ids: Collection[int]) -> set[int]:
    """Have articles settled again; returns those that were settled."""
    if not ids:
        return set()
    rows = cursor.execute("SELECT * FROM dedup.make_stale(%s)", [bigints(ids)])
    return {row[0] for row in rows.fetchall()}


def mark_canonical(cursor: Cursor, settled: Collection[int], touched: Iterable[int]) -> None:
    """Mark canonical articles unique or similar by their pairs; `touched` only if they are settled."""
    cursor.execute(
        statement("mark_canonical"), {"settled": bigints(settled), "touched": bigints(list(touched))}
    )


def order_parameters(settings: Settings) -> dict[str, Any]:
    """The settings of canonical order as the statements take them."""
    return {
        "policy": settings.canonical_order,
        "earliest": datetime(settings.earliest_year, 1, 1, tzinfo=UTC),
    }


def _rows(cursor: Cursor, settings: Settings, name: str, **values: object) -> list[FingerprintRow]:
    query = statement(name, row=statement("fingerprint_row").decode())
    rows = cursor.execute(query, {**order_parameters(settings), **values}).fetchall()
    return [
        FingerprintRow(
            id=row[0],
            order=(row[1], row[2].encode()),
            stored_canonical=row[3],
            canonical=row[3] if row[4] else None,
            settled=row[5],
            pinned=row[6],
            content_hash=row[7],
            sentence_hashes=row[8],
            signature=np.frombuffer(row[9], np.uint8),
            buckets=row[10],
            shingle_count=row[11],
        )
        for row in rows
    ]
