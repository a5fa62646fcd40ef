"""Exports marks and pairs row by row; the memory used does not grow with the result. Read-only."""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime
from functools import partial
from typing import Any, NotRequired, TypedDict, get_args

from dedup.base.answer import Rows
from dedup.base.errors import InputError
from dedup.base.verdict import StatusName
from dedup.db.database import Database
from dedup.db.statements import Statements

_sql = Statements("store/exports")

PAGE = 5_000  # Maximum number of rows per fetch from the server


class MarkRow(TypedDict):
    """An article's mark; see `Verdict`. If `stale` is true, a backfill will replace the mark.

    Attributes:
        kept: the caller's own columns by name, if requested.
    """

    id: str
    status: StatusName
    duplicate_of: str | None
    score: float | None
    reason: str | None
    stale: bool
    kept: NotRequired[dict[str, Any] | None]


class MatchRow(TypedDict):
    """A scored pair; `a` is the later article, `b` the earlier original. See `Match`.

    Attributes:
        times_known: true if times tell which of the two is later; else `a` is later in canonical order only.
    """

    a: str
    b: str
    relation: str
    rule: str
    score: float
    sentence_jaccard: float
    signature_jaccard: float
    containment: float
    times_known: bool


def marks(
    database: Database,
    *,
    status: StatusName | None = None,
    since: datetime | None = None,
    marked_since: datetime | None = None,
    publication: str | None = None,
    scope: str | None = None,
    limit: int | None = None,
    kept: bool = False,
) -> Rows[MarkRow]:
    """Return marks in the order of source_id. `since`: only marks of articles published at this time or
    later; if the time of publication is unknown, the time of storing counts. `kept`: include the caller's
    own columns. Raises InputError: an unknown status."""
    statuses = get_args(StatusName)
    if status is not None and status not in statuses:
        raise InputError(f"there is no status {status!r}; there are {', '.join(statuses)}")
    given: dict[str, Any] = {"status": status, "since": since, "marked_since": marked_since}
    given |= {"publication": publication, "scope": scope}
    conditions = [condition for name, condition in _CONDITIONS.items() if given[name] is not None]
    more = ", a.kept" if kept else ""
    query = _sql("marks", conditions=" AND ".join(conditions) or "true", kept=more)
    return lazily(database, query, **given, limit=limit)


_CONDITIONS = {
    "status": "a.status = %(status)s",
    "since": "coalesce(a.published_at, a.added_at) >= %(since)s",
    "marked_since": "a.marked_at >= %(marked_since)s",
    "publication": "a.publication = %(publication)s",
    "scope": "a.scope = %(scope)s",
}


def matches(database: Database) -> Rows[MatchRow]:
    return lazily(database, _sql("matches"))


def lazily(database: Database, query: bytes, **values: Any) -> Rows[Any]:
    """Return the rows of a query as dicts by column; each iteration asks the server."""
    return Rows(partial(rows, database, query, values))


def rows(database: Database, query: bytes, values: dict[str, Any]) -> Generator[dict[str, Any], None, None]:
    """Yield the rows of a query as dicts by column."""
    with database.transaction() as cursor:
        # The cursor is on the server, because an ordinary cursor of psycopg would fetch all rows at once.
        cursor.execute(b"DECLARE export NO SCROLL CURSOR FOR " + query, values)
        while page := cursor.execute(f"FETCH {PAGE} FROM export".encode()).fetchall():
            names = [column.name for column in cursor.description or ()]
            for row in page:
                yield dict(zip(names, row, strict=True))
