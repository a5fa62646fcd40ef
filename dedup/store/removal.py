"""Lists the contents of the schema and objects outside the schema that depend on it; removes the schema."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

from dedup.attach import attachments, ddl
from dedup.base.answer import Answer
from dedup.base.errors import InputError, SchemaError
from dedup.db import revision
from dedup.db.connection import Cursor, one_column, one_row
from dedup.db.statements import Statements

_sql = Statements("store/removal")

LISTED = 10  # Maximum number of dependent objects that an error names


@dataclass(frozen=True, slots=True)
class Contents(Answer):
    """Contents of a corpus.

    Attributes:
        rows: number of rows by table, for tables that dedup cannot compute again.
        bytes: size of all tables and indexes.
        outside: objects outside the schema that depend on it, such as a view.
    """

    rows: dict[str, int]
    bytes: int
    attached: tuple[str, ...]
    outside: tuple[str, ...]


def contents(cursor: Cursor, location: str) -> Contents:
    """Return the contents of the corpus. Raises SchemaError: the schema is missing."""
    if revision.current(cursor) is None:
        raise SchemaError(f"{location} has no dedup schema, so there is nothing to remove")
    tables = cursor.execute(_sql("tables")).fetchall()
    rows = {}
    for table, _ in tables:
        if table in revision.KEPT and (count := one_row(cursor, _sql("count", table=table))[0]):
            rows[table] = count
    outside = tuple(one_column(cursor, _sql("outside")))
    known = attachments.list_active(cursor) if attachments.are_known(cursor) else []
    attached = tuple(a.shown for a in known)
    return Contents(rows, sum(size for _, size in tables), attached, outside)


def remove(cursor: Cursor, location: str) -> Contents:
    """Drop the schema; return its contents. Raises InputError: an object outside the schema depends on it."""
    found = contents(cursor, location)
    if found.outside:
        named = ", ".join(found.outside[:LISTED])
        more = f" and {len(found.outside) - LISTED} more" if len(found.outside) > LISTED else ""
        raise InputError(f"{location}: these objects depend on the schema, so drop them first: {named}{more}")
    if found.attached:
        for attachment in attachments.list_active(cursor):
            for statement in ddl.detach(cursor, attachment):
                cursor.execute(sql.Composed([statement]))
    # CASCADE drops only objects of the schema: the error above is raised if other objects depend on it.
    cursor.execute("DROP SCHEMA dedup CASCADE")
    return found
