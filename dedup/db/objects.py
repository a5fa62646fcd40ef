"""Compares the objects of the schema with the migrations, and makes missing objects again.

`migrations/schema.sql` has the statements that make a new schema, and is generated from a new schema
(`tests/db/test_migrations.py`). Comments, and objects that users added, are ignored.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import psycopg
from psycopg.abc import Query

from dedup.base.answer import Answer
from dedup.base.schema import migration_lock, program
from dedup.db.database import Cursor, Database
from dedup.db.rendering import Verbatim, render_text, schema_of
from dedup.db.revision import folder
from dedup.db.statements import Statements

_sql = Statements("db/objects")

NAMED_DIFFERENCES = 3  # Maximum number of differences that a message names; more are only counted
_MARK = re.compile(r"^--- (\w+) (.+)\n", re.MULTILINE)
_REPLACEABLE = ("function", "view", "trigger")
_IGNORED = re.compile(
    r"""
      [\s()]+                          # spaces, brackets and prefixes depend on the version of the server
    | \b[a-z_]\w*\.(?=[a-z_"])
    | NOT[ ]VALID$                     # a constraint that nobody has validated yet
    | (?<=fingerprint)_bulk\b          # `fingerprint` and `fingerprint_bulk` swap their names
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class SchemaDifference:
    """An object of the schema that is missing, or that differs from the migrations."""

    kind: str
    name: str
    missing: bool
    statement: str

    def __str__(self) -> str:
        return f"the {self.kind} {self.name} {'is missing' if self.missing else 'differs'}"


@dataclass(frozen=True, slots=True)
class MendReport(Answer):
    """Result of `mend`.

    Attributes:
        made: names of objects, such as "the column kept of article".
        left: differences that remain, each with the reason.
    """

    made: list[str]
    left: list[str]


def describe(cursor: Cursor) -> list[tuple[str, str, str]]:
    """Return kind, name and statement of every object, in an order in which they can be made."""
    return cursor.execute(_sql("objects"), {}).fetchall()


def differences(cursor: Cursor) -> list[SchemaDifference]:
    """Return the missing and the differing objects, but not the parts (columns, …) of a missing table."""
    found = {(kind, name): _essence(kind, text) for kind, name, text in describe(cursor)}
    different: list[SchemaDifference] = []
    for kind, name, text in expected(schema_of(cursor)):
        if found.get((kind, name)) != _essence(kind, text):
            different.append(SchemaDifference(kind, name, (kind, name) not in found, text))
    tables = {f" of {each.name}" for each in different if each.kind == "table"}
    return [each for each in different if not any(each.name.endswith(table) for table in tables)]


def problems(cursor: Cursor) -> list[str]:
    """Return the differences in one line with the next command; an empty list if there are no differences."""
    found = [str(each) for each in differences(cursor)]
    if not found:
        return []
    more = f", and {len(found) - NAMED_DIFFERENCES:,} more" if len(found) > NAMED_DIFFERENCES else ""
    init = f"{program(schema_of(cursor))} init"
    return [f"the schema is not as it should be: {', '.join(found[:NAMED_DIFFERENCES])}{more}: run `{init}`"]


def mend(database: Database) -> MendReport:
    """Make missing objects, and replace functions, views and triggers that differ. No row changes."""
    with database.transaction() as cursor:
        before = differences(cursor)
    if not before:
        return MendReport([], [])
    with database.transaction() as cursor:
        cursor.execute(_sql("one_at_a_time"), {"lock": migration_lock(database.schema)})
        before = remaining = differences(cursor)
        found: list[SchemaDifference] = []
        reasons: dict[str, str] = {}
        # An object may need a later object of the list, so repeat until a pass makes no object.
        while remaining and remaining != found:
            found = remaining
            reasons = {str(each): _make(cursor, each) for each in found}
            for step in ("fire_always", "not_for_everyone"):
                _try_statement(cursor, _sql(step))
            remaining = differences(cursor)
    left = {(each.kind, each.name) for each in remaining}
    made = [f"the {each.kind} {each.name}" for each in before if (each.kind, each.name) not in left]
    return MendReport(made, [f"{each}: {reasons[str(each)]}" for each in remaining])


def _make(cursor: Cursor, each: SchemaDifference) -> str:
    """Make an object; return the reason why it was not made, or ''."""
    if each.missing or each.kind in _REPLACEABLE:
        return _try_statement(cursor, Verbatim(each.statement))
    if each.kind == "column":
        return f"change the column by hand to match `{each.statement}`"
    return "drop it, and run this again"


def _try_statement(cursor: Cursor, statement: Query) -> str:
    """Run a statement; return the reason why the server refused, or ''."""
    try:
        with cursor.connection.transaction():
            cursor.execute(statement)
    except psycopg.Error as error:
        return (error.diag.message_primary or "the server refused").strip()
    return ""


@cache
def expected(schema: str) -> tuple[tuple[str, str, str], ...]:
    """Return the objects that a new schema with the name `schema` has, in the form of `describe`."""
    _, *parts = _MARK.split(render_text((folder() / "schema.sql").read_text("utf-8"), schema))
    texts = (text.strip().removesuffix(";") for text in parts[2::3])
    return tuple(zip(parts[::3], parts[1::3], texts, strict=True))


def _essence(kind: str, statement: str) -> str:
    """Return the part of a statement that is compared."""
    if kind == "table":
        return ""
    # Compare functions with a quoted body exactly: every version of the server keeps such a body as written.
    if kind == "function" and "\nBEGIN ATOMIC" not in statement:
        return statement
    return _IGNORED.sub("", statement)
