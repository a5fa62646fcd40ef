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
from dedup.corpus.statements import Statements
from dedup.text.tasks import Fingerprinted, Lost

_sql = Statements("attempts")

SUSPECTS = 20
"""Articles handed out for another attempt at a time."""


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
        _sql("note"),
        {
            "ids": bigints([loss.article_id for loss in lost]),
            "revisions": [loss.revision for loss in lost],
            "reasons": [loss.reason for loss in lost],
        },
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
    row = cursor.execute(_sql("waiting"), {"pauses": list(pauses)}).fetchone()
    assert row is not None
    return Waiting(row[0], row[1], None if row[2] is None else max(0.0, float(row[2])))


def due(cursor: Cursor, pauses: Sequence[float], without: Collection[int] = ()) -> fingerprints.Chunk:
    """Some articles that can be tried again now. `pauses`: as in `waiting`. `without`: articles
    being tried.
    """
    rows = cursor.execute(
        _sql("due"),
        {"pauses": list(pauses), "without": bigints(without), "limit": SUSPECTS},
    ).fetchall()
    return [(row[0], row[1]) for row in rows]


def retry(cursor: Cursor, reason: str, limit: int) -> int:
    """Make failed articles pending again; returns how many. Needs the settle lock. `reason`: how the reason
    of their failure begins. `limit`: at most so many.
    """
    rows = cursor.execute(_sql("failed"), {"reason": reason, "limit": limit}).fetchall()
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
    rows = cursor.execute(_sql("suspects"), {"limit": limit}).fetchall()
    return [Suspect(*row) for row in rows]
