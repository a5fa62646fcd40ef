#!/usr/bin/env python3
"""What do the triggers cost the owner of an attached table?

    scripts/benchmarks/triggers.py [FILE] [--rounds N]

Two tables of real articles on an embedded server, one of them attached. In turns: one INSERT of 10,000 rows
that come from a client, the same of rows that are in the database already, and rows one by one, each a
transaction. The medians and their ratios are printed. What `dedup backfill` does later is not counted.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg
from servers import embedded_server

from dedup import Deduplicator
from dedup.files.readers import read_articles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for sandbox, which is beside this folder
from sandbox import DATA

FILE = "reuters_web_2006_2010.jsonl.gz"
ROWS = 10_000
SINGLE = 200
"""Rows inserted one by one in each turn."""

TABLES = ("plain", "attached")
WITHIN = "INSERT INTO {} SELECT * FROM source"
FROM_CLIENT = "INSERT INTO {} SELECT * FROM unnest(%s::bigint[], %b::text[], %b::text[], %s::timestamptz[])"


def measure(url: str, path: Path, rounds: int) -> None:
    """Insert in turns, and print what it took."""
    Deduplicator.initialize(url)
    with Deduplicator(url) as dd, psycopg.connect(url, autocommit=True) as connection:
        columns = "(id bigint PRIMARY KEY, body text, headline text, day timestamptz)"
        for name in ("source", *TABLES):
            connection.execute(f"CREATE TABLE {name} {columns}".encode())
        given = rows(path)
        connection.execute(FROM_CLIENT.format("source").encode(), given)
        dd.attachments.attach(
            "public.attached",
            keys=["id"],
            columns={"text": "body", "title": "headline", "published_at": "day"},
        )
        kinds = (f"{ROWS:,} rows from a client", f"{ROWS:,} rows within the database", "one row")
        took = {kind: {name: list[float]() for name in TABLES} for kind in kinds}
        for turn in range(rounds):
            for name in TABLES if turn % 2 else reversed(TABLES):
                connection.execute(f"TRUNCATE {name}".encode())
                connection.execute("TRUNCATE dedup.outbox; CHECKPOINT")
                took[kinds[0]][name].append(timed(connection, FROM_CLIENT.format(name), given))
                connection.execute(f"TRUNCATE {name}; CHECKPOINT".encode())
                took[kinds[1]][name].append(timed(connection, WITHIN.format(name)))
                for number in range(SINGLE):
                    one = [[column[number]] for column in given]
                    one[0] = [ROWS + number]
                    took[kinds[2]][name].append(timed(connection, FROM_CLIENT.format(name), one))
    for kind, found in took.items():
        without, beside = (statistics.median(found[name]) for name in TABLES)
        print(
            f"{kind}: {without * 1000:.2f} ms without triggers, {beside * 1000:.2f} ms with them,"
            f" {beside / without:.2f} times"
        )


def timed(connection: psycopg.Connection, statement: str, values: list[Any] | None = None) -> float:
    """The seconds that a statement takes, with its commit."""
    started = time.perf_counter()
    connection.execute(statement.encode(), values)
    return time.perf_counter() - started


def rows(path: Path) -> list[Any]:
    """The columns of the first articles of a file."""
    found = list(islice(read_articles(path), ROWS))
    if len(found) < ROWS:
        raise SystemExit(f"{path} has fewer than {ROWS:,} articles")
    return [
        list(range(ROWS)),
        [article.text for article in found],
        [article.title for article in found],
        [article.published_at for article in found],
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", nargs="?", type=Path, default=DATA / FILE)
    parser.add_argument("--rounds", type=int, default=11)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="dedup-triggers-") as folder,
        embedded_server(Path(folder) / "server") as server,
        server.database("triggers") as url,
    ):
        measure(url, given.file, given.rounds)


if __name__ == "__main__":
    main()
