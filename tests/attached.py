"""A newsroom's tables for tests: made in a separate schema, attached to a corpus, and removed at the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

from dedup.db.database import Database
from tests.corpora import Answer, Code, answer, assert_right, at, deduplicator, settle, text

SCHEMA = "newsroom"

NEWS = (
    "id bigint PRIMARY KEY, body text, headline text, day timestamptz, outlet text, lang text, clicks integer"
)
"""Columns of a newsroom's table of articles."""

COLUMNS = {
    "text": "body",
    "title": "headline",
    "published_at": "day",
    "publication": "outlet",
    "language": "lang",
}


@contextmanager
def owned(database: Database) -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection that owns an empty schema `SCHEMA`; remove the schema and its tables at the end."""
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(SCHEMA)))
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(SCHEMA)))
        connection.execute(sql.SQL("SET search_path = {}, public").format(sql.Identifier(SCHEMA)))
        try:
            yield connection
        finally:
            if not connection.closed and connection.info.transaction_status:
                connection.rollback()
            door = deduplicator(database).attachments
            for item in door.list():
                door.detach(item.name)
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(SCHEMA)))


def news(connection: psycopg.Connection[Any], name: str = "news", kind: str = NEWS) -> None:
    """Make a table with the columns of `NEWS`, or with other columns."""
    connection.execute(sql.SQL("CREATE TABLE {} ({})").format(sql.Identifier(name), sql.SQL(kind)))


def put(
    connection: psycopg.Connection[Any], key: Any, codes: list[Code], minute: float, name: str = "news"
) -> None:
    """Insert a row into a table with the columns of `NEWS`."""
    connection.execute(
        sql.SQL("INSERT INTO {} (id, body, day) VALUES (%s, %s, %s)").format(sql.Identifier(name)),
        [key, text(codes), at(minute)],
    )


def attach(database: Database, name: str = "news", **given: Any) -> list[str]:
    """Attach a table with the columns of `NEWS`; return the SQL statements that attached it."""
    options: dict[str, Any] = {"keys": ["id"], "columns": COLUMNS, **given}
    return deduplicator(database).attachments.attach(f"{SCHEMA}.{name}", **options).statements


def right(database: Database) -> Answer:
    """Settle the corpus, check that no change waits, and return the marks, checked against the oracle."""
    settle(database)
    found = assert_right(database)
    with database.transaction() as cursor:
        left = cursor.execute("SELECT count(*) FROM dedup.outbox").fetchone()
    assert left == (0,)
    return found


def marks(database: Database) -> dict[str, tuple[Any, ...]]:
    """Return the marks by source_id."""
    return dict(answer(database).marks)
