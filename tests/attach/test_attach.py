"""Attached tables: the marks follow the table, whatever SQL its owner runs."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql

from dedup.attach.sync import sync
from dedup.base.errors import AttachedError, DatabaseError, InputError
from dedup.base.progress import SilentProgress
from dedup.db.database import Database
from tests.attach.owners import Owner, dumped, rows
from tests.attached import COLUMNS, SCHEMA, attach, news, put, right
from tests.corpora import (
    answer,
    article,
    assert_right,
    at,
    deduplicator,
    fingerprint_waiting,
    load,
    settle,
    text,
    window,
)

pytestmark = pytest.mark.timeout(120)


def outbox(database: Database) -> list[str | None]:
    """Return the source_ids in the waiting notes; None stands for a note about the whole table."""
    with database.transaction() as cursor:
        found = cursor.execute("SELECT source_ids, amount FROM dedup.outbox ORDER BY id").fetchall()
    assert [row[1] for row in found] == [len(row[0] or [None]) for row in found]
    return [source_id for row in found for source_id in row[0] or [None]]


@pytest.mark.long("dedup", "migrations")
def test_rows_that_are_there_and_rows_that_come(database: Database, owner: Owner) -> None:
    news(owner)
    put(owner, 1, window(0, 6), 0)
    put(owner, 2, window(1, 6), 5)
    attach(database)
    assert right(database).status() == {"news/1": "unique", "news/2": "duplicate:news/1"}
    put(owner, 3, window(0, 6), -5)
    found = right(database)
    assert found.status()["news/1"] == "duplicate:news/3"
    assert rows(owner, "SELECT id, status, duplicate_of FROM dedup.news_marks ORDER BY id") == [
        (1, "duplicate", 3),
        (2, "duplicate", 3),
        (3, "unique", None),
    ]


def test_texts_are_not_stored_twice(database: Database, owner: Owner) -> None:
    news(owner)
    put(owner, 1, window(0, 6), 0)
    attach(database)
    right(database)
    assert rows(owner, "SELECT text FROM dedup.article") == [(None,)]
    assert rows(owner, "SELECT text FROM dedup.article_text") == [(text(window(0, 6)),)]
    assert rows(owner, "SELECT text FROM dedup.canonical_article") == [(text(window(0, 6)),)]
    shown = deduplicator(database).get("news/1")
    assert shown is not None
    assert shown.article.text == text(window(0, 6))


def test_own_articles_and_several_tables_are_compared_with_each_other(
    database: Database, owner: Owner
) -> None:
    news(owner)
    news(owner, "wire")
    attach(database)
    attach(database, "wire")
    put(owner, 1, window(0, 6), 2)
    put(owner, 1, window(0, 6), 1, "wire")
    load(database, article("own", window(0, 6), 0))
    assert right(database).status() == {
        "own": "unique",
        "news/1": "duplicate:own",
        "wire/1": "duplicate:own",
    }
    # The original is not in the table, so it has no key there; the view names its source_id.
    query = "SELECT id, duplicate_of, original_source_id FROM dedup.news_marks"
    assert rows(owner, query) == [(1, None, "own")]
    verdict = deduplicator(database).submit(article("late", window(0, 6), 9))
    assert verdict.duplicate_of == "own"


CHANGES: dict[str, tuple[str, list[str | None]]] = {
    "a text": ("UPDATE news SET body = %s WHERE id = 2", ["news/2"]),
    "a title": ("UPDATE news SET headline = 'New' WHERE id = 2", ["news/2"]),
    "a date": ("UPDATE news SET day = day + interval '1 hour' WHERE id = 1", ["news/1"]),
    "an outlet": ("UPDATE news SET outlet = 'Courier' WHERE id = 1", ["news/1"]),
    "a key": ("UPDATE news SET id = 7 WHERE id = 1", ["news/1", "news/7"]),
    "all keys": ("UPDATE news SET id = 3 - id", ["news/1", "news/2"]),
    "a delete": ("DELETE FROM news WHERE id = 1", ["news/1"]),
    "an upsert": (
        "INSERT INTO news (id, body) VALUES (1, 'A new body.')"
        " ON CONFLICT (id) DO UPDATE SET body = excluded.body",
        ["news/1"],
    ),
    "nothing mapped": ("UPDATE news SET clicks = 5", []),
    "the same": ("UPDATE news SET body = body, headline = headline", []),
    "no row": ("DELETE FROM news WHERE id = 99", []),
    "everything": ("TRUNCATE news", [None]),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_a_change_is_noted_and_followed(
    database: Database, owner: Owner, change: str, isolation: str
) -> None:
    statement, noted = CHANGES[change]
    news(
        owner,
        kind="id bigint PRIMARY KEY DEFERRABLE, body text, headline text, day timestamptz, outlet text,"
        " lang text, clicks integer",
    ) if change == "all keys" else news(owner)
    put(owner, 1, window(0, 6), 0)
    put(owner, 2, window(1, 6), 5)
    load(database, article("own", window(2, 6), 9))
    attach(database)
    right(database)
    before = rows(owner, "SELECT id, xmin::text FROM dedup.article ORDER BY id")
    with psycopg.connect(database.url) as other:
        other.execute(f"SET search_path = {SCHEMA}".encode())
        other.commit()
        other.isolation_level = {
            "read committed": psycopg.IsolationLevel.READ_COMMITTED,
            "repeatable read": psycopg.IsolationLevel.REPEATABLE_READ,
            "serializable": psycopg.IsolationLevel.SERIALIZABLE,
        }[isolation]
        other.execute(statement.encode(), [text(window(8, 6))] if "%s" in statement else None)
    assert sorted(outbox(database), key=str) == sorted(noted, key=str)
    right(database)
    if not noted:
        assert rows(owner, "SELECT id, xmin::text FROM dedup.article ORDER BY id") == before


class AttachProgress:
    """A progress that records its stages and steps."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.steps: list[tuple[int, int | None]] = []

    def start(self, stage: str, total: int | None) -> None:
        self.stages.append(stage)
        self.steps.append((0, total))

    def advance(self, count: int, total: int | None = None) -> None:
        done, known = self.steps[-1]
        self.steps.append((done + count, known if total is None else total))


@pytest.mark.long("dedup", "migrations")
def test_progress_never_passes_its_total(database: Database, owner: Owner) -> None:
    """Attaching writes one note about the whole table. The first reading replaces it by a note per row, so
    the total grows."""
    news(owner)
    owner.execute("INSERT INTO news (id, body) SELECT n, 'words' FROM generate_series(1, 4000) n")
    attach(database)
    told = AttachProgress()
    sync(database, told, lambda: False)
    assert told.stages == ["reading changes"]
    assert told.steps[-1] == (4001, 4001)
    assert all(total is not None and done <= total for done, total in told.steps)


def test_writing_mark_columns_is_a_stage_of_its_own(database: Database, owner: Owner) -> None:
    news(owner)
    put(owner, 1, window(0, 6), 0)
    attach(database, mark_columns=True)
    told = AttachProgress()
    assert settle(database, progress=told).written_back == 1
    assert "writing mark columns" in told.stages


def test_a_change_that_is_rolled_back_is_none(database: Database, owner: Owner) -> None:
    news(owner)
    attach(database)
    settle(database)
    with owner.transaction() as undone:
        put(owner, 1, window(0, 6), 0)
        raise psycopg.Rollback(undone)
    assert outbox(database) == []


def test_a_row_that_the_condition_does_not_hold_for_is_no_article(database: Database, owner: Owner) -> None:
    news(owner)
    put(owner, 1, window(0, 6), 0)
    put(owner, 2, window(0, 6), 1)
    owner.execute("UPDATE news SET lang = 'en'")
    attach(database, where="lang = 'en' -- and no other")
    assert set(right(database).marks) == {"news/1", "news/2"}
    owner.execute("UPDATE news SET lang = 'de' WHERE id = 1")
    assert right(database).status() == {"news/2": "unique"}
    owner.execute("UPDATE news SET lang = 'en' WHERE id = 1")
    assert right(database).status() == {"news/1": "unique", "news/2": "duplicate:news/1"}


def test_a_text_that_changes_while_it_is_read_leaves_no_fingerprint_of_another(
    database: Database, owner: Owner
) -> None:
    """The text changes from A to B and back to A. No fingerprint is made of a text with unread changes."""
    news(owner)
    put(owner, 1, window(0, 6), 0)
    attach(database)
    sync(database, SilentProgress(), lambda: False)
    owner.execute("UPDATE news SET body = %s", [text(window(6, 6))])
    with database.transaction(settling=True) as cursor:
        fingerprint_waiting(cursor)
    assert rows(owner, "SELECT count(*) FROM dedup.fingerprint") == [(0,)]
    owner.execute("UPDATE news SET body = %s", [text(window(0, 6))])
    right(database)


KEYS: dict[str, tuple[str, list[Any]]] = {
    "integer": ("integer", [1, -2]),
    "uuid": ("uuid", [uuid.UUID(int=1), uuid.UUID(int=2)]),
    "text": ("text", ["a/b", "weird \"'\\%s $1 {}"]),
    "varchar": ("varchar(20)", ["a", "b"]),
    "char": ("char(5)", ["a", "b"]),
    "numeric": ("numeric", [1, 2]),
    "date": ("date", ["2024-02-29", "0044-03-15 BC"]),
    "timestamptz": ("timestamptz", ["2024-02-29 10:00:00.123456+02", "infinity"]),
    "timestamp": ("timestamp", ["2024-02-29 10:00:00.123456", "0044-03-15 BC"]),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_every_kind(database: Database, owner: Owner, kind: str) -> None:
    type_, (first, second) = KEYS[kind]
    news(
        owner,
        kind=f"id {type_} PRIMARY KEY, body text, headline text, day timestamptz, outlet text, lang text",
    )
    attach(database, mark_columns=True)
    owner.execute("SET timezone = 'Asia/Kolkata'; SET datestyle = 'German, DMY'")
    put(owner, first, window(0, 6), 0)
    put(owner, second, window(0, 6), 1)
    right(database)
    query = (
        "SELECT count(*) FROM news a JOIN dedup.news_marks m ON m.id = a.id"
        " JOIN news o ON o.id = m.duplicate_of"
        " WHERE o.day < a.day AND a.dedup_duplicate_of = o.id AND a.dedup_status = 'duplicate'"
    )
    assert rows(owner, query) == [(1,)]
    owner.execute("DELETE FROM news WHERE day = %s", [at(0)])
    assert list(right(database).status().values()) == ["unique"]


def test_a_key_of_several_columns(database: Database, owner: Owner) -> None:
    news(owner, kind="site text, id integer, body text, day timestamptz, PRIMARY KEY (site, id)")
    attach(database, keys=["site", "id"], columns={"text": "body", "published_at": "day"}, mark_columns=True)
    for i, site in enumerate(['a"b', "ü,[]"]):
        owner.execute("INSERT INTO news VALUES (%s, %s, %s, %s)", [site, i, text(window(0, 6)), at(i)])
    right(database)
    query = "SELECT site, id, status, duplicate_of_1, duplicate_of_2 FROM dedup.news_marks ORDER BY id"
    assert rows(owner, query) == [('a"b', 0, "unique", None, None), ("ü,[]", 1, "duplicate", 'a"b', 0)]
    assert rows(owner, "SELECT dedup_duplicate_of FROM news ORDER BY id") == [(None,), (['a"b', "0"],)]


def test_values_that_an_article_cannot_hold(database: Database, owner: Owner) -> None:
    news(owner, kind="id integer PRIMARY KEY, body text, headline text, day date, outlet text, lang text")
    attach(database)
    owner.execute(
        "INSERT INTO news VALUES (1, NULL, repeat('ü', 20000), 'infinity'), (2, '', NULL, '5000000-01-01')"
    )
    found = right(database)
    assert {mark[0] for mark in found.marks.values()} == {"failed"}
    assert rows(owner, "SELECT published_at, length(title) FROM dedup.article ORDER BY source_id") == [
        (None, 4096),
        (None, None),
    ]


def test_a_key_that_is_too_long_is_reported(database: Database, owner: Owner) -> None:
    news(owner, kind="id text PRIMARY KEY, body text, headline text, day timestamptz, outlet text, lang text")
    attach(database)
    settle(database)
    put(owner, "x" * 1100, window(0, 6), 0)
    put(owner, "y", window(0, 6), 0)
    assert settle(database).refused == 1
    assert set(assert_right(database).marks) == {"news/y"}


def test_an_article_of_our_own_stands_in_the_way_of_a_row(database: Database, owner: Owner) -> None:
    news(owner)
    attach(database)
    settle(database)
    load(database, article("news/1", window(0, 6), 0))
    put(owner, 1, window(6, 6), 0)
    assert settle(database).refused == 1
    assert_right(database)
    news(owner, "wire")
    load(database, article("wire/1", window(0, 6), 0))
    with pytest.raises(InputError, match="choose another `name`"):
        attach(database, "wire")


def test_an_attached_article_is_changed_in_its_table_only(database: Database, owner: Owner) -> None:
    news(owner)
    put(owner, 1, window(0, 6), 0)
    attach(database)
    before = right(database)
    corpus = deduplicator(database)
    for attempt in (
        lambda: corpus.submit(article("news/1", window(3, 6), 0)),
        lambda: corpus.delete("news/1"),
        lambda: load(database, article("news/1", window(3, 6), 0)),
    ):
        with pytest.raises(AttachedError, match="change that row instead"):
            attempt()
    for statement in (
        "UPDATE dedup.article SET title = 'x'",
        "DELETE FROM dedup.article",
        "UPDATE dedup.article SET attachment_id = NULL, text = 'x', text_hash = NULL",
    ):
        with pytest.raises(pg.ObjectNotInPrerequisiteState):
            owner.execute(statement.encode())
    assert answer(database) == before


def test_an_attached_article_is_refused_alone(database: Database, owner: Owner, tmp_path: Path) -> None:
    news(owner)
    put(owner, 1, window(0, 6), 0)
    attach(database)
    right(database)
    given = [article(id, window(20 * n, 6), n) for n, id in enumerate(("a", "news/1", "b"))]
    file = tmp_path / "given.jsonl"
    file.write_text("".join(json.dumps({"id": one.source_id, "text": one.text}) + "\n" for one in given))
    corpus = deduplicator(database)
    for source in (file, given):
        report = corpus.load(source)
        assert (report.lines, report.refused) == (3, 1)
        assert report.new + report.same + report.changed == 2
        (noted,) = report.reasons.values()
        assert (noted.ids, "change that row instead" in noted.reason) == (["news/1"], True)
    assert corpus.load([given[1]]).refused == 1
    assert corpus.get("b") is not None


def test_an_emptied_corpus_comes_back(database: Database, owner: Owner) -> None:
    news(owner)
    put(owner, 1, window(0, 6), 0)
    attach(database)
    before = right(database)
    owner.execute("TRUNCATE dedup.article CASCADE")
    assert right(database) == before


def test_an_insert_waits_for_no_settler(database: Database, owner: Owner) -> None:
    news(owner)
    attach(database, mark_columns=True)
    put(owner, 1, window(0, 6), 0)
    settle(database)
    with database.transaction(settling=True) as cursor:
        cursor.execute("UPDATE dedup.article_mark SET limit_fired = 'test'")
        owner.execute("SET lock_timeout = '1ms'")
        put(owner, 2, window(0, 6), 0)
        owner.execute("UPDATE news SET body = body || '.'")
        owner.execute("DELETE FROM news WHERE id = 1")
    right(database)


def test_without_triggers_sync_finds_what_changed(database: Database, owner: Owner) -> None:
    news(owner)
    put(owner, 1, window(0, 6), 0)
    put(owner, 2, window(1, 6), 1)
    attach(database, triggers=False)
    right(database)
    put(owner, 3, window(0, 6), -1)
    owner.execute("UPDATE news SET body = body || ' More.' WHERE id = 2")
    owner.execute("DELETE FROM news WHERE id = 1")
    assert outbox(database) == []
    assert deduplicator(database).attachments.sync("news") == 3
    assert set(right(database).marks) == {"news/2", "news/3"}
    assert deduplicator(database).attachments.sync() == 0


def test_a_text_that_moved_unseen_is_noted_when_it_is_read(database: Database, owner: Owner) -> None:
    news(owner)
    put(owner, 1, window(0, 6), 0)
    attach(database, triggers=False)
    sync(database, SilentProgress(), lambda: False)
    owner.execute("UPDATE news SET body = %s", [text(window(5, 6))])
    right(database)


def test_a_partitioned_table(database: Database, owner: Owner) -> None:
    owner.execute(
        "CREATE TABLE news (id integer, day timestamptz, body text, PRIMARY KEY (id, day))"
        " PARTITION BY RANGE (day)"
    )
    owner.execute("CREATE TABLE early PARTITION OF news FOR VALUES FROM (MINVALUE) TO ('2024-03-01 00:05Z')")
    attach(database, keys=["id", "day"], columns={"text": "body", "published_at": "day"}, mark_columns=True)
    owner.execute("CREATE TABLE late PARTITION OF news FOR VALUES FROM ('2024-03-01 00:05Z') TO (MAXVALUE)")
    insert = "INSERT INTO {} (id, day, body) VALUES (%s, %s, %s)"
    for i, (where, minute) in enumerate([("news", 0), ("early", 1), ("late", 6)]):
        owner.execute(insert.format(where).encode(), [i, at(minute), text(window(i, 6))])
    assert len(right(database).marks) == 3
    # This moves the row to another partition.
    owner.execute("UPDATE news SET day = day + interval '1 hour' WHERE id = 0")
    owner.execute("UPDATE late SET body = %s WHERE id = 2", [text(window(0, 6))])
    found = right(database)
    assert len(found.marks) == 3
    query = (
        "SELECT count(*) FROM news n JOIN dedup.news_marks m USING (id, day) WHERE m.status = n.dedup_status"
    )
    assert rows(owner, query) == [(3,)]
    owner.execute("TRUNCATE early")
    assert len(right(database).marks) == 2
    owner.execute("TRUNCATE news")
    assert right(database).marks == {}


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "no table": ("SELECT", {}, "there is no table"),
    "a sequence": ("CREATE SEQUENCE news", {}, "neither a table nor a view"),
    "no key": ("CREATE TABLE news (id integer NOT NULL, body text)", {}, "CREATE UNIQUE INDEX"),
    "a partial index": (
        "CREATE TABLE news (id integer NOT NULL, body text); CREATE UNIQUE INDEX ON news (id) WHERE id > 5",
        {},
        "CREATE UNIQUE INDEX",
    ),
    "a key that may be null": ("CREATE TABLE news (id integer UNIQUE, body text)", {}, "SET NOT NULL"),
    "half a key": (
        "CREATE TABLE news (id integer, b integer, body text, PRIMARY KEY (id, b))",
        {},
        "name the primary key",
    ),
    "a key of doubles": ("CREATE TABLE news (id float8 PRIMARY KEY, body text)", {}, "another unique key"),
    "a body of json": ("CREATE TABLE news (id integer PRIMARY KEY, body json)", {}, "generated column"),
    "no such column": ("CREATE TABLE news (id integer PRIMARY KEY)", {}, "there are 'id'"),
    "a table of dedup": ("SELECT", {"table": "dedup.article"}, "belongs to dedup"),
    "a table of the catalogue": ("SELECT", {"table": "pg_catalog.pg_class"}, "belongs to Postgres"),
    "no name": ("SELECT", {"table": 'news"'}, "not the name of a table"),
    "a condition with an error": (
        "CREATE TABLE news (id integer PRIMARY KEY, body text)",
        {"where": "lang = 'en'"},
        '`where`: column "lang" does not exist',
    ),
    "an empty condition": (
        "CREATE TABLE news (id integer PRIMARY KEY, body text)",
        {"where": ""},
        "`where`: syntax error",
    ),
    "a condition with a statement": (
        "CREATE TABLE news (id integer PRIMARY KEY, body text)",
        {"where": "true); DROP TABLE news; SELECT (1"},
        "`where`: cannot insert multiple commands",
    ),
    "a condition that looks elsewhere": (
        "CREATE TABLE news (id integer PRIMARY KEY, body text)",
        {"where": "id IN (SELECT id FROM dedup.article)"},
        "only columns of the table",
    ),
    "an inherited table": (
        "CREATE TABLE news (id integer PRIMARY KEY, body text); CREATE TABLE child () INHERITS (news)",
        {},
        "takes part in inheritance",
    ),
    "a slash in the name": (
        "CREATE TABLE news (id integer PRIMARY KEY, body text)",
        {"name": "a/b"},
        "without a slash",
    ),
    "a name of 58 bytes": (
        "CREATE TABLE news (id integer PRIMARY KEY, body text)",
        {"name": "x" * 58},
        "choose a different name with `name`",
    ),
    "a table of 64 bytes": ("SELECT", {"table": "x" * 64}, "longer than the 63 bytes"),
    "a column of 64 bytes": (
        "CREATE TABLE news (id integer PRIMARY KEY, body text)",
        {"keys": ["x" * 64]},
        "longer than the 63 bytes",
    ),
    "columns of marks": (
        "CREATE TABLE news (id integer PRIMARY KEY, body text, dedup_score text)",
        {"mark_columns": True},
        "dedup_score already",
    ),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_attached_gets_a_clear_answer(database: Database, owner: Owner, case: str) -> None:
    statement, given, message = REFUSED[case]
    owner.execute(statement.encode())
    options: dict[str, Any] = {
        "table": f"{SCHEMA}.news",
        "keys": ["id"],
        "columns": {"text": "body"},
        **given,
    }
    with pytest.raises(InputError, match=message):
        deduplicator(database).attachments.attach(**options)
    assert deduplicator(database).attachments.list() == []


def test_a_temporary_or_foreign_table_gets_a_clear_answer(database: Database, owner: Owner) -> None:
    owner.execute("CREATE FOREIGN DATA WRAPPER nowhere; CREATE SERVER far FOREIGN DATA WRAPPER nowhere")
    try:
        owner.execute("CREATE FOREIGN TABLE news (id integer, body text) SERVER far")
        with pytest.raises(DatabaseError, match="has no handler"):
            attach(database, columns={"text": "body"})
    finally:
        owner.execute("DROP FOREIGN DATA WRAPPER nowhere CASCADE")


HOSTILE = [
    'weird "name',
    "select",
    "%s",
    "a; drop",
    "{}",
    "x" * 63,
    "$dedup$",
    "ü" * 31,
    "old",
    "Ab",
    "a'b\\",
]


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names(database: Database, owner: Owner, name: str) -> None:
    schema, table, key = (sql.Identifier(name) for _ in range(3))
    other = sql.Identifier(f"{name[:28]} 2")
    owner.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
    try:
        owner.execute(
            sql.SQL("CREATE TABLE {}.{} ({} integer PRIMARY KEY, {} text)").format(schema, table, key, other)
        )
        insert = sql.SQL("INSERT INTO {}.{} VALUES ({}, {})")
        deduplicator(database).attachments.attach(
            sql.SQL("{}.{}").format(schema, table).as_string(owner),
            keys=[name],
            columns={"text": f"{name[:28]} 2"},
            name=name[:28],
            where=sql.SQL("{} > 0").format(key).as_string(owner),
            mark_columns=True,
        )
        for i in (0, 1, 2):
            owner.execute(insert.format(schema, table, i, text(window(0, 6))))
        owner.execute(sql.SQL("UPDATE {}.{} SET {} = {} || '.'").format(schema, table, other, other))
        found = right(database)
        assert set(found.marks) == {f"{name[:28]}/1", f"{name[:28]}/2"}
        query = sql.SQL("SELECT count(*) FROM dedup.{} m JOIN {}.{} t USING ({}) WHERE status = dedup_status")
        assert owner.execute(
            query.format(sql.Identifier(f"{name[:28]}_marks"), schema, table, key)
        ).fetchone() == (2,)
        deduplicator(database).attachments.detach(name[:28])
    finally:
        owner.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(schema))


def test_a_table_is_detached_by_the_quoted_name_with_which_it_was_attached(
    database: Database, owner: Owner
) -> None:
    owner.execute('CREATE TABLE public."My.News" (id integer PRIMARY KEY, text text)')
    door = deduplicator(database).attachments
    try:
        door.attach('public."My.News"', keys=["id"], columns={"text": "text"})
        door.detach('public."My.News"')
        door.attach('"My.News"', keys=["id"], columns={"text": "text"})
        door.detach('"My.News"')
    finally:
        owner.execute('DROP TABLE public."My.News"')
    with pytest.raises(InputError, match="no table is attached"):
        door.detach('"My.News"')


DESCRIBED = """
    SELECT 'column', a.attrelid::regclass::text, a.attname, format_type(a.atttypid, a.atttypmod)
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relnamespace IN ('newsroom'::regnamespace, 'dedup'::regnamespace)
      AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT 'trigger', tgrelid::regclass::text, pg_get_triggerdef(oid), tgenabled::text FROM pg_trigger
    WHERE NOT tgisinternal
    UNION ALL
    SELECT 'function', proname, prosrc, proacl::text || prosecdef || coalesce(proconfig::text, '')
    FROM pg_proc WHERE pronamespace = 'dedup'::regnamespace
    UNION ALL
    SELECT 'view', viewname, definition, obj_description(format('dedup.%I', viewname)::regclass) FROM pg_views
    WHERE schemaname = 'dedup'::regnamespace::text
    ORDER BY 1, 2, 3, 4
"""


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("mark_columns", [False, True])
@pytest.mark.parametrize("partitioned", [False, True])
def test_a_dry_run_prints_what_runs_and_detach_leaves_the_table_as_it_was(
    database: Database, owner: Owner, mark_columns: bool, partitioned: bool
) -> None:
    if partitioned:
        owner.execute("CREATE TABLE news (id integer PRIMARY KEY, body text) PARTITION BY LIST (id)")
        owner.execute("CREATE TABLE rest PARTITION OF news DEFAULT")
    else:
        owner.execute("CREATE TABLE news (id integer PRIMARY KEY, body text, CHECK (id > 0))")
    options: dict[str, Any] = {"columns": {"text": "body"}, "where": "id <> 5", "mark_columns": mark_columns}
    untouched, dump = rows(owner, DESCRIBED), dumped(database)
    assert "CREATE TABLE newsroom.news" in dump
    printed = attach(database, dry_run=True, **options)
    assert rows(owner, DESCRIBED) == untouched
    ran = attach(database, **options)
    assert ran == printed
    attached = rows(owner, DESCRIBED)
    assert dumped(database) != dump
    door = deduplicator(database).attachments
    owner.execute("INSERT INTO news VALUES (1, 'The words of a body.')")
    settle(database)
    counted = door.detach("news", dry_run=True)
    assert counted.articles == 1
    assert rows(owner, DESCRIBED) == attached
    done = door.detach("news")
    assert (done.articles, done.statements) == (1, counted.statements)
    assert rows(owner, DESCRIBED) == untouched
    assert dumped(database) == dump
    assert rows(owner, "SELECT * FROM news") == [(1, "The words of a body.")]
    for table in ("article", "attachment", "outbox", "mark_change"):
        assert rows(owner, f"SELECT count(*) FROM dedup.{table}") == [(0,)]
    owner.execute("\n".join(["BEGIN;", *printed, "COMMIT;"]).encode())
    assert rows(owner, DESCRIBED) == attached
    right(database)


def test_mark_columns_follow_and_are_not_written_for_nothing(database: Database, owner: Owner) -> None:
    news(owner)
    put(owner, 1, window(0, 6), 0)
    put(owner, 2, window(0, 6), 1)
    owner.execute("UPDATE news SET lang = 'en'")
    attach(database, mark_columns=True, where="lang = 'en'")
    assert settle(database).written_back == 2
    stored = "SELECT id, dedup_status, dedup_duplicate_of, dedup_score FROM news ORDER BY id"
    assert rows(owner, stored) == [(1, "unique", None, None), (2, "duplicate", 1, 1.0)]
    assert outbox(database) == []  # triggers do not note the writing of marks
    put(owner, 3, window(7, 6), 2)
    owner.execute("UPDATE news SET lang = 'en' WHERE id = 3")
    assert settle(database).written_back == 1
    with owner.transaction():
        owner.execute("UPDATE news SET clicks = 1 WHERE id = 2")
        with psycopg.connect(database.url, autocommit=True) as other:
            other.execute(f"DELETE FROM {SCHEMA}.news WHERE id = 1".encode())
        assert settle(database).written_back == 0  # the row is locked; the backfill skips it
    assert settle(database).written_back == 1
    assert rows(owner, stored) == [(2, "unique", None, None), (3, "unique", None, None)]
    owner.execute("UPDATE news SET lang = 'de' WHERE id = 3")
    settle(database)
    assert rows(owner, stored)[1] == (3, None, None, None)


def test_an_interrupted_detach_goes_on(database: Database, owner: Owner) -> None:
    news(owner)
    put(owner, 1, window(0, 6), 0)
    attach(database)
    right(database)
    door = deduplicator(database).attachments
    door.detach("news", stop=lambda: True)
    assert [item.leaving for item in door.list()] == [True]
    settle(database)
    door.detach("news")
    assert door.list() == []
    assert answer(database).marks == {}


def test_triggers_fire_in_replica_mode_and_pin_their_search_path(database: Database, owner: Owner) -> None:
    news(owner)
    attach(database)
    settle(database)
    owner.execute("SET session_replication_role = replica")
    put(owner, 1, window(0, 6), 0)
    assert outbox(database) == ["news/1"]
    found = rows(
        owner,
        "SELECT DISTINCT prosecdef, proconfig FROM pg_proc WHERE proname LIKE 'attached!_1!_%' ESCAPE '!'",
    )
    assert found == [(True, ["search_path=pg_catalog, pg_temp"])]


def test_no_trigger_notifies(database: Database, owner: Owner) -> None:
    """NOTIFY would make Postgres commit one transaction after another, so that all writers would wait."""
    news(owner)
    attach(database)
    with psycopg.connect(database.url, autocommit=True) as listener:
        listener.execute("LISTEN dedup")
        put(owner, 1, window(1, 6), 1)
        owner.execute("UPDATE news SET body = body || '.'")
        owner.execute("DELETE FROM news")
        owner.execute("NOTIFY dedup, 'the last'")
        assert [note.payload for note in listener.notifies(timeout=20, stop_after=1)] == ["the last"]


def test_who_writes_to_the_table_needs_no_right_here(database: Database, owner: Owner) -> None:
    news(owner)
    attach(database, mark_columns=True)
    role = sql.Identifier(f"dedup_reporter_{os.getpid()}")
    owner.execute(sql.SQL("CREATE ROLE {}").format(role))
    try:
        owner.execute(
            sql.SQL("GRANT USAGE ON SCHEMA {0} TO {1}; GRANT ALL ON {0}.news TO {1}").format(
                sql.Identifier(SCHEMA), role
            )
        )
        owner.execute(sql.SQL("SET ROLE {}").format(role))
        put(owner, 1, window(0, 6), 0)
        owner.execute("UPDATE news SET body = body || '.'")
        with pytest.raises(pg.InsufficientPrivilege):
            owner.execute("SELECT FROM dedup.outbox")
        owner.execute("RESET ROLE")
        assert set(right(database).marks) == {"news/1"}
    finally:
        owner.execute("RESET ROLE")
        owner.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(role))


def test_columns_that_are_named(database: Database, owner: Owner) -> None:
    news(owner)
    with pytest.raises(InputError, match="has no field 'author'"):
        attach(database, columns={**COLUMNS, "author": "outlet"})
    with pytest.raises(InputError, match=r"`columns\[.published_at.\]`: column 'outlet' is of type text"):
        attach(database, columns={**COLUMNS, "published_at": "outlet"})
