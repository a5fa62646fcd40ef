"""Reads, starts and stops the journal of marks (docs/changes.md). Triggers write it (`migrations/sql`)."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg

from dedup.base.answer import Answer
from dedup.base.errors import CursorError, InputError
from dedup.base.timeouts import milliseconds
from dedup.db.connection import one_row, set_values
from dedup.db.database import Cursor
from dedup.db.statements import Statements

_sql = Statements("store/changes")

MOST_CHANGES = 100_000  # Maximum number of changes per call, about 20 MB

# Maximum seconds to wait for table locks: longer than 1 s, after which an automatic vacuum releases its lock.
LOCK_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class MarkChange(Answer):
    """A changed mark in its present state; the fields are as in `Verdict`."""

    cursor: str  # opaque; pass it to get the changes after this change
    id: str  # the article's source_id
    status: str  # of the mark; or "pending" (the last mark no longer counts), or "deleted"
    duplicate_of: str | None
    score: float | None
    reason: str | None


def changes(cursor: Cursor, since: str | None, limit: int) -> list[MarkChange]:
    """Return the next marks that changed since a cursor; None: all marks. Errors: see `Questions.changes`."""
    try:
        rows = cursor.execute(_sql("changes"), {"since": since, "limit": limit}).fetchall()
    except psycopg.Error as error:
        match error.sqlstate:
            case "DJ001":
                raise InputError(
                    "no journal of marks is kept, so it is not known which marks changed; the owner of the"
                    " schema can start a journal: `dedup changes --start`"
                ) from None
            case "DJ002":
                raise InputError("this is not a cursor of changes; give the last one that you read") from None
            case "DJ003":
                raise CursorError(
                    "the cursor belongs to another history of the marks (as after a restore, failover,"
                    " TRUNCATE or new start of the journal), or is older than the recorded deletions; discard"
                    " your copies of the marks, and read all marks again: `dedup changes` without --since"
                ) from None
        raise
    return [MarkChange(*row) for row in rows]


def keep_journal(cursor: Cursor, *, wanted: bool) -> bool:
    """Start or drop the journal; return False if nothing changed. For the owner; needs the settle lock."""
    cursor.execute(set_values({"lock_timeout": milliseconds(LOCK_SECONDS)}, local=True))
    return bool(one_row(cursor, _sql("start" if wanted else "stop"))[0])
