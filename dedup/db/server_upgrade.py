"""Upgrades the embedded server's data to the PostgreSQL version of this dedup: copy, compare, swap.

The new data folder is made beside the old one. Its name shows its state:

    postgres             the data folder in use: first the old one, at the end the new one
    postgres.upgrade     the new data folder, not complete; made again after a kill
    postgres.upgraded    the new data folder, compared; renamed `postgres` when the old one is moved away
    postgres-16          the old data folder, kept until someone removes it

After a kill between the last two renames, `embedded.start` does the last rename. An upgrade copies all
databases and roles, but no edited settings.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from dedup.base.answer import Answer
from dedup.base.errors import EmbeddedServerError
from dedup.base.progress import Progress, SilentProgress
from dedup.base.words import counted
from dedup.db import embedded, postgres
from dedup.db.statements import Statements

_sql = Statements("db/server_upgrade")

# Port of the servers during an upgrade. Clients use `embedded.PORT`, so no client can write.
PORT = embedded.PORT + 1
UPGRADE_SECONDS = 86_400.0  # Maximum time for pg_upgrade or pg_checksums, which write all data

# Rows of the old and the new data are compared as text. So the settings that decide
# how values are written must be the same on both servers.
_PLAIN = (
    "-c timezone=UTC -c datestyle=ISO -c intervalstyle=postgres -c bytea_output=hex -c extra_float_digits=1"
    " -c lc_monetary=C -c search_path=pg_catalog -c default_transaction_read_only=on"
)


@dataclass(frozen=True, slots=True)
class ServerUpgrade(Answer):
    """Versions of the embedded server's data before and after an upgrade, and numbers of copied objects.

    Attributes:
        before: the version of the data, such as 16; None without data.
        after: equal to `before` if there was nothing to do.
        tables: number of tables of all databases.
        kept: the folder of the old data; None if there was nothing to do.
    """

    before: int | None
    after: int | None
    databases: int = 0
    roles: int = 0
    tables: int = 0
    rows: int = 0
    kept: str | None = None


_Content = dict[tuple[str, str], tuple[int, int]]  # Row count and checksum by kind and name of an object


def upgrade(progress: Progress | None = None, home: Path | None = None) -> ServerUpgrade:
    """Upgrade older data to the PostgreSQL of this package; keep the old data in another folder.

    After a kill at any point the old or the new folder is in place, or the next start puts it there. Raises
    EmbeddedServerError: the package lacks programs of the old version, the disk is too full, the folder for
    the old data exists already, or the copy differs. The old data are then unchanged.
    """
    progress = progress or SilentProgress()
    with embedded._plain_errors("upgrade", home) as data:
        if not data.parent.exists():
            return ServerUpgrade(None, None)
        with embedded._lock(data):
            before = embedded._whole_major_of(data)
            if before is None or before >= postgres.MAJOR:
                return ServerUpgrade(before, before)
            if before not in postgres.majors():
                raise embedded._not_ours(before)
            return _upgrade(data, before, progress)


def _upgrade(data: Path, before: int, progress: Progress) -> ServerUpgrade:
    new, whole = data.with_name("postgres.upgrade"), data.with_name(embedded.UPGRADED)
    kept = _old_data(data, before)
    if kept.exists():
        raise EmbeddedServerError(f"the upgrade keeps the old data in {kept}, which exists: move that away")
    # A killed command may have left these folders; the old data may have changed since.
    for left_over in (new, whole):
        _stop(left_over)
        if left_over.exists():
            shutil.rmtree(left_over)
    _stop(data)  # connected clients must not write any more
    with _server(data) as old:
        with old.connect("postgres") as db:
            needed, checksums = db.execute(_sql("size")).fetchone() or (0, True)
        if (free := shutil.disk_usage(data.parent).free) < needed:
            raise EmbeddedServerError(
                f"the disk has {free / 1e6:,.0f} MB free, and the copy needs {needed / 1e6:,.0f} MB"
            )
        progress.start("count", None)
        content = _content(old, progress)
    rows = sum(rows for rows, _ in content.values())
    progress.start("copy", None)
    _make(new, data, checksums=checksums)
    _copy(data, new, checksums=checksums)
    with _server(new) as made:
        progress.start("compare", rows)
        _compare(content, _content(made, progress))
    for folder, to in ((new, whole), (data, kept), (whole, data)):
        embedded._rename(folder, to)
    kinds = Counter(kind for kind, _ in content)
    databases, roles = kinds.pop("database"), kinds.pop("role")
    return ServerUpgrade(before, postgres.MAJOR, databases, roles, kinds.total(), rows, str(kept))


def remove_old(home: Path | None = None) -> list[Path]:
    """Remove the old data that upgrades kept, if the new data are in place; return the removed folders."""
    with embedded._plain_errors("remove the old data of", home) as data:
        if not data.parent.exists():
            return []
        with embedded._lock(data):
            if embedded._whole_major_of(data) != postgres.MAJOR:
                return []
            found = [_old_data(data, major) for major in postgres.majors() if major < postgres.MAJOR]
            removed = [folder for folder in found if folder.exists()]
            for folder in removed:
                if f"postgres-{postgres.major_of(folder)}" != folder.name:
                    raise EmbeddedServerError(f"{folder} does not hold old data of an upgrade; inspect it")
                _stop(folder)
                shutil.rmtree(folder)
            return removed


def _old_data(data: Path, major: int) -> Path:
    return data.with_name(f"postgres-{major}")


def _stop(data: Path) -> None:
    servers = [embedded._postmaster(data, port) for port in (embedded.PORT, PORT)]
    alive = [server for server in servers if server and server.alive()]
    if alive:
        embedded._halt(next((server for server in alive if server.answers()), alive[0]))


@contextmanager
def _server(data: Path) -> Iterator[embedded._Postmaster]:
    """Run the server of a data folder at `PORT`; stop it at the end, so that all data are on disk."""
    server = embedded._bring_up(data, PORT)
    try:
        yield server
    finally:
        embedded._halt(server)


def _make(new: Path, old: Path, *, checksums: bool) -> None:
    new.mkdir(mode=0o700)
    if user := postgres.server_user(old):
        os.chown(new, *user)
    # pg_upgrade needs the same setting of checksums in both folders.
    more = "--data-checksums" if checksums else "--no-data-checksums"
    postgres.run(new, "initdb", *embedded.INITDB, more, timeout=embedded.INITDB_SECONDS)


def _copy(old: Path, new: Path, *, checksums: bool) -> None:
    folders = [os.open(folder, os.O_RDONLY) for folder in (old, new)]
    # The server's user may have no right to enter the folders above the data. A folder that is open already
    # needs no such right.
    opened = [Path(f"/proc/self/fd/{folder}") for folder in folders]
    there = opened if opened[0].exists() else [old, new]
    programs = f"--old-bindir={postgres.programs_of(old)}"
    options = f"--socketdir={there[1]}", "--username=postgres", f"--old-datadir={there[0]}", programs
    try:
        postgres.run(new, "pg_upgrade", *options, timeout=UPGRADE_SECONDS, opened=folders)
    finally:
        for data, folder in zip((old, new), folders, strict=True):
            _stop(data)  # an interrupted pg_upgrade leaves a server running
            os.close(folder)
    (new / "delete_old_cluster.sh").unlink()
    if not checksums:  # every new data folder of dedup has checksums
        postgres.run(new, "pg_checksums", "--enable", timeout=UPGRADE_SECONDS)


def _content(server: embedded._Postmaster, progress: Progress) -> _Content:
    with server.connect("postgres") as db:
        databases = [name for (name,) in db.execute(_sql("databases")).fetchall()]
        found = {("role", name): (0, 0) for (name,) in db.execute(_sql("roles")).fetchall()}
    for database in databases:
        found["database", database] = 0, 0
        with psycopg.connect(server.url(database), autocommit=True, options=_PLAIN) as db:
            for (table,) in db.execute(_sql("tables")).fetchall():
                rows, content = db.execute(_sql("content", table=table)).fetchone() or (0, 0)
                found[f"table of database {database}", table] = int(rows), int(content)
                progress.advance(int(rows))
    return found


def _compare(old: _Content, new: _Content) -> None:
    """Raise EmbeddedServerError if a copy differs; the message names the object and quotes no row."""
    for kind, name in sorted({*old, *new}):
        before, after = old.get((kind, name)), new.get((kind, name))
        if before is None or after is None:
            raise EmbeddedServerError(f"the {kind} {name} is {'missing' if before else 'new'} in the copy")
        if before != after:
            raise EmbeddedServerError(
                f"the copy of the {kind} {name} has {after[0]:,} of {counted(before[0], 'row')}"
                + ("" if before[0] != after[0] else ", but not the same rows")
            )
