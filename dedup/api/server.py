"""The embedded PostgreSQL server: one per user, or per folder `DEDUP_HOME`. It runs until it is stopped."""

from __future__ import annotations

import os

from dedup.db.database import URL_VARIABLE, location, safe_address
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
    """Return the database of `DEDUP_DATABASE_URL`, for messages; None if the embedded server is used.

    Raises InputError: the variable holds no address.
    """
    given = os.environ.get(URL_VARIABLE)
    return location(given) if given else None


def address() -> str | None:
    """Return `DEDUP_DATABASE_URL` in libpq form; None if the address is missing or contains a password."""
    # The address becomes an argument of psql, and every user of the machine can read arguments.
    given = os.environ.get(URL_VARIABLE)
    return given and safe_address(given)


def will_start() -> bool:
    """Return True if a `Deduplicator` without an address would start the server."""
    return not os.environ.get(URL_VARIABLE) and not status().running


def client() -> list[str]:
    """Start the server; return the command line that runs psql on the corpus.

    Raises EmbeddedServerError: the server's package has no psql, or the server cannot be started.
    """
    found = program("psql")
    return [str(found), start()]
