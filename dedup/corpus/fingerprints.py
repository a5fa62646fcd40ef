"""Fingerprints in and out of the database. It neither makes nor compares them.

Read next: `settling.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from dedup.corpus.arrays import Hashes, hashes
from dedup.corpus.database import Cursor, prefer_indexes
from dedup.corpus.staging import stage
from dedup.text.fingerprint import Fingerprint

ORDER_TIME = {
    "published": "coalesce(a.published_at, a.added_at)",
    "added": "a.added_at",
}
"""The time of canonical order per policy; each has its partial index of pending articles."""


Place = tuple[datetime, str]
"""Where an article stands in canonical order, as SQL compares it: time and source_id."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A pending article whose text has no fingerprint yet."""

    id: int
    revision: int
    language: str | None
    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of a text: a fingerprint, or the reason why there is none."""

    article_id: int
    revision: int
    fingerprint: Fingerprint | None
    reason: str | None = None


_COLUMNS = [
    ("article_id", "bigint"),
    ("revision", "integer"),
    ("version", "bigint"),
    ("content_hash", "bigint"),
    ("sentence_hashes", "bigint[]"),
    ("signature", "bytea"),
    ("buckets", "bigint[]"),
    ("sketch", "bigint"),
    ("word_count", "integer"),
    ("shingle_count", "integer"),
]


FEW = 4
"""Up to so many fingerprints are sent as parameters; beyond, COPY is faster than it costs to set up."""

_NAMES = ", ".join(name for name, _ in _COLUMNS)
_INSERT = f"""
    INSERT INTO dedup.fingerprint ({_NAMES})
    SELECT {_NAMES} FROM {{source}} AS n ({_NAMES})
    WHERE EXISTS (SELECT FROM dedup.article a
                  WHERE a.id = n.article_id AND a.revision = n.revision AND a.status = 'pending')
    ON CONFLICT (article_id) DO NOTHING
"""
_INSERT_ONE = _INSERT.format(source=f"(SELECT {', '.join(f'%s::{kind}' for _, kind in _COLUMNS)})").encode()
_INSERT_STAGED = _INSERT.format(source="pg_temp.fingerprint_new").encode()


def unread_page(
    cursor: Cursor, policy: str, after: Place | None, limit: int, max_characters: int
) -> list[Unread]:
    """The next pending articles without a fingerprint of their present text, in canonical order.

    Args:
        policy: the setting `canonical_order`.
        after: the place of the last article of the page before; None for the first page.
        max_characters: stop the page after about so many characters of text, but not before one article.
    """
    time = ORDER_TIME[policy]
    query = f"""
        WITH page AS MATERIALIZED (
            SELECT a.id, {time} AS time, a.source_id
            FROM dedup.article a
            WHERE a.status = 'pending'
              AND (%(time)s::timestamptz IS NULL OR ({time}, a.source_id) > (%(time)s, %(source_id)s))
              AND NOT EXISTS (SELECT FROM dedup.fingerprint f
                              WHERE f.article_id = a.id AND f.revision = a.revision)
            ORDER BY {time}, a.source_id LIMIT %(limit)s
        ), sized AS (
            SELECT p.*, sum(octet_length(a.text)) OVER (ORDER BY p.time, p.source_id) - octet_length(a.text)
                   AS before
            FROM page p JOIN dedup.article a USING (id)
        )
        SELECT s.id, a.revision, a.language, a.text, s.time, s.source_id
        FROM sized s JOIN dedup.article a USING (id)
        WHERE s.before <= %(max)s
        ORDER BY s.time, s.source_id
    """
    prefer_indexes(cursor)
    last_time, last_source_id = after or (None, None)
    rows = cursor.execute(
        query.encode(),
        {"time": last_time, "source_id": last_source_id, "limit": limit, "max": max_characters},
    ).fetchall()
    return [Unread(row[0], row[1], row[2], row[3], (row[4], row[5])) for row in rows]


def count_unread(cursor: Cursor) -> int:
    """How many pending articles have no fingerprint of their present text."""
    row = cursor.execute("""
        SELECT count(*) FROM dedup.article a
        WHERE a.status = 'pending'
          AND NOT EXISTS (SELECT FROM dedup.fingerprint f
                          WHERE f.article_id = a.id AND f.revision = a.revision)
    """).fetchone()
    assert row is not None
    return int(row[0])


def count_unsettled(cursor: Cursor) -> int:
    """How many pending articles have a fingerprint of their present text."""
    row = cursor.execute("""
        SELECT count(*) FROM dedup.article a
        JOIN dedup.fingerprint f ON f.article_id = a.id AND f.revision = a.revision
        WHERE a.status = 'pending'
    """).fetchone()
    assert row is not None
    return int(row[0])


def store_readings(cursor: Cursor, readings: Sequence[Reading]) -> None:
    """Store fingerprints and failures, except of texts that changed or went meanwhile.

    Needs the settle lock: with it nobody is just editing or deleting one of these articles, or changing
    the settings that the fingerprints were made with.
    """
    made = [(r, r.fingerprint) for r in readings if r.fingerprint is not None]
    if len(made) > FEW:
        prefer_indexes(cursor)
        stage(cursor, "fingerprint_new", _COLUMNS, (_row(r, f) for r, f in made))
        cursor.execute(_INSERT_STAGED)
    else:
        for reading, fingerprint in made:
            cursor.execute(_INSERT_ONE, _row(reading, fingerprint))
    failed = [r for r in readings if r.fingerprint is None]
    if failed:
        cursor.execute(
            """
            UPDATE dedup.article a
            SET status = 'failed', reason = f.reason, score = NULL, marked_at = now()
            FROM unnest(%s::bigint[], %s::integer[], %s::text[]) AS f (id, revision, reason)
            WHERE a.id = f.id AND a.revision = f.revision AND a.status = 'pending'
            """,
            [
                hashes([r.article_id for r in failed]),
                [r.revision for r in failed],
                [r.reason for r in failed],
            ],
        )


def _row(reading: Reading, fingerprint: Fingerprint) -> tuple[object, ...]:
    return (
        reading.article_id,
        reading.revision,
        fingerprint.version,
        fingerprint.content_hash,
        hashes(fingerprint.sentence_hashes),
        signature_bytes(fingerprint),
        hashes(fingerprint.buckets),
        fingerprint.sketch,
        fingerprint.word_count,
        fingerprint.shingle_count,
    )


def signature_bytes(fingerprint: Fingerprint) -> bytes:
    """A signature as it is stored: unsigned 32-bit little-endian values."""
    return fingerprint.signature.astype("<u4").tobytes()


def read_fingerprint(
    version: int,
    content_hash: int,
    sentence_hashes: Hashes,
    signature: bytes,
    buckets: Hashes,
    sketch: int,
    word_count: int,
    shingle_count: int,
) -> Fingerprint:
    """A fingerprint from its stored columns."""
    return Fingerprint(
        version,
        content_hash,
        tuple(sentence_hashes.tolist()),
        np.frombuffer(signature, "<u4"),
        tuple(buckets.tolist()),
        sketch,
        word_count,
        shingle_count,
    )
