"""Rows into Postgres by the thousand: COPY into a temporary table that mirrors the target's columns.

Statements then take the rows from there as a set.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from psycopg import sql

from dedup.corpus.database import Cursor


def stage(
    cursor: Cursor, table: str, columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[Any]]
) -> None:
    """Fill a temporary table, dropped at the end of the transaction, with rows.

    Args:
        table: its name; replaced if it exists.
        columns: name and Postgres type of each column.
        rows: values in the order of the columns, in types psycopg can send as those.
    """
    definition = sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(name), sql.SQL(kind)) for name, kind in columns
    )
    cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(sql.Identifier("pg_temp", table)))
    cursor.execute(
        sql.SQL("CREATE TEMPORARY TABLE {} ({}) ON COMMIT DROP").format(sql.Identifier(table), definition)
    )
    with cursor.copy(
        sql.SQL("COPY {} FROM STDIN (FORMAT BINARY)").format(sql.Identifier("pg_temp", table))
    ) as copy:
        copy.set_types([kind.split()[0] for _, kind in columns])
        for row in rows:
            copy.write_row(row)
