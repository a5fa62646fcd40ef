"""The embedded PostgreSQL server, for programs that want more of it than a `Deduplicator` does by itself.

One server per user, or per `DEDUP_HOME`. It outlives the program that started it.
"""

from __future__ import annotations

import os

from dedup.corpus import embedded
from dedup.corpus.database import URL_VARIABLE, place, safe_address
from dedup.corpus.embedded import ServerStatus

__all__ = ["ServerStatus", "address", "other_database", "start", "status", "stop", "will_start"]


def other_database() -> str | None:
    """The database of `DEDUP_DATABASE_URL`, for people; None where the embedded server is used.

    Raises:
        InputError: the variable holds no address.
    """
    given = os.environ.get(URL_VARIABLE)
    return place(given) if given else None


def address() -> str | None:
    """The address of `DEDUP_DATABASE_URL`, in libpq form; None if it is not set, or holds a password."""
    given = os.environ.get(URL_VARIABLE)
    return given and safe_address(given)


def will_start() -> bool:
    """Whether to open a `Deduplicator` without an address would start the server."""
    return not os.environ.get(URL_VARIABLE) and not status().running


def start() -> str:
    """Start the server, if it does not run; returns its address, in libpq form.

    Raises:
        EmbeddedServerError: it cannot be started; the message says why.
    """
    return embedded.start()


def stop() -> bool:
    """Stop the server and wait for its end; false if it did not run. Its data stay.

    Raises:
        EmbeddedServerError: it does not end.
    """
    return embedded.stop()


def status() -> ServerStatus:
    """What runs, and where its data are. Starts nothing.

    Raises:
        EmbeddedServerError: the folder of the data cannot be read.
    """
    return embedded.status()
