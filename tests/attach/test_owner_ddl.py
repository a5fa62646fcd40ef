"""DDL of owners on attached tables: no statement of an owner fails, and no change is missed.

`test_owner_torture.py` has random histories of such statements.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from psycopg import sql

from dedup.attach import attachments, comparing, drift, functions, marking, sync
from dedup.attach.attachments import Attachment
from dedup.base.errors import InputError
from dedup.base.progress import SilentProgress
from dedup.db.database import Cursor, Database
from tests.attach.owners import (
    Owner,
    assert_followed,
    assert_mark_columns,
    columns,
    connect,
    copied,
    rows,
    triggers,
)
from tests.attached import COLUMNS, NEWS, SCHEMA, attach, news, put
from tests.cli.conftest import Dedup, dedup
from tests.conftest import Server
from tests.corpora import (
    article,
    assert_right,
    at,
    deduplicator,
    load,
    settle,
    text,
    unsettled,
    wait_until,
    window,
)
from tests.settling.test_daemon import working

pytestmark = pytest.mark.timeout(120)

__all__ = ["dedup"]

TEXT = {"text": "body"}
DATED = {"text": "body", "published_at": "day"}


@pytest.fixture
def database(server: Server, template: str) -> Iterator[Database]:
    with copied(server, template) as made:
        yield made


@pytest.fixture
def corpus_url(database: Database) -> str:
    """The address of this test's corpus, for `dedup`."""
    return database.url


@pytest.fixture
def owner(database: Database) -> Iterator[Owner]:
    with connect(database) as connection:
        yield connection


def marked_news(database: Database, owner: Owner) -> None:
    """Make and settle an attached table of three rows with mark columns; the second row is a copy."""
    news(owner)
    put(owner, 1, window(0, 6), 0)
    put(owner, 2, window(1, 6), 5)
    put(owner, 3, window(7, 6), 6)
    attach(database, mark_columns=True)
    settle(database)


# Mark columns, and the differences that `verify` finds


AS_IT_WAS = {
    "deleted and inserted again": [
        "DELETE FROM news WHERE id = 2",
        "INSERT INTO news (id, body, day) SELECT id, body, day FROM backup WHERE id = 2",
    ],
    "the same in one transaction": [
        "WITH gone AS (DELETE FROM news WHERE id = 2 RETURNING *) SELECT FROM gone;"
        " INSERT INTO news (id, body, day) SELECT id, body, day FROM backup WHERE id = 2",
    ],
    "truncated and loaded again": [
        "TRUNCATE news",
        "INSERT INTO news (id, body, day) SELECT id, body, day FROM backup",
    ],
    "overwritten": ["UPDATE news SET dedup_status = NULL, dedup_duplicate_of = 3 WHERE id < 3"],
    "moved to the key of another": [
        "DELETE FROM news WHERE id = 2; UPDATE news SET id = 2 WHERE id = 3",
        "INSERT INTO news (id, body, day) SELECT id, body, day FROM backup WHERE id = 3",
    ],
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("case", AS_IT_WAS)
def test_mark_columns_equal_the_view_after_rows_came_back_as_they_were(
    database: Database, owner: Owner, case: str
) -> None:
    marked_news(database, owner)
    owner.execute("CREATE TABLE backup AS SELECT id, body, day FROM news")
    for statement in AS_IT_WAS[case]:
        owner.execute(statement.encode())
    settle(database)
    found = assert_right(database)
    assert_mark_columns(owner, {one: mark[:3] for one, mark in found.marks.items()})
    assert_followed(database, owner, COLUMNS)


UNSEEN = {
    "a row without article": ("INSERT INTO news (id, body) VALUES (9, 'New words.')", "news/9"),
    "an article without row": ("DELETE FROM news WHERE id = 3", "news/3"),
    "a mark that is overwritten": ("UPDATE news SET dedup_status = 'unique' WHERE id = 2", "news/2"),
    "a mark that is gone": ("UPDATE news SET dedup_score = NULL WHERE id = 2", "news/2"),
    "another text": ("UPDATE news SET body = 'Other words.' WHERE id = 3", "news/3"),
    "another title": ("UPDATE news SET headline = 'Other' WHERE id = 3", "news/3"),
    "another date": ("UPDATE news SET day = NULL WHERE id = 3", "news/3"),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("case", UNSEEN)
def test_verify_compares_an_attached_table_with_its_articles(
    database: Database, owner: Owner, case: str
) -> None:
    statement, named = UNSEEN[case]
    news(owner)
    put(owner, 1, window(0, 6), 0)
    put(owner, 2, window(1, 6), 5)
    put(owner, 3, window(7, 6), 6)
    attach(database, mark_columns=True, triggers=False)
    settle(database)
    assert deduplicator(database).verify().differences == []
    owner.execute(statement.encode())
    differences = deduplicator(database).verify().differences
    assert any(named in line for line in differences), differences
    assert not any("words" in line for line in differences), "messages quote no article"
    deduplicator(database).attachments.sync()
    settle(database)
    assert_followed(database, owner, COLUMNS)


@pytest.mark.long("dedup", "migrations")
def test_pages_and_notes_of_any_size_lose_no_row(
    database: Database, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Small sizes of pages and notes make the few rows of this test fill several pages and notes."""
    for module, size in (
        (comparing, "PAGE"),
        (sync, "NOTES"),
        (marking, "MARKS"),
        (functions, "KEYS_PER_NOTE"),
    ):
        monkeypatch.setattr(module, size, 2)
    news(owner)
    for i in range(9):
        put(owner, i, window(i, 6), i)
    attach(database, mark_columns=True, triggers=False)
    settle(database)
    door = deduplicator(database).attachments
    for statement, noted in (
        ("UPDATE news SET body = body || ' More.' WHERE id IN (1, 4, 7, 8)", 4),
        ("DELETE FROM news WHERE id IN (0, 3, 5, 8)", 4),
        ("UPDATE news SET day = day - interval '1 hour' WHERE id IN (2, 7)", 2),
    ):
        owner.execute(statement.encode())
        assert door.sync() == noted
        settle(database)
        found = assert_right(database)
        assert_mark_columns(owner, {one: mark[:3] for one, mark in found.marks.items()})
    assert set(found.marks) == {f"news/{i}" for i in (1, 2, 4, 6, 7)}


# Virtual generated columns


@pytest.fixture
def newest(owner: Owner) -> None:
    if owner.info.server_version < 180_000:
        pytest.skip("virtual generated columns are of PostgreSQL 18")


@pytest.mark.long("dedup", "migrations")
@pytest.mark.usefixtures("newest")
@pytest.mark.parametrize("where", [None, "lang = 'en'"])
def test_edits_of_what_a_virtual_column_is_made_of_are_seen(
    database: Database, owner: Owner, where: str | None
) -> None:
    owner.execute(
        "CREATE TABLE news (id integer PRIMARY KEY, doc jsonb NOT NULL,"
        " body text GENERATED ALWAYS AS (doc->>'body') VIRTUAL,"
        " lang text GENERATED ALWAYS AS (doc->>'lang') VIRTUAL)"
    )
    insert = "INSERT INTO news (id, doc) VALUES (%s, jsonb_build_object('body', %s::text, 'lang', 'en'))"
    for i in (1, 2):
        owner.execute(insert, [i, text(window(i, 6))])
    attach(database, columns=TEXT, where=where, mark_columns=True)
    settle(database)
    edits: list[tuple[str, list[object]]] = [
        (insert, [3, text(window(4, 6))]),
        (
            "UPDATE news SET doc = doc || jsonb_build_object('body', %s::text) WHERE id = 2",
            [text(window(8, 6))],
        ),
        ('UPDATE news SET doc = doc || \'{"lang": "de"}\' WHERE id = 1', []),
        ("DELETE FROM news WHERE id = 3", []),
    ]
    for statement, values in edits:
        owner.execute(statement.encode(), values)
        settle(database)
        assert_followed(database, owner, TEXT, where=where or "true")


# Partitions and swaps

CREATED = (
    "CREATE TABLE news (id integer PRIMARY KEY, day timestamptz, body text) PARTITION BY RANGE (id);"
    "CREATE TABLE p1 PARTITION OF news FOR VALUES FROM (0) TO (100);"
    "CREATE TABLE p2 PARTITION OF news FOR VALUES FROM (100) TO (200)"
)
SETTLE = ""
"""Entry of a list of statements that stands for a backfill."""

PARTITIONS: dict[str, list[str]] = {
    "attached with rows": [
        "CREATE TABLE p3 (LIKE news INCLUDING ALL)",
        "INSERT INTO p3 (id, day, body) SELECT id + 200, day, body FROM news",
        "ALTER TABLE news ATTACH PARTITION p3 FOR VALUES FROM (200) TO (400)",
    ],
    "dropped": ["DROP TABLE p1"],
    "dropped with cascade": ["DROP TABLE p1 CASCADE"],
    "detached": ["ALTER TABLE news DETACH PARTITION p1"],
    "detached concurrently": ["ALTER TABLE news DETACH PARTITION p1 CONCURRENTLY"],
    "detached, written and attached again": [
        "ALTER TABLE news DETACH PARTITION p2",
        "UPDATE p2 SET body = (SELECT body FROM p1 WHERE id = 1) WHERE id = 101",
        "DELETE FROM p2 WHERE id = 102",
        "INSERT INTO p2 (id, body) VALUES (103, 'Words of a detached one.')",
        "ALTER TABLE news ATTACH PARTITION p2 FOR VALUES FROM (100) TO (200)",
    ],
    "detached, settled, written and attached again": [
        "ALTER TABLE news DETACH PARTITION p2",
        SETTLE,
        "UPDATE p2 SET body = (SELECT body FROM p1 WHERE id = 1) WHERE id = 101",
        "INSERT INTO p2 (id, body) VALUES (103, 'Words of a detached one.')",
        SETTLE,
        "ALTER TABLE news ATTACH PARTITION p2 FOR VALUES FROM (100) TO (200)",
    ],
    "truncated": ["TRUNCATE p2"],
    "made later and truncated": [
        "CREATE TABLE p3 PARTITION OF news FOR VALUES FROM (200) TO (400)",
        "INSERT INTO news (id, day, body) SELECT id + 200, day, body FROM news",
        SETTLE,
        "TRUNCATE p3",
    ],
    "exchanged": [
        "CREATE TABLE other (LIKE news INCLUDING ALL)",
        "INSERT INTO other (id, day, body) SELECT id, day, body || ' More.' FROM p2 WHERE id = 101",
        "BEGIN; ALTER TABLE news DETACH PARTITION p2; DROP TABLE p2; ALTER TABLE other RENAME TO p2;"
        " ALTER TABLE news ATTACH PARTITION p2 FOR VALUES FROM (100) TO (200); COMMIT",
    ],
    "dropped and loaded again as it was": [
        "CREATE TABLE backup AS SELECT id, day, body FROM p2",
        "DROP TABLE p2",
        "CREATE TABLE p2 PARTITION OF news FOR VALUES FROM (100) TO (200)",
        "INSERT INTO news (id, day, body) SELECT * FROM backup",
    ],
    "partitioned itself": [
        "CREATE TABLE p3 PARTITION OF news FOR VALUES FROM (200) TO (400) PARTITION BY RANGE (id)",
        "CREATE TABLE p31 (LIKE news INCLUDING ALL)",
        "INSERT INTO p31 (id, day, body) SELECT id + 200, day, body FROM news",
        "ALTER TABLE p3 ATTACH PARTITION p31 FOR VALUES FROM (200) TO (400)",
        SETTLE,
        "ALTER TABLE p3 DETACH PARTITION p31",
        SETTLE,
        "TRUNCATE p2",
        "ALTER TABLE p3 ATTACH PARTITION p31 FOR VALUES FROM (200) TO (400)",
    ],
    "renamed": ["ALTER TABLE p1 RENAME TO p0", "TRUNCATE p0"],
    "rewritten": ["VACUUM FULL p1", "CLUSTER p2 USING p2_pkey"],
}


def partitioned(database: Database, owner: Owner) -> None:
    """Attach and settle a table of two partitions; rows of one are copies of rows of the other."""
    owner.execute(CREATED.encode())
    for i, key in enumerate((1, 2, 101, 102)):
        owner.execute(
            "INSERT INTO news (id, day, body) VALUES (%s, %s, %s)", [key, at(i), text(window(5 * i % 7, 6))]
        )
    attach(database, columns=DATED, mark_columns=True)
    settle(database)


def done(database: Database, owner: Owner, statements: Sequence[str]) -> None:
    """Run statements as the owner, one after another."""
    for statement in statements:
        if statement == SETTLE:
            settle(database)
        else:
            for one in statement.split(";") if "BEGIN" in statement else [statement]:
                owner.execute(one.encode())


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("case", PARTITIONS)
def test_what_becomes_of_partitions_is_seen_by_the_next_backfill(
    database: Database, owner: Owner, case: str
) -> None:
    partitioned(database, owner)
    done(database, owner, PARTITIONS[case])
    settle(database)
    assert_followed(database, owner, DATED)
    owner.execute("UPDATE news SET body = body || ' And more.'")
    settle(database)
    assert_followed(database, owner, DATED)


def test_a_former_partition_keeps_nothing_of_dedup(database: Database, owner: Owner) -> None:
    partitioned(database, owner)
    owner.execute("ALTER TABLE news DETACH PARTITION p1")
    settle(database)
    deduplicator(database).attachments.detach("news")
    for table in ("news", "p1", "p2"):
        assert columns(owner, table) == ["id", "day", "body"], table
        assert triggers(owner, table) == [], table
    owner.execute("TRUNCATE p1")


SWAPPED = [
    "BEGIN; ALTER TABLE news RENAME TO news_old; ALTER TABLE news_next RENAME TO news; COMMIT",
]


@pytest.mark.long("dedup", "migrations")
def test_a_table_that_took_the_name_is_named_and_taken(
    database: Database, owner: Owner, dedup: Dedup
) -> None:
    marked_news(database, owner)
    before = dict(rows(owner, "SELECT source_id, id FROM dedup.article"))
    owner.execute("CREATE TABLE news_next (LIKE news INCLUDING ALL)")
    owner.execute("INSERT INTO news_next SELECT * FROM news WHERE id <> 3")
    put(owner, 4, window(7, 6), 7, "news_next")
    done(database, owner, SWAPPED)
    put(owner, 5, window(3, 6), 8)
    put(owner, 6, window(3, 6), 9, "news_old")
    checked = dedup("status", "--check")
    assert checked.code == 1, checked.out
    assert "news" in checked.out + checked.err
    assert deduplicator(database).verify().differences
    assert any("news" in line for line in deduplicator(database).attachments.drift())
    settled = dedup("backfill", "--workers", "0")
    assert settled.code == 1
    assert "news" in settled.err
    assert deduplicator(database).attachments.remap("news").statements
    settle(database)
    found = assert_followed(database, owner, COLUMNS)
    assert set(found.marks) == {f"news/{i}" for i in (1, 2, 4, 5)}
    after = dict(rows(owner, "SELECT source_id, id FROM dedup.article"))
    assert [after[f"news/{i}"] for i in (1, 2)] == [before[f"news/{i}"] for i in (1, 2)], (
        "the rows keep their articles"
    )
    deduplicator(database).attachments.detach(f"{SCHEMA}.news")
    plain = [column.split()[0] for column in NEWS.replace("PRIMARY KEY", "").split(", ")]
    assert columns(owner, "news") == plain
    for table in ("news", "news_old"):
        assert triggers(owner, table) == []
        owner.execute(f"TRUNCATE {table}".encode())


@pytest.mark.long("dedup", "migrations")
def test_what_a_worker_saw_before_the_table_was_mapped_again_is_not_kept(
    database: Database, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    marked_news(database, owner)
    owner.execute("CREATE TABLE news_next (LIKE news INCLUDING ALL)")
    done(database, owner, SWAPPED)
    find = drift.find
    other = Database(database.url)

    def slowly(cursor: Cursor, attachment: Attachment) -> drift.TableState:
        found = find(cursor, attachment)
        monkeypatch.setattr(drift, "find", find)
        deduplicator(other).attachments.remap("news")
        return found

    monkeypatch.setattr(drift, "find", slowly)
    with database.transaction() as cursor:
        (attachment,) = attachments.attachments(cursor)
        assert drift.check(cursor, attachment)
    other.close()
    assert deduplicator(database).attachments.drift() == []
    owner.execute("ALTER TABLE news RENAME TO news_now")
    # `remap` follows the table that is attached now, not `news_old`, the first table of the name `news`.
    deduplicator(database).attachments.remap("news")
    settle(database)
    assert_followed(database, owner, COLUMNS, table="news_now")


@pytest.mark.long("dedup", "migrations")
def test_detach_after_a_swap_takes_nothing_from_the_table_that_has_the_name_now(
    database: Database, owner: Owner
) -> None:
    marked_news(database, owner)
    made = "id bigint PRIMARY KEY, body text, dedup_score text, headline text, day timestamptz, outlet text,"
    owner.execute(f"CREATE TABLE news_next ({made} lang text)".encode())
    before = columns(owner, "news_next")
    done(database, owner, SWAPPED)
    deduplicator(database).attachments.detach("news")
    assert columns(owner, "news") == before
    assert not [name for name in columns(owner, "news_old") if name.startswith("dedup")]
    assert triggers(owner, "news_old") == []
    assert rows(owner, "SELECT count(*) FROM dedup.article") == [(0,)]


# Tests of refused rows, and of an edit with an unchanged hash.


@pytest.mark.long("dedup", "migrations")
def test_a_refused_row_comes_back_when_its_place_is_free(database: Database, owner: Owner) -> None:
    marked_news(database, owner)
    load(database, article("news/777", window(3, 6), 0))
    put(owner, 777, window(10, 6), 9)
    assert settle(database).refused == 1
    seen = deduplicator(database).verify()
    assert any("news" in line for line in [*seen.differences, *seen.skipped]), (
        "`verify` reports the refused row"
    )
    deduplicator(database).delete("news/777")
    settle(database)
    found = assert_followed(database, owner, COLUMNS)
    assert "news/777" in found.marks


def test_a_row_that_is_refused_takes_no_other_article(database: Database, owner: Owner) -> None:
    marked_news(database, owner)
    load(database, article("news/777", window(3, 6), 0))
    put(owner, 777, window(10, 6), 9)
    settle(database)
    settle(database)
    assert rows(owner, "SELECT count(*) FROM dedup.article WHERE source_id = 'news/777'") == [(1,)]
    owner.execute("DELETE FROM news WHERE id = 777")
    settle(database)
    assert_right(database)
    assert rows(owner, "SELECT attachment_id FROM dedup.article WHERE source_id = 'news/777'") == [(None,)]


TWINS = (
    "The harbour bridge was shut on Thursday after a storm tore two of its cables. Nobody was hurt."
    + " " * 26,
    "The council voted on Monday for night trams from May on. A surcharge was lost by three votes."
    "   vsntruurbexvHME5xJ3a!:)w",
)
"""Two texts with equal `hashtextextended(text, 0)`, found by computing the hash backwards."""


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("noted", ["by triggers", "by sync"])
def test_an_edit_can_not_hide_behind_a_hash(database: Database, owner: Owner, noted: str) -> None:
    same = owner.execute("SELECT hashtextextended(%s, 0) = hashtextextended(%s, 0)", TWINS).fetchone()
    assert same == (True,)
    news(owner)
    insert = "INSERT INTO news (id, body, day) VALUES (%s, %s, %s)"
    owner.execute(insert, [1, TWINS[0], at(0)])
    owner.execute(insert, [2, TWINS[0], at(1)])
    attach(database, mark_columns=True, triggers=noted == "by triggers")
    settle(database)
    assert assert_right(database).status()["news/2"] == "duplicate:news/1"
    owner.execute("UPDATE news SET body = %s WHERE id = 2", [TWINS[1]])
    if noted == "by sync":
        assert deduplicator(database).attachments.sync() == 1
    settle(database)
    found = assert_followed(database, owner, COLUMNS)
    assert found.status()["news/2"] == "unique"


# Tests of drift, a change that breaks the mapping: a message names it, and one command heals it.


@dataclass(frozen=True)
class Drift:
    """Statements of an owner on `news`, and the shape of the table afterwards.

    Attributes:
        statements: statements of the owner, `SETTLE` for a backfill.
        named: words that must be in one line of the message about the change.
        table, key: names after the statements.
        now: column of each field after `remap`.
        given: options of `remap`.
        changed: whether the statements change rows, so that marks may change.
    """

    statements: Sequence[str]
    named: Sequence[str]
    table: str = "news"
    key: str = "id"
    now: Mapping[str, str] = field(default_factory=lambda: COLUMNS)
    given: Mapping[str, Any] = field(default_factory=dict)
    changed: bool = False


def but(**changes: str | None) -> dict[str, str]:
    """Return the columns of `NEWS`, some of them renamed or left out."""
    return {field: name for field, name in {**COLUMNS, **changes}.items() if name is not None}


DRIFTS: dict[str, Drift] = {
    "the text is renamed": Drift(
        ["ALTER TABLE news RENAME COLUMN body TO words"], ["news", "body"], now=but(text="words")
    ),
    "the title is renamed": Drift(
        ["ALTER TABLE news RENAME COLUMN headline TO title"], ["news", "headline"], now=but(title="title")
    ),
    "the key is renamed": Drift(["ALTER TABLE news RENAME COLUMN id TO nr"], ["news", "id"], key="nr"),
    "two change names": Drift(
        [
            "BEGIN; ALTER TABLE news RENAME COLUMN headline TO x; ALTER TABLE news RENAME COLUMN outlet TO"
            " headline; ALTER TABLE news RENAME COLUMN x TO outlet; COMMIT"
        ],
        ["news", "headline", "outlet"],
        now=but(title="outlet", publication="headline"),
    ),
    "another has the old name": Drift(
        [
            "ALTER TABLE news RENAME COLUMN headline TO title",
            "ALTER TABLE news ADD COLUMN headline integer DEFAULT 7",
        ],
        ["news", "headline"],
        now=but(title="title"),
    ),
    "the title is dropped": Drift(
        ["ALTER TABLE news DROP COLUMN headline CASCADE"], ["news", "headline"], now=but(title=None)
    ),
    "the date is dropped and made again": Drift(
        [
            "ALTER TABLE news DROP COLUMN day CASCADE",
            "ALTER TABLE news ADD COLUMN day date",
            "UPDATE news SET day = '2024-03-01'::date + id::integer",
        ],
        ["news", "day"],
        changed=True,
    ),
    "the text is dropped": Drift(
        [
            "ALTER TABLE news ADD COLUMN words text",
            "UPDATE news SET words = body",
            "ALTER TABLE news DROP COLUMN body CASCADE",
        ],
        ["news", "body"],
        now=but(text="words"),
        given={"columns": {"text": "words"}},
    ),
    "the key is dropped": Drift(
        [
            "ALTER TABLE news ADD COLUMN nr bigint",
            "UPDATE news SET nr = id",
            "ALTER TABLE news DROP COLUMN id CASCADE",
            "ALTER TABLE news ADD PRIMARY KEY (nr)",
        ],
        ["news", "id"],
        key="nr",
        given={"keys": ["nr"]},
    ),
    "the date has another type": Drift(
        ["ALTER TABLE news ALTER COLUMN day TYPE timestamp USING day AT TIME ZONE 'UTC'"], ["news", "day"]
    ),
    "the key has another type": Drift(["ALTER TABLE news ALTER COLUMN id TYPE numeric"], ["news", "id"]),
    "the text has another type": Drift(
        ["ALTER TABLE news ALTER COLUMN body TYPE varchar(9000)"], ["news", "body"]
    ),
    "the table is renamed": Drift(
        ["ALTER TABLE news RENAME TO stories"], ["news", "stories"], table="stories"
    ),
    "the table has another schema": Drift(
        ["CREATE SCHEMA archive", "ALTER TABLE news SET SCHEMA archive"],
        ["news", "archive"],
        table="archive.news",
    ),
    "the table is dropped and made again": Drift(
        [
            "CREATE TABLE backup AS SELECT id, body, headline, day, outlet, lang, clicks FROM news",
            "DROP TABLE news CASCADE",
            f"CREATE TABLE news ({NEWS})",
            "INSERT INTO news SELECT * FROM backup",
        ],
        ["news"],
    ),
    "the table is another": Drift(
        [
            f"CREATE TABLE stories ({NEWS})",
            "INSERT INTO stories SELECT id, body, headline, day, outlet, lang, clicks FROM news",
            "DROP TABLE news CASCADE",
        ],
        ["news"],
        table="stories",
        given={"table": f"{SCHEMA}.stories"},
    ),
    "a mark column is dropped": Drift(
        ["ALTER TABLE news DROP COLUMN dedup_score CASCADE"], ["news", "dedup_score"]
    ),
    "a mark column is renamed": Drift(
        [
            "ALTER TABLE news RENAME COLUMN dedup_status TO status",
        ],
        ["news", "dedup_status"],
    ),
    "triggers are disabled": Drift(["ALTER TABLE news DISABLE TRIGGER ALL"], ["news", "trigger"]),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("case", DRIFTS)
def test_drift_harms_nobody_is_named_and_healed(
    database: Database, owner: Owner, dedup: Dedup, case: str
) -> None:
    drift = DRIFTS[case]
    marked_news(database, owner)
    news(owner, "wire")
    attach(database, "wire", mark_columns=True)
    load(database, article("own", window(7, 6), 0))
    put(owner, 1, window(0, 6), 20, "wire")
    settle(database)
    before = of_news(owner)
    others = rows(owner, OTHERS)
    assert len(others) == 2
    done(database, owner, drift.statements)
    written(owner, drift)
    # The other articles of the corpus are unchanged, and are still settled.
    assert rows(owner, OTHERS) == others
    assert rows(owner, "SELECT source_id FROM dedup.canonical_article WHERE source_id = 'own'")
    assert rows(owner, "SELECT id, original_source_id FROM dedup.wire_marks") == [(1, "news/1")]
    named = deduplicator(database).attachments.drift()
    assert any(all(word in line for word in drift.named) for line in named), named
    put(owner, 2, window(7, 6), 21, "wire")
    settled = dedup("backfill", "--workers", "0")
    assert settled.code == 1
    assert all(word in settled.err for word in drift.named), settled.err
    assert "remap" in settled.err, "the message names the next command"
    assert (2, "own") in rows(owner, "SELECT id, original_source_id FROM dedup.wire_marks")
    assert of_news(owner) == before, "drift changes no mark"
    assert dedup("status", "--check").code == 1
    assert dedup("verify").code == 3
    # One command maps the table again.
    planned = deduplicator(database).attachments.remap("news", **drift.given, dry_run=True)
    assert deduplicator(database).attachments.drift() == named
    assert deduplicator(database).attachments.remap("news", **drift.given).statements == planned.statements
    settle(database)
    assert_followed(database, owner, drift.now, table=drift.table, key=drift.key)
    assert [row[:2] for row in of_news(owner)] == [row[:2] for row in before], "the rows keep their articles"
    if not drift.changed:
        assert of_news(owner) == before, "the rows keep their marks"
    written(owner, drift)
    owner.execute(
        f"UPDATE {drift.table} SET {drift.now['text']} = 'A new one.' WHERE {drift.key} = 3".encode()
    )
    settle(database)
    assert_followed(database, owner, drift.now, table=drift.table, key=drift.key)
    assert_followed(database, owner, COLUMNS, name="wire")
    assert dedup("backfill", "--workers", "0").code == 0


OTHERS = """
    SELECT source_id, t.text FROM dedup.article a JOIN dedup.article_text t ON t.article_id = a.id
    WHERE source_id = 'own' OR source_id = 'wire/1' ORDER BY 1
"""


def of_news(owner: Owner) -> list[tuple[Any, ...]]:
    """Return the articles of `news` with their marks and the times of the marks."""
    return rows(
        owner,
        "SELECT source_id, id, status, duplicate_of, marked_at FROM dedup.marked_article"
        " WHERE source_id LIKE 'news/%' ORDER BY 1",
    )


def written(owner: Owner, drift: Drift) -> None:
    """Run every kind of write, and restore the rows at the end."""
    table, key, body = drift.table, drift.key, drift.now["text"]
    for statement in (
        f"INSERT INTO {table} ({key}, {body}) VALUES (50, 'Some words.'), (51, 'Some words.')",
        f"UPDATE {table} SET {body} = 'Other words.' WHERE {key} = 50",
        f"UPDATE {table} SET {key} = 52 WHERE {key} = 51",
        f"UPDATE {table} SET clicks = 1",
        f"INSERT INTO {table} ({key}, {body}) VALUES (50, 'x') ON CONFLICT ({key})"
        f" DO UPDATE SET {body} = excluded.{body}",
        f"DELETE FROM {table} WHERE {key} > 49",
    ):
        owner.execute(statement.encode())
    with owner.transaction() as undone:
        owner.execute(f"TRUNCATE {table}".encode())
        raise psycopg.Rollback(undone)


@pytest.mark.long("dedup", "migrations")
def test_a_dropped_table_leaves_the_rest_of_the_corpus_and_can_be_detached(
    database: Database, owner: Owner, dedup: Dedup
) -> None:
    marked_news(database, owner)
    load(database, article("own", window(7, 6), 0))
    settle(database)
    owner.execute("DROP TABLE news CASCADE")
    assert rows(owner, "SELECT t.text FROM dedup.article_text t JOIN dedup.article ON id = article_id"
                " WHERE source_id = 'own'") == [(text(window(7, 6)),)]  # fmt: skip
    assert rows(owner, "SELECT source_id FROM dedup.canonical_article WHERE source_id = 'own'")
    assert dedup("show", "own").code == 0
    load(database, article("late", window(7, 6), 9))
    settled = dedup("backfill", "--workers", "0")
    assert settled.code == 1
    assert "news" in settled.err
    assert "init" not in settled.err
    assert rows(owner, "SELECT status FROM dedup.marked_article WHERE source_id = 'late'") == [("duplicate",)]
    with pytest.raises(InputError, match="news"):
        deduplicator(database).attachments.remap("news")
    for _ in range(2):  # the message stays the same until the table is detached
        repaired = dedup("verify", "--repair")
        assert repaired.code == 3
        assert "repaired;" not in repaired.err
        assert "not repaired: newsroom.news: " in repaired.err
        assert "`dedup detach news`" in repaired.err
    assert json.loads(dedup("verify", "--repair", "--json").out)["repaired"] is False
    deduplicator(database).attachments.detach("news")
    settle(database)
    assert set(assert_right(database).marks) == {"own", "late"}
    assert deduplicator(database).verify().differences == []


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("gone", ["body", "id"])
def test_remap_asks_for_what_it_cannot_guess(database: Database, owner: Owner, gone: str) -> None:
    marked_news(database, owner)
    owner.execute(f"ALTER TABLE news DROP COLUMN {gone} CASCADE".encode())
    before = rows(owner, "SELECT id, status FROM dedup.marked_article ORDER BY 1")
    with pytest.raises(InputError, match=r"`columns\[.text.\]`" if gone == "body" else "`keys`"):
        deduplicator(database).attachments.remap("news")
    with pytest.raises(InputError, match=r"nowhere|clicks"):
        deduplicator(database).attachments.remap("news", columns={"text": "nowhere"}, keys=["clicks"])
    assert rows(owner, "SELECT id, status FROM dedup.marked_article ORDER BY 1") == before


@pytest.mark.long("dedup", "migrations")
def test_a_worker_settles_the_rest_and_says_what_drifted(
    database: Database, owner: Owner, caplog: pytest.LogCaptureFixture
) -> None:
    marked_news(database, owner)
    with working(database.url):
        owner.execute("ALTER TABLE news RENAME COLUMN headline TO title")
        put(owner, 4, window(7, 6), 7)
        load(database, article("own", window(7, 6), 0))
        wait_until(lambda: "headline" in caplog.text)
        load(database, article("late", window(7, 6), 9))
        wait_until(lambda: not unsettled(database) & {"own", "late"})
        deduplicator(database).attachments.remap("news")
        wait_until(lambda: bool(rows(owner, "SELECT FROM news WHERE id = 4 AND dedup_status IS NOT NULL")))
    settle(database)
    assert_followed(database, owner, but(title="title"))
    assert caplog.text.count("headline") < 5, "the worker reports drift once, not at every poll"


@pytest.mark.long("dedup", "migrations")
def test_rows_of_a_drifted_table_that_wait_for_their_first_mark_hold_nobody_up(
    database: Database, owner: Owner
) -> None:
    """The owner renames a mapped column and edits a text. The recorded edit waits until the table is mapped
    again, and all other articles are settled."""
    news(owner)
    put(owner, 1, window(0, 6), 0)
    put(owner, 2, window(3, 6), 1)
    attach(database, mark_columns=True)
    sync.sync(database, SilentProgress(), lambda: False)
    owner.execute("ALTER TABLE news RENAME COLUMN headline TO title")
    owner.execute("UPDATE news SET body = body || ' And more.' WHERE id = 1")
    load(database, article("own", window(7, 6), 0))
    for _ in range(2):
        settle(database)
        assert rows(owner, "SELECT source_id FROM dedup.marked_article WHERE status = 'pending'") == [
            ("news/1",)
        ]
    deduplicator(database).attachments.remap("news")
    settle(database)
    assert_followed(database, owner, but(title="title"))


@pytest.mark.long("dedup", "migrations")
def test_triggers_that_were_off_for_a_while_need_nobody(database: Database, owner: Owner) -> None:
    marked_news(database, owner)
    owner.execute("ALTER TABLE news DISABLE TRIGGER USER")
    put(owner, 4, window(0, 6), -5)
    owner.execute("UPDATE news SET dedup_status = 'mine' WHERE id = 3")
    owner.execute("DELETE FROM news WHERE id = 2")
    owner.execute("ALTER TABLE news ENABLE TRIGGER USER")
    settle(database)
    assert_followed(database, owner, COLUMNS)


@pytest.mark.long("dedup", "migrations")
def test_triggers_that_were_off_for_the_backfill_too_need_nobody(database: Database, owner: Owner) -> None:
    marked_news(database, owner)
    owner.execute("ALTER TABLE news DISABLE TRIGGER USER")
    put(owner, 4, window(0, 6), -5)
    assert any("news" in line for line in deduplicator(database).attachments.drift())
    settle(database)
    put(owner, 5, window(0, 6), -6)
    owner.execute("ALTER TABLE news ENABLE TRIGGER USER")
    settle(database)
    assert_followed(database, owner, COLUMNS)


# Owners of objects


@pytest.mark.long("dedup", "migrations")
def test_a_role_goes_on_making_partitions_of_what_a_superuser_attached(
    database: Database, owner: Owner
) -> None:
    role = sql.Identifier(f"dedup_app_{os.getpid()}")
    owner.execute(sql.SQL("CREATE ROLE {} LOGIN").format(role))
    try:
        owner.execute(sql.SQL("GRANT ALL ON SCHEMA newsroom TO {0}; SET ROLE {0}").format(role))
        owner.execute(CREATED.encode())
        owner.execute("INSERT INTO news (id, day, body) VALUES (1, %s, %s)", [at(0), text(window(0, 6))])
        attach(database, columns=DATED, mark_columns=True)  # attached by the superuser, in another session
        settle(database)
        done(
            database,
            owner,
            [
                "CREATE TABLE p3 PARTITION OF news FOR VALUES FROM (200) TO (300)",
                "INSERT INTO news (id, body) VALUES (201, 'Some words of a news.')",
                "CREATE TABLE p4 (LIKE news INCLUDING ALL)",
                "INSERT INTO p4 (id, body) VALUES (301, 'Some words of a news.')",
                "ALTER TABLE news ATTACH PARTITION p4 FOR VALUES FROM (300) TO (400)",
                "UPDATE news SET body = body || ' More.' WHERE id = 301",
                SETTLE,
                "TRUNCATE p3",
                "ALTER TABLE news DETACH PARTITION p1",
                "ALTER TABLE news RENAME COLUMN body TO words",
                "INSERT INTO news (id, words) VALUES (202, 'Other words of a news.')",
                "ALTER TABLE news RENAME COLUMN words TO body",
            ],
        )
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            owner.execute("SELECT count(*) FROM dedup.article")
        owner.execute("RESET ROLE")
        settle(database)
        assert_followed(database, owner, DATED)
        deduplicator(database).attachments.detach("news")
        owner.execute("DROP TABLE news, p1")
        # The role can be dropped only if no object of dedup belongs to it.
        owner.execute(sql.SQL("REVOKE ALL ON SCHEMA newsroom FROM {0}; DROP ROLE {0}").format(role))
        role = sql.Identifier(f"dedup_nobody_{os.getpid()}")
        owner.execute(sql.SQL("CREATE ROLE {}").format(role))
    finally:
        owner.execute("RESET ROLE")
        owner.execute(sql.SQL("DROP OWNED BY {0} CASCADE; DROP ROLE {0}").format(role))


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("raises", ["RAISE EXCEPTION 'immutable: %', NEW.body", "PERFORM 1 / 0"])
def test_a_row_whose_own_trigger_raises_keeps_no_other_from_its_mark(
    database: Database, owner: Owner, dedup: Dedup, caplog: pytest.LogCaptureFixture, raises: str
) -> None:
    news(owner)
    for i in range(1, 6):
        put(owner, i, window(i % 2, 6), i)
    owner.execute(
        "CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN IF NEW.id = 3 THEN {raises}; END IF; RETURN NEW; END $$".encode()
    )
    owner.execute("CREATE TRIGGER no BEFORE UPDATE ON news FOR EACH ROW EXECUTE FUNCTION no()")
    attach(database, mark_columns=True)
    result = dedup("backfill", "--workers", "0")
    assert rows(owner, "SELECT id FROM news WHERE dedup_status IS NULL") == [(3,)]
    said = result.err + caplog.text
    assert f"{SCHEMA}.news" in said
    assert "news/3" in said or " 3" in said, said
    assert text(window(1, 6))[:40] not in said
    differences = deduplicator(database).verify().differences
    assert any("news/3" in line for line in differences), differences
    owner.execute("DROP TRIGGER no ON news")
    settle(database)
    assert_followed(database, owner, COLUMNS)


DEPENDING = """
    SELECT pg_describe_object(d.classid, d.objid, d.objsubid) FROM pg_depend d
    WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = %s::regclass AND d.deptype IN ('n', 'a')
      AND pg_describe_object(d.classid, d.objid, d.objsubid) ~ 'dedup'
      AND d.classid <> 'pg_trigger'::regclass
    UNION ALL
    SELECT pg_describe_object(d.classid, d.objid, d.objsubid) || ' on column ' || a.attname FROM pg_depend d
    JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
    WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = %s::regclass AND d.refobjsubid > 0
      AND d.classid = 'pg_trigger'::regclass AND d.deptype IN ('n', 'a')
"""


def test_nothing_of_the_corpus_rests_on_a_table_or_a_column_of_the_owner(
    database: Database, owner: Owner
) -> None:
    news(owner)
    attach(database, mark_columns=True, where="lang = 'en'")
    owner.execute(CREATED.replace("news", "wire").encode())
    attach(database, "wire", columns=DATED, mark_columns=True)
    for table in ("news", "wire", "p1"):
        assert owner.execute(DEPENDING, [table, table]).fetchall() == [], table
