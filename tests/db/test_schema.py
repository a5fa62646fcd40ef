"""A corpus in a schema other than `dedup`, alone in its database and beside another corpus."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg import sql

from dedup.api import worker
from dedup.api.async_deduplicator import AsyncDeduplicator
from dedup.api.deduplicator import Deduplicator
from dedup.api.metrics import Metrics
from dedup.api.operation import Operation, printed_schema
from dedup.api.server import dump, restore
from dedup.base.errors import BusyError, InputError, SchemaError
from dedup.base.schema import DEFAULT, MAX_BYTES, RESERVED, VARIABLE, chosen, migration_lock, outer
from dedup.base.timeouts import Timeouts
from dedup.db import embedded, migrate
from dedup.db.database import Database
from dedup.db.rendering import Named, Verbatim, own, render, render_text
from dedup.runs import runs
from dedup.runs.waiting import Listener
from dedup.store import opening
from tests.conftest import Server
from tests.corpora import article, assert_right, code, rows, sentence, window
from tests.db.test_migrations import catalogue
from tests.store.test_ddl import psql

pytestmark = pytest.mark.timeout(180)

_NUMBERS = count()
HASTE = Timeouts(hook=5, lock=0.3)


@pytest.fixture(autouse=True)
def no_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset the variable that names a schema: each test names its schema, or the schema is `dedup`."""
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    """Yield the address of an empty database."""
    name = f"dedup_schema_{next(_NUMBERS)}"
    yield server.create(name)
    server.drop(name)


@pytest.fixture
def wires(url: str) -> Iterator[Database]:
    """Yield a corpus in the schema `wires`; the database has no schema `dedup`."""
    database = Database(url, schema="wires")
    opening.initialize(database)
    yield database
    database.close()


@pytest.fixture
def both(wires: Database) -> Iterator[tuple[Database, Database]]:
    """Yield two corpora in one database, in the schemas `dedup` and `wires`."""
    other = Database(wires.url)
    opening.initialize(other)
    yield other, wires
    other.close()


def doors(both: tuple[Database, Database], stack: ExitStack, **given: Any) -> list[Deduplicator]:
    return [stack.enter_context(Deduplicator(d.url, schema=d.schema, **given)) for d in both]


def family(count: int, step: int = 1) -> list[Any]:
    """Make articles. If `step` is 1, each is a duplicate of the next one, and similar to the one after it."""
    return [article(f"a{i}", [*window(step * i, 6), code(99)], i) for i in range(count)]


def alone(number: int) -> list[int]:
    """Return the codes of six sentences that only the article `number` has."""
    return [code(100 * number + i) for i in range(6)]


# Tests of schema names.

BAD = [
    'weird "name',
    "select",
    "between",
    "collation",
    "Wires",
    "wïres",
    "a; drop schema dedup",
    "a.b",
    "%s",
    "a-b",
    " wires",
    "wires\n",
    "1wires",
    "",
    "public",
    "information_schema",
    "pg_wires",
    "a\x00b",
    "a" * (MAX_BYTES + 1),
    "a" * 63,
    "a" * 64,
    7,
]


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_needs_quotes_or_is_taken_is_refused_and_the_rule_is_named(name: Any) -> None:
    with pytest.raises(InputError, match=r"1 to 40 characters of a-z, 0-9 and _|must be a string"):
        Deduplicator("postgresql://nowhere.invalid/x", schema=name)


def test_the_variable_names_it_where_nobody_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen() == DEFAULT
    monkeypatch.setenv(VARIABLE, "wires")
    assert (chosen(), chosen("other")) == ("wires", "other")
    monkeypatch.setenv(VARIABLE, "")
    assert chosen() == DEFAULT
    monkeypatch.setenv(VARIABLE, "Wires")
    with pytest.raises(InputError, match="'Wires'"):
        chosen()


def test_every_word_that_this_postgres_quotes_is_known(server: Server) -> None:
    with psycopg.connect(server.url) as connection:
        rows = connection.execute("SELECT word FROM pg_get_keywords() WHERE catcode <> 'U'").fetchall()
    assert {row[0] for row in rows} - RESERVED == set()


@given(st.from_regex(r"[a-z_][a-z0-9_]{0,39}", fullmatch=True))
def test_names_that_differ_share_neither_channel_nor_lock(name: str) -> None:
    try:
        chosen(name)
    except InputError:
        return
    if name != DEFAULT:
        assert outer(name) != outer(DEFAULT)
        assert migration_lock(name) != migration_lock(DEFAULT)
        assert 0 <= migration_lock(name) < 2**63
        assert len(outer(name)) < 64
    # Check the longest name that is made from the schema's name.
    assert len(f"{name}_123456789_marks_update") < 64


# Tests of names in SQL: names of dedup get the schema, other names stay.

RENDERED = {
    "SELECT FROM dedup.article a": "SELECT FROM wires.article a",
    "'dedup.article'::regclass": "'wires.article'::regclass",
    "(dedup.settle_lock())": "(wires.settle_lock())",
    "format('dedup.%I', x)": "format('wires.%I', x)",
    "'dedup'::regnamespace": "'wires'::regnamespace",
    "ALL FUNCTIONS IN SCHEMA dedup FROM": "ALL FUNCTIONS IN SCHEMA wires FROM",
    "SET search_path = pg_catalog, dedup, pg_temp": "SET search_path = pg_catalog, wires, pg_temp",
    "set_config('dedup.settling', 'on')": "set_config('dedup_wires.settling', 'on')",
    "SET LOCAL dedup.syncing = 'on'": "SET LOCAL dedup_wires.syncing = 'on'",
    "NOTIFY dedup;": "NOTIFY dedup_wires;",
    # The following are no names of the schema.
    "'of a newer dedup. Stop'": None,
    "'`dedup settings` lists it'": None,
    "'dedup'": None,
    "public.dedup.article": None,
    '"dedup.article"': None,
    "mydedup.article": None,
    "$dedup$": None,
    "dedup_condition": None,
}


@pytest.mark.parametrize("text", RENDERED)
def test_a_statement_names_the_schema_of_its_corpus(text: str) -> None:
    wanted = RENDERED[text] or text
    assert render_text(text, "wires") == wanted
    assert render(text, "wires") == render(text.encode(), "wires") == wanted.encode()
    assert render_text(wanted, "wires") == wanted


def test_names_values_and_the_sql_of_others_stay_as_they_are() -> None:
    theirs = "t.url LIKE 'dedup.org/%' AND dedup.x()"
    made = sql.SQL("SELECT {} FROM dedup.article a, {} WHERE {} AND ({})").format(
        sql.Identifier("dedup", "name"), own("mark"), sql.Literal("dedup.x"), Verbatim(theirs)
    )
    assert render(made, "wires").as_string() == (
        f'SELECT "dedup"."name" FROM wires.article a, "dedup"."mark" WHERE \'dedup.x\' AND ({theirs})'
    )  # without a connection, dedup's names are in the default schema
    nested = sql.SQL(" UNION ").join([sql.SQL("TABLE dedup.article"), sql.SQL("TABLE dedup.mark")])
    assert render(nested, "wires").as_string() == "TABLE wires.article UNION TABLE wires.mark"


def test_in_the_default_schema_nothing_is_touched(database: Database) -> None:
    for statement in ("SELECT dedup.x", b"SELECT dedup.x", sql.SQL("TABLE dedup.article")):
        assert render(statement, DEFAULT) is statement
    plain = Database(database.url, schema=DEFAULT)
    with plain.session() as session:
        assert type(session.connection.cursor()) is psycopg.Cursor
    plain.close()


def test_no_module_names_the_schema_in_a_way_that_is_not_rendered() -> None:
    package = Path(migrate.__file__).parents[1]
    for path in package.rglob("*.py"):
        assert 'Identifier("dedup"' not in path.read_text("utf-8"), path.name
    assert isinstance(own("article"), Named)


# Tests of the schema.


def renamed(rows: list[tuple[str, str, str]], schema: str) -> list[tuple[str, ...]]:
    """Return a catalogue with the names that it has in the schema `dedup`."""

    def plain(text: str) -> str:
        return re.sub(rf"\b(dedup_)?{schema}\b", "dedup", text)

    return [tuple(map(plain, row)) for row in rows]


@pytest.mark.long("dedup", "migrations")
def test_it_is_the_same_schema_under_another_name(both: tuple[Database, Database]) -> None:
    plain, wires = both
    assert renamed(catalogue(wires), "wires") == catalogue(plain)


@pytest.mark.long("dedup", "migrations")
def test_what_is_printed_makes_what_init_makes(both: tuple[Database, Database], tmp_path: Path) -> None:
    plain, wires = both
    script = printed_schema(wires.url, schema="third")
    assert "dedup.article" not in script
    assert "third.article" in script
    third = Database(wires.url, schema="third")
    assert psql(third, script, tmp_path).returncode == 0
    assert renamed(catalogue(third), "third") == catalogue(plain)
    assert printed_schema(wires.url, schema="third") == ""
    with Deduplicator(third.url, schema="third") as dd:
        assert dd.submit(family(1)[0]).status == "unique"
    assert_right(third)
    third.close()


def test_an_error_names_the_schema_and_the_command(url: str) -> None:
    with pytest.raises(
        SchemaError, match=r"\(schema wires\) has no dedup schema; run `dedup --schema wires init`"
    ):
        Deduplicator(url, schema="wires")
    with pytest.raises(SchemaError, match=r" has no dedup schema; run `dedup init`"):
        Deduplicator(url)


# Test all functions of a corpus where no schema `dedup` exists: a statement that names it fails.


@pytest.mark.extra("browse", "frames", "judging", "scrapy", "spark")
@pytest.mark.long("dedup", "migrations")
def test_everything_works_without_the_default_schema(wires: Database, tmp_path: Path) -> None:
    from dedup.spooling import SpoolingDeduplicator

    with Deduplicator(wires.url, schema="wires") as dd:
        for engine in ("memory", "postgres"):
            dd.load(family(6) if engine == "memory" else [article("late", window(2, 6), 2.5)])
            report = dd.backfill(engine=engine, workers=1)
            assert report.settled
            assert not report.failed
            assert_right(wires)
        assert dd.submit(article("hook", window(3, 6), 9)).status == "duplicate"
        assert dd.submit(article("hook", alone(40), 9)).status == "unique"
        assert dd.lookup(article("asked", window(1, 6))).is_duplicate
        assert len(dd.submit_many([article("m1", alone(50)), article("m2", alone(60))])) == 2
        assert dd.delete("m2")
        assert dd.delete_many(["m1"]) == ["m1"]
        dd.pins.set("a0", "hook", "duplicate")
        dd.pins.set("a1", "a2", "unrelated")
        assert dd.pins.remove("a1", "a2")
        dd.common_sentences.pin(sentence(code(99)), common=True)
        dd.settings.change({"common_stories": 3})
        dd.settings.give_hash_key("correct horse battery staple", keep=False)
        dd.settings.train_sentences("en", [sentence(code(i)) for i in range(300)])
        dd.preview()
        dd.backfill(workers=2)
        assert dd.verify().right
        assert_right(wires)
        assert len(list(dd.marks())) == len(dd.newest(50)) == 8
        assert list(dd.matches())
        assert dd.stories()
        assert dd.runs()
        dd.explain("a0", "a1")
        assert dd.get("a0")
        assert dd.story("a0")
        assert dd.status().counts
        assert dd.vitals().articles is not None
        assert dd.common_sentences.unpin(sentence(code(99)))
        assert not dd.judgements.waiting("ann")
        dd.ping()
        dd.retry()
        dd.preview_prune("1d")
        dd.prune("1d")
        assert_right(wires)
        with dd.engine().connect() as connection:
            told = connection.exec_driver_sql("SELECT count(*), 'dedup.x' FROM wires.mark").fetchone()
        assert told == (8, "dedup.x")  # a statement of the caller is sent unchanged
        dd.repair(dd.verify())
    asyncio.run(_async(wires.url))
    with SpoolingDeduplicator(wires.url, spool=tmp_path / "spool", schema="wires") as spooling:
        assert spooling.submit(article("spooled", alone(70)))
    metrics = Metrics(wires.url, schema="wires")
    assert "dedup_up 1.0" in metrics.text()
    metrics.close()
    assert {row[0] for row in rows(wires, "SELECT nspname FROM pg_namespace")} & {"dedup"} == set()


async def _async(url: str) -> None:
    async with AsyncDeduplicator(url, schema="wires") as dd:
        assert (await dd.submit(article("async", alone(80)))).status == "unique"
        assert await dd.delete("async")


@pytest.mark.long("dedup", "migrations")
def test_a_worker_settles_its_corpus_and_no_other(both: tuple[Database, Database]) -> None:
    with ExitStack() as stack:
        plain, wires = doors(both, stack)
        for dd in (plain, wires):
            dd.load(family(4))
        settled = lambda: "pending" not in wires.status().counts  # noqa: E731
        worker.work(both[1].url, schema="wires", workers=1, poll=0.2, stop=settled)
        assert plain.status().counts == {"pending": 4}
    assert_right(both[1])


# Tests of two corpora in one database.


@pytest.mark.long("dedup", "migrations")
def test_two_corpora_with_the_same_articles_go_their_own_ways(both: tuple[Database, Database]) -> None:
    with ExitStack() as stack:
        plain, wires = doors(both, stack)
        wires.settings.change({"duplicate_sentence_jaccard": 0.95, "common_stories": 2})
        for dd in (plain, wires):
            dd.load(family(8))
        plain.submit(article("a3", alone(30), 3))
        plain.delete("a1")
        wires.submit(article("a5", alone(20), 5))
        wires.pins.set("a0", "a7", "duplicate")
        for dd in (plain, wires, plain):
            dd.backfill(workers=0)
        wires.submit(article("a0", alone(33), 0))
        plain.prune("30000d")
        wires.backfill(workers=0)
        for dd in (plain, wires):
            assert dd.verify().right
        assert plain.get("a1") is None
        assert wires.get("a1") is not None
        statuses = [{row["id"]: row["status"] for row in dd.marks()} for dd in (plain, wires)]
        assert statuses[0] != statuses[1]
        assert plain.settings.in_force() != wires.settings.in_force()
        assert not plain.pins.list()
        assert wires.pins.list()
    for database in both:
        assert_right(database)


@pytest.mark.long("dedup", "migrations")
def test_neither_waits_for_the_other(both: tuple[Database, Database]) -> None:
    plain, wires = both
    hasty = Database(wires.url, HASTE, "wires")
    with plain.transaction(settling=True):
        with hasty.transaction(settling=True) as cursor:
            cursor.execute("SELECT 1")
        with hasty.session() as session, session.transaction(settling=True):
            pass
    with wires.transaction(settling=True), pytest.raises(BusyError), hasty.transaction(settling=True):
        pass  # not reached: the corpus waits for its own settle lock
    lock = f"SELECT pg_advisory_lock({migration_lock(DEFAULT)})"
    with psycopg.connect(plain.url, autocommit=True) as connection:
        connection.execute(lock.encode())
        opening.initialize(hasty)
    hasty.close()


@pytest.mark.long("dedup", "migrations")
def test_a_notification_wakes_the_workers_of_its_corpus_only(both: tuple[Database, Database]) -> None:
    listeners = [Listener(database) for database in both]
    try:
        for listener in listeners:
            assert not listener.wait(0.01, lambda: False)  # from here on the listener listens
        for told, name in enumerate(map(outer, ("dedup", "wires"))):
            with both[0].transaction() as cursor:
                cursor.execute("SELECT pg_notify(%s, '')", [name])
            assert listeners[told].wait(10, lambda: False)
            assert not listeners[1 - told].wait(0.1, lambda: False)
    finally:
        for listener in listeners:
            listener.close()


@pytest.mark.long("dedup", "migrations")
def test_an_article_tells_the_workers_of_its_corpus(both: tuple[Database, Database]) -> None:
    if rows(both[0], "SHOW max_prepared_transactions") != [("0",)]:
        pytest.skip("where transactions may be prepared nothing notifies")
    listener = Listener(both[1])
    try:
        assert not listener.wait(0.01, lambda: False)
        with ExitStack() as stack:
            plain, wires = doors(both, stack)
            for database in both:
                with database.transaction() as cursor:
                    runs.begin_worker(cursor, "here", 1)  # without a worker, no notification is sent
            plain.load(family(1))
            assert not listener.wait(0.1, lambda: False)
            wires.load(family(1))
            assert listener.wait(10, lambda: False)
    finally:
        listener.close()


@pytest.fixture
def news(both: tuple[Database, Database]) -> Iterator[psycopg.Connection[Any]]:
    """Yield a connection to a table of news beside the two corpora."""
    with psycopg.connect(both[0].url, autocommit=True) as connection:
        connection.execute("CREATE TABLE public.news (id bigint PRIMARY KEY, body text, place text)")
        for i in range(4):
            _put(connection, i, i)
        yield connection


def _put(connection: psycopg.Connection[Any], id: int, start: int) -> None:
    body = family(start + 1)[start].text
    connection.execute(
        "INSERT INTO news VALUES (%s, %s, 'dedup.example')"
        " ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body",
        [id, body],
    )


@pytest.mark.long("dedup", "migrations")
def test_two_corpora_attach_the_same_table_with_marks_in_it(
    both: tuple[Database, Database], news: psycopg.Connection[Any]
) -> None:
    before = _columns(news), _triggers(news)
    with ExitStack() as stack:
        plain, wires = doors(both, stack)
        plain.attachments.attach("public.news", keys=["id"], columns={"text": "body"}, mark_columns=True)
        found = wires.attachments.attach(
            "public.news",
            keys=["id"],
            columns={"text": "body"},
            where="t.place LIKE 'dedup.%' AND id < 100",
            mark_columns=True,
        )
        assert not any("dedup.article" in statement for statement in found.statements)
        assert any("'dedup.%'" in statement for statement in found.statements)
        wires.settings.change({"duplicate_sentence_jaccard": 0.95})
        for _ in range(2):
            for dd in (plain, wires):
                dd.backfill(workers=0)
        _put(news, 2, 30)
        _put(news, 200, 0)
        news.execute("DELETE FROM news WHERE id = 3")
        for dd in (plain, wires):
            assert dd.attachments.waiting() >= 2
            dd.backfill(workers=0)
            assert dd.attachments.sync() == 0
            assert dd.verify().right
        marked = news.execute("SELECT id, dedup_status, wires_status FROM news ORDER BY id").fetchall()
        assert {row[0]: row[1] for row in marked} == {
            int(row["id"].removeprefix("news/")): row["status"] for row in plain.marks()
        }
        assert {row[0]: row[2] for row in marked if row[2]} == {
            int(row["id"].removeprefix("news/")): row["status"] for row in wires.marks()
        }
        assert len({row[1] for row in marked}) > 1
        assert news.execute("SELECT count(*) FROM wires.news_marks").fetchone() == (3,)
    for database in both:
        assert_right(database)
    # Remove one corpus; the other must still work.
    with Operation(both[0].url) as owner:
        assert owner.uninstall().attached == ("public.news",)
    _put(news, 5, 1)
    with ExitStack() as stack:
        (wires,) = doors((both[1],), stack)  # type: ignore[arg-type]
        assert wires.attachments.waiting() == 1
        wires.backfill(workers=0)
        assert wires.verify().right
        wires.attachments.detach("news")
    assert (_columns(news), _triggers(news)) == before


def _columns(connection: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return connection.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = 'news'::regclass AND attnum > 0"
        " AND NOT attisdropped ORDER BY attnum"
    ).fetchall()


def _triggers(connection: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    return connection.execute(
        "SELECT tgname FROM pg_trigger WHERE tgrelid = 'news'::regclass ORDER BY 1"
    ).fetchall()


@pytest.mark.long("dedup", "migrations")
def test_tables_of_another_corpus_cannot_be_attached(both: tuple[Database, Database]) -> None:
    with Deduplicator(both[1].url, schema="wires") as dd:
        for table in ("dedup.article", "wires.article"):
            with pytest.raises(InputError, match="belongs to dedup itself"):
                dd.attachments.attach(table, keys=["id"], columns={"text": "text"})


@pytest.mark.long("dedup", "migrations")
def test_rights_in_one_are_none_in_the_other(both: tuple[Database, Database]) -> None:
    plain, _ = both
    name = f"night_{next(_NUMBERS)}_{os.getpid()}"
    role = sql.Identifier(name)
    with psycopg.connect(plain.url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {}").format(role))
        try:
            with Operation(plain.url, schema="wires") as owner:
                shown = owner.grant(worker=[name], dry_run=True)
                assert owner.grant(worker=[name]) == shown
            assert f'GRANT USAGE ON SCHEMA "wires" TO "{name}";' in shown
            assert not any("dedup" in statement for statement in shown)
            rights = (
                "SELECT has_schema_privilege(%s, 'dedup', 'USAGE'), has_table_privilege(%s, %s, 'UPDATE')"
            )
            assert connection.execute(rights, [name, name, "dedup.article"]).fetchone() == (False, False)
            assert connection.execute(rights, [name, name, "wires.article"]).fetchone() == (False, True)
            with Operation(plain.url, schema="wires") as owner:
                owner.grant(worker=[name], revoke=True)
            assert connection.execute(rights, [name, name, "wires.article"]).fetchone() == (False, False)
        finally:
            connection.execute(sql.SQL("DROP OWNED BY {}").format(role))
            connection.execute(sql.SQL("DROP ROLE {}").format(role))


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("gone", ["dedup", "wires"])
def test_uninstalling_one_leaves_the_other(both: tuple[Database, Database], gone: str) -> None:
    with ExitStack() as stack:
        for dd in doors(both, stack):
            dd.load(family(3))
            dd.backfill(workers=0)
    with Operation(both[0].url, schema=gone) as owner:
        assert owner.contents().rows == {"article": 3}
        assert owner.contents().outside == ()
        owner.uninstall()
    (left,) = [database for database in both if database.schema != gone]
    with Deduplicator(left.url, schema=left.schema) as dd:
        assert dd.verify().right
        assert len(list(dd.marks())) == 3
    with pytest.raises(SchemaError):
        Deduplicator(left.url, schema=gone)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("schema", ["a", "new", "plpgsql", "title", "_1", "x" * MAX_BYTES, "dedup_1"])
def test_names_that_mean_something_elsewhere(url: str, schema: str) -> None:
    database = Database(url, schema=schema)
    opening.initialize(database)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE public.news (id bigint PRIMARY KEY, body text)")
        connection.execute("INSERT INTO public.news VALUES (1, %s)", [family(1)[0].text])
    with Deduplicator(url, schema=schema) as dd:
        dd.attachments.attach("public.news", keys=["id"], columns={"text": "body"}, mark_columns=True)
        dd.load(family(3))
        dd.backfill(workers=0)
        assert dd.submit(article("late", window(1, 6), 9)).is_duplicate
        dd.delete("a0")
        dd.backfill(workers=0)
        assert dd.verify().right
        dd.attachments.detach("news")
    assert_right(database)
    with Operation(url, schema=schema) as owner:
        owner.uninstall()
    database.close()


@pytest.mark.torture
def test_the_embedded_server_dumps_and_restores_one_of_several(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(tempfile.mkdtemp(prefix="dedup-test-"))
    homes = [folder / name for name in ("one", "two")]
    try:
        monkeypatch.setenv("DEDUP_HOME", str(homes[0]))
        monkeypatch.delenv("DEDUP_DATABASE_URL", raising=False)
        for schema in ("dedup", "wires"):
            with Deduplicator(schema=schema) as dd:  # makes the corpus if it is missing
                dd.load(family(3 if schema == "wires" else 2))
                dd.backfill(workers=0)
        file = folder / "wires.dump"
        dump(file, schema="wires")
        with pytest.raises(InputError, match="no schema dedup"):
            restore(file)
        monkeypatch.setenv("DEDUP_HOME", str(homes[1]))
        restore(file, schema="wires")
        with Deduplicator(schema="wires") as dd:
            assert dd.verify().right
            assert len(list(dd.marks())) == 3
    finally:
        for home in homes:
            embedded.stop(home)
        shutil.rmtree(folder, ignore_errors=True)
