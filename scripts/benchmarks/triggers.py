#!/usr/bin/env python3
"""Measure what dedup's triggers cost the owner of an attached table, on several versions of PostgreSQL.

    scripts/benchmarks/triggers.py [FILE] [--programs FOLDER ...] [--counts] [--rounds N] [--seconds S]

A server without a worker has two tables of real articles, of which one is attached. Both tables get the
same writes: an INSERT of 10,000 rows from a client, one from another table, UPDATEs of a mapped and of an
unmapped column, INSERTs and UPDATEs of single rows, and a DELETE. Then 16 parallel clients insert first whole
and then short articles, each in a transaction. The cost of a later backfill is not counted.

Prints a table in Markdown: median times, the bytes of WAL and the buffers per written row, and the calls of
dedup's functions per statement. Times need a quiet machine, counts do not: `--counts` leaves out times.
Measures the embedded server; `--programs` adds the server whose programs (`initdb`, ...) are in a folder.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg
from clients import Clients, Rate, clients
from meter import cores
from servers import Server, embedded_server, installed_server, version

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
"""Promised ratios of a table with triggers to one without: minimum rate of inserts, and maximum time of an
UPDATE of an unmapped column."""

TABLES = ("plain", "attached")
COLUMNS = "id, body, headline, day"
FROM_CLIENT = (
    f"INSERT INTO {{}} ({COLUMNS})"
    " SELECT * FROM unnest(%s::bigint[], %b::text[], %b::text[], %s::timestamptz[])"
)
BY_CLIENTS = f"INSERT INTO {{}} ({COLUMNS}) VALUES (%s, %s, %s, %s)"

OFF = ("autovacuum", "full_page_writes")
"""Settings that are off for counts: vacuums, and copies of whole pages in the WAL, come at varying times."""

COUNTS = {"WAL bytes per row": "wal", "buffers per row": "buffers", "calls": "calls"}
"""Columns of the table, and attributes of `Cost`."""


@dataclass(frozen=True)
class Write:
    """A statement for both tables, `{}` being the table.

    Attributes:
        name: words for the statement in the table.
        filled: whether the table must have its rows before the statement; otherwise it must be empty.
        single: whether the statement is repeated for `SINGLE` rows; its last placeholder is the row's number.
    """

    name: str
    statement: str
    filled: bool = True
    single: bool = False


# The order matters: both tables are empty before the first two writes, and the second write fills them for
# all later writes.
WRITES = (
    Write(f"INSERT, {ROWS:,} rows from a client", FROM_CLIENT, filled=False),
    Write(f"INSERT … SELECT, {ROWS:,} rows", "INSERT INTO {} SELECT * FROM source", filled=False),
    Write(f"UPDATE of an unmapped column, {ROWS:,} rows", "UPDATE {} SET clicks = clicks + 1"),
    Write(f"UPDATE of a mapped column, {ROWS:,} rows", "UPDATE {} SET headline = headline || '.'"),
    Write("INSERT, one row", FROM_CLIENT, single=True),
    Write(
        "UPDATE of an unmapped column, one row",
        "UPDATE {} SET clicks = clicks + 1 WHERE id = %s",
        single=True,
    ),
    Write("UPDATE of a mapped column, one row", "UPDATE {} SET headline = '' WHERE id = %s", single=True),
    Write(f"DELETE, {ROWS:,} rows", "DELETE FROM {}"),
)


@dataclass
class Cost:
    """The cost of a write: seconds of each round, WAL and buffers per row, function calls per statement."""

    seconds: list[float] = field(default_factory=list)
    wal: float = 0.0
    buffers: float | None = None  # None on PostgreSQL 14, which reports buffers too late
    calls: float = 0.0


Costs = dict[str, dict[str, Cost]]
"""Name of a write -> name of a table -> cost."""


class Counter:
    """A counter of what the statements of a connection use. No other client may use the server."""

    def __init__(self, connection: psycopg.Connection[Any], observer: psycopg.Connection[Any]) -> None:
        self._connection, self._observer = connection, observer
        self._database = connection.info.dbname
        self._flushes = connection.info.server_version >= 150_000

    def read(self) -> tuple[int, int, int]:
        """Return the bytes of WAL, the buffers and the calls of functions so far."""
        if self._flushes:
            self._connection.execute("SELECT pg_stat_force_next_flush()")
        # The observer is in another database, so its own buffers are not counted.
        used = self._observer.execute(
            "SELECT pg_current_wal_insert_lsn() - '0/0', blks_hit + blks_read FROM pg_stat_database"
            " WHERE datname = %s",
            [self._database],
        ).fetchone()
        called = self._connection.execute(
            "SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE schemaname = 'dedup'"
        ).fetchone()
        assert used
        assert called
        return int(used[0]), int(used[1]), int(called[0])

    def count(self, cost: Cost, statements: Iterable[tuple[str, list[Any] | None]]) -> None:
        """Run statements, and store WAL, buffers and calls in `cost`."""
        self.read()  # fills the caches of the connection, so that the second reading takes few buffers
        wal, buffers, calls = self.read()
        rows = [self._connection.execute(one.encode(), values).rowcount for one, values in statements]
        wal_now, buffers_now, calls_now = self.read()
        cost.wal, cost.calls = (wal_now - wal) / sum(rows), (calls_now - calls) / len(rows)
        if self._flushes:
            cost.buffers = (buffers_now - buffers) / sum(rows)


def measure(
    server: Server, given: list[Any], rounds: int, seconds: float, *, times: bool
) -> tuple[Costs, list[str]]:
    """Measure writes to both tables of a server; return the costs, and the lines about parallel clients."""
    costs: Costs = {write.name: {name: Cost() for name in TABLES} for write in WRITES}
    lines: list[str] = []
    with server.database("triggers") as url:
        Deduplicator.initialize(url)
        with ExitStack() as stack:
            dd = stack.enter_context(Deduplicator(url))
            connection, observer = (
                stack.enter_context(psycopg.connect(one, autocommit=True)) for one in (url, server.url)
            )
            prepare(connection, dd, given)
            count(connection, observer, given, costs)
            for turn in range(rounds if times else 0):
                for write in WRITES:
                    for name in in_turns(turn):
                        cleared(connection, write, name)
                        for statement, values in statements(write, name, given):
                            took = timed(connection, statement, values)
                            costs[write.name][name].seconds.append(took)
            if times:
                many = stack.enter_context(clients(url, CLIENTS))
                lines = at_once(connection, many, given, rounds, seconds)
    return costs, lines


def prepare(connection: psycopg.Connection[Any], dd: Deduplicator, given: list[Any]) -> None:
    """Create both tables, and the table `source`, which gets the rows; attach the table `attached`."""
    columns = "(id bigint PRIMARY KEY, body text, headline text, day timestamptz, clicks integer DEFAULT 0)"
    for name in ("source", *TABLES):
        connection.execute(f"CREATE TABLE {name} {columns}".encode())
    connection.execute(FROM_CLIENT.format("source").encode(), given)
    dd.attachments.attach(
        "public.attached",
        keys=["id"],
        columns={"text": "body", "title": "headline", "published_at": "day"},
    )


def count(
    connection: psycopg.Connection[Any], observer: psycopg.Connection[Any], given: list[Any], costs: Costs
) -> None:
    """Make each write once to each of the two tables, and store WAL, buffers and calls in `costs`.

    Settings of the server are changed for these writes, and reset afterwards.
    """
    connection.execute("SET track_functions = 'all'")
    counter = Counter(connection, observer)
    with settings(observer):
        for write in WRITES:
            for name in TABLES:
                cleared(connection, write, name)
                counter.count(costs[write.name][name], statements(write, name, given))
    connection.execute("RESET track_functions")


@contextmanager
def settings(owner: psycopg.Connection[Any]) -> Iterator[None]:
    """Change the settings of a server for counts, and put them back."""
    try:
        for name in OFF:
            owner.execute(f"ALTER SYSTEM SET {name} = off".encode())
        owner.execute("SELECT pg_reload_conf()")
        yield
    finally:
        for name in OFF:
            owner.execute(f"ALTER SYSTEM RESET {name}".encode())
        owner.execute("SELECT pg_reload_conf()")


def statements(write: Write, name: str, given: list[Any]) -> Iterator[tuple[str, list[Any] | None]]:
    """Yield the statements of a write with their values: one, or one for each of `SINGLE` rows."""
    statement = write.statement.format(name)
    if not write.single:
        yield statement, given if write.statement == FROM_CLIENT else None
        return
    for number in range(SINGLE):
        row = [[ROWS + number], *([column[number]] for column in given[1:])]
        yield statement, row if write.statement == FROM_CLIENT else [number]


def cleared(connection: psycopg.Connection[Any], write: Write, name: str) -> None:
    """Empty the table if the write needs that, else vacuum it; empty the outbox; make a checkpoint."""
    connection.execute(f"{'VACUUM ANALYZE' if write.filled else 'TRUNCATE'} {name}".encode())
    connection.execute("TRUNCATE dedup.outbox")
    connection.execute("CHECKPOINT")


def in_turns(turn: int) -> tuple[str, ...]:
    """Return the names of both tables; the order alternates from turn to turn."""
    return TABLES if turn % 2 else TABLES[::-1]


def at_once(
    connection: psycopg.Connection[Any], many: Clients, given: list[Any], rounds: int, seconds: float
) -> list[str]:
    """Let many clients insert rows, each in a transaction; return a line of results for each of `LENGTHS`."""
    lines = []
    for shown, length in LENGTHS.items():
        values: list[tuple[object, ...]] = [
            (body[:length], title, day)
            for body, title, day in zip(*(column[:1_000] for column in given[1:]), strict=True)
        ]
        found: dict[str, list[Rate]] = {name: [] for name in TABLES}
        for turn in range(rounds):
            for name in in_turns(turn):
                cleared(connection, WRITES[0], name)
                found[name].append(many.rate(BY_CLIENTS.format(name), values, seconds))
        without, beside = (statistics.median(rate.transactions for rate in found[name]) for name in TABLES)
        busy = max(rate.busy for rates in found.values() for rate in rates)
        lines.append(
            f"{CLIENTS} clients, {shown}: {without:,.0f} transactions a second without triggers,"
            f" {beside:,.0f} with them, {beside / without:.2f} of the rate"
            f"; at least {LEAST_RATE} of whole articles is promised"
            f" (the clients themselves took {busy:.1f} of {cores()} cores at most)"
        )
    return lines


def timed(connection: psycopg.Connection[Any], statement: str, values: list[Any] | None) -> float:
    """Run a statement with its commit, and return the seconds."""
    started = time.perf_counter()
    connection.execute(statement.encode(), values)
    return time.perf_counter() - started


def table(found: Sequence[tuple[str, Costs]]) -> str:
    """Return a table in Markdown: for each write a row per server; `a → b` are costs without and with
    triggers."""
    with_times = any(cost.seconds for _, costs in found for both in costs.values() for cost in both.values())
    heads = ["write", "PostgreSQL", *(["times as long", "ms"] if with_times else []), *COUNTS]
    rows = [heads, ["---"] * len(heads)]
    for write in WRITES:
        for server, costs in found:
            both = [costs[write.name][name] for name in TABLES]
            cells = [write.name, server]
            if with_times:
                without, beside = (1000 * statistics.median(cost.seconds) for cost in both)
                cells += [f"{beside / without:.2f}", f"{without:,.2f} → {beside:,.2f}"]
            cells += [change([getattr(cost, name) for cost in both]) for name in COUNTS.values()]
            rows.append(cells)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def change(both: Sequence[float | None]) -> str:
    """Return two counts as text, without → with triggers, in significant digits; "–" for an unknown count."""
    return " → ".join("–" if one is None else f"{one:,.0f}" if one >= 100 else f"{one:.3g}" for one in both)


def rows(path: Path) -> list[Any]:
    """Return the columns of the first `ROWS` articles of a file, each as a list: ids, texts, titles and
    dates."""
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
    parser.add_argument(
        "--programs", type=Path, action="append", default=[], help="folder of another PostgreSQL"
    )
    parser.add_argument("--counts", action="store_true", help="only counts, no times")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seconds", type=float, default=4.0, help="time that clients insert per turn")
    given = parser.parse_args()
    articles = rows(given.file)
    found, lines = [], []
    for programs in (None, *given.programs):
        with tempfile.TemporaryDirectory(prefix="dedup-triggers-") as folder, ExitStack() as stack:
            opened = (
                embedded_server(Path(folder) / "server") if programs is None else installed_server(programs)
            )
            server = stack.enter_context(opened)
            name = version(server.url).split(" ")[0]
            costs, more = measure(server, articles, given.rounds, given.seconds, times=not given.counts)
            found.append((name, costs))
            lines += [f"PostgreSQL {name}, {line}" for line in more]
    print(table(found))
    if lines:
        print(
            f"\nAt most {MOST_TIMES} times as long is promised for UPDATEs of an unmapped column.",
            *lines,
            sep="\n",
        )


if __name__ == "__main__":
    main()
