"""Texts that lost their worker: how often, when they are tried again, and how a person has them tried again.

A worker process can die for reasons that have nothing to do with the text it reads. So a loss is an attempt,
kept here with its time and reason; only after several does the article fail.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from dedup.answer import Answer
from dedup.corpus import fingerprints
from dedup.corpus.arrays import bigints
from dedup.corpus.database import Cursor
from dedup.text.tasks import Fingerprinted, Lost

SUSPECTS = 20
"""Articles handed out for another attempt at a time."""

_WAITING = """
    dedup.attempt t JOIN dedup.article a ON a.id = t.article_id AND a.revision = t.revision
    WHERE (a.status = 'pending' OR a.stale)
"""
_SECONDS_LEFT = """
    (%(pauses)s::double precision[])[least(t.attempts, cardinality(%(pauses)s::double precision[]))]
    - extract(epoch FROM clock_timestamp() - t.last_at)
"""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The articles that wait for another attempt."""

    articles: int  # how many
    due: int  # how many of them can be tried now
    seconds: float | None  # until the next one can be; None where there is none


def note(cursor: Cursor, lost: Sequence[Lost], limit: int) -> list[Fingerprinted]:
    """Count attempts, except of texts that changed or went meanwhile. Needs the settle lock. `limit`:
    attempts after which an article fails. Returns the failures, for `fingerprints.store`.
    """
    if not lost:
        return []
    rows = cursor.execute(
        """
        INSERT INTO dedup.attempt AS t (article_id, revision, reason)
        SELECT l.id, l.revision, l.reason
        FROM unnest(%s::bigint[], %s::integer[], %s::text[]) AS l (id, revision, reason)
        JOIN dedup.article a ON a.id = l.id AND a.revision = l.revision
        WHERE a.status = 'pending' OR a.stale
        ON CONFLICT (article_id) DO UPDATE
        SET attempts = CASE WHEN t.revision = excluded.revision THEN t.attempts + 1 ELSE 1 END,
            first_at = CASE WHEN t.revision = excluded.revision THEN t.first_at ELSE excluded.first_at END,
            last_at = excluded.last_at, reason = excluded.reason, revision = excluded.revision
        RETURNING article_id, revision, attempts, reason
        """,
        [bigints([loss.article_id for loss in lost]), [r.revision for r in lost], [r.reason for r in lost]],
    ).fetchall()
    return [
        Fingerprinted(article_id, revision, None, f"unreadable: {reason}, {attempts} times")
        for article_id, revision, attempts, reason in rows
        if attempts >= limit
    ]


def waiting(cursor: Cursor, pauses: Sequence[float]) -> Waiting:
    """The articles that wait for another attempt. `pauses`: seconds after the first attempt, the second, and
    so on.
    """
    row = cursor.execute(
        f"SELECT count(*), count(*) FILTER (WHERE {_SECONDS_LEFT} <= 0), min({_SECONDS_LEFT})"
        f" FROM {_WAITING}".encode(),
        {"pauses": list(pauses)},
    ).fetchone()
    assert row is not None
    return Waiting(row[0], row[1], None if row[2] is None else max(0.0, float(row[2])))


def due(cursor: Cursor, pauses: Sequence[float], without: Collection[int] = ()) -> fingerprints.Chunk:
    """Some articles that can be tried again now. `pauses`: as in `waiting`. `without`: articles
    being tried.
    """
    rows = cursor.execute(
        f"""
        SELECT a.id, a.revision
        FROM {_WAITING} AND {_SECONDS_LEFT} <= 0 AND a.id <> ALL (%(without)s::bigint[])
        ORDER BY t.last_at, a.id LIMIT %(limit)s
        """.encode(),
        {"pauses": list(pauses), "without": bigints(without), "limit": SUSPECTS},
    ).fetchall()
    return [(row[0], row[1]) for row in rows]


def retry(cursor: Cursor, reason: str, limit: int) -> int:
    """Make failed articles pending again; returns how many. Needs the settle lock. `reason`: how the reason
    of their failure begins. `limit`: at most so many.
    """
    rows = cursor.execute(
        "SELECT id FROM dedup.article WHERE status = 'failed' AND NOT archived AND starts_with(reason, %s)"
        " ORDER BY id LIMIT %s",
        [reason, limit],
    ).fetchall()
    return len(fingerprints.read_again(cursor, [row[0] for row in rows]))


@dataclass(frozen=True, slots=True)
class Suspect(Answer):
    """An article that waits for another attempt, for `dedup status`."""

    source_id: str
    attempts: int
    first_at: datetime
    last_at: datetime
    reason: str


def suspects(cursor: Cursor, limit: int) -> list[Suspect]:
    """Some of the articles that wait for another attempt, those of most attempts first."""
    rows = cursor.execute(
        f"SELECT a.source_id, t.attempts, t.first_at, t.last_at, t.reason FROM {_WAITING}"
        " ORDER BY t.attempts DESC, a.source_id LIMIT %s".encode(),
        [limit],
    ).fetchall()
    return [Suspect(*row) for row in rows]
