"""Dumps the corpus of the embedded server into a file with pg_dump, and restores it with pg_restore.

A dump is in the custom format of PostgreSQL; pg_restore of the same or a newer version can read it.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from dedup.attach import attachments
from dedup.base.errors import EmbeddedServerError, InputError, SchemaError
from dedup.base.schema import chosen
from dedup.base.words import counted
from dedup.db import embedded, postgres
from dedup.db.database import Database
from dedup.files.whole import new_file
from dedup.store import removal

SCHEMA_LINE = " SCHEMA - {} "  # Text in the output of `pg_restore --list` for the dumped schema


def dump(path: Path, *, schema: str | None = None) -> int:
    """Write the corpus of the embedded server into a new file; return its size in bytes.

    Raises InputError (file exists or is not writable) or EmbeddedServerError; then no new file remains.
    """
    schema = chosen(schema)
    with new_file(path, private=True) as made:
        url = embedded.start()
        with closing(Database(url, schema=schema)) as database, database.transaction() as cursor:
            attached = attachments.are_known(cursor) and bool(attachments.attachments(cursor))
        # Leave out the workers: after a restore, `status --check` would report them as lost.
        spared = f"--exclude-table-data={schema}.worker"
        # Views of the schema read attached tables, so with attached tables the whole database is dumped.
        what = () if attached else (f"--schema={schema}",)
        _run("pg_dump", "--format=custom", spared, *what, f"--file={made}", url)
    return path.stat().st_size


def _require_dump(path: Path, schema: str) -> None:
    """Raise InputError if a file is missing, cannot be read, or is not a dump of this schema."""
    try:
        path.stat()
        if not path.is_file():
            raise InputError(f"{path} is not a file")
        path.open("rb").close()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    try:
        listed = _run("pg_restore", "--list", str(path))
    except EmbeddedServerError:
        raise InputError(f"{path} is not a dump of PostgreSQL, or was made by a newer PostgreSQL") from None
    if SCHEMA_LINE.format(schema) not in listed:
        raise InputError(f"{path} is not a dump of a corpus: it has no schema {schema}")


def restore(path: Path, *, schema: str | None = None, starting: Callable[[], None] = lambda: None) -> None:
    """Restore a corpus from a dump into the embedded server, which must have no corpus or an empty one.

    The server's user owns the restored schema; granted rights are not restored. `schema`: name of the schema
    in the dump. `starting` is called when the file was checked, before the server starts. Raises InputError:
    the file is not a dump of this schema, or the corpus is not empty; EmbeddedServerError: pg_restore failed
    and changed nothing.
    """
    schema = chosen(schema)
    _require_dump(path, schema)
    starting()
    url = embedded.start()
    with closing(Database(url, schema=schema)) as database, database.transaction() as cursor:
        try:
            rows = removal.contents(cursor, database.location).rows
        except SchemaError:
            rows = None
        if rows:
            listed = ", ".join(f"{table} ({counted(count, 'row')})" for table, count in rows.items())
            raise InputError(
                f"{database.location} has a corpus already: {listed}; save it with `dedup db dump` and"
                " remove it with `dedup uninstall`, or choose another folder with DEDUP_HOME"
            )
        if rows is not None:
            removal.remove(cursor, database.location)
    _run(
        "pg_restore", "--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges",
        f"--dbname={url}", str(path),
    )  # fmt: skip


def _run(name: str, *words: str) -> str:
    # Environment variables such as PGOPTIONS would change the session. LC_ALL=C: messages are in English.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PG")} | {"LC_ALL": "C"}
    done = subprocess.run(
        [postgres.program(name), *words], env=environment, capture_output=True, errors="replace", check=False
    )
    if done.returncode:
        first = (done.stderr.strip() or f"it ended with {done.returncode}").splitlines()[0]
        # The rest of the line is cut, because it quotes a row with the text of an article.
        complaint = re.sub(r"(COPY failed for table [^:]*):.*", r"\1", first)
        raise EmbeddedServerError(f"{name} failed: {complaint[:300]}")
    return done.stdout
