"""The embedded PostgreSQL server: one per user, or per folder `DEDUP_HOME`. It runs until it is stopped."""

from __future__ import annotations

from dedup.base import config
from dedup.base.errors import EmbeddedServerError
from dedup.db import revision
from dedup.db.database import Database, conninfo, location, role, safe_address
from dedup.db.embedded import ServerStatus, start, status, stop
from dedup.db.postgres import program, require_programs
from dedup.db.server_upgrade import ServerUpgrade, remove_old, upgrade
from dedup.store.dumps import dump, restore

__all__ = [
    "ServerStatus",
    "ServerUpgrade",
    "address",
    "client",
    "dump",
    "login",
    "other_database",
    "remove_old",
    "require_data",
    "require_schema",
    "restore",
    "start",
    "status",
    "stop",
    "upgrade",
    "will_start",
]


def other_database() -> str | None:
    """Return the configured database, for messages; None if the embedded server is used.

    Raises InputError: the address is invalid, or cannot be read.
    """
    found = config.address()
    return location(conninfo(found.value, found.source)) if found else None


def login() -> tuple[str, str]:
    """Return the name of the database role that commands use, and the source of this name, such as PGUSER."""
    found = config.address()
    name, source = role(found.value) if found else ("postgres", "default")
    return name, source or (found.source if found else "default")


def address() -> str | None:
    """Return the configured address in libpq form; None if it is missing or contains a password."""
    # The address becomes an argument of psql, and every user of the machine can read arguments.
    found = config.address()
    return safe_address(found.value) if found else None


def will_start() -> bool:
    """Return True if a `Deduplicator` without an address would start the server."""
    return not config.address() and not status().running


def require_data(*, start: bool = True) -> None:
    """Raise EmbeddedServerError if the embedded server is used and has no data.

    This check does not start the server, and makes no corpus. `start`: whether the caller may start the
    server; if False, the error is also raised if the server is stopped.
    """
    if config.address():
        return
    found = status()
    if found.version is None:
        require_programs()
        raise EmbeddedServerError(
            f"there is no corpus in {found.data} yet: `dedup load` or `dedup init` makes one"
        )
    if not start and not found.running:
        raise EmbeddedServerError(
            f"the embedded server in {found.data} is not running: `dedup db start` starts it"
        )


def require_schema(schema: str | None = None, *, exact: bool = False) -> None:
    """Raise SchemaError if the embedded server has no corpus in the schema. The server must have data.

    `exact`: also raise the error if the corpus needs an upgrade, which a `Deduplicator` would begin.
    """
    if config.address():
        return
    database = Database(schema=schema)
    try:
        with database.transaction() as cursor:
            found = revision.current(cursor)
        if found is None or exact:
            revision.require_head(found, database)
    finally:
        database.close()


def client() -> list[str]:
    """Start the server; return the command line that runs psql on the corpus.

    Raises EmbeddedServerError: the server's package has no psql, or the server cannot be started.
    """
    found = program("psql")
    return [str(found), start()]
