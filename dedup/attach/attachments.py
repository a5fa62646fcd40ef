"""List attached tables, and compose the source_ids of their rows.

The source_id of a row is the name of its attachment, a slash, and the key of the row, such as `news/17`. A
key of several columns is written as a JSON array of texts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from psycopg import sql

from dedup.base.answer import Answer, plain
from dedup.base.errors import InputError
from dedup.db.database import Cursor, one_row
from dedup.db.rendering import Verbatim, own
from dedup.db.statements import Statements

_sql = Statements("attach/attachments")

Part = sql.Composable

_NAMED = sql.SQL('({} || {}) COLLATE "C"')

# Values of `Base.way`: the rows of the attached table to read again after a row of a base table has changed.
NAME = "name"  # rows that look up a name by the key of the changed row
KEY = "key"  # the row with the same key as the changed row
REFERRED = "referred"  # rows found by way of another base table, which refers to the changed row
ALL = "all"  # all rows, since the changed row does not tell which ones


@dataclass(frozen=True, slots=True)
class Base(Answer):
    """A base table: an attached table looks up names in it, or an attached view reads it.

    Attributes:
        number: from 1, in the order of `Attachment.bases`.
        way: NAME, KEY, REFERRED or ALL.
        own: columns of a unique key.
        keys: columns that tell which rows must be read again.
        kinds: type of each column whose changes are noted; of a domain, its base type.
        columns: number, type and expression of each column, as in `Attachment.seen`.
        by: column with keys of this table: a column of the attached table (NAME), or of base `of` (REFERRED).
        of: number of the base table that has the column `by`; None for NAME.
        gives: field of an article whose value is a name from this table.
        name: column of the name.
    """

    number: int
    way: str
    schema: str
    table: str
    oid: int
    own: tuple[str, ...]
    keys: tuple[str, ...]
    kinds: dict[str, str]
    columns: dict[str, Any]
    by: str | None = None
    of: int | None = None
    gives: str | None = None
    name: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"table": self.shown, "way": self.way, "columns": list(self.kinds)}

    @property
    def identifier(self) -> Part:
        return sql.Identifier(self.schema, self.table)

    @property
    def shown(self) -> str:
        return f"{self.schema}.{self.table}"

    @property
    def noted_as(self) -> int | None:
        """Value of `outbox.base` in notes of this table."""
        return {KEY: None, ALL: 0}.get(self.way, self.number)


@dataclass(frozen=True, slots=True)
class Attachment(Answer):
    """A table of another owner whose rows are articles.

    Attributes:
        name: prefix of the source_ids of its articles, before the slash.
        schema: schema of the table.
        keys: columns that identify a row.
        key_types: types of the key columns.
        columns: name of the column for each mapped field of an article; "text" is always mapped.
        where: SQL condition for the rows that are articles; None: all rows.
        mark_columns: true if marks are written into the table.
        triggers: true if triggers note its changes.
        html: true if bodies are HTML, from which the text must be extracted.
        keep: columns whose values are stored with the articles.
        changed: column with the time of a row's last change; None: searches compare all rows.
        every: minutes between searches for changes; None: only `dedup sync` searches.
        leaving: true if the table is being detached.
        copied: true if its rows are copied in a session of its owner.
        seen: state of the table when last checked.
        synced_at: time when a search for changes last finished.
        compared_at: time when all rows were last compared.
        changed_through: time of the latest change found.
        bases: its base tables, in the order of their numbers.
    """

    id: int
    name: str
    schema: str
    table: str
    keys: tuple[str, ...]
    key_types: tuple[str, ...]
    columns: dict[str, str]
    where: str | None
    mark_columns: bool
    triggers: bool
    html: bool = False
    keep: tuple[str, ...] = ()
    changed: str | None = None
    every: int | None = None
    leaving: bool = False
    copied: bool = False
    attached_at: datetime | None = None
    seen: dict[str, Any] = field(default_factory=dict, repr=False)
    synced_at: datetime | None = None
    compared_at: datetime | None = None
    changed_through: datetime | None = None
    bases: tuple[Base, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        of_bases = [base.as_dict() for base in self.bases]
        found = {f.name: plain(getattr(self, f.name)) for f in fields(self) if f.name != "seen"}
        return found | {"bases": of_bases}

    @property
    def identifier(self) -> Part:
        return sql.Identifier(self.schema, self.table)

    @property
    def condition(self) -> Part:
        """SQL condition that is true if row `t` is an article."""
        if self.where is None:
            return sql.SQL("true")
        # The closing bracket is on a new line, because the condition may end with an SQL comment.
        return sql.SQL("({}\n)").format(Verbatim(self.where))

    @property
    def noted_by(self) -> str:
        if self.leaving:
            return "being detached"
        if self.triggers:
            return "triggers"
        if self.noting:
            return f"triggers of {', '.join(sorted({base.table for base in self.noting}))}"
        return "dedup sync" if self.every is None else f"a look every {self.every} min"

    @property
    def shown(self) -> str:
        return f"{self.schema}.{self.table}"

    @property
    def place(self) -> dict[str, str]:
        return {"schema": self.schema, "table": self.table}

    @property
    def made(self) -> str:
        """Regular expression for the names of the functions made for the table."""
        return f"^attached_{self.id}_"

    @property
    def noting(self) -> tuple[Base, ...]:
        """Base tables that have triggers. Tables of names (`NAME`) are left out if the attached table has no
        triggers."""
        return tuple(base for base in self.bases if self.triggers or base.way != NAME)

    @property
    def referring(self) -> tuple[Base, ...]:
        """Base tables whose notes hold keys of rows of the base table, and not source_ids of articles."""
        return tuple(base for base in self.noting if base.by is not None)

    def like(self, base: Base, keys: tuple[str, ...]) -> Attachment:
        """Return a copy that composes source_ids for rows of `base`, from its columns `keys`."""
        kinds = tuple(base.kinds[key] for key in keys)
        return replace(self, keys=keys, key_types=kinds, mark_columns=False)

    @property
    def marks(self) -> Part:
        return own(f"{self.name}_marks")

    def function(self, what: str) -> Part:
        """Return the name of a function made for the table, such as `dedup.attached_1_rows`."""
        return own(f"attached_{self.id}_{what}")

    def call(self, what: str, given: str) -> str:
        return f"dedup.attached_{self.id}_{what}({given})"

    def page(self, *, recent: bool) -> str:
        """Return the SQL call that reads the next page of rows, in order of keys or of times of change."""
        if recent:
            return self.call("recent", "%(since)s::timestamptz, %(after)s::text, %(limit)s::integer")
        return self.call("page", "%(after)s::text, %(limit)s::integer")

    def source_id(self, row: str) -> Part:
        texts = [_as_text(sql.Identifier(row, k), t) for k, t in zip(self.keys, self.key_types, strict=True)]
        key = texts[0]
        if len(texts) > 1:
            key = sql.SQL("jsonb_build_array({})::text").format(sql.SQL(", ").join(texts))
        return _NAMED.format(f"{self.name}/", key)

    def original(self, key: Part) -> Part:
        """Return SQL for the source_id of an original. `key`: an SQL expression of the original's key."""
        return _NAMED.format(f"{self.name}/", _as_text(key, self.original_type))

    def original_from(self, source_id: Part) -> Part:
        """Return SQL that converts the source_id of an original to the key that is written into the table. A
        key of several columns is written as JSON."""
        if len(self.keys) == 1:
            return self.key(source_id)[0]
        return sql.SQL("substr({}, {})::jsonb").format(source_id, len(self.name) + 2)

    @property
    def original_type(self) -> str:
        return self.key_types[0] if len(self.keys) == 1 else "jsonb"

    def key(self, source_id: Part) -> list[Part]:
        """Return SQL that converts a source_id to the key of the row: one expression per key column."""
        rest = sql.SQL("substr({}, {})").format(source_id, len(self.name) + 2)
        each = [rest]
        if len(self.keys) > 1:
            each = [sql.SQL("({}::jsonb ->> {})").format(rest, i) for i in range(len(self.keys))]
        return [_from_text(part, kind) for part, kind in zip(each, self.key_types, strict=True)]


def _as_text(column: Part, kind: str) -> Part:
    # Times are written as in JSON, because a cast to text depends on settings of the session.
    if kind.startswith("timestamp") and kind.endswith("with time zone"):
        return sql.SQL("(to_json({} AT TIME ZONE 'UTC') #>> '{{}}')").format(column)
    if kind.startswith("timestamp") or kind == "date":
        return sql.SQL("(to_json({}) #>> '{{}}')").format(column)
    return sql.SQL("{}::text").format(column)


def _from_text(text: Part, kind: str) -> Part:
    if kind.startswith("timestamp") and kind.endswith("with time zone"):
        return sql.SQL("(({})::timestamp AT TIME ZONE 'UTC')").format(text)
    return sql.SQL("({})::{}").format(text, Verbatim(kind))


def attachments(cursor: Cursor) -> list[Attachment]:
    """Return the attached tables, in the order in which they were attached."""
    rows = cursor.execute(_sql("attachments")).fetchall()
    return [
        replace(
            made,
            keys=tuple(made.keys),
            key_types=tuple(made.key_types),
            keep=tuple(made.keep),
            bases=bases,
        )
        for made, bases in ((Attachment(*row), tuple(_base(**stored) for stored in row[-1])) for row in rows)
    ]


def _base(**stored: Any) -> Base:
    return Base(**{**stored, "own": tuple(stored["own"]), "keys": tuple(stored["keys"])})


def list_active(cursor: Cursor) -> list[Attachment]:
    """Return the attachments that are not being detached."""
    return [attachment for attachment in attachments(cursor) if not attachment.leaving]


def are_known(cursor: Cursor) -> bool:
    """Return whether the schema has a table of attachments, which old versions of dedup did not make."""
    return bool(one_row(cursor, _sql("known"))[0])


def find(cursor: Cursor, name: str) -> Attachment:
    """Return an attachment by its own name or, if its table is attached only once, by the table's name.

    The table's name can be quoted as in SQL, because `attach` needs the quotes if it has capitals.
    """
    everything = attachments(cursor)
    for attachment in everything:
        if attachment.name == name:
            return attachment
    spelled = {name, name.replace('"', "")}
    fitting = [a for a in everything if spelled & {a.table, f"{a.schema}.{a.table}"}]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise InputError(f"{name!r} is attached more than once; {_list_names(a.name for a in fitting)}")
    raise InputError(f"nothing is attached as {name!r}; {_list_names(a.name for a in everything)}")


def _list_names(names: Iterable[str]) -> str:
    shown = ", ".join(repr(name) for name in names)
    return f"there are {shown}" if shown else "no table is attached"
