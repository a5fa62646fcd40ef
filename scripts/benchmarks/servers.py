"""Make databases for measurements, on a new embedded server or on a second Postgres with pg_trgm.

No measurement touches a user's own database.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # finds `sandbox` in the parent folder
from sandbox import throwaway_server

START_SECONDS = 60
SAME_AS_EMBEDDED = ("shared_buffers=256MB", "work_mem=32MB", "maintenance_work_mem=128MB", "jit=off")
"""Settings of the second server; the embedded server has the same settings (`dedup/db/embedded.py`)."""


class MissingError(Exception):
    """Raised if this machine lacks a program that a contestant needs."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running Postgres: the URL of its database `dedup`, and the id of its main process."""

    url: str
    postmaster: int

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """Yield the URL of a new database, which is dropped at the end."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        try:
            yield self.url.replace("/dedup?", f"/{name}?", 1)
        finally:
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def settle(self) -> None:
        """Make a checkpoint before a measurement, so that Postgres makes none during the measurement."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute("CHECKPOINT")


@contextmanager
def embedded_server(home: Path) -> Iterator[Server]:
    """Yield the embedded server of dedup, in a new folder."""
    with throwaway_server(home) as url:
        pid = (home / "postgres" / "postmaster.pid").read_text().split("\n")[0]
        yield Server(url, int(pid))


@contextmanager
def trigram_server() -> Iterator[Server]:
    """Start a server in a new folder with the Postgres installed on this machine, which must have pg_trgm.

    Raises:
        MissingError: there is no Postgres, or Postgres lacks the extension.
    """
    if not shutil.which("pg_config"):
        raise MissingError("no pg_config on the PATH, so no Postgres with pg_trgm; the embedded one has none")
    programs, shared = (Path(_output("pg_config", word)) for word in ("--bindir", "--sharedir"))
    if not (shared / "extension" / "pg_trgm.control").exists():
        release = _output("pg_config", "--version")
        raise MissingError(f"neither the embedded Postgres nor {release} here has pg_trgm")
    with installed_server(programs) as server:
        yield server


@contextmanager
def installed_server(programs: Path) -> Iterator[Server]:
    """Start a server in a new folder with the Postgres whose programs are in the folder `programs`.

    Raises:
        MissingError: the folder has no server programs, or they fail.
    """
    if not (programs / "initdb").exists():
        raise MissingError(f"{programs} has no server programs of Postgres")
    release = _output(str(programs / "initdb"), "--version")
    user = "postgres" if os.geteuid() == 0 else None  # Postgres refuses to run as root
    with tempfile.TemporaryDirectory(prefix="dedup-trgm-", dir="/tmp") as folder:
        if user:
            try:
                shutil.chown(folder, user)
            except LookupError as error:
                raise MissingError(f"{release} here has no user {user}, as whom root starts it") from error
        data = Path(folder) / "data"

        def run(program: str, *words: str) -> None:
            try:
                subprocess.run(
                    [programs / program, "-D", data, *words],
                    cwd=folder, user=user, check=True, timeout=START_SECONDS,
                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                )  # fmt: skip
            except (OSError, subprocess.SubprocessError) as error:
                raise MissingError(f"{program} of {release} fails here: {type(error).__name__}") from error

        run("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8")
        settings = " ".join(f"-c {setting}" for setting in SAME_AS_EMBEDDED)
        run(
            "pg_ctl",
            "start",
            "-w",
            "-l",
            f"{folder}/log",
            "-o",
            f"-c listen_addresses= -k {folder} {settings}",
        )
        try:
            url = f"postgresql://postgres@/postgres?host={folder}"
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("CREATE DATABASE dedup")
            pid = int((data / "postmaster.pid").read_text().split("\n")[0])
            yield Server(url.replace("/postgres?", "/dedup?"), pid)
        finally:
            run("pg_ctl", "stop", "-m", "fast")


def _output(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def version(url: str) -> str:
    """Return the version of Postgres behind a URL."""
    with psycopg.connect(url) as connection:
        return connection.info.parameter_status("server_version") or ""


def database_mb(url: str) -> float:
    """Return the megabytes of a database on disk."""
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    return row[0] / 1e6 if row else 0.0
