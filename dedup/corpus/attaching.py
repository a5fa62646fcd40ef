"""Whether a table can be attached, and how: everything asked of the catalogue before anything is made.

Every answer names the next step. It changes nothing that stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import sql

from dedup.corpus import attachments, mark_columns
from dedup.corpus.attached_ddl import FIELDS, MARKS, Shape, original_names
from dedup.corpus.attachments import Attachment, raw
from dedup.corpus.database import Cursor
from dedup.corpus.rendering import schema_of
from dedup.errors import InputError

LONGEST_NAME = 57
"""Bytes: with `_marks` after it, it is the name of a view, which Postgres cuts at 63."""

LONGEST_IDENTIFIER = 63

TIMES = ("date", "timestamp without time zone", "timestamp with time zone")
KEYS = ("smallint", "integer", "bigint", "numeric", "uuid", *TIMES)
"""Types of keys beside those of text."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `dedup attach` was told.

    Attributes:
        table: its name, with its schema and a dot before it if need be; quoted as in SQL where it must be.
        keys: the columns that tell its rows apart.
        columns: field of an article to column; "text" is one of them.
        name: None for the table's.
        where: SQL; None for all rows.
    """

    table: str
    keys: tuple[str, ...]
    columns: Mapping[str, str]
    name: str | None = None
    where: str | None = None
    mark_columns: bool = False
    triggers: bool = True


@dataclass(frozen=True, slots=True)
class _Column:
    """A column in the catalogue; kind: its type without a length, of a domain what it is made of."""

    type: str
    kind: str
    category: str
    required: bool


def examine(cursor: Cursor, wanted: Wanted) -> tuple[Attachment, Shape]:
    """What to attach.

    Raises:
        InputError: it cannot be attached; the message says why, and what to do.
    """
    oid, schema, table = _table(cursor, wanted.table)
    columns = _columns(cursor, oid)
    keys = _keys(cursor, oid, wanted, columns)
    mapped = _mapped(wanted, columns)
    name = _name(cursor, table if wanted.name is None else wanted.name)
    attachment = Attachment(
        attachments.next_id(cursor),
        name,
        schema,
        table,
        tuple(keys),
        tuple(columns[key].type for key in keys),
        mapped,
        wanted.where,
        wanted.mark_columns,
        wanted.triggers,
    )
    _check_marks(attachment, columns, schema_of(cursor))
    published = mapped.get("published_at")
    zoned = published is not None and columns[published].kind == TIMES[2]
    watched = () if wanted.where is None else _watched(cursor, oid, attachment)
    return attachment, Shape(zoned, _partitions(cursor, oid), watched)


def _table(cursor: Cursor, given: str) -> tuple[int, str, str]:
    try:
        parts = cursor.execute("SELECT parse_ident(%s)", [given]).fetchone()
    except psycopg.errors.InvalidParameterValue:
        raise InputError(
            f"{given!r} is no name of a table: write schema.table, with double quotes around names that SQL"
            ' quotes, such as public."My Table"'
        ) from None
    names: list[str] = list(parts[0]) if parts else []
    for name in names:
        _check_length(name)
    if len(names) > 2:
        raise InputError(f"{given!r} names another database; give schema.table of this one")
    quoted = sql.SQL(".").join(sql.Identifier(name) for name in names).as_string(cursor)
    row = cursor.execute(
        """
        SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text, c.relpersistence::text,
               EXISTS (SELECT FROM pg_inherits i WHERE (i.inhparent = c.oid OR i.inhrelid = c.oid)
                       AND c.relkind <> 'p' AND NOT c.relispartition),
               c.relispartition, c.relrowsecurity,
               to_regclass(format('%%I.settle_turn', n.nspname)) IS NOT NULL
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)
        """,
        [quoted],
    ).fetchone()
    if row is None:
        raise InputError(f"there is no table {given}; `psql -c '\\dt *.*'` lists the tables")
    oid, schema, table, kind, persistence, inherits, is_partition, secured, ours = row
    what = {
        "v": "a view",
        "m": "a materialized view",
        "f": "a foreign table",
        "S": "a sequence",
        "i": "an index",
    }
    if kind not in "rp":
        raise InputError(
            f"{given} is {what.get(kind, 'no table')}, whose changes cannot be noted:"
            " attach the table behind it"
        )
    if ours or schema.startswith("pg_") or schema == "information_schema":
        raise InputError(f"{given} belongs to {'dedup' if ours else 'Postgres'} itself")
    if persistence == "t":
        raise InputError(f"{given} is temporary: nobody else can read it; attach a table that stays")
    if inherits:
        raise InputError(f"{given} inherits or is inherited from: attach one without, or a partitioned table")
    if is_partition:
        raise InputError(f"{given} is a partition: attach the partitioned table")
    if secured:
        raise InputError(
            f"{given} has row security: what is read would depend on who reads it;"
            " attach a table without, or load the articles"
        )
    return int(oid), schema, table


def _check_length(name: str) -> None:
    if len(name.encode()) > LONGEST_IDENTIFIER:
        raise InputError(
            f"the name {name[:20]!r}… is longer than the {LONGEST_IDENTIFIER} bytes of a name in Postgres"
        )


def _columns(cursor: Cursor, oid: int) -> dict[str, _Column]:
    rows = cursor.execute(
        """
        SELECT a.attname, format_type(a.atttypid, a.atttypmod), format_type(coalesce(b.oid, t.oid), NULL),
               t.typcategory::text, a.attnotnull
        FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
        WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
        """,
        [oid],
    ).fetchall()
    return {row[0]: _Column(*row[1:]) for row in rows}


def _find(columns: Mapping[str, _Column], name: str, option: str) -> _Column:
    _check_length(name)
    if name not in columns:
        raise InputError(f"{option}: there is no column {name!r}; there are {', '.join(map(repr, columns))}")
    return columns[name]


def _keys(cursor: Cursor, oid: int, wanted: Wanted, columns: Mapping[str, _Column]) -> Sequence[str]:
    if not wanted.keys:
        raise InputError("--id: name the column that tells the rows apart; several with --id a --id b")
    if len(set(wanted.keys)) < len(wanted.keys):
        raise InputError("--id: a column is named twice")
    for key in wanted.keys:
        found = _find(columns, key, "--id")
        if found.category != "S" and found.kind not in KEYS:
            raise InputError(
                f"--id: column {key!r} is of type {found.type}; a key is of whole numbers, numeric, uuid,"
                " text, dates or times: name another unique key"
            )
        if not found.required:
            raise InputError(
                f"--id: column {key!r} may be null: first ALTER TABLE … ALTER COLUMN … SET NOT NULL, or name"
                " another unique key"
            )
    unique = cursor.execute(
        """
        SELECT EXISTS (
            SELECT FROM pg_index i WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid
                AND i.indpred IS NULL AND i.indexprs IS NULL
                AND (SELECT array_agg(a.attname::text)
                     FROM unnest(i.indkey[0:i.indnkeyatts - 1]) AS k (attnum)
                     JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum) <@ %s::text[])
        """,
        [oid, list(wanted.keys)],
    ).fetchone()
    if not (unique and unique[0]):
        shown = ", ".join(wanted.keys)
        raise InputError(
            f"--id: no unique index holds ({shown}) apart: first CREATE UNIQUE INDEX CONCURRENTLY on it,"
            " without WHERE, or name the primary key"
        )
    return wanted.keys


def _mapped(wanted: Wanted, columns: Mapping[str, _Column]) -> dict[str, str]:
    mapped: dict[str, str] = {}
    for field, column in wanted.columns.items():
        if field not in ("text", *FIELDS):
            raise InputError(f"an article has no field {field!r}; there are text, {', '.join(FIELDS)}")
        option = "--published" if field == "published_at" else f"--{field}"
        found = _find(columns, column, option)
        if field == "published_at":
            if found.kind not in TIMES:
                raise InputError(
                    f"{option}: column {column!r} is of type {found.type}; it must be a date or a timestamp:"
                    " add a generated column that is one, and name that"
                )
        elif found.category not in "SE":
            raise InputError(
                f"{option}: column {column!r} is of type {found.type}; it must be text:"
                " add a generated column that is, and name that"
            )
        mapped[field] = column
    if "text" not in mapped:
        raise InputError("--text: name the column of the body")
    return mapped


def _name(cursor: Cursor, name: str) -> str:
    if not name or "/" in name or not name.isprintable() or len(name.encode()) > LONGEST_NAME:
        raise InputError(
            f"--name: a name has 1 to {LONGEST_NAME} bytes and no slash, and {name[:70]!r} has not:"
            " choose one with --name"
        )
    row = cursor.execute(
        """
        SELECT EXISTS (SELECT FROM dedup.attachment WHERE name = %(name)s),
               to_regclass(format('dedup.%%I', %(name)s || '_marks')) IS NOT NULL,
               EXISTS (SELECT FROM dedup.article
                       WHERE source_id >= %(name)s || '/' AND source_id < %(name)s || '0')
        """,
        {"name": name},
    ).fetchone()
    assert row is not None
    if row[0]:
        raise InputError(f"a table is attached as {name!r} already: choose another --name, or detach it")
    if row[1]:
        raise InputError(f"dedup has a view {name}_marks already: choose another --name")
    if row[2]:
        raise InputError(f"there are articles whose ids begin with {name}/ already: choose another --name")
    return name


def _check_marks(attachment: Attachment, columns: Mapping[str, _Column], own_schema: str) -> None:
    for key in attachment.keys:
        if key in (*MARKS, *original_names(attachment)):
            raise InputError(
                f"--id: the view of marks has a column {key!r} of its own: name another unique key"
            )
    if attachment.mark_columns:
        for name in mark_columns.column_names(own_schema):
            if name in columns:
                raise InputError(
                    f"--mark-columns: the table has a column {name} already: rename it, or leave it out"
                )


def _watched(cursor: Cursor, oid: int, attachment: Attachment) -> tuple[str, ...]:
    """The columns that the condition looks at, as Postgres reads it: it makes a view of it for a moment."""
    try:
        with cursor.connection.transaction() as savepoint:
            # One statement at a time is all that a binary cursor takes.
            cursor.execute(
                sql.SQL("CREATE TEMP VIEW dedup_condition AS SELECT 1 AS one FROM {} t WHERE ({}\n)").format(
                    attachment.place, raw(attachment.where or "true")
                )
            )
            rows = cursor.execute(
                """
                SELECT d.refobjid::bigint, a.attname FROM pg_rewrite r
                JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
                    AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> r.ev_class
                LEFT JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
                    AND d.refobjsubid > 0
                WHERE r.ev_class = 'pg_temp.dedup_condition'::regclass
                """
            ).fetchall()
            raise psycopg.Rollback(savepoint)
    except (psycopg.ProgrammingError, psycopg.DataError) as error:
        message = (error.diag.message_primary or "").strip()
        raise InputError(f"--where: {message or 'Postgres does not understand it'}") from None
    if {row[0] for row in rows} - {oid}:
        raise InputError(
            "--where: it may look at columns of the table only: changes elsewhere would go unseen"
        )
    return tuple(dict.fromkeys(row[1] for row in rows if row[1] is not None))


def _partitions(cursor: Cursor, oid: int) -> tuple[sql.Identifier, ...] | None:
    row = cursor.execute("SELECT relkind = 'p' FROM pg_class WHERE oid = %s", [oid]).fetchone()
    if row is None or not row[0]:
        return None
    rows = cursor.execute(
        """
        SELECT n.nspname, c.relname, c.relkind = 'f' FROM pg_partition_tree(%s::oid::regclass) p
        JOIN pg_class c ON c.oid = p.relid JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE p.level > 0 ORDER BY 1, 2
        """,
        [oid],
    ).fetchall()
    if any(row[2] for row in rows):
        raise InputError("a partition is a foreign table, whose changes cannot be noted: use --no-triggers")
    return tuple(sql.Identifier(row[0], row[1]) for row in rows)
