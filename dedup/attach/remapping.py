"""How a table that is attached already is to be mapped again, after its owner changed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from psycopg import sql

from dedup.attach import drift
from dedup.attach.attached_functions import Shape
from dedup.attach.attaching import Wanted, columns_of, examine, find_table, fits
from dedup.attach.attachments import Attachment
from dedup.base.errors import InputError
from dedup.db.database import Cursor
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")


@dataclass(frozen=True, slots=True)
class Remap:
    """What `dedup remap` was told; None: as it was, or as it can be found out."""

    table: str | None = None
    keys: tuple[str, ...] | None = None
    columns: Mapping[str, str] | None = None  # field of an article to column; fields that are not named stay
    where: str | None = None  # SQL; "" for all rows


def remapped(cursor: Cursor, attachment: Attachment, told: Remap) -> tuple[Attachment, Shape]:
    """How a table is to be attached that its owner changed.

    A table that has the name now is taken; else the one that was attached, whatever it is called. Columns
    that were renamed are followed; where one is gone, another of its name is taken if its type will do, and a
    field that an article can do without is given up.
    """
    found = drift.find(cursor, attachment)
    if told.table is None and found.oid is None and found.known_as is None:
        raise InputError(
            f"{attachment.shown} is gone: `dedup remap {attachment.name} --table T` goes on with another"
            f" table, `dedup detach {attachment.name}` deletes its articles"
        )
    oid, schema, table = (
        find_table(cursor, told.table)
        if told.table is not None
        else _table_of(cursor, found.oid if found.oid is not None else attachment.seen["oid"])
    )
    columns = columns_of(cursor, oid)
    called = _called(cursor, attachment, oid)
    keys = told.keys or tuple(called.get(key, key) for key in attachment.keys)
    mapped = {field: called.get(column, column) for field, column in attachment.columns.items()}
    mapped = {
        field: column
        for field, column in mapped.items()
        if field == "text" or (column in columns and fits(field, columns[column]))
    }
    where = attachment.where if told.where is None else told.where or None
    wanted = Wanted(
        sql.Identifier(schema, table).as_string(cursor),
        keys,
        {**mapped, **(told.columns or {})},
        attachment.name,
        where,
        attachment.mark_columns,
        attachment.triggers,
    )
    return examine(cursor, wanted, attachment)


def _called(cursor: Cursor, attachment: Attachment, oid: int) -> dict[str, str]:
    if oid != attachment.seen.get("oid"):
        return {}
    names = dict(cursor.execute(_sql("column_numbers"), {"oid": oid}).fetchall())
    return {name: names[seen[0]] for name, seen in attachment.seen["columns"].items() if seen[0] in names}


def _table_of(cursor: Cursor, oid: int) -> tuple[int, str, str]:
    row = cursor.execute(_sql("name_of_table"), {"oid": oid}).fetchone()
    assert row is not None
    return oid, row[0], row[1]
