"""Reads, starts and stops the journal of marks (docs/changes.md); `migrations/sql/journal.sql` keeps it."""

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

MOST_CHANGES = 100_000  # Maximum number per call: 20 MB

# Maximum wait for the locks on tables; an automatic vacuum gives way after 1 s.
LOCK_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class MarkChange(Answer):
    """A changed mark in its present state; the fields are as in `Verdict`."""

    cursor: str  # opaque; pass it to get the changes after this change
    id: str  # the article's source_id
    status: str  # also "pending" (the last mark no longer counts) and "deleted"
    duplicate_of: str | None
    score: float | None
    reason: str | None


def changes(cursor: Cursor, since: str | None, limit: int) -> list[MarkChange]:
    """Return the next marks that changed since a cursor, or all. Raises the errors of `Questions.changes`."""
    try:
        rows = cursor.execute(_sql("changes"), {"since": since, "limit": limit}).fetchall()
    except psycopg.Error as error:
        match error.sqlstate:
            case "DJ001":
                raise InputError(
                    "no journal of marks is kept, so nothing tells what changed; the owner of the schema"
                    " starts it: `dedup changes --start`"
                ) from None
            case "DJ002":
                raise InputError("that is no cursor of changes; give the last one that you read") from None
            case "DJ003":
                raise CursorError(
                    "the cursor is of another history of the marks (after a restore, a failover, TRUNCATE or"
                    " another start of the journal), or older than the recorded deletions; forget your copies"
                    " of the marks, and read all of them: `dedup changes` without --since"
                ) from None
        raise
    return [MarkChange(*row) for row in rows]


def keep_journal(cursor: Cursor, *, wanted: bool) -> bool:
    """Start or drop the journal; return False if nothing changed. Needs the settle lock and the owner."""
    cursor.execute(set_values({"lock_timeout": milliseconds(LOCK_SECONDS)}, local=True))
    return bool(one_row(cursor, _sql("start" if wanted else "stop"))[0])
