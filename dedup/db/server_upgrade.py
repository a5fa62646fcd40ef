"""The embedded server's data from an older PostgreSQL to that of this dedup: dump, restore, compare, swap.

The new data folder grows beside the old one, which nobody writes to meanwhile: both servers answer at a port
where no other command looks. What it is called says how far it is:

    postgres             in use: the old data folder, then the new one
    postgres.upgrade     the new data folder while it grows; begun again after a kill
    postgres.upgraded    the new data folder, compared and stopped; takes the place as soon as that is free
    postgres-16          the old data folder, kept until someone removes it

Killed between the last two renames, nothing is in place; `embedded.start` then does the last. An upgrade
copies all databases and roles of the data folder. It does not copy files of settings that people edited.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psycopg

from dedup.base.answer import Answer
from dedup.base.errors import EmbeddedServerError
from dedup.base.progress import Progress, SilentProgress
from dedup.base.words import counted
from dedup.db import embedded
from dedup.db.statements import Statements

_sql = Statements("db/server_upgrade")

PORT = embedded.PORT + 1
"""Of both servers meanwhile: others look for theirs at `embedded.PORT`, and wait for the lock."""

BOOTSTRAP = b"CREATE ROLE postgres;\n"
"""The statement of a dump that a new data folder has no need of: initdb made this role."""

# Rows are compared as text, so what a data folder's settings do to it must be the same on both sides.
_PLAIN = (
    "-c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres -c bytea_output=hex -c extra_float_digits=1"
    " -c lc_monetary=C -c search_path=pg_catalog -c default_transaction_read_only=on"
)


@dataclass(frozen=True, slots=True)
class ServerUpgrade(Answer):
    """What an upgrade of the embedded server's data did.

    Attributes:
        before: the version of the data, such as 16; None where there are none.
        after: their version now; equal to `before` if nothing was to be done.
        databases: that were copied and compared.
        roles: that were copied.
        tables: that were copied and compared, of all databases.
        rows: of these.
        kept: the folder of the old data; None if nothing was done.
    """

    before: int | None
    after: int | None
    databases: int = 0
    roles: int = 0
    tables: int = 0
    rows: int = 0
    kept: str | None = None


@dataclass(frozen=True, slots=True)
class _Content:
    """What is in a data folder: its roles, and each table of each database with its rows and their sum."""

    databases: list[str]
    roles: list[str]
    tables: dict[tuple[str, str], tuple[int, int]]

    @property
    def rows(self) -> int:
        return sum(rows for rows, _ in self.tables.values())


def upgrade(progress: Progress | None = None, home: Path | None = None) -> ServerUpgrade:
    """Bring the data to the version of this dedup, if they are older; the old ones stay in a folder beside.

    Killed at any point, the old folder or the new one is whole and in its place, or takes it with the next
    start. Clients of the server lose their connections.

    Raises:
        EmbeddedServerError: it failed, and the old data are as they were: no programs of that version, no
            room on the disk, the folder for the old data is taken, or the copy is not equal.
    """
    told = progress or SilentProgress()
    with embedded._plain_errors("upgrade", home) as data:
        if not data.parent.exists():
            return ServerUpgrade(None, None)
        with embedded._lock(data):
            whole = data.with_name(embedded.UPGRADED)
            if whole.exists() and not data.exists():  # the last upgrade was killed there
                embedded._rename(whole, data)
            before = _version(data)
            if before is None or before >= embedded.MAJOR:
                return ServerUpgrade(before, before)
            _refuse_the_hopeless(data, before)
            return _upgrade(data, before, told)


def _upgrade(data: Path, before: int, told: Progress) -> ServerUpgrade:
    new, whole = data.with_name("postgres.upgrade"), data.with_name(embedded.UPGRADED)
    kept = _kept(data, before)
    for left_over in (new, whole):  # of a killed command; the old data may have changed since
        _stop(left_over)
        if left_over.exists():
            shutil.rmtree(left_over)
    _stop(data)  # whoever is connected to it must not write any more
    with _server(data) as old:
        with old.connect("postgres") as db:
            row = db.execute(_sql("size")).fetchone()
        needed, free = int(row[0]) if row else 0, shutil.disk_usage(data.parent).free
        if free < needed:
            raise EmbeddedServerError(
                f"the disk has {free / 1e6:,.0f} MB free, and the copy needs {needed / 1e6:,.0f} MB"
            )
        told.start("count", None)
        content = _content(old, told)
        _make(new, data)
        with _server(new) as made:
            told.start("copy", content.rows)
            _copy(old, made, told)
            told.start("compare", content.rows)
            _compare(content, _content(made, told))
            # A dump has no statistics, and without them the first plans would be bad ones.
            for database in content.databases:
                with made.connect(database) as db:
                    db.execute("ANALYZE")
    for folder, to in ((new, whole), (data, kept), (whole, data)):
        embedded._rename(folder, to)
    counts = len(content.databases), len(content.roles), len(content.tables), content.rows
    return ServerUpgrade(before, embedded.MAJOR, *counts, str(kept))


def remove_old(home: Path | None = None) -> list[Path]:
    """Remove the data that upgrades left beside, if the new ones are in place; returns their folders.

    Raises EmbeddedServerError: a folder cannot be removed.
    """
    with embedded._plain_errors("remove the old data of", home) as data:
        if not data.parent.exists():
            return []
        with embedded._lock(data):
            if _version(data) != embedded.MAJOR:
                return []
            found = [_kept(data, major) for major in embedded.majors() if major < embedded.MAJOR]
            removed = [folder for folder in found if folder.exists()]
            for folder in removed:
                if f"postgres-{_version(folder)}" != folder.name:
                    raise EmbeddedServerError(f"{folder} is not what an upgrade left; look into it")
                _stop(folder)
                shutil.rmtree(folder)
            return removed


def _kept(data: Path, major: int) -> Path:
    return data.with_name(f"postgres-{major}")


def _version(data: Path) -> int | None:
    """The version of a whole data folder; None without data."""
    version = embedded._read(data / "PG_VERSION").strip()
    if not version:
        return None
    if not version.isdigit() or not (data / "global" / "pg_control").exists():
        raise EmbeddedServerError("it holds no whole data folder: move it away to begin again")
    return int(version)


def _refuse_the_hopeless(data: Path, before: int) -> None:
    if before not in embedded.majors():
        listed = ", ".join(map(str, embedded.majors()))
        raise EmbeddedServerError(
            f"it is of PostgreSQL {before}, and there are only programs of {listed}: dump it with the dedup"
            " that made it, move it away, then `dedup db restore`"
        )
    if _kept(data, before).exists():
        raise EmbeddedServerError(f"{_kept(data, before)} exists, and the old data go there: move it away")


def _stop(data: Path) -> None:
    servers = [embedded._postmaster(data, port) for port in (embedded.PORT, PORT)]
    alive = [server for server in servers if server and server.alive()]
    if alive:
        embedded._halt(next((server for server in alive if server.answers()), alive[0]))


@contextmanager
def _server(data: Path) -> Iterator[embedded._Postmaster]:
    """The server of a folder, where no other command looks; stopped at the end, so that all is on disk."""
    server = embedded._bring_up(data, PORT)
    try:
        yield server
    finally:
        embedded._halt(server)


def _make(new: Path, old: Path) -> None:
    new.mkdir(mode=0o700)
    if user := embedded._server_user(old):
        os.chown(new, *user)
    if failure := embedded._run(new, "initdb", *embedded.INITDB, timeout=embedded.INITDB_SECONDS):
        raise EmbeddedServerError(failure)


def _content(server: embedded._Postmaster, told: Progress) -> _Content:
    with server.connect("postgres") as db:
        databases = [row[0] for row in db.execute(_sql("databases")).fetchall()]
        roles = [row[0] for row in db.execute(_sql("roles")).fetchall()]
    tables = {}
    for database in databases:
        with psycopg.connect(server.url(database), autocommit=True, options=_PLAIN) as db:
            for (table,) in db.execute(_sql("tables")).fetchall():
                rows, content = db.execute(_sql("content", table=table)).fetchone() or (0, 0)
                tables[database, table] = (int(rows), int(content))
                told.advance(int(rows))
    return _Content(databases, roles, tables)


def _compare(old: _Content, new: _Content) -> None:
    """Refuse a copy that is not equal; says what differs, and nothing of a row."""
    for what, ours, theirs in (("roles", old.roles, new.roles), ("databases", old.databases, new.databases)):
        if ours != theirs:
            raise EmbeddedServerError(f"the copy has other {what}: {sorted({*ours} ^ {*theirs})}")
    for key in sorted({*old.tables, *new.tables}):
        (rows, content), (copied, copied_content) = old.tables.get(key, (0, 0)), new.tables.get(key, (0, 0))
        if (rows, content) != (copied, copied_content):
            raise EmbeddedServerError(
                f"the copy of table {key[1]} of database {key[0]} has {copied:,} of {counted(rows, 'row')}"
                + ("" if rows != copied else ", and not the same ones")
            )


def _copy(old: embedded._Postmaster, new: embedded._Postmaster, told: Progress) -> None:
    """Everything of one data folder into the other, through a pipe: no file holds it in between."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")} | {"LC_ALL": "C"}
    # Of the new version, as PostgreSQL advises: it knows how the old one writes and the new one reads.
    dump = [str(embedded.program("pg_dumpall")), f"--dbname={old.url('postgres')}"]
    # Not what a row holds: the first line of an error, and that one terse.
    words = ("--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--set=VERBOSITY=terse", "--file=-")
    load = [str(embedded.program("psql")), *words, f"--dbname={new.url('postgres')}"]
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as answered:
        with (
            subprocess.Popen(dump, env=environment, stdout=subprocess.PIPE, stderr=said) as writer,
            subprocess.Popen(
                load, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=answered
            ) as reader,
        ):
            assert writer.stdout
            assert reader.stdin
            try:
                _pass_on(writer.stdout, reader.stdin, told)
                reader.stdin.close()
            except BrokenPipeError:  # the reader ended; it says why
                writer.kill()
            except BaseException:
                writer.kill()
                reader.kill()
                raise
            finally:
                with suppress(BrokenPipeError):  # what was not sent is in its buffer
                    reader.stdin.close()
        for program, process, words_of_it in (("psql", reader, answered), ("pg_dumpall", writer, said)):
            if process.returncode:
                words_of_it.seek(0)
                lines = words_of_it.read(10_000).decode(errors="replace").strip().splitlines()
                said_first = lines[0][:300] if lines else f"it ended with {process.returncode}"
                raise EmbeddedServerError(f"{program} failed: {said_first}")


def _pass_on(dump: IO[bytes], to: IO[bytes], told: Progress) -> None:
    copying, waiting, bootstrap = False, 0, True
    for line in dump:
        if bootstrap and line == BOOTSTRAP:  # once: a text may hold such a line
            bootstrap = False
            continue
        to.write(line)
        if copying:
            copying = line != b"\\.\n"
            waiting += copying
        else:
            copying = line.startswith(b"COPY ") and line.endswith(b" FROM stdin;\n")
        if waiting >= 1_000 or (waiting and not copying):
            told.advance(waiting)
            waiting = 0
