#!/usr/bin/env python3
"""Measure how much slower triggers make writing to an attached table for its owner.

    scripts/benchmarks/triggers.py [FILE] [--rounds N] [--seconds S]

An embedded server without a worker has two tables of real articles, of which one is attached. In turns, both
tables get an INSERT of 10,000 rows from a client, an INSERT of 10,000 rows from another table, INSERTs of
single rows, and UPDATEs of an unmapped column in all rows and in single rows. Then 16 parallel clients insert
first whole and then short articles, each in a transaction. Prints the medians and their ratios. The cost of a
later backfill is not counted.
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
from clients import Clients, Rate, clients
from meter import cores
from servers import embedded_server

from dedup import Article, Deduplicator
from dedup.files.readers import read_articles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # finds `sandbox` in the parent folder
from sandbox import DATA

FILE = "reuters_web_2006_2010.jsonl.gz"
ROWS = 10_000
SINGLE = 200
"""Number of rows that are inserted one by one, and updated one by one, in each turn."""

CLIENTS = 16
LENGTHS = {"whole articles": None, "200 characters each": 200}
"""Maximum characters of the inserted articles; None: whole. Triggers slow short articles relatively more."""

LEAST_RATE, MOST_TIMES = 0.8, 1.2
"""Promised ratios to a table without triggers: minimum rate of inserts, maximum time of unmapped UPDATEs."""

TABLES = ("plain", "attached")
COLUMNS = "id, body, headline, day"
WITHIN = "INSERT INTO {} SELECT * FROM source"
FROM_CLIENT = (
    f"INSERT INTO {{}} ({COLUMNS})"
    " SELECT * FROM unnest(%s::bigint[], %b::text[], %b::text[], %s::timestamptz[])"
)
BY_CLIENTS = f"INSERT INTO {{}} ({COLUMNS}) VALUES (%s, %s, %s, %s)"
CLICKED = "UPDATE {} SET clicks = clicks + 1"
UNMAPPED = "UPDATE of an unmapped column"

Took = dict[str, dict[str, list[float]]]


def measure(url: str, path: Path, rounds: int, seconds: float) -> None:
    """Write to both tables in alternating order, and print the times."""
    Deduplicator.initialize(url)
    with Deduplicator(url) as dd, psycopg.connect(url, autocommit=True) as connection:
        columns = (
            "(id bigint PRIMARY KEY, body text, headline text, day timestamptz, clicks integer DEFAULT 0)"
        )
        for name in ("source", *TABLES):
            connection.execute(f"CREATE TABLE {name} {columns}".encode())
        given = rows(path)
        connection.execute(FROM_CLIENT.format("source").encode(), given)
        dd.attachments.attach(
            "public.attached",
            keys=["id"],
            columns={"text": "body", "title": "headline", "published_at": "day"},
        )
        inserts, updates = Took(), Took()
        for turn in range(rounds):
            for name in in_turns(turn):
                insert(connection, name, given, inserts)
            for name in in_turns(turn):
                update(connection, name, updates)
            for number in range(SINGLE):
                for name in in_turns(number):
                    one = [[column[number]] for column in given]
                    one[0] = [ROWS + number]
                    note(inserts, "one row", name, timed(connection, FROM_CLIENT.format(name), one))
                    clicked = f"{CLICKED.format(name)} WHERE id = %s"
                    note(updates, f"{UNMAPPED}, one row", name, timed(connection, clicked, [number]))
        tell(inserts)
        tell(updates, f"; at most {MOST_TIMES} is promised")
        with clients(url, CLIENTS) as many:
            at_once(connection, many, given, rounds, seconds)


def in_turns(turn: int) -> tuple[str, ...]:
    """Return the names of both tables; the order alternates from turn to turn."""
    return TABLES if turn % 2 else TABLES[::-1]


def insert(connection: psycopg.Connection, name: str, given: list[Any], took: Took) -> None:
    """Insert all rows twice, each time after emptying the table: from a client, and from another table."""
    emptied(connection, name)
    note(took, f"{ROWS:,} rows from a client", name, timed(connection, FROM_CLIENT.format(name), given))
    emptied(connection, name)
    note(took, f"{ROWS:,} rows within the database", name, timed(connection, WITHIN.format(name)))


def update(connection: psycopg.Connection, name: str, took: Took) -> None:
    """Update an unmapped column in all rows."""
    connection.execute(f"VACUUM ANALYZE {name}".encode())
    connection.execute("CHECKPOINT")
    note(took, f"{UNMAPPED}, {ROWS:,} rows", name, timed(connection, CLICKED.format(name)))
    connection.execute(f"VACUUM {name}".encode())


def note(took: Took, kind: str, name: str, seconds: float) -> None:
    """Add a measurement to `took`, by kind of statement and name of the table."""
    took.setdefault(kind, {}).setdefault(name, []).append(seconds)


def emptied(connection: psycopg.Connection, name: str) -> None:
    """Empty a table and the outbox, which lists its changes, and make a checkpoint."""
    connection.execute(f"TRUNCATE {name}".encode())
    connection.execute("TRUNCATE dedup.outbox")
    connection.execute("CHECKPOINT")


def at_once(
    connection: psycopg.Connection, many: Clients, given: list[Any], rounds: int, seconds: float
) -> None:
    """Let many clients insert rows, each in a transaction, and print the rates."""
    for shown, length in LENGTHS.items():
        values = [
            (body[:length], title, day)
            for body, title, day in zip(*(column[:1_000] for column in given[1:]), strict=True)
        ]
        compare(connection, many, shown, values, rounds, seconds)


def compare(
    connection: psycopg.Connection,
    many: Clients,
    shown: str,
    values: list[tuple[Any, ...]],
    rounds: int,
    seconds: float,
) -> None:
    """Measure and print the rates of many clients with and without triggers, for articles of one length."""
    found: dict[str, list[Rate]] = {name: [] for name in TABLES}
    for turn in range(rounds):
        for name in in_turns(turn):
            emptied(connection, name)
            found[name].append(many.rate(BY_CLIENTS.format(name), values, seconds))
    without, beside = (statistics.median(rate.transactions for rate in found[name]) for name in TABLES)
    busy = max(rate.busy for rates in found.values() for rate in rates)
    print(
        f"{CLIENTS} clients, {shown}: {without:,.0f} transactions a second without triggers,"
        f" {beside:,.0f} with them, {beside / without:.2f} of the rate"
        f"; at least {LEAST_RATE} of whole articles is promised"
        f" (the clients themselves took {busy:.1f} of {cores()} cores at most)"
    )


def tell(took: Took, promise: str = "") -> None:
    """Print the median times of each kind of statement."""
    for kind, found in took.items():
        without, beside = (statistics.median(found[name]) for name in TABLES)
        print(
            f"{kind}: {without * 1000:.2f} ms without triggers, {beside * 1000:.2f} ms with them,"
            f" {beside / without:.2f} times{promise}"
        )


def timed(connection: psycopg.Connection, statement: str, values: list[Any] | None = None) -> float:
    """Run a statement with its commit, and return the seconds."""
    started = time.perf_counter()
    connection.execute(statement.encode(), values)
    return time.perf_counter() - started


def rows(path: Path) -> list[Any]:
    """Return a list per column: ids, texts, titles and dates of the first `ROWS` articles of a file."""
    found = list(islice((item for item in read_articles(path) if isinstance(item, Article)), ROWS))
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
    parser.add_argument("--seconds", type=float, default=4.0, help="time that clients insert per turn")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="dedup-triggers-") as folder,
        embedded_server(Path(folder) / "server") as server,
        server.database("triggers") as url,
    ):
        measure(url, given.file, given.rounds, given.seconds)


if __name__ == "__main__":
    main()
