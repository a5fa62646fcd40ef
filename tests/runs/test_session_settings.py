"""Results do not depend on the settings that a database or a role gives to every session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from threading import Event, Thread
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from dedup import Deduplicator
from dedup.db.database import Database
from dedup.settling.backfill import BackfillOptions
from dedup.settling.daemon import Daemon, Pace
from dedup.settling.fingerprinting import PoolOptions
from dedup.store import opening
from tests.attached import NEWS, SCHEMA, attach, put
from tests.conftest import Server
from tests.corpora import (
    answer,
    article,
    assert_right,
    load,
    make_function,
    unsettled,
    wait_until,
    window,
)
from tests.runs.pooler import pooled

pytestmark = pytest.mark.timeout(120)

SETTINGS: Mapping[str, tuple[str, ...]] = {
    "datestyle": ("SQL, DMY", "German", "Postgres, MDY", "ISO, YMD"),
    "intervalstyle": ("sql_standard", "iso_8601", "postgres_verbose"),
    "timezone": ("Asia/Kathmandu", "America/St_Johns"),
    "bytea_output": ("escape",),
    "extra_float_digits": ("-15", "0"),
    "client_encoding": ("LATIN1", "SQL_ASCII"),
    "standard_conforming_strings": ("off",),
    "backslash_quote": ("off", "on"),
    "quote_all_identifiers": ("on",),
    "xmlbinary": ("hex",),
    "xmloption": ("document",),
    "array_nulls": ("off",),
    "transform_null_equals": ("on",),
    "lc_monetary": ("C", "POSIX"),
    "lc_numeric": ("C", "POSIX"),
    "lc_time": ("C", "POSIX"),
    "lc_messages": ("C", "POSIX"),
    "default_transaction_isolation": ("serializable", "repeatable read", "read uncommitted"),
    "default_transaction_deferrable": ("on",),
    "search_path": (
        "",
        "nowhere",
        '"$user"',
        "newsroom, public",
        "public, pg_catalog",
        "newsroom, pg_catalog",
    ),
    "synchronize_seqscans": ("off",),
    "plan_cache_mode": ("force_generic_plan", "force_custom_plan"),
    "check_function_bodies": ("off",),
    "row_security": ("off",),
}
"""Parameters of a session, with values that a database or a role may give them."""

SHADOWS = (
    "lower(text) RETURNS text LANGUAGE sql AS $$ SELECT 'no' $$",
    "now() RETURNS timestamptz LANGUAGE sql AS $$ SELECT NULL::timestamptz $$",
    "unnest(text[]) RETURNS SETOF text LANGUAGE sql AS $$ SELECT 'no' $$",
    "octet_length(text) RETURNS integer LANGUAGE sql AS $$ SELECT 0 $$",
    "set_config(text, text, boolean) RETURNS text LANGUAGE sql AS $$ SELECT 'no' $$",
    "hashtext(text) RETURNS integer LANGUAGE sql AS $$ SELECT 1 / 0 $$",
    "differs(bigint, bigint) RETURNS boolean LANGUAGE sql AS $$ SELECT $1 <> $2 $$",
)
"""Functions of others with names of Postgres functions; a search path may put them before `pg_catalog`."""

EVERYTHING = {name: values[0] for name, values in SETTINGS.items()}


@pytest.fixture(scope="module")
def template(server: Server) -> str:
    """Make a database with an empty corpus, a table of another owner and the functions of `SHADOWS`."""
    url = server.create("dedup_sessions_template")
    database = Database(url)
    opening.initialize(database)
    database.close()
    with psycopg.connect(url) as owner:
        owner.execute(f"CREATE SCHEMA {SCHEMA}".encode())
        # The search path decides how a session shows this type, and which of two functions it calls.
        owner.execute(f"CREATE TYPE {SCHEMA}.kind AS ENUM ('news', 'sport')".encode())
        owner.execute(f"CREATE TABLE {SCHEMA}.news ({NEWS}, kind {SCHEMA}.kind)".encode())
        for function in SHADOWS:
            owner.execute(f"CREATE FUNCTION public.{function}".encode())
        owner.execute(
            "CREATE OPERATOR public.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = public.differs)"
        )
        return owner.info.dbname


def begin_with(server: Server, database: str, values: Mapping[str, str]) -> None:
    """Make every session of a database begin with these settings."""
    with psycopg.connect(server.url, autocommit=True) as owner:
        for name, value in values.items():
            given = sql.Literal(value) if name != "search_path" else sql.SQL(value or "''")
            statement = sql.SQL("ALTER DATABASE {} SET {} = {}")
            owner.execute(statement.format(sql.Identifier(database), sql.Identifier(name), given))


def use(url: str, direct: str | None = None) -> dict[str, Any]:
    """Run all functions of a corpus and return the results.

    Args:
        direct: the address that goes past a pooler.
    """
    with closing(Database(url)) as database, Deduplicator(url) as corpus:
        load(database, *(article(f"a{i:02}", window(i, 6), i) for i in range(8)))
        with psycopg.connect(direct or url, autocommit=True) as owner:
            owner.execute(f"SET search_path = {SCHEMA}, public".encode())
            attach(database, keep=["kind"])
            for i in range(4):
                put(owner, i, window(i + 20, 6, ring=100), i)
            corpus.backfill(workers=0)
            put(owner, 9, window(20, 6, ring=100), 9)
        submitted = corpus.submit(article("é", window(3, 6), 30)).status
        load(database, article("late", window(4, 6), 40))
        _work(database)
        explained = corpus.explain("a00", "a01").as_dict()
        verified = corpus.verify()
        assert (verified.differences, verified.found) == ([], 0)
        assert "failed" not in {run.outcome for run in corpus.runs()}
        assert not corpus.vitals().drifted + corpus.vitals().unfit
        assert_right(database)
        found = answer(database)
        told = sorted((mark["id"], mark["status"], str(mark["kept"])) for mark in corpus.marks(kept=True))
    return {"answer": found, "submitted": submitted, "explained": explained, "told": told}


def _work(database: Database) -> None:
    """Run a worker until everything is settled."""
    stopped = Event()
    options = BackfillOptions(1_000, None, PoolOptions(0, make_function), "auto", 1 << 26)
    daemon = Daemon(database, options, stopped.is_set, Pace(poll=0.05, idle=0.1))
    thread = Thread(target=daemon.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: not unsettled(database))
    finally:
        stopped.set()
        thread.join(20)


@pytest.fixture(scope="module")
def plain(server: Server, template: str) -> dict[str, Any]:
    """Return the results of `use` with the session defaults of Postgres."""
    return use(server.create("dedup_plain_sessions", template))


@contextmanager
def beginning_with(server: Server, template: str, values: Mapping[str, str]) -> Iterator[str]:
    """Yield the address of an empty corpus with sessions that begin with these settings."""
    url = server.create("dedup_sessions", template)
    begin_with(server, str(conninfo_to_dict(url)["dbname"]), values)
    yield url
    server.drop("dedup_sessions")


@pytest.mark.long("dedup", "migrations")
def test_results_are_the_same_whatever_sessions_begin_with(
    server: Server, template: str, plain: dict[str, Any]
) -> None:
    with beginning_with(server, template, EVERYTHING) as url:
        assert use(url) == plain


def test_results_are_the_same_behind_a_pooler_whatever_sessions_begin_with(
    server: Server, template: str, plain: dict[str, Any]
) -> None:
    with beginning_with(server, template, EVERYTHING) as direct, pooled(direct) as url:
        assert use(url, direct) == plain


@pytest.mark.long("dedup", "migrations")
@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.fixed_dictionaries({}, optional={n: st.sampled_from(v) for n, v in SETTINGS.items()}))
def test_results_are_the_same_with_any_settings_of_sessions(
    server: Server, template: str, plain: dict[str, Any], values: dict[str, str]
) -> None:
    with beginning_with(server, template, values) as url:
        assert use(url) == plain
