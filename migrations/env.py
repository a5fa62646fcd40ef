"""Runs the migrations: one transaction, one at a time, and never waiting long for a busy table.

Called by `dedup init` with a connection, or by the `alembic` command with DEDUP_DATABASE_URL.
"""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection, text

from dedup.corpus.database import Database

SCHEMA = "dedup"
LOCK_TIMEOUT = "10s"  # a migration that waits for a table makes everyone else wait behind it
STATEMENT_TIMEOUT = "30min"  # building an index over some millions of articles takes minutes


def run(connection: Connection) -> None:
    connection.execute(text(f"SET lock_timeout = '{LOCK_TIMEOUT}'"))
    connection.execute(text(f"SET statement_timeout = '{STATEMENT_TIMEOUT}'"))
    connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
    connection.commit()
    context.configure(
        connection=connection,
        target_metadata=None,  # the SQL files are the schema; no second description of it is kept
        version_table_schema=SCHEMA,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    run(given)
else:
    database = Database()
    with database.engine().connect() as connection:
        run(connection)
    database.close()
