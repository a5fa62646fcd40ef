"""A database that is read-only for a moment, as while another server takes over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dedup.db.database import conninfo

_WRITING = "-c default_transaction_read_only=off"


@contextmanager
def read_only(url: str) -> Iterator[None]:
    """Make new sessions of a database read-only within the block; end other sessions before and after it."""
    url = conninfo(url)
    name = sql.Identifier(str(conninfo_to_dict(url)["dbname"]))
    setting = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name)
    try:
        _change(url, setting)
        yield
    finally:
        _change(url, sql.SQL("ALTER DATABASE {} RESET default_transaction_read_only").format(name))


def _change(url: str, statement: sql.Composed) -> None:
    with psycopg.connect(make_conninfo(url, options=_WRITING), autocommit=True) as connection:
        connection.execute(statement)
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )
