"""The commands `grant`, `uninstall` and `init --sql`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from dedup.api.deduplicator import Deduplicator
from dedup.cli import main, operate
from dedup.db import postgres, revision
from dedup.db.database import URL_VARIABLE, Database
from dedup.store import opening
from tests.cli.conftest import Dedup, Result
from tests.conftest import Server
from tests.corpora import article, load, window
from tests.db.test_migrations import KEPT
from tests.next_revision import next_revision

_NUMBERS = count()
ROOT = Path(__file__).parents[2]


@pytest.fixture
def own(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A separate database with two articles."""
    name = f"dedup_operate_{next(_NUMBERS)}"
    database = Database(server.create(name))
    opening.initialize(database)
    load(database, article("a", window(0, 6)), article("b", window(7, 6)))
    monkeypatch.setenv(URL_VARIABLE, database.url)
    yield database
    database.close()
    server.drop(name)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Dedup:
    def call(*arguments: str) -> Result:
        capsys.readouterr()
        code = main.run(list(arguments))
        shown = capsys.readouterr()
        return Result(code, shown.out, shown.err)

    return call


def installed(database: Database) -> bool:
    with database.transaction() as cursor:
        return revision.current(cursor) is not None


def test_uninstall_says_what_goes_and_needs_a_yes(own: Database, run: Dedup) -> None:
    asked = run("uninstall")
    assert asked.code == 2
    assert "2 articles" in asked.err
    assert "--yes" in asked.err
    assert installed(own)


@pytest.mark.long("dedup", "migrations", "docs/operate.md")
def test_a_dry_run_of_uninstall_removes_nothing_and_names_what_is_in_the_way(
    own: Database, run: Dedup
) -> None:
    with psycopg.connect(own.url, autocommit=True) as connection:
        connection.execute("CREATE VIEW public.mine AS SELECT id FROM dedup.article")
        try:
            shown = run("uninstall", "--dry-run")
            assert (shown.code, shown.out) == (0, "")
            assert "would be removed" in shown.err
            assert "public.mine depends on the schema" in shown.err
            found = json.loads(run("uninstall", "--dry-run", "--json").out)
            assert any("mine" in name for name in found["outside"])
        finally:
            connection.execute("DROP VIEW public.mine")
    assert installed(own)


@pytest.mark.long("dedup", "migrations", "docs/operate.md")
def test_uninstall_leaves_everything_else(own: Database, run: Dedup) -> None:
    with psycopg.connect(own.url) as connection:
        connection.execute("CREATE TABLE public.mine AS SELECT source_id FROM dedup.mark")
    done = run("uninstall", "--yes")
    assert done.code == 0
    assert not installed(own)
    with psycopg.connect(own.url) as connection:
        assert connection.execute("SELECT count(*) FROM public.mine").fetchone() == (2,)
        left = connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'dedup'").fetchone()
    assert left == (0,)
    again = run("uninstall", "--yes")
    assert again.code == 1
    assert "nothing to remove" in again.err
    opening.initialize(own)
    with Deduplicator(own.url) as dd:
        assert dd.submit(article("a", window(0, 6))).status == "unique"


@pytest.mark.long("dedup", "migrations", "docs/operate.md")
def test_uninstall_detaches_first_and_leaves_the_table_as_it_was(own: Database, run: Dedup) -> None:
    with psycopg.connect(own.url) as connection:
        connection.execute("CREATE TABLE public.articles (id int PRIMARY KEY, body text)")
        connection.execute("INSERT INTO public.articles VALUES (1, 'mine')")
    with Deduplicator(own.url) as dd:
        dd.attachments.attach("public.articles", keys=["id"], columns={"text": "body"})
    done = run("uninstall", "--yes")
    assert done.code == 0, done.err
    assert "public.articles" in done.out + done.err
    with psycopg.connect(own.url) as connection:
        assert connection.execute("SELECT * FROM public.articles").fetchall() == [(1, "mine")]
        assert connection.execute("SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal").fetchone() == (0,)


OUTSIDE = {
    "view": "CREATE VIEW public.report AS SELECT * FROM dedup.story",
    "materialized view": "CREATE MATERIALIZED VIEW public.report AS SELECT source_id FROM dedup.mark",
    "table constraint": "CREATE TABLE public.report (id bigint REFERENCES dedup.article (id))",
    "trigger": "CREATE TABLE public.report (); CREATE TRIGGER t BEFORE INSERT ON public.report"
    " FOR EACH ROW EXECUTE FUNCTION dedup.article_new()",
    "table": "CREATE TABLE public.report (a dedup.article)",
}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("kind", OUTSIDE)
def test_what_rests_on_the_schema_is_named_and_kept(own: Database, run: Dedup, kind: str) -> None:
    with psycopg.connect(own.url) as connection:
        connection.execute(OUTSIDE[kind].encode())
    refused = run("uninstall", "--yes")
    assert refused.code == 2
    assert kind in refused.err
    assert "report" in refused.err
    assert installed(own)


@pytest.mark.long("dedup", "migrations", "docs/operate.md")
def test_what_cannot_be_made_again_is_counted(run: Dedup, own: Database) -> None:
    assert set(revision.KEPT) == set(KEPT)
    assert set(operate._NOUNS) == set(KEPT)


@pytest.mark.long("dedup", "migrations", "docs/operate.md")
def test_a_sequence_of_words_for_grant(own: Database, run: Dedup) -> None:
    assert run("grant").code == 2
    missing = run("grant", "--worker", "nobody_of_that_name")
    assert missing.code == 2
    assert 'CREATE ROLE "nobody_of_that_name"' in missing.err
    name = f"select_{os.getpid()}"
    with psycopg.connect(own.url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name}".encode())
        try:
            shown = run("grant", "--analyst", name, "--dry-run")
            assert shown.code == 0
            assert f'GRANT SELECT ON "dedup"."mark" TO "{name}";' in shown.out.splitlines()
            given = run("grant", "--analyst", name)
            assert (given.code, given.out) == (0, "")
            has = "SELECT has_table_privilege(%s::name, 'dedup.mark', 'SELECT')"
            assert connection.execute(has, [name]).fetchone() == (True,)
            listed = run("grant", "--list").out.splitlines()
            assert [name, "analyst"] in [line.split() for line in listed]
            owner = connection.execute("SELECT current_user").fetchone()
            assert owner
            assert [owner[0], "owner"] in [line.split() for line in listed]
            assert run("grant", "--list", "--analyst", name).code == 2
            assert run("grant", "--analyst", name, "--revoke").code == 0
            assert connection.execute(has, [name]).fetchone() == (False,)
            assert name not in run("grant", "--list").out
        finally:
            connection.execute(f"DROP OWNED BY {name}".encode())
            connection.execute(f"DROP ROLE {name}".encode())


@pytest.mark.long("dedup", "migrations", "docs/operate.md")
def test_the_schema_is_printed(own: Database, run: Dedup, monkeypatch: pytest.MonkeyPatch) -> None:
    present = run("init", "--sql")
    assert (present.code, present.out) == (0, "")
    assert "nothing to do" in present.err
    monkeypatch.delenv(URL_VARIABLE)
    monkeypatch.setenv("DEDUP_HOME", "/nonexistent")
    fresh = run("init", "--sql")
    assert fresh.code == 0
    assert fresh.out.startswith("BEGIN;")
    assert run("init", "--sql", "--hash-key", "random").code == 2
    assert not Path("/nonexistent").exists()


@pytest.mark.long("dedup", "migrations", "docs/operate.md")
def test_an_upgrade_tells_to_grant_again(own: Database, run: Dedup) -> None:
    with next_revision():
        upgraded, again = run("init"), run("init")
    assert (upgraded.code, again.code) == (0, 0)
    assert "run `dedup grant` again" in upgraded.err
    assert "grant" not in again.err


@pytest.mark.long("dedup", "migrations", "docs/operate.md")
def test_a_corpus_from_before_the_first_release_is_left_alone(own: Database, run: Dedup) -> None:
    with own.transaction() as cursor:
        cursor.execute("UPDATE dedup.alembic_version SET version_num = '0012'")
    commands = ("init", "init --sql", "status", "backfill", "marks", "verify", "grant --worker postgres")
    for command in commands:
        refused = run(*command.split())
        assert (refused.code, refused.out) == (1, "")
        assert "has the schema 0012, from before the first release" in refused.err
        assert len(refused.err.splitlines()) == 1
    with own.transaction() as cursor:
        assert revision.current(cursor) == "0012"
        assert cursor.execute("SELECT count(*) FROM dedup.article").fetchone() == (2,)


@pytest.mark.long("dedup", "migrations")
def test_the_commands_that_status_prints_load_an_old_corpus_into_a_new_schema(
    own: Database, run: Dedup, tmp_path: Path
) -> None:
    assert run("settings", "set", "duplicate_sentence_jaccard=0.8").code == 0
    assert run("pin", "set", "a", "b", "similar").code == 0
    assert run("backfill").code == 0
    settled = run("marks").out
    with own.transaction() as cursor:
        cursor.execute("""
            ALTER TABLE dedup.article ADD status text NOT NULL DEFAULT 'unique', ADD stale boolean,
                ADD archived boolean DEFAULT false, ADD marked_at timestamptz DEFAULT now()
        """)
        cursor.execute("UPDATE dedup.alembic_version SET version_num = '0012'")
    commands, remap, backfill = re.findall("`([^`]+)`", run("status").err)
    assert f"{commands} && {backfill}".replace(" && ", "\n") in (ROOT / "docs" / "operate.md").read_text(
        "utf-8"
    )
    assert remap == "dedup remap"
    shim = tmp_path / "dedup"
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dedup.cli.main "$@"\n')
    shim.chmod(0o755)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        env={**os.environ, "PATH": f"{tmp_path}:{postgres.programs()}:{os.environ['PATH']}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert run("backfill").code == 0
    assert run("marks").out == settled
    assert json.loads(settled.splitlines()[0])["reason"] == "pinned"
    assert run("verify").code == 0
