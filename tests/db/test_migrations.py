"""The schema: made, removed, described line by line, and explained in every part."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory

from dedup import Deduplicator
from dedup.api import worker
from dedup.api.metrics import Metrics
from dedup.api.operation import Operation, printed_schema
from dedup.base.errors import ClosedError, SchemaError
from dedup.db import migrate, objects, revision
from dedup.db.database import Database
from dedup.store import opening
from tests.conftest import Server
from tests.next_revision import next_revision

_NUMBERS = count()


@pytest.fixture
def fresh(server: Server) -> Iterator[Database]:
    """Yield a database without the schema."""
    name = f"dedup_fresh_{next(_NUMBERS)}"
    database = Database(server.create(name))
    yield database
    database.close()
    server.drop(name)


COMMENTS = """
    SELECT 'comment', objoid::regclass::text || ' ' || objsubid, description
    FROM pg_description WHERE classoid = 'pg_class'::regclass
        AND objoid IN (SELECT oid FROM pg_class WHERE relnamespace = 'dedup'::regnamespace)
    UNION ALL SELECT 'comment', objoid::regprocedure::text, description
    FROM pg_description WHERE classoid = 'pg_proc'::regclass
        AND objoid IN (SELECT oid FROM pg_proc WHERE pronamespace = 'dedup'::regnamespace)
    ORDER BY 1, 2
"""


def catalogue(database: Database) -> list[tuple[str, str, str]]:
    """Return everything that the schema holds, with its comments."""
    with database.transaction() as cursor:
        return [*objects.describe(cursor), *cursor.execute(COMMENTS.encode()).fetchall()]


@pytest.mark.long("dedup", "migrations")
def test_made_unmade_and_made_again_it_is_the_same_schema(fresh: Database) -> None:
    opening.initialize(fresh)
    first = catalogue(fresh)
    assert {kind for kind, _, _ in first} == KINDS
    with Operation(fresh.url) as owner:
        owner.uninstall()
    with fresh.transaction() as cursor:
        assert cursor.execute("SELECT to_regnamespace(%s)", [fresh.schema]).fetchone() == (None,)
    opening.initialize(fresh)
    assert catalogue(fresh) == first


REWRITE = "DEDUP_REWRITE_SCHEMA=1 .venv/bin/python -m pytest tests/db/test_migrations.py -k described"


def test_the_schema_is_the_one_described(fresh: Database) -> None:
    """migrations/schema.sql describes a new schema; corpora are compared with it, and repaired by it."""
    # Upgrade without a repair: a repair by the old schema.sql would undo the newest migration.
    migrate.upgrade(fresh)
    with fresh.transaction() as cursor:
        found = objects.describe(cursor)
    if os.environ.get("DEDUP_REWRITE_SCHEMA"):
        text = "".join(f"--- {kind} {name}\n{statement};\n" for kind, name, statement in found)
        (revision.folder() / "schema.sql").write_text(text, "utf-8")
        objects.expected.cache_clear()
    with fresh.transaction() as cursor:
        changes = [str(each) for each in objects.differences(cursor)]
    told = {f"{kind} {name}" for kind, name, _ in objects.expected(fresh.schema)}
    changes += [f"the {kind} {name} is new" for kind, name, _ in found if f"{kind} {name}" not in told]
    assert not changes, "\n".join([*changes, f"if that is meant: {REWRITE}"])


KINDS = {"table", "column", "constraint", "type", "function", "index", "view", "trigger", "comment"}
KEPT = {
    "article": "(source_id, text) VALUES ('a', 'words')",
    "deferred_article": "(source_id, text) VALUES ('a', 'words')",
    "sentence_pin": "(sentence_hash, common) VALUES (1, true)",
    "pair_pin": "(source_id, other_source_id, relation) VALUES ('a', 'b', 'unrelated')",
    "setting": "(name, value) VALUES ('hash_key', 'the only copy of the key')",
    "sentence_model": "VALUES ('de', true, '', '', '', '', '', 1)",
    "judgement": "VALUES ('a', 'b', 'me', 'similar', NULL, now(), '', '')",
    "review_pair": "VALUES ('a', 'b', 1, 'random', 1, 1)",
    "attachment": "VALUES (1, 'a', 'public', 'a', '{id}', '{bigint}', '{}')",
    "outlet": "(name, family) VALUES ('a', 'b')",
}


def test_contents_count_all_rows_that_cannot_be_made_again(fresh: Database) -> None:
    opening.initialize(fresh)
    with Operation(fresh.url) as owner:
        assert owner.contents().rows == {}
        with fresh.transaction() as cursor:
            for table, row in KEPT.items():
                cursor.execute(f"INSERT INTO dedup.{table} {row}".encode())
        assert owner.contents().rows == dict.fromkeys(KEPT, 1)


def test_a_schema_is_not_downgraded(fresh: Database) -> None:
    opening.initialize(fresh)
    before = catalogue(fresh)
    config = migrate.configuration()
    with fresh.engine().connect() as connection:
        config.attributes["connection"] = connection
        with pytest.raises(SchemaError, match=r"cannot be downgraded: remove it with `dedup uninstall`"):
            command.downgrade(config, "base")
    assert catalogue(fresh) == before


def test_an_upgrade_keeps_the_rows(fresh: Database) -> None:
    opening.initialize(fresh)
    with fresh.transaction() as cursor:
        cursor.execute(f"INSERT INTO dedup.article {KEPT['article']}".encode())
    before = revision.head()
    with next_revision() as number:
        with pytest.raises(SchemaError, match=r"older dedup; run .* to upgrade it"):
            opening.prepare(fresh)
        assert opening.initialize(fresh) == (before, number)
        assert opening.initialize(fresh) == (number, number)
        opening.prepare(fresh)
    with fresh.transaction() as cursor:
        assert cursor.execute("SELECT source_id, text, later FROM dedup.article").fetchall() == [
            ("a", "words", 7)
        ]
    with pytest.raises(SchemaError, match="newer dedup"):
        opening.prepare(fresh)


def test_every_table_is_made_again_from_others_or_guarded(database: Database) -> None:
    with database.transaction() as cursor:
        rows = cursor.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'dedup'::regnamespace AND relkind = 'r'"
        ).fetchall()
    made = {
        *("article_mark", "fingerprint", "match", "common_sentence", "sentence_count", "sentence_change"),
        *("corpus_state", "settle_turn", "run", "alembic_version", "fingerprint_bulk", "bulk_change"),
        *("worker", "run_total", "recent_key", "key_segment", "key_block"),
        *("outbox", "mark_change", "refused_row", "attached_copy"),
        *("agency", "credit", "credit_unread", "correction", "correction_phrase"),
        *("journal", "journal_mark", "journal_deleted"),
        *("compared_version", "compared_copy", "quoted_sentence", "sentence_schedule"),
        *("feed", "feed_entry", "load", "load_part"),
        "word_count",
    }
    assert {row[0] for row in rows} == KEPT.keys() | made


def test_five_upgrades_at_once(fresh: Database) -> None:
    urls = [fresh.url] * 5

    def upgrade(url: str) -> tuple[str | None, str | None]:
        database = Database(url)
        try:
            return opening.initialize(database)
        finally:
            database.close()

    with ThreadPoolExecutor(5) as threads:
        revisions = list(threads.map(upgrade, urls))
    assert sorted(str(before) for before, _ in revisions) == [revision.head()] * 4 + ["None"]
    assert {after for _, after in revisions} == {revision.head()}


def test_a_missing_schema_names_the_next_step(fresh: Database) -> None:
    with pytest.raises(SchemaError, match="run `dedup init`"):
        opening.prepare(fresh)


OPENERS: dict[str, Callable[[str], object]] = {
    "a program": Deduplicator,
    "a worker": lambda url: worker.work(url, stop=lambda: False),
    "metrics": lambda url: Metrics(url).text(),
}


@pytest.mark.parametrize("who", OPENERS)
def test_whoever_finds_no_schema_lets_go_of_the_database(
    fresh: Database, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    asked: list[Database] = []
    prepare = opening.prepare

    def noted(database: Database) -> None:
        asked.append(database)
        prepare(database)

    monkeypatch.setattr(opening, "prepare", noted)
    with suppress(SchemaError):
        OPENERS[who](fresh.url)
    (database,) = asked
    with pytest.raises(ClosedError):
        database.check_open()


def test_the_revisions_are_those_that_alembic_finds() -> None:
    # Programs read the revisions from the files, so that a submit need not load Alembic.
    scripts = ScriptDirectory.from_config(migrate.configuration())
    found = [script.revision for script in scripts.walk_revisions()]
    assert revision.revisions() == found[::-1]
    assert revision.head() == scripts.get_current_head()


def test_revisions_are_names_whose_order_the_files_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "versions").mkdir()
    for own, before in (("9999", None), ("10000", "9999"), ("0a1b", "10000")):
        written = f'revision = "{own}"\ndown_revision = {before and json.dumps(before)}\n'
        (tmp_path / "versions" / f"{own}_step.py").write_text(written, "utf-8")
    monkeypatch.setattr(revision, "folder", lambda: tmp_path)
    assert revision.revisions() == ["9999", "10000", "0a1b"]
    assert revision.head() == "0a1b"


def test_a_schema_newer_than_the_program_is_refused(fresh: Database) -> None:
    opening.initialize(fresh)
    for later in ("9999", "0017b"):  # unknown revisions; the second one sorts before known ones
        with fresh.transaction() as cursor:
            cursor.execute("UPDATE dedup.alembic_version SET version_num = %s", [later])
        for step in (opening.prepare, opening.initialize):
            with pytest.raises(SchemaError, match="newer dedup"):
                step(fresh)


@pytest.mark.long("dedup", "migrations")
def test_a_schema_from_before_the_first_release_is_refused_and_left_alone(fresh: Database) -> None:
    opening.initialize(fresh)
    steps = (
        opening.prepare,
        opening.initialize,
        lambda d: printed_schema(d.url),
        lambda d: Deduplicator(d.url),
    )
    for number in range(1, 13):
        with fresh.transaction() as cursor:
            cursor.execute("UPDATE dedup.alembic_version SET version_num = %s", [f"{number:04}"])
        before = catalogue(fresh)
        for step in steps:
            with pytest.raises(SchemaError, match=rf"schema {number:04}, from before .* cannot be upgraded"):
                step(fresh)
        assert catalogue(fresh) == before
        with fresh.transaction() as cursor:
            assert revision.current(cursor) == f"{number:04}"


def test_every_table_view_column_and_function_is_explained(database: Database) -> None:
    with database.transaction() as cursor:
        silent = cursor.execute("""
            SELECT c.relname, a.attname FROM pg_class c
            LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            WHERE c.relnamespace = 'dedup'::regnamespace AND c.relkind IN ('r', 'v')
              AND c.relname <> 'alembic_version'
              AND (obj_description(c.oid, 'pg_class') IS NULL OR col_description(c.oid, a.attnum) IS NULL)
            UNION ALL
            SELECT proname, NULL FROM pg_proc
            WHERE pronamespace = 'dedup'::regnamespace AND prorettype <> 'trigger'::regtype
              AND obj_description(oid, 'pg_proc') IS NULL
        """).fetchall()
    assert silent == []
