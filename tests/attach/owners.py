"""Helpers for owners that alter or drop attached tables in separate databases, and checks of the outcome.

Such owners use DROP ... CASCADE, which in the shared database could harm later tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import cache
from typing import Any

import psycopg
from psycopg import sql

from dedup.db.database import Database
from dedup.store import opening
from tests.attached import SCHEMA
from tests.conftest import Server
from tests.corpora import Answer, assert_right, deduplicator
from tests.db.test_restore import program, run

Owner = psycopg.Connection[Any]

TEMPLATE = "dedup_owners_template"


@cache
def make_template(server: Server) -> str:
    """Make a database with the schema, for tests to copy; return its name on the server."""
    url = server.create(TEMPLATE)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {SCHEMA}".encode())
    database = Database(url)
    opening.initialize(database)
    database.close()
    return str(psycopg.conninfo.conninfo_to_dict(url)["dbname"])


@contextmanager
def copied(server: Server, template: str, name: str = "dedup_owners") -> Iterator[Database]:
    """Yield an empty corpus that the test may damage."""
    database = Database(server.create(name, template))
    try:
        yield database
    finally:
        database.close()
        server.drop(name)


def connect(database: Database) -> Owner:
    """Return a connection of the owner; its search path begins with the schema of the tables."""
    connection = psycopg.connect(database.url, autocommit=True)
    connection.execute(f"SET search_path = {SCHEMA}, public".encode())
    return connection


def rows(owner: Owner, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query."""
    return owner.execute(query.encode()).fetchall()


def columns(owner: Owner, table: str) -> list[str]:
    """Return the columns of a table."""
    return [
        row[0]
        for row in owner.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"
            " AND NOT attisdropped ORDER BY attnum",
            [table],
        ).fetchall()
    ]


def triggers(owner: Owner, table: str) -> list[str]:
    """Return the triggers of a table that call a function of dedup."""
    return [
        row[0]
        for row in owner.execute(
            "SELECT tgname FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid"
            " WHERE tgrelid = %s::regclass AND p.pronamespace = 'dedup'::regnamespace ORDER BY 1",
            [table],
        ).fetchall()
    ]


def _moment(given: Any) -> datetime | None:
    """Return a value of a date or time column as an article's publication time."""
    if given is None:
        return None
    if not isinstance(given, datetime):
        assert isinstance(given, date)
        return datetime(given.year, given.month, given.day, tzinfo=UTC)
    return given if given.tzinfo else given.replace(tzinfo=UTC)


def assert_followed(
    database: Database,
    owner: Owner,
    columns: Mapping[str, str],
    *,
    name: str = "news",
    table: str | None = None,
    key: str = "id",
    where: str = "true",
    marked: bool = True,
) -> Answer:
    """Check that the articles equal the rows, that all marks equal the oracle's, and that no check fails.

    Args:
        columns: present column of each field of an article.
        table: present name of the table, if it was renamed.
        marked: whether the table has mark columns.
    """
    fields = ("text", "title", "publication", "language", "published_at")
    place = sql.SQL(table or name)
    values = [
        sql.SQL("NULL")
        if field not in columns
        else sql.Identifier(columns[field])
        if field == "published_at"
        else sql.SQL("coalesce({}::text, '')" if field == "text" else "{}::text").format(
            sql.Identifier(columns[field])
        )
        for field in fields
    ]
    wanted = owner.execute(
        sql.SQL("SELECT {} || {}::text, {} FROM {} WHERE {}").format(
            f"{name}/",
            sql.Identifier(key),
            sql.SQL(", ").join(values),
            place,
            sql.SQL(where),
        )
    ).fetchall()
    stored = owner.execute(
        "SELECT source_id, t.text, title, publication, language, published_at FROM dedup.article a"
        " JOIN dedup.article_text t ON t.article_id = a.id WHERE starts_with(source_id, %s)",
        [f"{name}/"],
    ).fetchall()
    assert {row[0]: row[1:] for row in stored} == {row[0]: (*row[1:5], _moment(row[5])) for row in wanted}
    assert len(stored) == len(wanted)
    count = "SELECT count(*) FROM dedup.article WHERE starts_with(source_id, %s)"
    assert owner.execute(count, [f"{name}/"]).fetchone() == (len(wanted),), (
        "articles and their texts have equal numbers"
    )
    found = assert_right(database)
    shown = owner.execute(
        sql.SQL("SELECT {} || {}::text, status, original_source_id, score FROM dedup.{}").format(
            f"{name}/", sql.Identifier(key), sql.Identifier(f"{name}_marks")
        )
    ).fetchall()
    marks = {one: mark[:3] for one, mark in found.marks.items() if one.startswith(f"{name}/")}
    assert {row[0]: row[1:] for row in shown} == marks
    if marked:
        assert_mark_columns(owner, marks, name=name, table=table, key=key, where=where)
    door = deduplicator(database)
    assert door.attachments.drift() == []
    assert door.verify().differences == []
    return found


def assert_mark_columns(
    owner: Owner,
    marks: Mapping[str, tuple[Any, ...]],
    *,
    name: str = "news",
    table: str | None = None,
    key: str = "id",
    where: str = "true",
) -> None:
    """Check that the mark columns hold these marks. In rows that are no articles they must be null.

    Args:
        marks: status, source_id of the original, and score, by source_id.
    """
    written = owner.execute(
        sql.SQL(
            "SELECT {} || {}::text, dedup_status, {} || dedup_duplicate_of::text, dedup_score, {} FROM {}"
        ).format(
            f"{name}/",
            sql.Identifier(key),
            f"{name}/",
            sql.SQL(where),
            sql.SQL(table or name),
        )
    ).fetchall()
    wanted = {
        one: (status, original if (original or "").startswith(f"{name}/") else None, score)
        for one, (status, original, score) in marks.items()
    }
    assert {row[0]: row[1:4] for row in written} == {
        row[0]: wanted[row[0]] if row[4] else (None, None, None) for row in written
    }


def dumped(database: Database, schema: str | None = SCHEMA) -> str:
    """Return a schema, or the whole database, as pg_dump writes it, without the random key of each dump."""
    chosen = () if schema is None else ("-n", schema)
    printed = run(program("pg_dump"), "-s", *chosen, "-d", database.url)
    return "\n".join(line for line in printed.splitlines() if "restrict " not in line)
