"""Runs the migrations: one transaction, one at a time, and never waiting long for a busy table.

Called by `dedup init` with a connection, or by the `alembic` command with DEDUP_DATABASE_URL and
DEDUP_SCHEMA. With `--sql` of either the statements are printed, and no connection is made.

`alembic check` compares the columns and keys of the tables of `dedup.tables`. Alembic does not compare views;
`schema.sql`, by which `dedup init` mends, describes all objects.
"""

from __future__ import annotations

from typing import Any

from alembic import context
from sqlalchemy import Connection, FetchedValue, Table, text

from dedup.base.schema import chosen
from dedup.db import tables
from dedup.db.database import Database
from dedup.db.rendering import render_text

LOCK_TIMEOUT = "10s"  # a migration that waits for a table makes everyone else wait behind it
STATEMENT_TIMEOUT = "30min"  # building an index over some millions of articles takes minutes


def is_named(name: str | None, kind: str, _parents: object) -> bool:
    """Return whether `alembic check` reads a schema or an object of a schema."""
    return kind != "schema" or name == schema


def is_compared(found: Any, name: str | None, kind: str, _reflected: bool, _other: object) -> bool:
    """Return whether `alembic check` compares an object: tables for programs, their columns and keys."""
    if isinstance(found, Table):
        told = tables.in_schema(schema).tables.get(f"{schema}.{name}")
        return told is not None and not told.info["is_view"]
    if kind == "column":  # Alembic cannot compare how the values of a column are generated
        return not isinstance(found.server_default, FetchedValue) or found.identity is not None
    return kind == "foreign_key_constraint"


def run(connection: Connection) -> None:
    connection.execute(text(f"SET lock_timeout = '{LOCK_TIMEOUT}'"))
    connection.execute(text(f"SET statement_timeout = '{STATEMENT_TIMEOUT}'"))
    connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {schema}"))
    connection.commit()
    context.configure(
        connection=connection,
        target_metadata=tables.in_schema(schema),
        version_table_schema=schema,
        include_schemas=True,
        include_name=is_named,
        include_object=is_compared,
    )
    with context.begin_transaction():
        context.run_migrations()


def write() -> None:
    context.configure(dialect_name="postgresql", target_metadata=None, version_table_schema=schema)
    with context.begin_transaction():
        for statement in (
            f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'",
            f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT}'",
            f"CREATE SCHEMA IF NOT EXISTS {schema}",
            *context.config.attributes.get("first", ()),
        ):
            context.execute(render_text(statement, schema))
        context.run_migrations()
        for statement in context.config.attributes.get("last", ()):
            context.execute(render_text(statement, schema))


attributes = context.config.attributes
schema = attributes.get("schema") or attributes.setdefault("schema", chosen())
given = attributes.get("connection")
if context.is_offline_mode():
    write()
elif given is not None:
    run(given)
else:
    database = Database()
    with database.engine(schema).connect() as connection:
        run(connection)
    database.close()
