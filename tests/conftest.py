"""Shared fixtures: a Postgres server, an empty corpus per test, and Hypothesis profiles.

DEDUP_TEST_DATABASE_URL names the server (PostgreSQL 14 or newer; its user may create databases). Without it,
an embedded server starts in a folder for the tests. `corpora.py` makes tiny corpora and the oracle's answers
to them.

With DEDUP_TEST_SCHEMA=wires, corpora are in the schema `wires`, and statements of tests that name `dedup.`
are sent with that name.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, TypedDict

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql
from psycopg.conninfo import make_conninfo

from dedup.base import config, plugins
from dedup.base.schema import VARIABLE
from dedup.db import embedded
from dedup.db.database import Database, conninfo
from dedup.db.rendering import SchemaCursor
from dedup.store import opening, rulebooks, word_index
from tests import long

TEST_URL_VARIABLE = "DEDUP_TEST_DATABASE_URL"

# Ignore the configuration of the user who runs the tests.
os.environ[config.CONFIG_VARIABLE] = os.devnull
os.environ.pop(config.SECRET_VARIABLE, None)
os.environ.pop(VARIABLE, None)
if TEST_SCHEMA := os.environ.get("DEDUP_TEST_SCHEMA"):
    os.environ[VARIABLE] = TEST_SCHEMA
    _connect = psycopg.connect

    def _connect_rendering(*arguments: Any, **options: Any) -> psycopg.Connection[Any]:
        connection = _connect(*arguments, **options)
        connection.schema = TEST_SCHEMA  # type: ignore[attr-defined]
        kind = (SchemaCursor, options.get("cursor_factory", psycopg.Cursor))
        connection.cursor_factory = type("RenderingCursor", kind, {})
        return connection

    psycopg.connect = _connect_rendering

# Give the hook 20 s, so that a busy machine makes no verdict late, unless a test is about that. Processes
# that tests start inherit the value.
os.environ.setdefault("DEDUP_TIMEOUT_HOOK", "20")

# The machines that run the tests are shared and noisy, and a database is slower than Hypothesis expects.
_COMMON = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("default", _COMMON, derandomize=True, database=None, stateful_step_count=25)
settings.register_profile("thorough", _COMMON, max_examples=1_000, stateful_step_count=60)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.hookimpl(tryfirst=True)  # runs before pytest leaves out tests by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Set markers. Most cases of `one_in` tests become `torture` tests. Long tests that are not due become
    `unchanged` tests. Tests of extras that are not installed are skipped."""
    cases: Counter[str] = Counter()
    for item in items:
        if (about := item.get_closest_marker("long")) and not long.is_due(about.args, item.path):
            item.add_marker(pytest.mark.unchanged)
        if (given := item.get_closest_marker("extra")) and not all(map(is_there, given.args)):
            item.add_marker(pytest.mark.skip(f"without the extra {', '.join(given.args)}"))
        test = item.nodeid.partition("[")[0]
        marker = item.get_closest_marker("one_in")
        if marker and cases[test] % marker.args[0]:
            item.add_marker(pytest.mark.torture)
        cases[test] += 1


def is_there(extra: str) -> bool:
    """Return whether the package contains an extra."""
    return (Path(plugins.__file__).parents[1] / "extras" / extra).is_dir()


class Told(Protocol):
    """A function that takes the report of a `torture` test."""

    def __call__(self, promises: str, trials: str, faults: str) -> None: ...


@pytest.fixture
def told(record_property: Callable[[str, object], None]) -> Told:
    """Return a function that reports promises, trials and faults of a `torture` test to `scripts/torture`."""

    def tell(promises: str, trials: str, faults: str) -> None:
        record_property("promises", promises)
        record_property("trials", trials)
        record_property("faults", faults)

    return tell


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real news beside the checkout; skip the test if the folder is missing."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs real news in {folder}")
    return folder


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """Yield the address of a database on the test server; tests make their own databases beside it."""
    given = os.environ.get(TEST_URL_VARIABLE)
    if given:
        yield conninfo(given)
        return
    # Do not use tmp_path: pytest closes its folders to other users, and under root the server is another
    # user.
    home = Path(tempfile.mkdtemp(prefix="dedup-test-"))
    home.chmod(0o711)  # the pooler runs as the user of the server
    try:
        url = embedded.start(home)
        with psycopg.connect(url, autocommit=True) as connection:
            for setting in ("fsync", "full_page_writes"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off".encode())
            connection.execute("SELECT pg_reload_conf()")
        yield url
    finally:
        embedded.stop(home)
        shutil.rmtree(home, ignore_errors=True)


class ProcessUser(TypedDict, total=False):
    """User and groups for `subprocess`; empty for the user who runs the tests."""

    user: int
    group: int
    extra_groups: list[str | int]


class Server:
    """A maker of databases on the test server; it removes them at the end."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._made: list[str] = []

    def address(self, name: str) -> str:
        """Return the connection string of a database of this server."""
        return make_conninfo(self.url, dbname=name)

    def create(self, name: str, template: str = "template0") -> str:
        """Make a database that is dropped at the end of the test session; return its connection string.

        A database of the same name is dropped first: the tests of a module may run in two parts, each with
        new fixtures.
        """
        name = f"{name}_{os.getpid()}"
        if name in self._made:
            self._drop(name)
            self._made.remove(name)
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                sql.SQL("CREATE DATABASE {} TEMPLATE {} ENCODING 'UTF8'").format(
                    sql.Identifier(name), sql.Identifier(template)
                )
            )
        self._made.append(name)
        return self.address(name)

    def drop(self, name: str) -> None:
        """Drop a database that `create` made under this name."""
        self._made.remove(f"{name}_{os.getpid()}")
        self._drop(f"{name}_{os.getpid()}")

    def close(self) -> None:
        for name in self._made:
            self._drop(name)

    def _drop(self, name: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(
                sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
            )


@pytest.fixture(scope="session")
def server(server_url: str) -> Iterator[Server]:
    """Yield the test server."""
    found = Server(server_url)
    yield found
    found.close()


@pytest.fixture(scope="session")
def corpus_url(server: Server) -> str:
    """Return the address of a database with the schema; all tests share it, and `database` empties it."""
    url = server.create("dedup_test")
    database = Database(url)
    opening.initialize(database)
    database.close()
    return url


@pytest.fixture
def database(corpus_url: str) -> Iterator[Database]:
    """Yield an empty corpus with the default settings."""
    database = Database(corpus_url)
    empty(database)
    yield database
    database.close()


def empty(database: Database) -> None:
    """Remove everything from a corpus, also its index of words, in 10 ms.

    For small tables, DELETE is quicker than TRUNCATE.
    """
    with database.transaction(settling=True) as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")
        # The server may still vacuum the tables after the last test, and hold a lock.
        cursor.execute("SET LOCAL lock_timeout = '5min'")
        cursor.execute("TRUNCATE dedup.article, dedup.fingerprint, dedup.match, dedup.fingerprint_bulk")
        for table in SMALL:
            cursor.execute(f"DELETE FROM dedup.{table}".encode())
        cursor.execute(f"DROP INDEX IF EXISTS dedup.{word_index.INDEX}".encode())
        cursor.execute(
            "UPDATE dedup.corpus_state SET settled_through = NULL, recount_all = true, bulk_run = NULL,"
            " horizon = NULL, horizon_wanted = NULL, divided = 'no horizon'"
        )
        rulebooks.adopt(cursor)


SMALL = (
    *("common_sentence", "sentence_count", "sentence_pin", "pair_pin", "sentence_change", "setting"),
    *("sentence_model", "review_pair", "judgement", "deferred_article", "run", "bulk_change"),
    *("worker", "run_total", "compared_version", "compared_copy", "quoted_sentence", "sentence_schedule"),
    *("attachment", "outbox", "mark_change", "refused_row", "attached_copy"),
    *("load", "feed_entry", "feed", "outlet", "word_count"),
)
