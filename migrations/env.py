"""Runs the migrations: one transaction, one at a time, and never waiting long for a busy table.

Called by `dedup init` with a connection, or by the `alembic` command with DEDUP_DATABASE_URL and
DEDUP_SCHEMA. With `--sql` of either the statements are printed, and no connection is made.
"""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection, text

from dedup.base.schema import chosen
from dedup.db.database import Database
from dedup.db.rendering import render_text

LOCK_TIMEOUT = "10s"  # a migration that waits for a table makes everyone else wait behind it
STATEMENT_TIMEOUT = "30min"  # building an index over some millions of articles takes minutes


def run(connection: Connection) -> None:
    connection.execute(text(f"SET lock_timeout = '{LOCK_TIMEOUT}'"))
    connection.execute(text(f"SET statement_timeout = '{STATEMENT_TIMEOUT}'"))
    connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {schema}"))
    connection.commit()
    context.configure(
        connection=connection,
        target_metadata=None,  # the SQL files are the schema; no second description of it is kept
        version_table_schema=schema,
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
