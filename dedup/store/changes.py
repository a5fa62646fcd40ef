"""Starts, reads and drops the journal of changed marks (docs/changes.md).

Triggers of the database write the journal.
"""

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

LOCK_SECONDS = 1.5  # Maximum wait for table locks; an automatic vacuum gives up its lock after 1 s


@dataclass(frozen=True, slots=True)
class MarkChange(Answer):
    """The present mark of an article whose mark changed; the fields are as in `Verdict`.

    Attributes:
        cursor: opaque text; pass it as `since` to get the changes after this change.
        id: the article's source_id.
        status: status of the mark, or "pending" (the last mark is no longer valid), or "deleted".
    """

    cursor: str
    id: str
    status: str
    duplicate_of: str | None
    score: float | None
    reason: str | None


def changes(cursor: Cursor, since: str | None, limit: int) -> list[MarkChange]:
    """Return up to `limit` marks that changed after `since` (None: all). Errors: see `Questions.changes`."""
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
                raise InputError("this is not a cursor of changes; give the last cursor you read") from None
            case "DJ003":
                raise CursorError(
                    "the cursor belongs to another history of the marks (after a restore, failover, TRUNCATE"
                    " or new start of the journal), or is too old: the journal may lack deletions. Discard"
                    " your copies of the marks, and read all marks again: `dedup changes` without --since"
                ) from None
        raise
    return [MarkChange(*row) for row in rows]


def keep_journal(cursor: Cursor, *, wanted: bool) -> bool:
    """Start or drop the journal; return False if nothing changed.
    Needs the settle lock and the rights of the schema's owner."""
    cursor.execute(set_values({"lock_timeout": milliseconds(LOCK_SECONDS)}, local=True))
    return bool(one_row(cursor, _sql("start" if wanted else "stop"))[0])
