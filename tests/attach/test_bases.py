"""Base tables: tables that name the outlets of an attached table, or that an attached view reads."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dedup.api.deduplicator import Deduplicator
from dedup.attach import comparing, copying, sync
from dedup.attach.outbox import UnfitError
from dedup.base.errors import InputError
from dedup.base.progress import SilentProgress
from dedup.db.database import Database
from dedup.runs.waiting import find_waiting
from tests.attach.owners import Owner, copied, dumped, rows
from tests.attach.test_hostile_owner import as_role
from tests.attached import SCHEMA, right
from tests.conftest import Server
from tests.corpora import Answer, at, deduplicator, settle, text, wait_until, window
from tests.settling.test_daemon import working

pytestmark = pytest.mark.timeout(120)

TABLES = """
    CREATE TABLE groups (id integer PRIMARY KEY, desk text);
    CREATE TABLE feeds (
        id integer PRIMARY KEY, title text, open boolean NOT NULL DEFAULT true,
        polled integer NOT NULL DEFAULT 0, group_id integer);
    CREATE TABLE entries (
        id bigint PRIMARY KEY, feed_id integer, body text, headline text, day timestamptz, clicks integer);
    CREATE TABLE topics (name text PRIMARY KEY, clicks integer);
    CREATE VIEW listed AS
    SELECT e.id, e.body, e.headline, e.day, coalesce(g.desk || ': ', '') || f.title AS outlet
    FROM entries e JOIN feeds f ON f.id = e.feed_id LEFT JOIN groups g ON g.id = f.group_id WHERE f.open;
    CREATE VIEW topical AS
    SELECT e.id, e.body, e.day, (SELECT string_agg(t.name, ' ' ORDER BY t.name) FROM topics t) AS outlet
    FROM entries e WHERE e.id < 3;
"""
FIELDS = {"text": "body", "title": "headline", "published_at": "day"}
LISTED = ["id=entries.id", "entries.feed_id=feeds.id", f"feeds.group_id={SCHEMA}.groups.id"]

READ = {
    "entries": "SELECT 'entries/' || e.id, body, headline, f.title"
    " FROM entries e LEFT JOIN feeds f ON f.id = feed_id",
    "listed": "SELECT 'listed/' || id, body, headline, outlet FROM listed",
    "topical": "SELECT 'topical/' || id, body, NULL, outlet FROM topical",
}
"""Query for the articles of each attachment, in plain SQL."""


def make(owner: Owner) -> None:
    for statement in TABLES.split(";\n"):
        owner.execute(statement.encode())


def fill(owner: Owner, entries: int = 4) -> None:
    owner.execute("INSERT INTO groups VALUES (1, 'World')")
    owner.execute("INSERT INTO feeds (id, title, group_id) VALUES (0, 'Wire', NULL), (1, 'Courier', 1)")
    owner.execute("INSERT INTO topics VALUES ('harbour', 0)")
    for key in range(entries):
        owner.execute(
            "INSERT INTO entries VALUES (%s, %s, %s, 'News', %s)",
            [key, key % 3, text(window(key // 2, 6)), at(key)],
        )


def attach_entries(database: Database | str, **given: Any) -> None:
    columns = {**FIELDS, "publication": "feed_id=feeds.title"}
    with Deduplicator(database if isinstance(database, str) else database.url) as dd:
        dd.attachments.attach(f"{SCHEMA}.entries", **{"keys": ["id"], "columns": columns, **given})


def attach_listed(database: Database, watch: Sequence[str] = LISTED, **given: Any) -> None:
    options: dict[str, Any] = {"keys": ["id"], "columns": {**FIELDS, "publication": "outlet"}, **given}
    deduplicator(database).attachments.attach(f"{SCHEMA}.listed", watch=watch, **options)


def attach_topical(database: Database) -> None:
    columns = {"text": "body", "published_at": "day", "publication": "outlet"}
    watch = ["id=entries.id", "topics"]
    deduplicator(database).attachments.attach(f"{SCHEMA}.topical", keys=["id"], columns=columns, watch=watch)


def stored(owner: Owner) -> set[tuple[Any, ...]]:
    return {
        (source_id, body or "", *more)
        for source_id, body, *more in rows(
            owner,
            "SELECT a.source_id, t.text, a.title, a.publication FROM dedup.article a"
            " JOIN dedup.article_text t ON t.article_id = a.id",
        )
    }


def read(owner: Owner, *names: str) -> set[tuple[Any, ...]]:
    found = [row for name in names for row in rows(owner, READ[name])]
    return {(source_id, body or "", *more) for source_id, body, *more in found}


def assert_followed(database: Database, owner: Owner, *names: str) -> Answer:
    """Check that the articles equal the rows, and that the marks are the marks of a fresh corpus."""
    found = right(database)
    assert stored(owner) == read(owner, *names)
    dd = deduplicator(database)
    assert dd.attachments.drift() == []
    assert dd.attachments.sync(whole=True) == 0
    assert dd.verify().differences == []
    return found


CHANGES = [
    "UPDATE feeds SET title = 'Herald {a}' WHERE id = {b}",
    "UPDATE feeds SET title = 'Herald', open = NOT open, group_id = 1 - {a} %% 2 WHERE id <= {b}",
    "UPDATE feeds SET polled = polled + 1",
    "UPDATE feeds SET id = id + 3 WHERE id = {b} AND NOT EXISTS (SELECT FROM feeds f WHERE f.id = {b} + 3)",
    "DELETE FROM feeds WHERE id = {b}",
    "INSERT INTO feeds (id, title, group_id) VALUES ({b}, 'Late {a}', {a}) ON CONFLICT DO NOTHING",
    "INSERT INTO feeds (id, title) SELECT g, 'Many' FROM generate_series(0, 5) AS g ON CONFLICT DO NOTHING",
    "INSERT INTO groups VALUES ({a}, 'Desk') ON CONFLICT (id) DO UPDATE SET desk = 'Desk {b}'",
    "DELETE FROM groups WHERE id = {a}",
    "INSERT INTO topics VALUES ('topic {a}', {b}) ON CONFLICT (name) DO UPDATE SET clicks = {b}",
    "DELETE FROM topics WHERE name = 'topic {a}'",
    "INSERT INTO entries (id, feed_id, body, day) VALUES ({a}, {b}, :text, :day) ON CONFLICT (id)"
    " DO UPDATE SET body = excluded.body",
    "UPDATE entries SET feed_id = nullif({b}, 5), clicks = 1 WHERE id %% 3 = {a} %% 3",
    "UPDATE entries SET id = id + 10 WHERE id = {a}"
    " AND NOT EXISTS (SELECT FROM entries e WHERE e.id = {a} + 10)",
    "DELETE FROM entries WHERE id = {a}",
    "TRUNCATE feeds",
    "TRUNCATE entries",
]
SETTLE = ("", 0, 0)
STEP = st.tuples(st.sampled_from(CHANGES), st.integers(0, 5), st.integers(0, 5)) | st.just(SETTLE)
EACH = [step for place, change in enumerate(CHANGES) for step in ((change, 1 + place % 2, place % 3), SETTLE)]
"""A history with a backfill after each change, so that no change can hide another."""


def run(database: Database, owner: Owner, step: tuple[str, int, int]) -> None:
    """Take a step of a history: `SETTLE`, or a statement of `CHANGES` with the values of its `{a}` and `{b}`.

    The test needs some statements that are rolled back: those with 5 for both values.
    """
    if step == SETTLE:
        settle(database)
        assert stored(owner) == read(owner, *READ)
        return
    statement, a, b = step
    ready = statement.format(a=a, b=b).replace(":text", "%(text)s").replace(":day", "%(day)s")
    with owner.transaction() as undone:
        owner.execute(ready.encode(), {"text": text(window(a % 3, 5 + b % 2)), "day": at(b)})
        if (a, b) == (5, 5):
            raise psycopg.Rollback(undone)


@pytest.mark.long("dedup", "migrations")
def test_any_history_of_base_tables_ends_with_the_articles_of_a_fresh_corpus(
    database: Database, owner: Owner
) -> None:
    make(owner)
    attach_entries(database)
    attach_listed(database)
    attach_topical(database)

    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(STEP, min_size=1, max_size=7))
    @example(EACH)
    def check(steps: list[tuple[str, int, int]]) -> None:
        owner.execute("TRUNCATE groups, feeds, entries, topics")
        fill(owner)
        settle(database)  # after TRUNCATE a backfill compares all rows, which would hide missing notes
        for step in steps:
            run(database, owner, step)
        assert_followed(database, owner, *READ)

    check()


@pytest.mark.long("dedup", "migrations")
def test_a_worker_sees_what_changes_only_in_base_tables(database: Database, owner: Owner) -> None:
    make(owner)
    fill(owner, 3)
    attach_entries(database)
    attach_listed(database, every=0)
    attach_topical(database)
    settle(database)
    with working(database.url):
        for change in (
            "UPDATE feeds SET title = 'Renamed' WHERE id = 1",
            "INSERT INTO feeds (id, title) VALUES (2, 'Late')",
            "UPDATE feeds SET open = false WHERE id = 1",
            "UPDATE groups SET desk = 'Home'; UPDATE feeds SET open = true",
            "DELETE FROM feeds WHERE id = 0",
            "UPDATE topics SET name = 'bridge'",
        ):
            owner.execute(change.encode())
            wanted = read(owner, *READ)
            wait_until(lambda wanted=wanted: stored(owner) == wanted)  # type: ignore[misc]
    assert_followed(database, owner, *READ)


@pytest.mark.long("dedup", "migrations")
def test_only_changes_that_matter_are_noted_and_each_row_is_read_once(
    database: Database, owner: Owner
) -> None:
    make(owner)
    fill(owner, 30)
    attach_entries(database)
    attach_listed(database)
    settle(database)
    dd = deduplicator(database)
    owner.execute("UPDATE feeds SET polled = polled + 1; UPDATE entries SET clicks = 1")
    owner.execute("UPDATE feeds SET open = NOT open WHERE id = 7")
    assert dd.attachments.waiting() == 0
    for i in range(3):
        owner.execute("UPDATE feeds SET title = %s WHERE id = 1", [f"Courier {i}"])
    assert dd.attachments.waiting() == 6
    assert settle(database).synced == 6 + 2 * 10
    owner.execute(
        "INSERT INTO dedup.outbox (attachment_id, base, source_ids) VALUES (1, 9, '{a}'), (2, -1, NULL)"
    )
    assert_followed(database, owner, "entries", "listed")


@pytest.mark.long("dedup", "migrations")
def test_a_flood_of_changes_that_name_no_rows_is_compared_now_and_then(
    database: Database, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(owner)
    fill(owner)
    attach_listed(database, ["feeds"], every=0)
    settle(database)
    compared: list[bool] = []

    def compare(*args: Any, **options: Any) -> int | None:
        compared.append(True)
        return comparing.compare(*args, **options)

    monkeypatch.setattr(sync, "COMPARED_SHARE", 1e-9)  # makes the pause after a comparison very long
    monkeypatch.setattr(sync, "compare", compare)
    owner.execute("UPDATE dedup.attachment SET rests_until = NULL")

    def waits() -> bool:
        with database.transaction() as cursor:
            return bool(find_waiting(cursor))

    for i in range(5):
        owner.execute("UPDATE feeds SET title = %s", [f"Title {i}"])
        assert waits() == (i == 0)
        sync.sync(database, SilentProgress(), lambda: False)
    assert len(compared) == 1
    assert "Title 0" in str(stored(owner))
    ((rest,),) = rows(owner, "SELECT extract(epoch FROM rests_until - now()) FROM dedup.attachment")
    assert 500 < rest <= sync.LONGEST_REST_SECONDS
    owner.execute("UPDATE dedup.attachment SET rests_until = now()")
    assert waits()
    assert_followed(database, owner, "listed")
    assert len(compared) == 2


DDL: dict[str, tuple[str, str]] = {
    "renamed table": ("ALTER TABLE feeds RENAME TO sources", "feeds: the table is called newsroom.sources"),
    "moved table": ("ALTER TABLE feeds SET SCHEMA public", "feeds: the table is called public.feeds now"),
    "renamed name": ("ALTER TABLE feeds RENAME title TO name", "feeds: column title is called name now"),
    "renamed key": ("ALTER TABLE feeds RENAME id TO feed", "feeds: column id is called feed now"),
    "other type": (
        "ALTER TABLE feeds ALTER title TYPE varchar(90)",
        "column title is of type character varying",
    ),
    "wider key": ("ALTER TABLE feeds ALTER id TYPE bigint", "column id is of type bigint now"),
    "dropped name": ("ALTER TABLE feeds DROP COLUMN title", "feeds: column title is gone"),
    "dropped table": ("DROP TABLE feeds", "feeds: the table is gone"),
    "another table": (
        "ALTER TABLE feeds RENAME TO former; CREATE TABLE feeds (LIKE former INCLUDING ALL)",
        "feeds: a different table has this name now",
    ),
    "trigger dropped": ("DROP TRIGGER dedup_1_base_1_update ON feeds", "missing or switched off"),
    "triggers off": ("ALTER TABLE feeds DISABLE TRIGGER USER", "missing or switched off"),
    "triggers off for a while": (
        "ALTER TABLE feeds DISABLE TRIGGER USER; UPDATE feeds SET title = 'Unseen';"
        " ALTER TABLE feeds ENABLE TRIGGER USER",
        "",
    ),
    "new column": ("ALTER TABLE feeds ADD COLUMN lang text DEFAULT 'en'", ""),
    "dropped column": ("ALTER TABLE feeds DROP COLUMN polled", ""),
    "emptied": ("TRUNCATE feeds", ""),
    "inherited table": (
        "CREATE TABLE more (CHECK (id > 90)) INHERITS (feeds)",
        "feeds: it is not a plain table now",
    ),
    "no key": ("ALTER TABLE feeds DROP CONSTRAINT feeds_pkey; INSERT INTO feeds VALUES (9, 'Nine')", ""),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("case", DDL)
def test_ddl_of_a_base_table_ends_in_the_right_articles_or_a_named_problem(
    database: Database, owner: Owner, case: str
) -> None:
    statements, problem = DDL[case]
    make(owner)
    owner.execute("DROP VIEW listed")
    fill(owner)
    attach_entries(database)
    settle(database)
    before = stored(owner)
    try:
        owner.execute(statements.encode())
        owner.execute("INSERT INTO entries VALUES (9, 1, 'Nine.', 'Nine')")
        if not problem:
            assert_followed(database, owner, "entries")
            return
        assert any(problem in line for line in settle(database).problems)
        assert stored(owner) == before, "a drifted table is not read"
        if case == "another table":
            owner.execute("INSERT INTO feeds SELECT * FROM former")
        dd = deduplicator(database)
        if case == "inherited table":
            with pytest.raises(InputError, match="takes part in inheritance"):
                dd.attachments.remap("entries")
            owner.execute("DROP TABLE more")
            assert_followed(database, owner, "entries")
            return
        dd.attachments.remap("entries")
        place = next((base.shown for base in dd.attachments.list()[0].bases), None)
        right(database)
        query = "SELECT 'entries/' || id, body, headline, NULL FROM entries"
        if place is not None:
            ((name, key),) = rows(
                owner,
                "SELECT bases -> 0 ->> 'name', bases -> 0 -> 'keys' ->> 0 FROM dedup.attachment",
            )
            query = (
                f"SELECT 'entries/' || e.id, body, headline, f.{name} FROM entries e"
                f" LEFT JOIN {place} f ON f.{key} = e.feed_id"
            )
            owner.execute(f"UPDATE {place} SET {name} = 'After' WHERE {key} = 1".encode())
            right(database)
        assert place is None if case.startswith("dropped") else place is not None
        assert stored(owner) == set(rows(owner, query))
    finally:
        owner.execute("DROP TABLE IF EXISTS public.feeds")


VIEW_DDL: dict[str, tuple[str, str]] = {
    "more columns read": (
        "CREATE OR REPLACE VIEW listed AS SELECT e.id, e.body, e.headline, e.day, f.title AS outlet"
        " FROM entries e JOIN feeds f ON f.id = e.feed_id WHERE f.polled = 0",
        "it reads the column polled of newsroom.feeds now",
    ),
    "fewer rows": (
        "CREATE OR REPLACE VIEW listed AS SELECT e.id, e.body, e.headline, e.day, f.title AS outlet"
        " FROM entries e JOIN feeds f ON f.id = e.feed_id WHERE f.id = 1",
        "",
    ),
    "renamed table": (
        "ALTER TABLE feeds RENAME TO sources",
        "feeds: the table is called newsroom.sources now",
    ),
    "renamed column": ("ALTER TABLE entries RENAME feed_id TO feed", "column feed_id is called feed now"),
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("case", VIEW_DDL)
def test_ddl_under_a_watched_view_ends_in_the_right_articles_or_a_named_problem(
    database: Database, owner: Owner, case: str
) -> None:
    statements, problem = VIEW_DDL[case]
    make(owner)
    fill(owner)
    attach_listed(database)
    settle(database)
    owner.execute(statements.encode())
    owner.execute("INSERT INTO entries VALUES (9, 1, 'Nine.', 'Nine')")
    if problem:
        assert any(problem in line for line in settle(database).problems)
        deduplicator(database).attachments.remap("listed")
    assert_followed(database, owner, "listed")
    feeds = "sources" if case == "renamed table" else "feeds"
    owner.execute(f"UPDATE {feeds} SET title = 'After', polled = id".encode())
    assert_followed(database, owner, "listed")


@pytest.mark.long("dedup", "migrations")
def test_detach_leaves_no_trace_and_remap_can_stop_watching(database: Database, owner: Owner) -> None:
    make(owner)
    fill(owner)
    before = dumped(database)
    attach_entries(database)
    attach_listed(database)
    assert dumped(database) != before
    settle(database)
    dd = deduplicator(database)
    owner.execute("UPDATE feeds SET title = 'Noted'")
    dd.attachments.remap("listed", watch=[])
    dd.attachments.remap("entries", columns={"publication": "headline"})
    assert rows(owner, "SELECT count(*) FROM dedup.outbox WHERE base IS NOT NULL") == [(0,)]
    assert dumped(database).count("CREATE TRIGGER") == 4, "only the triggers of the attached table remain"
    right(database)
    dd.attachments.remap("entries", columns={"publication": "feed_id=feeds.title"})
    assert [base.as_dict()["table"] for base in dd.attachments.list()[0].bases] == [f"{SCHEMA}.feeds"]
    for name in ("entries", "listed"):
        dd.attachments.detach(name)
    assert dumped(database) == before
    assert rows(owner, "SELECT count(*) FROM dedup.outbox") == [(0,)]


def test_a_foreign_key_decides_by_which_key_a_name_is_looked_up(database: Database, owner: Owner) -> None:
    owner.execute(
        "CREATE TABLE outlets (id bigint PRIMARY KEY, code text UNIQUE, mark text UNIQUE, name text)"
    )
    owner.execute("INSERT INTO outlets VALUES (1, 'b', 'a', 'Bee'), (2, 'a', 'b', 'Ay')")
    kinds = "code varchar(9) {}, outlet integer"
    for name, refers in (("free", ""), ("news", "REFERENCES outlets (code)")):
        owner.execute(
            f"CREATE TABLE {name} (id integer PRIMARY KEY, body text, {kinds.format(refers)})".encode()
        )
        owner.execute(f"INSERT INTO {name} VALUES (1, 'One.', 'a', 1), (2, 'Two.', 'b', NULL)".encode())
    dd = deduplicator(database)
    columns = {"text": "body", "publication": "code=outlets.name", "byline": "outlet=outlets.code"}
    with pytest.raises(InputError, match="several keys for column 'code': add a foreign key"):
        dd.attachments.attach(f"{SCHEMA}.free", keys=["id"], columns=columns)
    dd.attachments.attach(f"{SCHEMA}.news", keys=["id"], columns=columns)
    right(database)
    query = "SELECT source_id, publication, byline FROM dedup.article ORDER BY 1"
    assert rows(owner, query) == [("news/1", "Ay", "b"), ("news/2", "Bee", None)]
    owner.execute(
        "UPDATE outlets SET id = 3 - id + 10; UPDATE outlets SET id = id - 10, name = 'New ' || name"
    )
    right(database)
    assert rows(owner, query) == [("news/1", "New Ay", "a"), ("news/2", "New Bee", None)]


REFUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "there is no column 'nobody'": ("entries", {"publication": "feed_id=feeds.nobody"}),
    "names no table: write feed_id=TABLE.COLUMN": ("entries", {"publication": "feed_id=title"}),
    "there is no table": ("entries", {"publication": "feed_id=sources.title"}),
    "'polled' of newsroom.feeds is of type integer": ("entries", {"publication": "feed_id=feeds.polled"}),
    "has no key for column 'headline'": ("entries", {"publication": "headline=feeds.title"}),
    "is not a plain table": ("entries", {"publication": "feed_id=listed.outlet"}),
    "join newsroom.feeds in the view": ("listed", {"publication": "id=feeds.title"}),
    "only a view needs it": ("entries", {"watch": ["feeds"]}),
    "'outlet' is not the key of the view": ("listed", {"watch": ["outlet=feeds.title"]}),
    "not of one type that can be a key": ("listed", {"watch": ["id=feeds.title"]}),
    "also add id=newsroom.entries.COLUMN": ("listed", {"watch": ["entries.feed_id=feeds.id"]}),
    "has no primary key": ("listed", {"watch": ["loose"]}),
}


def test_base_tables_that_do_not_fit_are_refused_with_the_next_step(database: Database, owner: Owner) -> None:
    make(owner)
    owner.execute("CREATE TABLE loose (id integer)")
    for words, (table, wanted) in REFUSED.items():
        columns = {"text": "body", **{k: v for k, v in wanted.items() if k == "publication"}}
        with pytest.raises(InputError, match=words):
            deduplicator(database).attachments.attach(
                f"{SCHEMA}.{table}", keys=["id"], columns=columns, watch=wanted.get("watch", ())
            )


# --- owners

MINE, OTHER = (f"dedup_{kind}_{os.getpid()}" for kind in ("keys_mine", "keys_other"))


@pytest.fixture
def theirs(server: Server, template: str) -> Iterator[Database]:
    """A corpus in a separate database, with two untrusted owners of tables."""
    with copied(server, template, "dedup_keys") as made, psycopg.connect(made.url, autocommit=True) as root:
        for role in (MINE, OTHER):
            root.execute(f"CREATE ROLE {role} LOGIN".encode())
        root.execute(f"ALTER SCHEMA {SCHEMA} OWNER TO {MINE}".encode())
        root.execute(f"GRANT ALL ON SCHEMA {SCHEMA} TO {OTHER}".encode())
        root.execute("CREATE TABLE public.loot (runs_as text); GRANT ALL ON public.loot TO PUBLIC")
        try:
            yield made
        finally:
            for role in (MINE, OTHER):
                root.execute(f"DROP OWNED BY {role} CASCADE; DROP ROLE {role}".encode())


PAYLOAD = f"""
    CREATE TYPE {SCHEMA}.mood AS ENUM ('Wire', 'Courier', 'Owned');
    CREATE FUNCTION {SCHEMA}.told({SCHEMA}.mood) RETURNS text LANGUAGE plpgsql SECURITY INVOKER AS
        $$ BEGIN INSERT INTO public.loot VALUES (current_user); RETURN 'told'; END $$;
    CREATE CAST ({SCHEMA}.mood AS text) WITH FUNCTION {SCHEMA}.told({SCHEMA}.mood);
    ALTER TABLE {SCHEMA}.feeds ALTER title TYPE {SCHEMA}.mood USING title::{SCHEMA}.mood;
    UPDATE {SCHEMA}.feeds SET title = 'Owned'
"""


@pytest.mark.long("dedup", "migrations")
def test_code_of_another_owner_of_a_base_table_runs_with_no_rights_of_the_attached_table(
    theirs: Database,
) -> None:
    with closing(psycopg.connect(as_role(theirs.url, MINE), autocommit=True)) as mine:
        mine.execute(f"SET search_path = {SCHEMA}".encode())
        make(mine)
        fill(mine)
    with (
        psycopg.connect(theirs.url, autocommit=True) as root,
        closing(psycopg.connect(as_role(theirs.url, OTHER), autocommit=True)) as other,
    ):
        root.execute(f"SET search_path = {SCHEMA}".encode())
        root.execute(f"ALTER TABLE feeds OWNER TO {OTHER}".encode())
        with pytest.raises(InputError, match=f"feeds belongs to {OTHER}, and newsroom.entries to {MINE}"):
            attach_entries(theirs)
        root.execute(f"ALTER TABLE feeds OWNER TO {MINE}".encode())
        attach_entries(theirs)
        attach_listed(theirs)
        settle(theirs)
        assert stored(root) == read(root, "entries", "listed")
        root.execute("UPDATE feeds SET title = 'Courier' WHERE id = 0")
        root.execute("DELETE FROM feeds WHERE id = 1")
        settle(theirs)
        assert stored(root) == read(root, "entries", "listed"), "sessions of the owner read the tables"
        before = stored(root)
        root.execute("DROP VIEW listed")
        root.execute(f"ALTER TABLE feeds OWNER TO {OTHER}".encode())
        for statement in PAYLOAD.split(";\n"):
            other.execute(statement.encode())
        dd = deduplicator(theirs)
        problems = settle(theirs).problems
        assert any(f"feeds: it belongs to {OTHER} now" in line for line in problems)
        with pytest.raises(InputError, match="column title is of type"):
            dd.attachments.sync("entries", whole=True)
        entries, _ = dd.attachments.list()
        with pytest.raises(UnfitError, match="belong to several roles"):
            copying.pull(theirs, entries, ["entries/0"], wait=True)
        dd.verify()
        assert stored(root) == before
        assert {row[0] for row in rows(root, "SELECT runs_as FROM public.loot")} <= {OTHER}


@pytest.mark.long("dedup", "migrations")
def test_code_of_a_new_owner_of_an_attached_table_runs_with_no_rights_of_the_former_one(
    theirs: Database,
) -> None:
    with closing(psycopg.connect(as_role(theirs.url, MINE), autocommit=True)) as mine:
        mine.execute(f"SET search_path = {SCHEMA}".encode())
        mine.execute("CREATE TABLE feeds (id bigint PRIMARY KEY, title text, body text)")
        mine.execute("INSERT INTO feeds VALUES (1, 'Wire', 'A storm tore cables from the harbour bridge.')")
    dd = deduplicator(theirs)
    dd.attachments.attach(f"{SCHEMA}.feeds", keys=["id"], columns={"text": "body", "title": "title"})
    settle(theirs)
    with (
        psycopg.connect(theirs.url, autocommit=True) as root,
        closing(psycopg.connect(as_role(theirs.url, OTHER), autocommit=True)) as other,
    ):
        root.execute(f"ALTER TABLE {SCHEMA}.feeds OWNER TO {OTHER}".encode())
        for statement in PAYLOAD.split(";\n"):
            other.execute(statement.encode())
        other.execute(
            f"INSERT INTO {SCHEMA}.feeds VALUES (2, 'Wire', 'x'); DELETE FROM {SCHEMA}.feeds".encode()
        )
        settle(theirs)
        assert {row[0] for row in rows(root, "SELECT runs_as FROM public.loot")} <= {OTHER}
