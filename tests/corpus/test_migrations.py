"""The schema: made, unmade, compared with what SQLAlchemy is told, and explained in every part."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from alembic import command

from dedup.corpus import migrate
from dedup.corpus.database import Database
from dedup.errors import SchemaError
from tests.conftest import Server

_NUMBERS = count()


@pytest.fixture
def fresh(server: Server) -> Iterator[Database]:
    """A database without the schema."""
    name = f"dedup_fresh_{next(_NUMBERS)}"
    database = Database(server.create(name))
    yield database
    database.close()
    server.drop(name)


CATALOGUE = """
    SELECT 'column', c.table_name, c.column_name,
           c.data_type || c.is_nullable || coalesce(c.column_default, '')
    FROM information_schema.columns c WHERE c.table_schema = 'dedup'
    UNION ALL SELECT 'index', tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'dedup'
    UNION ALL SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'dedup'::regnamespace
    UNION ALL SELECT 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(oid)
    FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'function', proname, '', pg_get_functiondef(oid)
    FROM pg_proc WHERE pronamespace = 'dedup'::regnamespace
    UNION ALL SELECT 'view', viewname, '', definition FROM pg_views WHERE schemaname = 'dedup'
    UNION ALL SELECT 'comment', objoid::regclass::text, objsubid::text, description
    FROM pg_description WHERE classoid = 'pg_class'::regclass
        AND objoid IN (SELECT oid FROM pg_class WHERE relnamespace = 'dedup'::regnamespace)
    ORDER BY 1, 2, 3, 4
"""


def catalogue(database: Database) -> list[tuple[object, ...]]:
    """Everything the schema holds."""
    with database.transaction() as cursor:
        return cursor.execute(CATALOGUE.encode()).fetchall()


def test_up_down_up_is_the_same_schema(fresh: Database) -> None:
    migrate.initialize(fresh)
    first = catalogue(fresh)
    assert {row[0] for row in first} >= {"column", "index", "trigger", "function", "view", "comment"}
    config = migrate._config()
    with fresh.engine().connect() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    left = [row for row in catalogue(fresh) if "alembic_version" not in str(row[1])]
    assert left == []
    migrate.initialize(fresh)
    assert catalogue(fresh) == first


def test_alembic_finds_nothing_to_change(fresh: Database) -> None:
    migrate.initialize(fresh)
    config = migrate._config()
    with fresh.engine().connect() as connection:
        config.attributes["connection"] = connection
        command.check(config)  # raises where the tables differ from dedup/corpus/schema.py


def test_five_upgrades_at_once(fresh: Database) -> None:
    urls = [fresh.url] * 5

    def upgrade(url: str) -> tuple[str | None, str | None]:
        database = Database(url)
        try:
            return migrate.initialize(database)
        finally:
            database.close()

    with ThreadPoolExecutor(5) as threads:
        revisions = list(threads.map(upgrade, urls))
    assert sorted(str(before) for before, _ in revisions) == ["0002"] * 4 + ["None"]
    assert {after for _, after in revisions} == {"0002"}


def test_a_missing_schema_names_the_next_step(fresh: Database) -> None:
    with pytest.raises(SchemaError, match="run `dedup init`"):
        migrate.prepare(fresh)


def test_a_schema_newer_than_the_program_is_refused(fresh: Database) -> None:
    migrate.initialize(fresh)
    with fresh.transaction() as cursor:
        cursor.execute("UPDATE dedup.alembic_version SET version_num = '9999'")
    for step in (migrate.prepare, migrate.initialize):
        with pytest.raises(SchemaError, match="newer dedup"):
            step(fresh)


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
