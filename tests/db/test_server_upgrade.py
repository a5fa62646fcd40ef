"""`dedup db upgrade` of the data of an embedded server that an older PostgreSQL made."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from dedup.api.deduplicator import Deduplicator
from dedup.base.errors import EmbeddedServerError
from dedup.db import embedded, postgres, server_upgrade
from dedup.db.database import Database
from dedup.store import opening
from tests.corpora import article, code, window
from tests.db.test_embedded import new_folder

OLD = 16

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.name != "posix", reason="the embedded server listens on a Unix socket"),
    pytest.mark.skipif(
        OLD not in postgres.majors(), reason=f"the package has no programs of PostgreSQL {OLD}"
    ),
]
CHECKOUT = Path(embedded.__file__).parents[2]
HOSTILE, QUOTED = 'weird "name', '"weird ""name"'
LINE = "CREATE ROLE postgres;"
"""A text that looks like a statement of a dump."""


def environment(home: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k != "DEDUP_DATABASE_URL"}
    return kept | {"DEDUP_HOME": str(home), "PYTHONPATH": str(CHECKOUT)}


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dedup.cli.main", *words],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


@dataclass(frozen=True)
class Old:
    """A stopped data folder of the old version, and the answers of its corpus."""

    home: Path
    answers: list[object]


def answers(url: str) -> list[object]:
    with Deduplicator(url) as dd:
        return [*dd.marks(), *dd.matches(), dd.settings.in_force(), *dd.pins.list()]


@pytest.fixture(scope="module")
def old() -> Iterator[Old]:
    """Make data as a dedup with PostgreSQL 16 did: without the built-in locales of version 17."""
    home = new_folder()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres, "MAJOR", OLD)
        patch.setattr(embedded, "INITDB", [word for word in embedded.INITDB if "builtin" not in word])
        url = embedded.start(home)
        database = Database(url)
        opening.initialize(database)
        database.close()
        with Deduplicator(url) as dd:
            dd.load([article(f"a{i}", [*window(i, 6), code(99)], i) for i in range(8)])
            dd.backfill(workers=0)
            dd.pins.set("a1", "a6", "similar")
            dd.backfill(workers=0)
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("CREATE ROLE night LOGIN PASSWORD 'kept'")
            db.execute("GRANT USAGE ON SCHEMA dedup TO night")
            db.execute(
                f'CREATE DATABASE "{HOSTILE.replace(chr(34), chr(34) * 2)}" TEMPLATE template0'.encode()
            )
        with psycopg.connect(url, dbname=HOSTILE) as db:
            db.execute("CREATE TABLE note (body text)")
            for body in (LINE, "\\.", "COPY x FROM stdin;", "two\nlines\t\\N", None):
                db.execute("INSERT INTO note VALUES (%s)", [body])
        found = answers(url)
        embedded.stop(home)
    yield Old(home, found)
    shutil.rmtree(home)


@pytest.fixture
def home(old: Old) -> Iterator[Path]:
    """Yield a home folder with a copy of the old data."""
    made = new_folder()
    subprocess.run(["cp", "-a", old.home / "postgres", made], check=True)  # keeps the owner
    yield made
    for folder in made.glob("postgres*/"):
        server_upgrade._stop(folder)
    shutil.rmtree(made)


def folders(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir() if path.is_dir())


def notes(url: str) -> list[str | None]:
    with psycopg.connect(url, dbname=HOSTILE) as db:
        return [row[0] for row in db.execute("SELECT body FROM note").fetchall()]


@pytest.mark.long("dedup", "migrations")
def test_the_data_go_over_and_the_old_ones_stay_until_they_are_removed(old: Old, home: Path) -> None:
    refused = run(home, "status")
    assert refused.returncode == 1
    assert "dedup db upgrade" in refused.stderr

    done = run(home, "db", "upgrade")
    assert done.returncode == 0, done.stderr
    assert "PostgreSQL 16 → 18: 4 databases, 2 roles" in done.stderr
    assert folders(home) == ["postgres", "postgres-16"]
    url = embedded.start(home)
    assert str(embedded.status(home).version).startswith("18.")
    assert answers(url) == old.answers
    assert notes(url) == [LINE, "\\.", "COPY x FROM stdin;", "two\nlines\t\\N", None]
    with psycopg.connect(url) as db:
        row = db.execute("SELECT has_schema_privilege('night', 'dedup', 'USAGE')").fetchone()
        assert row == (True,)
        row = db.execute("SELECT rolpassword LIKE 'SCRAM%' FROM pg_authid WHERE rolname = 'night'").fetchone()
        assert row == (True,)
        settings: dict[str, str] = dict(db.execute("SELECT name, setting FROM pg_settings").fetchall())
    assert settings["jit"] == "off"
    assert settings["data_checksums"] == "on"
    verified = run(home, "verify")
    assert verified.returncode == 0, verified.stderr

    again = run(home, "db", "upgrade", "--json")
    assert (again.returncode, json.loads(again.stdout)["kept"]) == (0, None)
    assert embedded.status(home).running  # no server is stopped, because there is nothing to do
    removed = run(home, "db", "upgrade", "--delete-old", "--json")
    assert json.loads(removed.stdout)["removed"] == [str(home / "postgres-16")]
    assert folders(home) == ["postgres"]
    nothing = run(home, "db", "upgrade", "--delete-old")
    assert (nothing.returncode, "nothing to upgrade" in nothing.stderr) == (0, True)
    assert answers(url) == old.answers


KILLS = {
    # Key: a function of the upgrade, and the number of its call. Value: the PostgreSQL version of the folder
    # `postgres` after the kill (empty: no such folder), and whether the kill comes before or after the call.
    "_make": ("16", "before"),
    "_copy": ("16", "after"),
    "_compare": ("16", "after"),
    "_rename 1": ("16", "before"),
    "_rename 2": ("16", "before"),
    "_rename 3": ("", "before"),
    "_rename 3 after": ("18", "after"),
}
KILL = """
import os
from dedup.db import server_upgrade, embedded
where, after = {where!r}, {after!r}
name, _, turn = where.removesuffix(" after").partition(" ")
module = embedded if name == "_rename" else server_upgrade
function, calls = getattr(module, name), []
def deadly(*arguments, **named):
    calls.append(1)
    last = len(calls) == int(turn or 1)
    if last and not after:
        os._exit(9)
    found = function(*arguments, **named)
    if last:
        os._exit(9)
    return found
setattr(module, name, deadly)
server_upgrade.upgrade()
"""


@pytest.mark.parametrize(
    "where", [w if w == "_rename 2" else pytest.param(w, marks=pytest.mark.torture) for w in KILLS]
)
@pytest.mark.torture
def test_killed_at_any_step_one_cluster_is_whole_and_the_next_run_ends_it(
    old: Old, home: Path, where: str
) -> None:
    left, when = KILLS[where]
    killed = subprocess.run(
        [sys.executable, "-c", KILL.format(where=where, after=when == "after")],
        env=environment(home),
        timeout=150,
        check=False,
    )
    assert killed.returncode == 9
    assert embedded._read(home / "postgres" / "PG_VERSION").strip() == left
    if left == "16":  # the data are unchanged, and the older dedup can use them
        server_upgrade._stop(home / "postgres")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(postgres, "MAJOR", OLD)
            assert answers(embedded.start(home)) == old.answers
    else:  # the next command of any kind finds the new data
        assert answers(embedded.start(home)) == old.answers
    done = server_upgrade.upgrade(home=home)
    assert (done.kept is not None) == (left == "16")
    assert answers(embedded.start(home)) == old.answers
    assert str(embedded.status(home).version).startswith("18.")
    assert folders(home) == ["postgres", "postgres-16"]


@pytest.mark.torture
def test_whoever_is_connected_is_cut_off_and_writes_nothing_that_is_lost(
    old: Old, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres, "MAJOR", OLD)
        url = embedded.start(home)
    writer = psycopg.connect(url, autocommit=True)
    seen = []
    copy = server_upgrade._copy

    def watched(before: Path, new: Path, **more: bool) -> None:
        with pytest.raises(psycopg.OperationalError):
            writer.execute("DELETE FROM dedup.article")
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url, connect_timeout=3)
        seen.append(1)
        copy(before, new, **more)

    monkeypatch.setattr(server_upgrade, "_copy", watched)
    server_upgrade.upgrade(home=home)
    writer.close()
    assert seen
    assert answers(embedded.start(home)) == old.answers


@pytest.mark.torture
def test_interrupted_it_leaves_no_server_and_the_old_data_as_they_were(old: Old, home: Path) -> None:
    # A program that was started in the background ignores Ctrl-C, and so do its children: restore the
    # default.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code = heed + "from dedup.db import server_upgrade as s; s.upgrade()"
    begun = subprocess.Popen([sys.executable, "-c", code], env=environment(home), stderr=subprocess.DEVNULL)
    logs = home / "postgres.upgrade" / "pg_upgrade_output.d"
    deadline = time.monotonic() + 100
    # Wait until pg_upgrade reads the data.
    while not (logs.exists() and (home / "postgres" / "postmaster.pid").exists()):
        assert begun.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    begun.send_signal(signal.SIGINT)
    assert begun.wait(100) != 0
    assert not [f for f in home.glob("postgres*/") if (s := embedded._postmaster(f)) and s.alive()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgres, "MAJOR", OLD)
        assert answers(embedded.start(home)) == old.answers
    assert server_upgrade.upgrade(home=home).kept
    assert answers(embedded.start(home)) == old.answers


@pytest.mark.torture
def test_a_copy_that_is_not_equal_is_refused_and_the_old_data_stay(
    old: Old, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = server_upgrade._copy

    def forged(before: Path, new: Path, **more: bool) -> None:
        copy(before, new, **more)
        with server_upgrade._server(new) as made, psycopg.connect(made.url(HOSTILE)) as db:
            db.execute("UPDATE note SET body = 'secret' WHERE body = %s", [LINE])

    with monkeypatch.context() as patch:
        patch.setattr(server_upgrade, "_copy", forged)
        with pytest.raises(EmbeddedServerError, match="5 of 5 rows, but not the same rows") as error:
            server_upgrade.upgrade(home=home)
    assert "secret" not in str(error.value)
    assert LINE not in str(error.value)
    assert embedded._read(home / "postgres" / "PG_VERSION").strip() == "16"
    # No server is left running.
    assert not [f for f in home.glob("postgres*/") if (s := embedded._postmaster(f)) and s.alive()]
    assert server_upgrade.upgrade(home=home).kept
    assert answers(embedded.start(home)) == old.answers


@pytest.mark.long("dedup", "migrations")
def test_what_cannot_be_done_is_refused_before_anything_is_touched(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "postgres-16").mkdir()
    with pytest.raises(EmbeddedServerError, match="postgres-16, which exists"):
        server_upgrade.upgrade(home=home)
    assert server_upgrade.remove_old(home) == []  # the old data are still in place
    (home / "postgres-16").rmdir()
    with monkeypatch.context() as patch:
        usage = shutil.disk_usage(home)
        patch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1_000_000))
        with pytest.raises(EmbeddedServerError, match="1 MB free, and the copy needs"):
            server_upgrade.upgrade(home=home)
    (home / "postgres" / "PG_VERSION").write_text("15\n")
    with pytest.raises(EmbeddedServerError, match="PostgreSQL 16, 18 only"):
        server_upgrade.upgrade(home=home)
    assert folders(home) == ["postgres"]


@pytest.mark.long("dedup", "migrations")
def test_a_kept_folder_that_is_something_else_is_not_removed(tmp_path: Path) -> None:
    for name, version in (("postgres", postgres.MAJOR), ("postgres-16", 15)):
        (tmp_path / name / "global").mkdir(parents=True)
        (tmp_path / name / "global" / "pg_control").touch()
        (tmp_path / name / "PG_VERSION").write_text(f"{version}\n")
    with pytest.raises(EmbeddedServerError, match="does not hold old data of an upgrade"):
        server_upgrade.remove_old(tmp_path)
    assert (tmp_path / "postgres-16" / "PG_VERSION").exists()


@pytest.mark.long("dedup", "migrations")
def test_where_there_are_no_data_nothing_is_made(tmp_path: Path) -> None:
    done = run(tmp_path / "nowhere", "db", "upgrade")
    assert (done.returncode, "there are no data yet" in done.stderr) == (0, True)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.long("dedup", "migrations")
def test_no_content_of_a_row_is_left_out_of_the_comparison() -> None:
    table = "table of database a", "public.t"
    content = {("database", "a"): (0, 0), ("role", "r"): (0, 0), table: (2, 7)}
    server_upgrade._compare(content, content)
    for other, words in (
        ({key: value for key, value in content.items() if key[0] != "role"}, "role r is missing"),
        ({key: value for key, value in content.items() if key[0] != "database"}, "database a is missing"),
        ({key: value for key, value in content.items() if key != table}, "public.t is missing"),
        ({**content, table: (1, 7)}, "1 of 2 rows"),
        ({**content, table: (2, 8)}, "2 of 2 rows, but not the same"),
        ({**content, ("role", "s"): (0, 0)}, "role s is new"),
        ({**content, ("table of database a", "public.u"): (1, 1)}, "public.u is new"),
    ):
        with pytest.raises(EmbeddedServerError, match=words):
            server_upgrade._compare(content, other)
