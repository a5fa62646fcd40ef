"""Readers of changes on a physical standby, before and after the standby takes over without the primary's
last transaction."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dedup import Deduplicator
from dedup.base.errors import CursorError
from dedup.db import postgres
from tests.conftest import ProcessUser, Server
from tests.corpora import article, wait_until, window
from tests.db.test_restore import program
from tests.replica import Replica, journal

PORTS = {"primary": "5432", "standby": "5433"}  # ports of Unix sockets in a temporary folder

Control = Callable[..., None]


@pytest.fixture
def home(server: Server) -> Iterator[Path]:
    """Yield a folder for two servers, owned by the user who runs them."""
    folder = Path(tempfile.mkdtemp(prefix="dedup-pair-"))
    try:
        if os.geteuid() == 0:
            # Postgres refuses to run as root, so it runs as the user of the test server.
            host = Path(str(conninfo_to_dict(server.url)["host"]))
            if not host.is_dir():
                pytest.skip("root cannot start Postgres, and nobody here runs one")
            os.chown(folder, host.stat().st_uid, host.stat().st_gid)
        folder.chmod(0o755)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def control(home: Path) -> Iterator[Control]:
    """Yield a function that runs a program of Postgres; stop the servers at the end."""
    owner, who = home.stat(), ProcessUser()
    if os.geteuid() == 0:
        who = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}

    def run(name: str, *words: object, check: bool = True) -> None:
        given = [program(name, postgres.MAJOR), *map(str, words)]
        done = subprocess.run(given, cwd=home, capture_output=True, timeout=100, check=False, **who)
        assert not check or done.returncode == 0, done.stderr

    yield run
    for name in PORTS:
        run("pg_ctl", "-D", home / name, "-m", "immediate", "stop", check=False)


def url(home: Path, name: str) -> str:
    return make_conninfo("", user="postgres", dbname="postgres", host=str(home), port=PORTS[name])


@pytest.mark.long("dedup/db", "dedup/store/changes.py", "migrations/sql/journal.sql")
def test_a_promoted_standby_refuses_readers_of_lost_changes(home: Path, control: Control) -> None:
    def start(name: str) -> None:
        options = f"-c listen_addresses= -c fsync=off -p {PORTS[name]} -k {home}"
        control("pg_ctl", "-D", home / name, "-w", "-l", home / f"{name}.log", "-o", options, "start")

    primary, standby = home / "primary", home / "standby"
    control("initdb", "-N", "-D", primary, "-U", "postgres", "-E", "UTF8", "--locale=C", "-A", "trust")
    start("primary")
    Deduplicator.initialize(url(home, "primary"))
    with (
        closing(Deduplicator(url(home, "primary"))) as one,
        journal(one._database),
    ):
        one.submit(article("a", window(0, 6, ring=999), 0))
        control(
            "pg_basebackup",
            "-N",
            "-c",
            "fast",
            "-D",
            standby,
            "-R",
            "-h",
            home,
            "-p",
            PORTS["primary"],
            "-U",
            "postgres",
        )
        start("standby")
        with (
            closing(Deduplicator(url(home, "standby"))) as two,
            psycopg.connect(url(home, "standby"), autocommit=True) as asking,
        ):
            ahead, behind = Replica(one._database), Replica(two._database)
            assert [change.id for change in behind.read_all()] == ["a"]
            asking.execute("SELECT pg_wal_replay_pause()")
            one.submit(article("b", window(100, 6, ring=999), 1))
            ahead.read_all()
            assert two.changes(ahead.since) == []  # the standby has not replayed the change yet
            asking.execute("SELECT pg_wal_replay_resume()")
            wait_until(lambda: [change.id for change in behind.read_all()] == ["b"])
            asking.execute("ALTER SYSTEM SET primary_conninfo = ''")
            asking.execute("SELECT pg_reload_conf()")
            gone = "SELECT count(*) FROM pg_stat_wal_receiver"
            wait_until(lambda: asking.execute(gone.encode()).fetchone() == (0,))
            one.submit(article("lost", window(200, 6, ring=999), 2))
            ahead.read_all()
            control("pg_ctl", "-D", primary, "-m", "immediate", "stop")
            control("pg_ctl", "-D", standby, "-w", "promote")
            ahead.database = two._database
            for number in range(3):  # one of these changes gets the lost change's position in the journal
                with pytest.raises(CursorError):
                    ahead.read()
                two.submit(article(f"c{number}", window(300 + 50 * number, 6, ring=999), 3))
            assert [change.id for change in behind.read_all()] == ["c0", "c1", "c2"]
            behind.assert_equal()
