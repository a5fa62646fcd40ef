"""Commands `dedup db …`: manage the embedded server and its data."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

import dedup
from dedup.base import config
from dedup.base.errors import InputError
from dedup.base.schema import chosen
from dedup.cli import output
from dedup.cli.progress import progress_bar
from dedup.cli.shared import JsonOption, counted, say_if_started

db_app = typer.Typer(
    no_args_is_help=True,
    help="""
Manage the embedded PostgreSQL server: start, stop, back up, restore, upgrade.

If no address of a database is configured, dedup uses this server. It starts by itself, and runs until `dedup
db stop`.
""",
)


@db_app.command("url")
def db_url() -> None:
    """Print the address of the database, for psql and other programs; start the embedded server if needed.

    A configured address is not printed if it contains a password.

    **Example**

        psql "$(dedup db url)"
    """
    other = dedup.server.other_database()
    found = dedup.server.address() if other else dedup.server.start()
    if found is None:
        output.say(f"{_source()} names {other}; the address contains a password and is not shown")
        raise typer.Exit(1)
    output.console().print(found, soft_wrap=True)


@db_app.command("start")
def db_start() -> None:
    """Start the embedded server, as other commands do that need it, except `status --check` and `metrics`."""
    dedup.server.start()
    state = dedup.server.status()
    output.say(f"PostgreSQL {state.version} is running, with its data in {state.data}")


@db_app.command("stop")
def db_stop() -> None:
    """Stop the embedded server; its data are kept."""
    output.say("stopped" if dedup.server.stop() else "the server was not running")


@db_app.command("status")
def db_status(json: JsonOption = False) -> None:
    """Show whether the embedded server is running, and where its data are."""
    state = dedup.server.status()
    if json:
        output.write_json({**asdict(state), "data": str(state.data)})
        return
    words = f"not running; data in {state.data}" if state.version else "not running; no data yet"
    if state.running:
        words = f"running: PostgreSQL {state.version}, process {state.pid}, data in {state.data}"
    output.write_text(output.printable(words))


def _source() -> str:
    found = config.address()
    return found.source if found else "nothing"


def _only_embedded(instead: str) -> None:
    if other := dedup.server.other_database():
        raise InputError(
            f"{_source()} names {other}, but this command is for the embedded server: use {instead}"
        )


@db_app.command()
def psql(
    arguments: Annotated[
        list[str] | None, Argument(metavar="-- OPTION…", help="Options of psql, after `--`.")
    ] = None,
) -> None:
    """Open psql on the corpus of the embedded server; start the server if it is not running.

    **Example**

        dedup db psql < query.sql
    """
    _only_embedded("your own psql")
    say_if_started()
    words = [*dedup.server.client(), *(arguments or ())]
    # Without a flush, `execve` would drop the output that Python has buffered.
    sys.stdout.flush()
    sys.stderr.flush()
    # Variables such as PGHOSTADDR would make psql connect to a different server.
    os.execve(words[0], words, {k: v for k, v in os.environ.items() if k not in _SERVERS})  # noqa: S606


_SERVERS = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE")


@db_app.command()
def dump(file: Annotated[Path, Argument(metavar="FILE", help="New file; it must not exist.")]) -> None:
    """Write the corpus of the embedded server into one file, as a backup.

    The file is one complete snapshot; other commands can run meanwhile. Only you can read the file, which
    contains all texts, and the hash key. `dedup db restore` or pg_restore restores the corpus. If tables are
    attached, the file contains the whole database.

    **Example**

        dedup db dump monday.dump
    """
    _only_embedded(f"pg_dump -Fc -n {chosen()}")
    say_if_started()
    output.say(f"{file}: {dedup.server.dump(file) / 1_000_000:,.1f} MB")


@db_app.command()
def restore(file: Annotated[Path, Argument(metavar="FILE", help="File that `dump` wrote.")]) -> None:
    """Restore a corpus from a file into an embedded server without articles, and verify it.

    No data are overwritten. If marks differ from the rules, the next backfill corrects them. If the file is
    no dump of a corpus, or the server has articles, the exit code is 2; if pg_restore fails, 1. Then nothing
    is changed.
    """
    _only_embedded("pg_restore")
    dedup.server.restore(file, starting=say_if_started)
    with dedup.Deduplicator() as dd, progress_bar() as bar:
        left = dd.preview()
        # Fingerprints from another version of dedup differ without being wrong.
        if left.adoption:
            output.say("restored; next: dedup backfill, since this version reads texts differently")
            return
        found = dd.verify(progress=bar)
        if not found.right:
            dd.repair(found)
            left = dd.preview()
    said = "verified" if found.right else f"{counted(len(found.differences), 'difference')} found"
    waiting = f"; next: dedup backfill ({left.settle:,} to settle)" if left.settle or not found.right else ""
    output.say(f"restored and {said}{waiting}")


@db_app.command()
def upgrade(
    delete_old: Annotated[bool, Option("--delete-old", help="Remove the old data after upgrades.")] = False,
    json: JsonOption = False,
) -> None:
    """Upgrade the data of the embedded server, after an update of dedup brought a newer PostgreSQL.

    The server is stopped. All databases and roles are copied and compared row by row; then the new folder
    takes the name of the old folder. The disk needs room for two copies: the old data stay (`postgres-16`)
    until `--delete-old`. If the upgrade is killed, no data are lost, and you can run it again.

    Your changes of `postgresql.conf` are not copied.
    """
    _only_embedded("pg_upgrade, or pg_dump and pg_restore")
    with progress_bar("rows") as bar:
        done = dedup.server.upgrade(bar)
    removed = dedup.server.remove_old() if delete_old else []
    if json:
        output.write_json({**done.as_dict(), "removed": [str(folder) for folder in removed]})
        return
    if done.kept:
        output.say(
            f"PostgreSQL {done.before} → {done.after}: {counted(done.databases, 'database')},"
            f" {counted(done.roles, 'role')}, {counted(done.tables, 'table')} and"
            f" {counted(done.rows, 'row')} copied and compared"
        )
        if not removed:
            output.say(
                f"the old data are in {done.kept}; next: dedup verify, then dedup db upgrade --delete-old"
            )
    elif not removed:
        output.say(
            "nothing to upgrade: "
            + (f"the data are of PostgreSQL {done.before}" if done.before else "there are no data yet")
        )
    for folder in removed:
        output.say(f"removed {folder}")
