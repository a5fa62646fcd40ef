"""Base tables: an attached table looks up names in them, or an attached view reads them.

Triggers note changed rows of base tables, because such a change can change rows of the attached table. A base
table has the same owner as the attached table. Otherwise code of one owner, such as row security and casts,
would run with the rights of another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from psycopg import sql

from dedup.attach.attachments import ALL, KEY, NAME, REFERRED, Attachment, Base
from dedup.attach.tables import KEYS, Column, columns_of, find_column, find_table, fits, parts_of
from dedup.base.errors import InputError
from dedup.db.database import Cursor, one_row
from dedup.db.statements import Statements

_sql = Statements("attach/bases")
_attachments = Statements("attach/attachments")

WHOLE = ("smallint", "integer", "bigint")
TEXTS = ("text", "character varying")

WATCH = "--watch"


@dataclass(frozen=True, slots=True)
class BaseState:
    oid: int | None  # oid of the relation that has the stored name; None: there is no such relation
    plain: bool  # whether it is a table without partitions and without tables that inherit from it
    owner: str | None
    secured: bool  # whether row security hides rows even from the owner
    known_as: str | None  # present name of the table with the stored oid; None: that table is gone
    columns: Mapping[str, Sequence[Any]]  # number, type, and generation expression or None, by column name
    triggers: int  # how many triggers note changes
    off: int  # how many of these triggers are switched off
    digest: str  # digest that changes if rows may have changed unnoticed


def states(cursor: Cursor, attachment: Attachment) -> list[BaseState]:
    values = _names(attachment) | {
        "oids": [base.oid for base in attachment.bases],
        "functions": [f"attached_{attachment.id}_base_{base.number}" for base in attachment.bases],
    }
    return [BaseState(*row) for row in cursor.execute(_sql("states"), values).fetchall()]


def owners(cursor: Cursor, attachment: Attachment) -> set[str | None]:
    """Return the roles that own the base tables now; None if a base table is gone or is no plain table."""
    if not attachment.bases:
        return set()
    return {name for (name,) in cursor.execute(_sql("owners"), _names(attachment)).fetchall()}


def columns_read(cursor: Cursor, oid: int) -> dict[int, set[str] | None]:
    """Return the columns that a view reads, by the oids of their tables. None: the view uses whole rows."""
    found: dict[int, set[str] | None] = {}
    for table, column in cursor.execute(_sql("columns_read"), {"oid": oid}).fetchall():
        known = found.setdefault(table, set())
        if column is None:
            found[table] = None
        elif known is not None:
            known.add(column)
    return found


def stored(attachment: Attachment) -> list[dict[str, Any]]:
    """Return the base tables as they are stored in `attachment.bases`."""
    return [asdict(base) for base in attachment.bases]


def find(
    cursor: Cursor,
    oid: int,
    attachment: Attachment,
    columns: Mapping[str, Column],
    names: Mapping[str, tuple[str, str]],
    watch: Sequence[str],
) -> tuple[Base, ...]:
    """Return the base tables of a table with the given oid and columns.

    Args:
        names: for each field that is looked up, the option and TABLE.COLUMN of the name.
        watch: TABLE, KEY=TABLE.COLUMN or OTHER.COLUMN=TABLE.COLUMN, as in docs/attach.md.

    Raises InputError: a table or column does not fit; the message names the next step.
    """
    finding = _Finding(cursor, oid, attachment, columns)
    for field, (option, given) in names.items():
        finding.look_up(option, field, given)
    if watch:
        finding.watch(watch)
    attachment = replace(attachment, bases=tuple(finding.made))
    found = states(cursor, attachment)
    return tuple(
        replace(base, columns={name: state.columns[name] for name in base.columns})
        for base, state in zip(attachment.bases, found, strict=True)
    )


@dataclass(frozen=True, slots=True)
class _Table:
    oid: int
    schema: str
    table: str
    columns: Mapping[str, Column]
    keys: Sequence[tuple[tuple[str, ...], int]]  # columns and rank of unique keys, see `unique_keys`

    @property
    def shown(self) -> str:
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class _Reference:
    """A reference given with `--watch`: column `by` of `referrer` refers to `column`, a key of `table`."""

    table: _Table
    column: str
    referrer: _Table
    by: str


class _Finding:
    def __init__(
        self, cursor: Cursor, oid: int, attachment: Attachment, columns: Mapping[str, Column]
    ) -> None:
        self._cursor, self._oid, self._attachment, self._columns = cursor, oid, attachment, columns
        self._read: dict[int, set[str] | None] = {}
        self._references: list[_Reference] = []
        self.made: list[Base] = []

    def look_up(self, option: str, field: str, given: str) -> None:
        by = self._attachment.columns[field]
        table, name = self._column(option, given, by)
        if not fits(field, found := find_column(table.columns, name, option)):
            raise InputError(f"{option}: column {name!r} of {table.shown} is of type {found.type}, not text")
        fitting = [
            (rank, keys[0])
            for keys, rank in table.keys
            if len(keys) == 1 and _comparable(self._columns[by], table.columns[keys[0]])
        ]
        if not fitting or (len(fitting) > 1 and fitting[0][0] == fitting[1][0]):
            raise InputError(
                f"{option}: {table.shown} has {'several keys' if fitting else 'no key'} for column {by!r}:"
                f" add a foreign key from {by!r} to a unique column of the same type"
            )
        key = fitting[0][1]
        self._make(NAME, table, (key,), (key,), (key, name), by=by, gives=field, name=name)

    def watch(self, given: Sequence[str]) -> None:
        self._read = columns_read(self._cursor, self._oid)
        by_key: dict[int, tuple[_Table, dict[str, str]]] = {}
        for item in given:
            left, equals, right = item.partition("=")
            if not equals:
                table = self._table(WATCH, parts_of(self._cursor, item))
                own = self._own(table)
                self._make(ALL, table, own, own, self._noted(table))
                continue
            table, column = self._column(WATCH, right)
            kind = find_column(table.columns, column, WATCH)
            if left in self._attachment.keys:
                found = self._columns[left]
                by_key.setdefault(table.oid, (table, {}))[1][left] = column
            else:
                referrer, by = self._referring(left, right)
                found = find_column(referrer.columns, by, WATCH)
                self._references.append(_Reference(table, column, referrer, by))
            if not _comparable(found, kind):
                raise InputError(f"{WATCH} {item}: the two columns are not of one type that can be a key")
        for table, columns in by_key.values():
            self._tell_by_key(table, columns)
        self._tell_by_references()

    def _referring(self, left: str, right: str) -> tuple[_Table, str]:
        if len(parts_of(self._cursor, left)) == 1:
            raise InputError(
                f"{WATCH} {left}=…: column {left!r} is not the key of the view; write"
                f" OTHER.COLUMN={right}, if rows of the watched table OTHER have that key in their COLUMN"
            )
        return self._column(WATCH, left)

    def _tell_by_key(self, table: _Table, columns: Mapping[str, str]) -> None:
        for key in self._attachment.keys:
            if key not in columns:
                raise InputError(
                    f"{WATCH}: without {key!r}, no row of the view can be found from {table.shown}: add"
                    f" {key}={table.shown}.COLUMN, or name only {table.shown}"
                )
        keys = tuple(columns[key] for key in self._attachment.keys)
        self._make(KEY, table, self._own(table), keys, self._noted(table))

    def _tell_by_references(self) -> None:
        waiting = list(self._references)
        while waiting:
            # Take all references to a table before the references from it. Each reference to the table is a
            # way to find rows of the view, and each reference from the table needs all these ways.
            last = {item.table.oid: item for item in waiting}
            ready = [
                item for item in waiting if last.get(item.referrer.oid, item) is item and self._above(item)
            ]
            if not ready:
                referrer, key = waiting[0].referrer.shown, self._attachment.keys[0]
                raise InputError(
                    f"{WATCH}: nothing tells which rows of the view belong to {referrer}: also add"
                    f" {key}={referrer}.COLUMN"
                )
            for item in ready:
                own, columns = self._own(item.table), self._noted(item.table)
                for base in self._above(item):
                    self._make(REFERRED, item.table, own, (item.column,), columns, by=item.by, of=base.number)
            waiting = [item for item in waiting if item not in ready]

    def _above(self, item: _Reference) -> list[Base]:
        return [base for base in self.made if base.oid == item.referrer.oid and base.way != ALL]

    def _noted(self, table: _Table) -> list[str]:
        """Return the watched columns of a table: the view reads them, or they refer to other tables."""
        # A view that calls a function may read tables that Postgres does not list: then all columns count.
        read = sorted(self._read.get(table.oid) or table.columns)
        return read + [r.by for r in self._references if r.referrer.oid == table.oid]

    def _column(self, option: str, given: str, by: str = "COLUMN") -> tuple[_Table, str]:
        *place, column = parts_of(self._cursor, given)
        if not place:
            raise InputError(f"{option}: {given!r} names no table: write {by}=TABLE.COLUMN")
        return self._table(option, place, self._columns[by].number if by in self._columns else 0), column

    def _table(self, option: str, place: Sequence[str], number: int = 0) -> _Table:
        """Find a table by its name, in the schema of the attached table unless the name has a schema."""
        if len(place) == 1:
            place = [self._attachment.schema, *place]
        oid, schema, table, _ = find_table(self._cursor, sql.Identifier(*place).as_string(self._cursor))
        shown = f"{schema}.{table}"
        of = {"oid": oid, "attached": self._oid, "number": number}
        plain, owner, needed, view = one_row(self._cursor, _sql("owner"), of)
        if option == WATCH and not view:
            raise InputError(f"{WATCH}: only a view needs it; triggers note the changes of a table")
        if option != WATCH and view:
            raise InputError(f"{option}: a view has no keys to look up: join {shown} in the view")
        if not plain:
            raise InputError(f"{option}: {shown} is not a plain table, so its changes cannot be noted")
        if owner != needed:
            raise InputError(
                f"{option}: {shown} belongs to {owner}, and {self._attachment.shown} to {needed}: code of one"
                " owner must not run with the rights of another; give both to one role"
            )
        keys = self._cursor.execute(_sql("unique_keys"), of).fetchall()
        columns = columns_of(self._cursor, oid)
        return _Table(oid, schema, table, columns, [(tuple(names), rank) for names, rank in keys])

    def _own(self, table: _Table) -> tuple[str, ...]:
        for keys, _ in table.keys:
            if all(table.columns[key].required and _is_key(table.columns[key]) for key in keys):
                return keys
        raise InputError(f"{WATCH}: {table.shown} has no primary key, which tells its rows apart: add one")

    def _make(
        self,
        way: str,
        table: _Table,
        own: tuple[str, ...],
        keys: tuple[str, ...],
        columns: Sequence[str],
        **more: Any,
    ) -> None:
        named = dict.fromkeys([*own, *keys, *columns])
        noted = dict.fromkeys(part for name in named for part in table.columns[name].made_of or (name,))
        kinds = {name: table.columns[name].kind for name in (*own, *keys, *noted)}
        seen = dict.fromkeys([*named, *noted], ())
        number, place = len(self.made) + 1, (table.schema, table.table, table.oid)
        self.made.append(Base(number, way, *place, own, keys, kinds, seen, **more))


def _is_key(column: Column) -> bool:
    return column.built_in and (column.kind in KEYS or column.kind in TEXTS)


def _comparable(one: Column, other: Column) -> bool:
    """Return whether two columns can be keys, and equal values have the same text in both columns."""
    # Compare `type`, not `kind`: only `type` has the scale of a number and the precision of a time, on which
    # the text of a value depends.
    same = one.type == other.type or any({one.kind, other.kind} <= set(kinds) for kinds in (WHOLE, TEXTS))
    return same and _is_key(one) and _is_key(other)


def given_again(
    cursor: Cursor, attachment: Attachment, called: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the looked-up names and watched tables of an attachment, in the form of `TableMapping`.

    Tables and columns have their present names, and are left out if they are gone. `called`: present names of
    columns of the attached table.
    """
    names: dict[str, str] = {}
    watch: list[str] = []
    found = states(cursor, attachment) if attachment.bases else []
    places: dict[int, _Place] = {}
    for base, state in zip(attachment.bases, found, strict=True):
        if state.oid is None and state.known_as is None:
            continue
        moved = state.oid is None
        oid = base.oid if moved else state.oid
        assert oid is not None
        place = (base.schema, base.table) if not moved else _name(cursor, base.oid)
        present = columns_of(cursor, oid)
        renamed = {column.number: name for name, column in present.items()} if oid == base.oid else {}
        now = {name: renamed.get(stored[0], name) for name, stored in base.columns.items()}
        places[base.number] = _Place(cursor, place, now, set(present))
    for base in attachment.bases:
        here, above = places.get(base.number), places.get(base.of or 0)
        if here is None or not here.has(base.keys) or (base.of is not None and above is None):
            continue
        if base.way == NAME:
            if base.gives and base.name and base.by and here.has((base.name,)):
                names[base.gives] = f"{called.get(base.by, base.by)}={here.shown(base.name)}"
        elif base.way == ALL:
            watch.append(here.shown())
        elif base.way == KEY:
            pairs = zip(attachment.keys, base.keys, strict=True)
            watch += [f"{called.get(key, key)}={here.shown(column)}" for key, column in pairs]
        elif above is not None and base.by and above.has((base.by,)):
            watch.append(f"{above.shown(base.by)}={here.shown(base.keys[0])}")
    return names, tuple(dict.fromkeys(watch))


@dataclass(frozen=True, slots=True)
class _Place:
    """A base table, with its present name and the present names of its columns."""

    cursor: Cursor
    place: tuple[str, str]
    now: Mapping[str, str]  # present name of each stored column
    present: set[str]

    def has(self, columns: Sequence[str]) -> bool:
        return all(self.now.get(name, name) in self.present for name in columns)

    def shown(self, *columns: str) -> str:
        parts = (*self.place, *(self.now.get(name, name) for name in columns))
        return sql.Identifier(*parts).as_string(self.cursor)


def _name(cursor: Cursor, oid: int) -> tuple[str, str]:
    schema, table = one_row(cursor, _attachments("name_of_table"), {"oid": oid})
    return schema, table


def _names(attachment: Attachment) -> dict[str, Any]:
    return {
        "schemas": [base.schema for base in attachment.bases],
        "tables": [base.table for base in attachment.bases],
    }
