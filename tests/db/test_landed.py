"""Corpora of earlier versions of dedup are upgraded to the present schema and lose no row."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from dedup import Article, Deduplicator
from dedup.api.operation import printed_schema
from dedup.db import revision
from dedup.db.database import Database
from dedup.store import opening
from tests.conftest import Server
from tests.db.landed import LANDED, make
from tests.db.test_migrations import catalogue
from tests.store.test_ddl import RIGHTS, psql

_NUMBERS = count()


@pytest.fixture
def old(server: Server) -> Iterator[Database]:
    """Yield a database without the schema."""
    name = f"dedup_landed_{next(_NUMBERS)}"
    database = Database(server.create(name))
    yield database
    database.close()
    server.drop(name)


@pytest.fixture(scope="module")
def new(server: Server) -> Iterator[list[str]]:
    """Yield everything that a new schema holds, as lines."""
    name = "dedup_landed_new"
    database = Database(server.create(name))
    opening.initialize(database)
    yield _lines(database)
    database.close()
    server.drop(name)


def _lines(database: Database) -> list[str]:
    """Return the lines of the schema, object by object, and of the rights on its functions."""
    with database.transaction() as cursor:
        rights = cursor.execute(RIGHTS.encode()).fetchall()
    rows = [*sorted(catalogue(database), key=lambda row: row[0] != "column"), *rights]
    return [line for row in rows for line in " ".join(map(str, row)).splitlines()]


def _differing(found: list[str], wanted: list[str]) -> list[str]:
    return [
        line
        for line in difflib.unified_diff(wanted, found, n=0, lineterm="")
        if line[:2] not in ("@@", "--", "++")
    ]


def _store(database: Database) -> None:
    with database.transaction() as cursor:
        cursor.execute(
            "INSERT INTO dedup.article (source_id, title, text) VALUES ('a', 'A title', 'some words')"
        )
        cursor.execute("INSERT INTO dedup.deferred_article (source_id, text) VALUES ('b', 'other words')")
        cursor.execute("INSERT INTO dedup.sentence_pin (sentence_hash, common) VALUES (1, true)")


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("landed", LANDED)
def test_a_corpus_of_every_schema_that_landed_becomes_a_new_one_and_keeps_its_rows(
    old: Database, new: list[str], landed: str
) -> None:
    number = make(old, landed)
    _store(old)
    assert opening.initialize(old) == (number, revision.head())
    assert not _differing(_lines(old), new)
    with old.transaction() as cursor:
        stored = cursor.execute("SELECT source_id, title, text FROM dedup.article").fetchall()
        assert stored == [("a", "A title", "some words")]
        assert cursor.execute("SELECT source_id, text FROM dedup.deferred_article").fetchall() == [
            ("b", "other words")
        ]
        assert cursor.execute("SELECT count(*) FROM dedup.sentence_pin").fetchone() == (1,)


@pytest.mark.long("dedup", "migrations")
def test_the_printed_schema_upgrades_an_older_corpus(old: Database, new: list[str], tmp_path: Path) -> None:
    make(old, "0018 of 450a484")
    done = psql(old, printed_schema(old.url), tmp_path)
    assert done.returncode == 0, done.stderr
    assert not _differing(_lines(old), new)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("landed", ["0017 of b6a3d42", "0018 of 450a484", "0019 of a167059"])
def test_a_submit_to_an_upgraded_corpus_finds_earlier_articles(old: Database, landed: str) -> None:
    make(old, landed)
    text = "The council met on Monday and agreed to build a bridge across the river before winter."
    with old.transaction() as cursor:
        cursor.execute("INSERT INTO dedup.article (source_id, text) VALUES ('a', %s)", [text])
    opening.initialize(old)
    with Deduplicator(old.url) as dd:
        dd.backfill()
        verdict = dd.submit(Article("b", text))
        assert (verdict.status, verdict.duplicate_of) == ("duplicate", "a")


@pytest.mark.long("dedup", "migrations")
def test_agencies_that_were_taken_from_the_list_do_not_come_back(old: Database) -> None:
    make(old, "0019 of d6d4141")
    with old.transaction() as cursor:
        cursor.execute("DELETE FROM dedup.agency WHERE name <> 'AP'")
    opening.initialize(old)
    with old.transaction() as cursor:
        assert cursor.execute("SELECT name FROM dedup.agency").fetchall() == [("AP",)]
