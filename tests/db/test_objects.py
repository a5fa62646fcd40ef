"""Lost or changed objects of a schema are named and repaired."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from dedup import Deduplicator
from dedup.cli import main
from dedup.db import objects
from dedup.db.database import URL_VARIABLE, Database
from dedup.store import opening
from tests.conftest import Server
from tests.db.test_migrations import catalogue


@pytest.fixture(scope="module")
def own(server: Server) -> Iterator[Database]:
    """Yield a corpus for all tests of this module. A test that damages the schema also repairs it."""
    name = "dedup_objects"
    database = Database(server.create(name))
    opening.initialize(database)
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO dedup.article (source_id, text) VALUES ('a', 'some words')")
    yield database
    database.close()
    server.drop(name)


def _problems(database: Database) -> list[str]:
    with database.transaction() as cursor:
        return objects.problems(cursor)


def _damage(database: Database, statement: str) -> None:
    with database.transaction() as cursor:
        cursor.execute(statement.encode())


MENDED = {
    "DROP TABLE dedup.sentence_schedule": "the table sentence_schedule",
    "ALTER TABLE dedup.deferred_article DROP COLUMN kept": "the column kept of deferred_article",
    "DROP INDEX dedup.article_time": "the index article_time of article",
    "DROP FUNCTION dedup.submit_new": "the function submit_new(",
    "DROP TYPE dedup.submission CASCADE": "the type submission",
    "DROP VIEW dedup.quote": "the view quote",
    "DROP TRIGGER article_byline ON dedup.article": "the trigger article_byline of article",
    "ALTER TABLE dedup.match DROP CONSTRAINT match_rule_check": "the constraint match_rule_check of match",
    "ALTER TABLE dedup.article DISABLE TRIGGER article_byline": "the trigger article_byline of article",
    "CREATE OR REPLACE FUNCTION dedup.fire_always() RETURNS void LANGUAGE sql AS 'SELECT'": (
        "the function fire_always()"
    ),
    "CREATE OR REPLACE VIEW dedup.schema_version AS SELECT version_num FROM dedup.alembic_version LIMIT 0": (
        "the view schema_version"
    ),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("statement", MENDED)
def test_what_is_lost_or_changed_is_told_and_init_mends_it(own: Database, statement: str) -> None:
    name = MENDED[statement]
    whole = [row for row in catalogue(own) if row[0] != "comment"]
    assert _problems(own) == []
    _damage(own, statement)
    (told,) = _problems(own)
    assert name in told
    assert told.endswith("init`")
    with Deduplicator(own.url) as dd:
        assert told in dd.vitals().problems(1e9)
    made = Deduplicator.initialize(own.url)
    assert len(made.mended) == 1 + ("CASCADE" in statement)
    assert made.mended[0].startswith(name)
    assert made.left == []
    assert _problems(own) == []
    assert sorted(row for row in catalogue(own) if row[0] != "comment") == sorted(whole)
    assert Deduplicator.initialize(own.url).mended == []
    with own.transaction() as cursor:
        assert cursor.execute("SELECT text FROM dedup.article").fetchall() == [("some words",)]


@pytest.mark.long("dedup", "migrations")
def test_what_cannot_be_mended_is_named_with_the_reason(own: Database) -> None:
    _damage(own, "DROP INDEX dedup.feed_entry_by_feed")
    _damage(own, "CREATE INDEX feed_entry_by_feed ON dedup.feed_entry (seen_at)")
    made = Deduplicator.initialize(own.url)
    assert made.mended == []
    (left,) = made.left
    assert left.startswith("the index feed_entry_by_feed of feed_entry differs: drop it, and run this again")
    _damage(own, "DROP INDEX dedup.feed_entry_by_feed")
    assert Deduplicator.initialize(own.url).mended == ["the index feed_entry_by_feed of feed_entry"]


def test_a_constraint_that_was_validated_since_is_as_it_should_be(own: Database) -> None:
    # The migration adds this constraint as NOT VALID; its owner may validate it later.
    _damage(own, "ALTER TABLE dedup.match VALIDATE CONSTRAINT match_rule_check")
    assert _problems(own) == []


def test_what_others_added_is_left_alone(own: Database) -> None:
    before = catalogue(own)
    _damage(own, "CREATE INDEX theirs ON dedup.article (language)")
    _damage(own, "ALTER TABLE dedup.article ADD COLUMN theirs integer")
    assert _problems(own) == []
    assert Deduplicator.initialize(own.url).mended == []
    _damage(own, "ALTER TABLE dedup.article DROP COLUMN theirs")
    _damage(own, "DROP INDEX dedup.theirs")
    assert catalogue(own) == before


def test_a_first_load_leaves_the_schema_as_it_should_be(own: Database) -> None:
    # The first backfill in memory swaps the two tables of fingerprints.
    with Deduplicator(own.url) as dd:
        dd.backfill(engine="memory")
    assert _problems(own) == []


def test_the_check_of_status_says_what_is_missing_and_init_what_it_mended(
    own: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(URL_VARIABLE, own.url)
    _damage(own, "DROP TABLE dedup.sentence_schedule")
    assert main.run(["status", "--check"]) == 2
    assert "the table sentence_schedule is missing: run `dedup " in capsys.readouterr().out
    assert main.run(["init"]) == 0
    told = capsys.readouterr().err
    assert "mended: the table sentence_schedule\n" in told
    assert "run `dedup grant` again for each role" in told
    assert main.run(["init", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["mended"] == said["left"] == []
