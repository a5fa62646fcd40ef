"""Guards of marks and bookkeeping: forged columns, TRUNCATE, replica mode, and rights to call functions."""

from __future__ import annotations

import os
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from dedup.db.database import Database
from tests.conftest import Server
from tests.corpora import (
    answer,
    article,
    assert_counted,
    assert_right,
    code,
    deduplicator,
    load,
    settle,
    window,
)

FORGED = {
    "status": "'unique'",
    "stale": "true",
    "takes_part": "true",
    "score": "0.9",
    "reason": "'content'",
    "limit_fired": "'some limit'",
    "marked_at": "now()",
}


def family(count: int = 8) -> list[object]:
    return [article(f"a{i}", [*window(i, 6), code(99)], i) for i in range(count)]


@pytest.fixture
def filled(database: Database) -> Database:
    """Return a settled corpus with duplicates, similar articles and a common sentence."""
    with database.transaction(settling=True) as cursor:
        from dedup.store import rulebooks

        rulebooks.change_settings(cursor, {"common_stories": 2})
    load(database, *family())  # type: ignore[arg-type]
    settle(database)
    assert_right(database)
    return database


def test_a_mark_given_with_an_insert_is_ignored(filled: Database) -> None:
    """The forged mark is inserted after the article, as a restore of data alone does. The article has a
    pending mark by then."""
    with psycopg.connect(filled.url) as connection:
        connection.execute(
            "INSERT INTO dedup.article (source_id, published_at, text, revision)"
            " SELECT 'forged', published_at, text, 7 FROM dedup.article WHERE source_id = 'a0'"
        )
        names, values = ", ".join(FORGED), ", ".join(FORGED.values())
        connection.execute(
            f"INSERT INTO dedup.article_mark (id, time, {names})"
            f" SELECT id, now(), {values} FROM dedup.article WHERE source_id = 'forged'".encode()
        )
        row = connection.execute(
            "SELECT status, stale, takes_part, duplicate_of, revision, score, marked_at"
            " FROM dedup.marked_article WHERE source_id = 'forged'"
        ).fetchone()
    assert row == ("pending", False, False, None, 0, None, None)
    settle(filled)
    assert answer(filled).marks["forged"][1] == "a0"
    assert_right(filled)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("column", [*FORGED, "revision"])
def test_marks_cannot_be_updated_by_hand(filled: Database, column: str) -> None:
    table, value = ("article", "7") if column == "revision" else ("article_mark", FORGED[column])
    refused = pytest.raises(pg.InsufficientPrivilege, match="only dedup writes the marks")
    with psycopg.connect(filled.url) as connection, refused:
        connection.execute(f"UPDATE dedup.{table} SET {column} = {value}".encode())
    assert_right(filled)


def test_a_mark_cannot_be_deleted_by_hand(filled: Database) -> None:
    refused = pytest.raises(pg.InsufficientPrivilege, match="only dedup writes the marks")
    with psycopg.connect(filled.url) as connection, refused:
        connection.execute("DELETE FROM dedup.article_mark")


def test_without_their_marks_all_articles_are_settled_again(filled: Database) -> None:
    before = answer(filled)
    with psycopg.connect(filled.url) as connection:
        connection.execute("TRUNCATE dedup.article_mark")
    assert answer(filled).status() == dict.fromkeys(before.marks, "pending")
    settle(filled)
    assert answer(filled) == before
    assert_right(filled)


@pytest.fixture
def editor(server: Server, database: Database) -> Iterator[psycopg.Connection]:
    """Yield a session of a role with all rights on articles and no other right."""
    name = sql.Identifier(f"dedup_editor_{os.getpid()}")
    with psycopg.connect(database.url, autocommit=True) as owner:
        owner.execute(sql.SQL("CREATE ROLE {} LOGIN").format(name))
        owner.execute(sql.SQL("GRANT USAGE ON SCHEMA dedup TO {}").format(name))
        owner.execute(sql.SQL("GRANT SELECT, INSERT, UPDATE, DELETE ON dedup.article TO {}").format(name))
    try:
        with psycopg.connect(make_conninfo(database.url, user=f"dedup_editor_{os.getpid()}")) as found:
            yield found
    except psycopg.OperationalError:
        pytest.skip("this server does not let a new role in")
    finally:
        with psycopg.connect(database.url, autocommit=True) as owner:
            owner.execute(sql.SQL("DROP OWNED BY {}").format(name))
            owner.execute(sql.SQL("DROP ROLE {}").format(name))


def test_who_may_edit_articles_needs_no_other_right(filled: Database, editor: psycopg.Connection) -> None:
    editor.execute("UPDATE dedup.article SET text = text || ' More.', title = 'New' WHERE source_id = 'a0'")
    editor.execute("UPDATE dedup.article SET published_at = now() WHERE source_id = 'a1'")
    editor.execute("DELETE FROM dedup.article WHERE source_id = 'a2'")
    editor.execute("INSERT INTO dedup.article (source_id, text) VALUES ('new', 'A text.')")
    editor.commit()
    settle(filled)
    assert_right(filled)


def test_who_may_edit_articles_cannot_pretend_to_settle(filled: Database, editor: psycopg.Connection) -> None:
    editor.execute("SET dedup.settling = 'on'")
    with pytest.raises(pg.InsufficientPrivilege):
        editor.execute("UPDATE dedup.article_mark SET status = 'unique', duplicate_of = NULL")
    editor.rollback()
    for call in ("make_stale('{1}')", "withdraw('{1}')", "remove_pairs('{1}')", "settle_lock()"):
        with pytest.raises(pg.InsufficientPrivilege):
            editor.execute(f"SELECT dedup.{call}".encode())
        editor.rollback()


def test_no_function_is_for_everyone_and_each_pins_its_search_path(database: Database) -> None:
    with database.transaction() as cursor:
        rows = cursor.execute("""
            SELECT p.proname, has_function_privilege('public', p.oid, 'EXECUTE'), p.prosecdef,
                   p.prorettype = 'trigger'::regtype, p.prosqlbody IS NOT NULL, p.proconfig
            FROM pg_proc p WHERE p.pronamespace = 'dedup'::regnamespace
        """).fetchall()
    assert len(rows) > 15
    for name, public, definer, trigger, parsed, config in rows:
        assert not public, name
        # These functions run with the owner's rights. The first two let a backfill swap and reindex tables
        # that it does not own. `articles_edited` does for many articles what the trigger of an edit does for
        # one. `attached_text` reads a text with the rights of the attached table's owner.
        named = ("publish_bulk", "compact_index", "articles_edited", "attached_text")
        lent = trigger or name in named
        assert lent or not definer, f"{name}: only triggers lend the owner's rights"
        # A body that was parsed when the function was made looks up no name when it runs.
        assert parsed or any(c.endswith("pg_temp") for c in config or ()), name


# Tests of changes that row triggers do not see.

TABLES = [
    "article",
    "fingerprint",
    "match",
    "common_sentence",
    "sentence_count",
    "sentence_change",
    "sentence_pin",
    "pair_pin",
]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("table", TABLES)
def test_truncate_is_mended_by_the_next_backfill(filled: Database, table: str) -> None:
    with psycopg.connect(filled.url) as connection:
        connection.execute("INSERT INTO dedup.pair_pin VALUES ('a0', 'a7', 'similar')")
        connection.execute("INSERT INTO dedup.sentence_pin VALUES (7, true)")
        connection.commit()
        settle(filled)
        connection.execute(f"TRUNCATE dedup.{table} CASCADE".encode())
        connection.commit()
    load(filled, article("late", window(0, 6), -5))
    settle(filled)
    assert_right(filled)
    assert_counted(filled)


@pytest.mark.parametrize("statement", ["TRUNCATE dedup.{}", "DELETE FROM dedup.{}"])
@pytest.mark.parametrize("table", ["corpus_state", "settle_turn"])
def test_the_only_row_stays(database: Database, table: str, statement: str) -> None:
    with psycopg.connect(database.url) as connection, pytest.raises(pg.RaiseException, match="one row"):
        connection.execute(statement.format(table).encode())


REPLICATED = {
    "insert": "INSERT INTO dedup.article (source_id, published_at, text) SELECT 'new', published_at, text"
    " FROM dedup.article WHERE source_id = 'a0'",
    "text": "UPDATE dedup.article SET text = text || ' More of it is there.' WHERE source_id < 'a3'",
    "time": "UPDATE dedup.article SET published_at = published_at - interval '1 day' WHERE source_id = 'a5'",
    "delete": "DELETE FROM dedup.article WHERE source_id IN ('a0', 'a3')",
    "truncate": "TRUNCATE dedup.article CASCADE",
    "truncate alone": "TRUNCATE dedup.article",
    "pin": "INSERT INTO dedup.pair_pin VALUES ('a0', 'a7', 'duplicate')",
    "unpin": "DELETE FROM dedup.pair_pin",
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("change", REPLICATED)
def test_replica_mode_is_seen_too(filled: Database, change: str) -> None:
    with psycopg.connect(filled.url) as connection:
        connection.execute("INSERT INTO dedup.pair_pin VALUES ('a1', 'a6', 'similar')")
        connection.commit()
        settle(filled)
        connection.execute("SET session_replication_role = replica")
        connection.execute(REPLICATED[change].encode())
        connection.commit()
    settle(filled)
    assert_right(filled)
    assert_counted(filled)


def test_a_hook_after_truncate(filled: Database) -> None:
    with psycopg.connect(filled.url) as connection:
        connection.execute("TRUNCATE dedup.article CASCADE")
    assert deduplicator(filled).submit(article("first", window(0, 6), 0)).status == "unique"
