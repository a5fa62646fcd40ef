"""The embedded PostgreSQL server, for programs that want more of it than a `Deduplicator` does by itself.

One server per user, or per `DEDUP_HOME`. It outlives the program that started it.
"""

from __future__ import annotations

import os
from pathlib import Path

from dedup.base.progress import Progress
from dedup.base.schema import chosen
from dedup.db import embedded, postgres, server_upgrade
from dedup.db.database import URL_VARIABLE, location, safe_address
from dedup.db.embedded import ServerStatus
from dedup.db.server_upgrade import ServerUpgrade
from dedup.store import dumps

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
    """The database of `DEDUP_DATABASE_URL`, for people; None where the embedded server is used.

    Raises InputError: the variable holds no address.
    """
    given = os.environ.get(URL_VARIABLE)
    return location(given) if given else None


def address() -> str | None:
    """The address of `DEDUP_DATABASE_URL`, in libpq form; None if it is not set, or holds a password."""
    given = os.environ.get(URL_VARIABLE)
    return given and safe_address(given)


def will_start() -> bool:
    """Whether to open a `Deduplicator` without an address would start the server."""
    return not os.environ.get(URL_VARIABLE) and not status().running


def start() -> str:
    """Start the server, if it does not run; returns its address, in libpq form.

    Raises EmbeddedServerError: it cannot be started; the message says why.
    """
    return embedded.start()


def stop() -> bool:
    """Stop the server and wait for its end; false if it did not run. Its data stay.

    Raises EmbeddedServerError: it does not end.
    """
    return embedded.stop()


def status() -> ServerStatus:
    """What runs, and where its data are. Starts nothing.

    Raises EmbeddedServerError: the folder of the data cannot be read.
    """
    return embedded.status()


def client() -> list[str]:
    """The words that start psql on the corpus of the embedded server, which is started.

    Raises EmbeddedServerError: the package has no psql, or the server cannot be started.
    """
    found = postgres.program("psql")
    return [str(found), embedded.start()]


def dump(path: Path, *, schema: str | None = None) -> int:
    """Write the corpus of the embedded server into a new file, whole or not at all; returns its bytes.

    `schema`: as of `Deduplicator`. Raises InputError: the file exists, or cannot be written. Raises
    EmbeddedServerError: it failed; there is no file.
    """
    return dumps.dump(path, chosen(schema))


def restore(path: Path, *, schema: str | None = None) -> None:
    """Bring a corpus back from a dump, into an embedded server that has none or an empty one.

    `schema`: as of `Deduplicator`; the dump must be of the same one. Raises InputError: this is no dump of a
    corpus, or there are articles already. Raises EmbeddedServerError: it failed; nothing was changed.
    """
    dumps.restore(path, chosen(schema))


def upgrade(progress: Progress | None = None) -> ServerUpgrade:
    """Bring the data of the embedded server to its version of PostgreSQL, if they are of an older one.

    The old data stay in a folder beside; `remove_old` removes it. The server is stopped. Raises
    EmbeddedServerError: it failed, and the old data are as they were.
    """
    return server_upgrade.upgrade(progress)


def remove_old() -> list[Path]:
    """Remove the data that upgrades left beside, if the new ones are in place; returns their folders.

    Raises EmbeddedServerError: a folder cannot be removed.
    """
    return server_upgrade.remove_old()
