"""Decide from the catalogue of Postgres whether and how a table can be attached; map a table again after its
owner changed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from psycopg import sql

from dedup.attach import bases, drift, survey
from dedup.attach.attachments import Attachment
from dedup.attach.ddl import MARKS, original_names
from dedup.attach.functions import FIELDS, TIMES, TableShape, mark_columns
from dedup.attach.tables import KEYS, OPTIONS, Column, columns_of, find_column, find_table, fits
from dedup.base.errors import InputError
from dedup.db.database import Cursor, one_row
from dedup.db.rendering import schema_of
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")

LONGEST_NAME = 57  # Maximum bytes of NAME: the view NAME_marks must have a name of at most 63 bytes
LONGEST_PAUSE = 10_080  # Maximum minutes between searches for changes: a week
EVERY_MINUTES = 15  # Default minutes between searches of a view: newsrooms should not wait longer for marks


@dataclass(frozen=True, slots=True)
class TableMapping:
    table: str  # name, possibly after a schema and a dot; quoted as in SQL if necessary
    keys: tuple[str, ...]  # columns that identify a row
    # Column for each mapped field of an article; "text" is always mapped. A name may be looked up by a key in
    # another table: "feed_id=feeds.title".
    columns: Mapping[str, str]
    name: str | None = None  # name of the attachment; None: the name of the table
    where: str | None = None  # SQL condition for the rows that are articles; None: all rows
    mark_columns: bool = False
    triggers: bool | None = None  # whether to make triggers; None: yes if possible
    html: bool | None = None  # whether bodies are HTML; None: refuse the table if they look like HTML
    changed: str | None = None  # column with the time of a row's last change, if there is one
    every: int | None = None  # minutes between searches; 0: never search; None: EVERY_MINUTES for views
    keep: tuple[str, ...] = ()  # columns whose values are stored with the articles
    # Tables that a view reads and whose changes are noted, each as "TABLE", "KEY=TABLE.COLUMN" or
    # "OTHER.COLUMN=TABLE.COLUMN".
    watch: tuple[str, ...] = ()


def examine(
    cursor: Cursor, wanted: TableMapping, again: Attachment | None = None
) -> tuple[Attachment, TableShape]:
    """Return the attachment and shape of a table; read no rows. `again`: the attachment to replace."""
    oid, schema, table, view = find_table(cursor, wanted.table)
    columns = columns_of(cursor, oid)
    keys = _keys(cursor, oid, wanted, columns, view=view)
    mapped, names = _map(wanted, columns)
    if again:
        number, name = again.id, again.name
    else:
        (number,) = one_row(cursor, _sql("next_id"))
        name = _name(cursor, table if wanted.name is None else wanted.name)
    trusted, strangers, *shaped = one_row(cursor, _sql("shape"), {"oid": oid})
    if trusted and strangers:
        raise InputError(
            f"reading the view {wanted.table} would run code of {', '.join(strangers)}, which has fewer"
            " rights than the owner of the view: ALTER VIEW … OWNER TO the role with fewer rights"
        )
    copied = bool(strangers)
    if copied:
        # dedup converts keys in its own session. There a user-defined type would run code of its owner.
        for key in keys:
            if not columns[key].built_in:
                raise InputError(
                    f"--id: column {key!r} is of type {columns[key].type}, and the owner of {wanted.table}"
                    " has fewer rights than the corpus' owner: name a unique key of a built-in type"
                )
    types = tuple(columns[key].kind if copied else columns[key].type for key in keys)
    triggers, every = _noted_by(wanted, columns, view=view)
    for column in wanted.keep:
        find_column(columns, column, "--keep")
    keep = tuple(dict.fromkeys(wanted.keep))
    more = wanted.where, wanted.mark_columns, triggers, bool(wanted.html), keep, wanted.changed, every
    attachment = Attachment(number, name, schema, table, keys, types, mapped, *more)
    if names or wanted.watch:
        found = bases.find(cursor, oid, attachment, columns, names, wanted.watch)
        attachment = replace(attachment, bases=found)
    _check_marks(attachment, columns, None if again else schema_of(cursor))
    published = mapped.get("published_at")
    zoned = published is not None and columns[published].kind == TIMES[2]
    looked_at = () if wanted.where is None else _columns_read(cursor, oid, attachment)
    named = dict.fromkeys([*mapped.values(), *looked_at, *attachment.keep])
    parts = dict.fromkeys(part for name in named for part in columns[name].made_of or (name,))
    watched = {part: columns[part].kind for part in parts}
    changed = [] if wanted.changed is None else [wanted.changed]
    seen = drift.find(cursor, attachment).seen(
        [*keys, *named, *watched, *changed], again.seen.get("parts", ()) if again else ()
    )
    numbers = tuple(columns[key].number for key in keys)
    changes_zoned = wanted.changed is not None and columns[wanted.changed].kind == TIMES[2]
    shape = TableShape(zoned, changes_zoned, view, watched, numbers, *shaped)
    return replace(attachment, seen={**seen, "state": None}, copied=copied), shape


def _noted_by(wanted: TableMapping, columns: Mapping[str, Column], *, view: bool) -> tuple[bool, int | None]:
    if view and wanted.mark_columns:
        raise InputError(
            f"--mark-columns: {wanted.table} is not a table and takes no new columns: read the marks in the"
            " view that dedup makes"
        )
    if view and wanted.triggers:
        raise InputError(f"--triggers: {wanted.table} is not a table and takes no triggers: omit --triggers")
    triggers = not view if wanted.triggers is None else wanted.triggers
    if triggers and (wanted.changed is not None or wanted.every):
        raise InputError(
            "--changed and --every need a view or --no-triggers: triggers note every change at once"
        )
    if wanted.changed is not None:
        found = find_column(columns, wanted.changed, "--changed")
        if found.kind not in TIMES[1:]:
            raise InputError(
                f"--changed: column {wanted.changed!r} is of type {found.type}; it must be a timestamp"
            )
    every = EVERY_MINUTES if view and wanted.every is None else wanted.every
    return triggers, every or None


def _keys(
    cursor: Cursor, oid: int, wanted: TableMapping, columns: Mapping[str, Column], *, view: bool
) -> tuple[str, ...]:
    if not wanted.keys:
        raise InputError("--id: name the column that identifies a row; for several columns, --id a --id b")
    if len(set(wanted.keys)) < len(wanted.keys):
        raise InputError("--id: a column is named twice")
    for key in wanted.keys:
        found = find_column(columns, key, "--id")
        if found.category != "S" and found.kind not in KEYS:
            raise InputError(
                f"--id: column {key!r} is of type {found.type}; a key is of whole numbers, numeric, uuid,"
                " text, dates or times: name another unique key"
            )
        if not found.required and not view:
            raise InputError(
                f"--id: column {key!r} may be null: first ALTER TABLE … ALTER COLUMN … SET NOT NULL, or name"
                " another unique key"
            )
    (unique,) = one_row(cursor, _sql("is_unique"), {"oid": oid, "keys": list(wanted.keys)})
    if not view and not unique:
        shown = ", ".join(wanted.keys)
        raise InputError(
            f"--id: there is no unique index on ({shown}): first CREATE UNIQUE INDEX CONCURRENTLY, without"
            " WHERE, or name the primary key"
        )
    return wanted.keys


def _map(
    wanted: TableMapping, columns: Mapping[str, Column]
) -> tuple[dict[str, str], dict[str, tuple[str, str]]]:
    """Return columns by field; and for each field from another table, its option and TABLE.COLUMN."""
    mapped: dict[str, str] = {}
    names: dict[str, tuple[str, str]] = {}
    for field, column in wanted.columns.items():
        if field not in ("text", *FIELDS):
            raise InputError(f"an article has no field {field!r}; its fields are text, {', '.join(FIELDS)}")
        option, wanted_type = OPTIONS.get(field, (f"--{field}", "text"))
        key, equals, name = column.partition("=")
        if equals and column not in columns and field not in ("text", "published_at"):
            find_column(columns, key, option)
            mapped[field], names[field] = key, (option, name)
            continue
        found = find_column(columns, column, option)
        if not fits(field, found):
            other_way = ""
            if field not in ("text", "published_at"):
                other_way = f"; for the key of another table write {option} {column}=TABLE.COLUMN"
            raise InputError(
                f"{option}: column {column!r} is of type {found.type}; it must be {wanted_type}:"
                f" add a generated column of such a type, and name that column{other_way}"
            )
        mapped[field] = column
    if "text" not in mapped:
        raise InputError("--text: name the column of the body")
    return mapped, names


def _name(cursor: Cursor, name: str) -> str:
    if not name or "/" in name or not name.isprintable() or len(name.encode()) > LONGEST_NAME:
        raise InputError(
            f"--name: {name[:70]!r} is not a printable name of 1 to {LONGEST_NAME} bytes without a slash:"
            " choose a different name with --name"
        )
    attached, view, articles = one_row(cursor, _sql("name_taken"), {"name": name})
    if attached:
        raise InputError(f"a table is attached as {name!r} already: choose another --name, or detach it")
    if view:
        raise InputError(f"dedup has a view {name}_marks already: choose another --name")
    if articles:
        raise InputError(f"there are articles whose ids begin with {name}/ already: choose another --name")
    return name


def _check_marks(attachment: Attachment, columns: Mapping[str, Column], own_schema: str | None) -> None:
    for key in attachment.keys:
        if key in (*MARKS, *original_names(attachment)):
            raise InputError(f"--id: the view of marks already has a column {key!r}: name another unique key")
    if attachment.mark_columns and own_schema is not None:
        for name in mark_columns(own_schema):
            if name in columns:
                raise InputError(
                    f"--mark-columns: the table has a column {name} already: rename it, or omit the option"
                )


def _columns_read(cursor: Cursor, oid: int, attachment: Attachment) -> tuple[str, ...]:
    try:
        # Only Postgres can parse the condition, so a view with the condition is made here, and rolled back.
        with cursor.connection.transaction() as savepoint:
            # This cursor uses a protocol with one statement per call: a condition cannot add another.
            view = sql.SQL("CREATE TEMP VIEW dedup_condition AS SELECT 1 AS one {}")
            cursor.execute(view.format(survey.articles_of(attachment)))
            rows = cursor.execute(_sql("looked_at")).fetchall()
            raise psycopg.Rollback(savepoint)
    except (psycopg.ProgrammingError, psycopg.DataError) as error:
        message = (error.diag.message_primary or "").strip()
        raise InputError(f"--where: {message or 'Postgres does not understand it'}") from None
    if {row[0] for row in rows} - {oid}:
        raise InputError(
            "--where: the condition may read only columns of the table: changes of other tables are not noted"
        )
    return tuple(dict.fromkeys(row[1] for row in rows if row[1] is not None))


def examine_again(
    cursor: Cursor, attachment: Attachment, changes: Mapping[str, Any]
) -> tuple[Attachment, TableShape]:
    """Map a table again; return its new attachment and shape. `changes`: new values for fields of
    `TableMapping`. A new value of `columns` needs only the fields that change.

    If `changes` names no table, use the table that has the stored name now, or else the table that was
    renamed. Columns that were renamed stay mapped. If a column was dropped, map a new column with the same
    name and a fitting type. If there is no such column, unmap the field, unless it is the text."""
    found = drift.find(cursor, attachment)
    if "table" not in changes and found.oid is None and found.known_as is None:
        raise InputError(
            f"{attachment.shown} is gone: `dedup remap {attachment.name} --table T` continues with another"
            f" table, `dedup detach {attachment.name}` deletes its articles"
        )
    if "table" in changes:
        oid, schema, table, _ = find_table(cursor, changes["table"])
    else:
        oid = found.oid if found.oid is not None else attachment.seen["oid"]
        schema, table = one_row(cursor, _sql("name_of_table"), {"oid": oid})
    columns = columns_of(cursor, oid)
    called: dict[str, str] = {}
    if oid == attachment.seen.get("oid"):
        names = {column.number: name for name, column in columns.items()}
        seen = attachment.seen["columns"].items()
        called = {name: names[number] for name, (number, *_) in seen if number in names}
    looked_up, watch = bases.given_again(cursor, attachment, called)
    gives = {base.gives for base in attachment.bases}
    mapped = {
        field: called.get(column, column)
        for field, column in attachment.columns.items()
        if field not in gives
    }
    known = {f for f, column in mapped.items() if column in columns and fits(f, columns[column])}
    mapped = {field: column for field, column in mapped.items() if field in {"text", *known}}
    kept = [called.get(name, name) for name in attachment.keep]
    wanted = TableMapping(
        sql.Identifier(schema, table).as_string(cursor),
        tuple(called.get(key, key) for key in attachment.keys),
        mapped
        | {field: name for field, name in looked_up.items() if name.partition("=")[0] in columns}
        | changes.get("columns", {}),
        attachment.name,
        attachment.where,
        attachment.mark_columns,
        None if attachment.triggers else False,
        attachment.html,
        attachment.changed and called.get(attachment.changed, attachment.changed),
        attachment.every or 0,
        tuple(name for name in kept if name in columns),
        watch,
    )
    others = {name: value for name, value in changes.items() if name not in ("table", "columns")}
    for name in {"where", "changed"} & changes.keys():
        others[name] = changes[name] or None
    return examine(cursor, replace(wanted, **others), attachment)
