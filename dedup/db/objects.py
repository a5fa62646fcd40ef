"""Compares what the schema is made of with what the migrations make, and makes again what is missing.

`migrations/schema.sql` has the statement of every object of a new schema. It is written from one, so that
the migrations stay the only description (`tests/db/test_migrations.py`). What others added is not looked at:
indexes, columns, and what is made for attached tables. Comments are not compared either.
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
from dedup.db.rendering import raw, rendered_text, schema_of
from dedup.db.revision import folder
from dedup.db.statements import Statements

_sql = Statements("db/objects")

TOLD = 3  # Objects that one line names; of others it says how many there are

_MARK = re.compile(r"^--- (\w+) (.+)\n", re.MULTILINE)
_REPLACEABLE = ("function", "view", "trigger")
_NOT_TOLD_APART = re.compile(
    r"""
      [\s()]+                          # and prefixes: versions of the server set them in their own ways
    | \b[a-z_]\w*\.(?=[a-z_"])
    | NOT[ ]VALID$                     # until somebody validates it
    | (?<=fingerprint)_bulk\b          # takes the place of the other table, also in a view that reads both
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class SchemaDifference:
    """An object of the schema that is missing, or not as the migrations make it."""

    kind: str
    name: str
    missing: bool
    statement: str

    def __str__(self) -> str:
        return f"the {self.kind} {self.name} {'is missing' if self.missing else 'differs'}"


@dataclass(frozen=True, slots=True)
class Mended(Answer):
    """Objects that were made again."""

    made: list[str]  # objects, such as "the column kept of article"
    left: list[str]  # what is still wrong, each with the reason


def described(cursor: Cursor) -> list[tuple[str, str, str]]:
    """Every object of the schema: kind, name, and the statement that makes it; the first are made first."""
    return cursor.execute(_sql("objects"), {}).fetchall()


def differences(cursor: Cursor) -> list[SchemaDifference]:
    """What is missing or differs. Of a table that is missing nothing else is told."""
    found = {(kind, name): _essence(kind, text) for kind, name, text in described(cursor)}
    different: list[SchemaDifference] = []
    for kind, name, text in wanted(schema_of(cursor)):
        if found.get((kind, name)) != _essence(kind, text):
            different.append(SchemaDifference(kind, name, (kind, name) not in found, text))
    tables = {f" of {each.name}" for each in different if each.kind == "table"}
    return [each for each in different if not any(each.name.endswith(table) for table in tables)]


def problems(cursor: Cursor) -> list[str]:
    """The differences in one line, with the next command to type; nothing where there are none."""
    found = [str(each) for each in differences(cursor)]
    if not found:
        return []
    more = f", and {len(found) - TOLD:,} more" if len(found) > TOLD else ""
    init = f"{program(schema_of(cursor))} init"
    return [f"the schema is not as it should be: {', '.join(found[:TOLD])}{more}: run `{init}`"]


def mend(database: Database) -> Mended:
    """Make again what is missing, and replace functions, views and triggers that differ; no row is touched.
    Raises DatabaseError: the server refused to say what there is.
    """
    with database.transaction() as cursor:
        before = differences(cursor)
    if not before:
        return Mended([], [])
    with database.transaction() as cursor:
        cursor.execute(_sql("one_at_a_time"), {"lock": migration_lock(database.schema)})
        before = remaining = differences(cursor)
        found: list[SchemaDifference] = []
        reasons: dict[str, str] = {}
        while remaining and remaining != found:  # what one needs may be further down, and made by then
            found = remaining
            reasons = {str(each): _made(cursor, each) for each in found}
            for step in ("fire_always", "not_for_everyone"):
                _done(cursor, _sql(step))
            remaining = differences(cursor)
    left = {(each.kind, each.name) for each in remaining}
    made = [f"the {each.kind} {each.name}" for each in before if (each.kind, each.name) not in left]
    return Mended(made, [f"{each}: {reasons[str(each)]}" for each in remaining])


def _made(cursor: Cursor, each: SchemaDifference) -> str:
    """Make an object; return why it is not made, or ''."""
    if each.missing or each.kind in _REPLACEABLE:
        return _done(cursor, raw(each.statement))
    if each.kind == "column":
        return f"bring it back by hand, as it is in `{each.statement}`"
    return "drop it, and run this again"


def _done(cursor: Cursor, statement: Query) -> str:
    """Run a statement; return why the server refused, or ''."""
    try:
        with cursor.connection.transaction():
            cursor.execute(statement)
    except psycopg.Error as error:
        return (error.diag.message_primary or "the server refused").strip()
    return ""


@cache
def wanted(schema: str) -> tuple[tuple[str, str, str], ...]:
    """The objects of a new schema of that name, as `described` tells them."""
    _, *parts = _MARK.split(rendered_text((folder() / "schema.sql").read_text("utf-8"), schema))
    texts = (text.strip().removesuffix(";") for text in parts[2::3])
    return tuple(zip(parts[::3], parts[1::3], texts, strict=True))


def written(objects: list[tuple[str, str, str]]) -> str:
    """The text of `migrations/schema.sql`."""
    return "".join(f"--- {kind} {name}\n{text};\n" for kind, name, text in objects)


def _essence(kind: str, statement: str) -> str:
    """The part of a statement that counts."""
    if kind == "table":
        return ""
    if kind == "function" and "\nBEGIN ATOMIC" not in statement:
        return statement
    return _NOT_TOLD_APART.sub("", statement)
