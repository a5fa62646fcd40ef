#!/usr/bin/env python3
"""Measure the processing of changes of an attached table.

    scripts/benchmarks/outbox.py [--rows N] [--updates N]

On an embedded server, a table of invented briefs is attached and filled by one INSERT, and its rows are read.
Then `--updates` statements each change all rows of the table, and these changes are processed. Prints, for
both parts, rows per second and the peak memory of program and server. No fingerprints are made, because that
is the work of the backfill. By default ten million changes wait in the outbox.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import meter
import psycopg
from servers import embedded_server

from dedup import Deduplicator

BRIEF = "'Brief ' || number || ' of the day, which says nothing that the one before has not said'"
FOLLOW = """
import sys
from dedup.db.database import Database
from dedup.attach.sync import sync
from dedup.base.progress import SilentProgress
print(sync(Database(sys.argv[1]), SilentProgress(), lambda: False))
"""


def measure(url: str, postmaster: int, rows: int, updates: int) -> None:
    """Fill a table, then change all its rows repeatedly, and process the changes after each step."""
    Deduplicator.initialize(url)
    with Deduplicator(url) as dd, psycopg.connect(url, autocommit=True) as owner:
        owner.execute("CREATE TABLE news (id bigint PRIMARY KEY, body text NOT NULL)")
        dd.attachments.attach("public.news", keys=["id"], columns={"text": "body"})
        owner.execute(
            f"INSERT INTO news SELECT number, {BRIEF} FROM generate_series(1, {rows}) AS number".encode()
        )
        passage("new", dd, url, postmaster)
        for turn in range(updates):
            owner.execute(f"UPDATE news SET body = body || ' {turn}'".encode())
        passage("changed", dd, url, postmaster)


def passage(kind: str, dd: Deduplicator, url: str, postmaster: int) -> None:
    """Process the waiting changes, and print the cost."""
    waiting = dd.attachments.waiting()
    cost = meter.measure([sys.executable, "-c", FOLLOW, url], postmaster=postmaster)
    if cost.failure:
        raise SystemExit(cost.failure)
    left = dd.attachments.waiting()
    print(
        f"{waiting:,} {kind} rows: {waiting / cost.wall:,.0f}/s, {left:,} left; at most"
        f" {cost.peak_program_mb:.0f} MB of the program and {cost.peak_postgres_mb:.0f} MB of the server,"
        f" beside {cost.shared_buffers_mb:.0f} MB of shared buffers",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--updates", type=int, default=10)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="dedup-outbox-") as folder,
        embedded_server(Path(folder) / "server") as server,
        server.database("outbox") as url,
    ):
        measure(url, server.postmaster, given.rows, given.updates)


if __name__ == "__main__":
    main()
