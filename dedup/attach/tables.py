"""Find tables and their columns in the catalogue of Postgres."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import psycopg
from psycopg import sql

from dedup.attach.functions import EXACT, TIMES
from dedup.base.errors import InputError
from dedup.db.database import Cursor, one_row
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")

LONGEST_IDENTIFIER = 63  # Maximum bytes of a name in Postgres
KEYS = ("smallint", "integer", "bigint", "numeric", "uuid", *TIMES)  # Types of keys, besides text types

# Kinds of relations (pg_class.relkind) that get no triggers: views, materialized views, and foreign tables.
# Their rows change with other tables, by a REFRESH, or on another server, and that would fire no trigger.
VIEWS = ("v", "m", "f")


@dataclass(frozen=True, slots=True)
class Column:
    number: int  # number of the column (pg_attribute.attnum)
    type: str
    kind: str  # the type without a length; the base type if the type is a domain
    category: str
    required: bool
    built_in: bool  # whether Postgres itself defines the type
    made_of: tuple[str, ...]  # columns from which a virtual column is computed; triggers watch these


def find_table(cursor: Cursor, given: str) -> tuple[int, str, str, bool]:
    """Return oid, schema and name of a table that can be attached, and whether it is a view or similar."""
    names = parts_of(cursor, given)
    if len(names) > 2:
        raise InputError(f"{given!r} names another database: give schema.table of this database")
    quoted = sql.SQL(".").join(sql.Identifier(name) for name in names).as_string(cursor)
    row = cursor.execute(_sql("table"), {"oid": _oid(cursor, quoted)}).fetchone()
    if row is None:
        raise InputError(f"there is no table {given}; `psql -c '\\dt *.*'` lists the tables")
    oid, schema, table, kind, persistence, inherits, is_partition, secured, ours = row
    if kind not in ("r", "p", *VIEWS):
        raise InputError(f"{given} is neither a table nor a view: attach a table or a view")
    if ours or schema.startswith("pg_") or schema == "information_schema":
        raise InputError(f"{given} belongs to {'dedup' if ours else 'Postgres'} itself")
    if persistence == "t":
        raise InputError(f"{given} is temporary, so nobody else can read it: attach a permanent table")
    if inherits:
        raise InputError(f"{given} takes part in inheritance: attach a plain or a partitioned table")
    if is_partition:
        raise InputError(f"{given} is a partition: attach the partitioned table")
    if kind == "p" and cursor.execute(_sql("foreign_partition"), {"oid": oid}).fetchone() is not None:
        raise InputError(
            f"{given} has a partition that is a foreign table, whose changes cannot be noted: attach a view"
            " of it"
        )
    if secured:
        raise InputError(
            f"{given} has row security, so other roles may read other rows: attach a view of the table, which"
            " shows the rows that the owner of the view may read"
        )
    return int(oid), schema, table, kind in VIEWS


def parts_of(cursor: Cursor, given: str) -> list[str]:
    """Return the parts of a name that is written as in SQL. Raises InputError: it is not such a name."""
    try:
        (names,) = one_row(cursor, _sql("parts_of_name"), {"name": given})
    except psycopg.errors.InvalidParameterValue:
        raise InputError(
            f"{given!r} is not the name of a table: write schema.table, with double quotes around names that"
            ' SQL quotes, such as public."My Table"'
        ) from None
    for name in names:
        check_length(name)
    return list(names)


def _oid(cursor: Cursor, quoted: str) -> int | None:
    """Return the oid of a relation, or None. The name is looked up in the default search path of the role."""
    before, _ = one_row(cursor, _sql("own_search_path"))
    (oid,) = one_row(cursor, _sql("relation"), {"table": quoted})
    cursor.execute(_sql("search_path"), {"path": before})
    return None if oid is None else int(oid)


def check_length(name: str) -> None:
    if len(name.encode()) > LONGEST_IDENTIFIER:
        raise InputError(
            f"the name {name[:20]!r}… is longer than the {LONGEST_IDENTIFIER} bytes of a name in Postgres"
        )


def columns_of(cursor: Cursor, oid: int) -> dict[str, Column]:
    rows = cursor.execute(_sql("columns"), {"oid": oid}).fetchall()
    return {row[0]: Column(row[1], row[2], row[3], row[4], row[5], row[6], tuple(row[7])) for row in rows}


def find_column(columns: Mapping[str, Column], name: str, option: str) -> Column:
    check_length(name)
    if name not in columns:
        raise InputError(f"{option}: there is no column {name!r}; there are {', '.join(map(repr, columns))}")
    return columns[name]


OPTIONS = {
    "published_at": ("--published", "a date or a timestamp"),
    "scope": ("--within", "text, an integer, a boolean or a uuid"),
}
"""Options that are not named like their field, and the types that they accept."""


def fits(field: str, column: Column) -> bool:
    """Return whether the type of a column fits a field of an article."""
    if field == "published_at":
        return column.kind in TIMES
    if field == "scope" and column.kind in EXACT:
        return column.kind not in TIMES
    return column.category in "SE"
