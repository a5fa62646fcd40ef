"""The embedded PostgreSQL server: one per user, or per folder `DEDUP_HOME`. It runs until it is stopped."""

from __future__ import annotations

from dedup.base import config
from dedup.db.database import conninfo, location, safe_address
from dedup.db.embedded import ServerStatus, start, status, stop
from dedup.db.postgres import program
from dedup.db.server_upgrade import ServerUpgrade, remove_old, upgrade
from dedup.store.dumps import dump, restore

__all__ = [
    "ServerStatus",
    "ServerUpgrade",
    "address",
    "client",
    "dump",
    "other_database",
    "remove_old",
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


def address() -> str | None:
    """Return the configured address in libpq form; None if it is missing or contains a password."""
    # The address becomes an argument of psql, and every user of the machine can read arguments.
    found = config.address()
    return safe_address(found.value) if found else None


def will_start() -> bool:
    """Return True if a `Deduplicator` without an address would start the server."""
    return not config.address() and not status().running


def client() -> list[str]:
    """Start the server; return the command line that runs psql on the corpus.

    Raises EmbeddedServerError: the server's package has no psql, or the server cannot be started.
    """
    found = program("psql")
    return [str(found), start()]
