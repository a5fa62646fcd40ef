"""Texts out of the database, fingerprints into it and out again. It neither makes nor compares them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import numpy as np

from dedup.corpus import articles
from dedup.corpus.arrays import Bigints, bigints
from dedup.corpus.database import Cursor, prefer_indexes
from dedup.corpus.staging import stage
from dedup.corpus.statements import statement
from dedup.text.fingerprint import Fingerprint
from dedup.text.tasks import Fingerprinted, TextTask

Place = tuple[datetime, str]
"""Where an article stands in the index of unsettled ones: time and source_id."""


_COLUMNS = [
    ("article_id", "bigint"),
    ("revision", "integer"),
    ("version", "bigint"),
    ("content_hash", "bigint"),
    ("sentence_hashes", "bigint[]"),
    ("signature", "bytea"),
    ("buckets", "bigint[]"),
    ("word_count", "integer"),
    ("shingle_count", "integer"),
]


FEW = 4
"""Up to so many fingerprints are sent as parameters; beyond, COPY is faster than it costs to set up."""

_NAMES = ", ".join(name for name, _ in _COLUMNS)
_INSERT = f"""
    INSERT INTO dedup.fingerprint ({_NAMES})
    SELECT {_NAMES} FROM {{source}} AS n ({_NAMES})
    WHERE EXISTS (SELECT FROM dedup.article a WHERE a.id = n.article_id AND a.revision = n.revision
                                                AND (a.status = 'pending' OR a.stale))
    ON CONFLICT (article_id) DO NOTHING
"""
_INSERT_ONE = _INSERT.format(source=f"(SELECT {', '.join(f'%s::{kind}' for _, kind in _COLUMNS)})").encode()
_INSERT_STAGED = _INSERT.format(source="pg_temp.fingerprint_new").encode()

_UNFINGERPRINTED = """
    (a.status = 'pending' OR a.stale)
    AND NOT EXISTS (SELECT FROM dedup.fingerprint f WHERE f.article_id = a.id AND f.revision = a.revision)
"""


def unfingerprinted_page(
    cursor: Cursor, after: Place | None, limit: int, max_characters: int, too_long: int
) -> tuple[list[TextTask], Place | None]:
    """The next articles whose present text has no fingerprint, near enough in canonical order.

    Those that wait for another attempt are left out (`attempts.py`).

    Args:
        after: the place of the last article of the page before; None for the first page.
        max_characters: stop the page after about so many characters of text, but not before one article.
        too_long: texts that are surely longer than so many characters come without their words.

    Returns:
        The texts, and the place of the last one.
    """
    prefer_indexes(cursor)
    last_time, last_source_id = after or (None, None)
    rows = cursor.execute(
        statement("unfingerprinted_page"),
        {
            "time": last_time,
            "source_id": last_source_id,
            "limit": limit,
            "max": max_characters,
            "too_long": too_long,
        },
    ).fetchall()
    return [TextTask(*row[:6]) for row in rows], (rows[-1][6], rows[-1][7]) if rows else None


def count_unfingerprinted(cursor: Cursor) -> int:
    """How many articles wait for a fingerprint of their present text."""
    return _count(cursor, f"SELECT count(*) FROM dedup.article a WHERE {_UNFINGERPRINTED}")


def count(cursor: Cursor) -> int:
    """About how many fingerprints there are, as the planner knows."""
    return _count(
        cursor,
        "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'dedup.fingerprint'::regclass",
    )


def count_unsettled(cursor: Cursor) -> int:
    """How many articles with a fingerprint of their present text are pending or stale."""
    return _count(
        cursor,
        "SELECT count(*) FROM dedup.article a"
        " JOIN dedup.fingerprint f ON f.article_id = a.id AND f.revision = a.revision"
        " WHERE a.status = 'pending' OR a.stale",
    )


def _count(cursor: Cursor, query: str) -> int:
    row = cursor.execute(query.encode()).fetchone()
    assert row is not None
    return int(row[0])


def store(cursor: Cursor, results: Sequence[Fingerprinted]) -> None:
    """Store fingerprints and failures, except of texts that changed or went meanwhile.

    Needs the settle lock: with it nobody is just editing or deleting one of these articles, or changing
    the settings that the fingerprints were made with.
    """
    made = [(r, r.fingerprint) for r in results if r.fingerprint is not None]
    if _insert(cursor, made) < len(made) and _remove_outdated(cursor, [r.article_id for r, _ in made]):
        _insert(cursor, made)
    failed = [r for r in results if r.fingerprint is None]
    if failed:
        _remove_outdated(cursor, [r.article_id for r in failed])
        _fail(cursor, failed)
    cursor.execute(
        "DELETE FROM dedup.attempt WHERE article_id = ANY (%s)", [bigints([r.article_id for r in results])]
    )


def _insert(cursor: Cursor, made: Sequence[tuple[Fingerprinted, Fingerprint]]) -> int:
    """Insert fingerprints where there is none; returns how many."""
    if len(made) > FEW:
        stage(cursor, "fingerprint_new", _COLUMNS, (_row(r, f) for r, f in made))
        return cursor.execute(_INSERT_STAGED).rowcount
    return sum(cursor.execute(_INSERT_ONE, _row(r, f)).rowcount for r, f in made)


def _remove_outdated(cursor: Cursor, ids: Sequence[int]) -> bool:
    """Remove fingerprints of another revision of their article, and have decided again what rests on them.

    An edit removes them. They are here where someone wrote a revision by hand, or restored half a backup.
    """
    rows = cursor.execute(
        """
        DELETE FROM dedup.fingerprint f USING dedup.article a
        WHERE f.article_id = ANY (%s) AND a.id = f.article_id AND f.revision <> a.revision
        RETURNING a.id
        """,
        [bigints(ids)],
    ).fetchall()
    removed = [row[0] for row in rows]
    if removed:
        articles.withdraw(cursor, removed)
        articles.remove_pairs(cursor, removed)
    return bool(removed)


def drop(cursor: Cursor, ids: Collection[int]) -> None:
    """Remove fingerprints, and have settled again what rests on them. Needs the settle lock."""
    articles.withdraw(cursor, ids)
    cursor.execute("DELETE FROM dedup.fingerprint WHERE article_id = ANY (%s)", [bigints(ids)])


def read_again(cursor: Cursor, ids: Collection[int]) -> list[int]:
    """Have those of these articles that failed read again; returns them. Needs the settle lock."""
    rows = cursor.execute(
        "UPDATE dedup.article SET status = 'pending', reason = NULL, marked_at = NULL"
        " WHERE id = ANY (%s) AND status = 'failed' RETURNING id",
        [bigints(ids)],
    ).fetchall()
    return [row[0] for row in rows]


def _fail(cursor: Cursor, failed: Sequence[Fingerprinted]) -> None:
    """Mark articles as failed, and take back what was decided by them under an earlier fingerprint."""
    rows = cursor.execute(
        """
        UPDATE dedup.article a
        SET status = 'failed', stale = false, takes_part = false, duplicate_of = NULL, score = NULL,
            reason = f.reason, limit_fired = NULL, marked_at = now()
        FROM unnest(%s::bigint[], %s::integer[], %s::text[]) AS f (id, revision, reason)
        WHERE a.id = f.id AND a.revision = f.revision AND (a.status = 'pending' OR a.stale)
        RETURNING a.id
        """,
        [
            bigints([r.article_id for r in failed]),
            [r.revision for r in failed],
            [r.reason for r in failed],
        ],
    ).fetchall()
    articles.remove_pairs(cursor, [row[0] for row in rows])


def _row(result: Fingerprinted, fingerprint: Fingerprint) -> tuple[object, ...]:
    return (
        result.article_id,
        result.revision,
        fingerprint.version,
        fingerprint.content_hash,
        bigints(fingerprint.sentence_hashes),
        fingerprint.signature.tobytes(),
        bigints(fingerprint.buckets),
        fingerprint.word_count,
        fingerprint.shingle_count,
    )


def from_columns(
    version: int,
    content_hash: int,
    sentence_hashes: Bigints,
    signature: bytes,
    buckets: Bigints,
    word_count: int,
    shingle_count: int,
) -> Fingerprint:
    """A fingerprint from its stored columns."""
    return Fingerprint(
        version,
        content_hash,
        tuple(sentence_hashes.tolist()),
        np.frombuffer(signature, np.uint8),
        tuple(buckets.tolist()),
        word_count,
        shingle_count,
    )
