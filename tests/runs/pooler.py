"""PgBouncer in transaction mode, in front of a database of the test server."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.conftest import ProcessUser
from tests.corpora import wait_until


@contextmanager
def pooled(url: str) -> Iterator[str]:
    """Yield the address of a pooler in front of a database; skip the test if PgBouncer is missing."""
    if not shutil.which("pgbouncer"):
        pytest.skip("needs pgbouncer on the PATH")
    where = conninfo_to_dict(url)
    folder = Path(tempfile.mkdtemp(prefix="dedup-pooler-"))  # the path of a socket must be short
    config = folder / "pgbouncer.ini"
    config.write_text(
        f"[databases]\nd = user={where['user']} host={where['host']} port={where.get('port', 5432)}"
        f" dbname={where['dbname']}\n"
        f"[pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = {folder}\n"
        f"auth_type = any\npool_mode = transaction\ndefault_pool_size = 4\nlogfile = {folder}/log\n"
    )
    owner = Path(str(where["host"])).stat()  # the user that can reach the server's socket
    os.chown(folder, owner.st_uid, owner.st_gid)
    who: ProcessUser = (
        {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    )
    process = subprocess.Popen(["pgbouncer", "--quiet", str(config)], **who)
    try:
        wait_until(lambda: _listens(folder / ".s.PGSQL.6432"))
        yield make_conninfo("", host=str(folder), port=6432, dbname="d")
    finally:
        process.terminate()
        process.wait(20)
        shutil.rmtree(folder)


def _listens(path: Path) -> bool:
    """Return whether a program listens at a socket; the file of the socket exists before that."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0
