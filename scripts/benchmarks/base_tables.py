#!/usr/bin/env python3
"""Measure the time from a commit in a base table until the marks of a running worker are right.

    scripts/benchmarks/base_tables.py [--rows N] [--feeds N] [--rounds N]

On an embedded server, invented briefs are attached twice, each time to a corpus of its own: as a table that
looks its outlets up in `feeds`, and as a view that joins `feeds`, a watched table. `dedup worker` runs as a
process. Each brief of feed 0 has an earlier copy in one of the other feeds. Every round makes each change of
`CHANGES` to one of these other feeds, at a random moment. The clock runs from the owner's commit until
outlets and marks are right.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from itertools import chain, product
from pathlib import Path
from typing import Any

import psycopg
from servers import embedded_server

from dedup import Deduplicator

PATIENCE = 60.0  # seconds after which the measurement fails
TABLES = """
    CREATE TABLE feeds (id integer PRIMARY KEY, title text, open boolean NOT NULL DEFAULT true);
    CREATE TABLE entries (id bigint PRIMARY KEY, feed_id integer, body text, day timestamptz);
    CREATE INDEX ON entries (feed_id);
    CREATE VIEW listed AS
    SELECT e.id, body, day, title AS outlet FROM entries e JOIN feeds f ON f.id = feed_id WHERE open;
    CREATE VIEW named AS SELECT e.id, f.title AS outlet FROM entries e LEFT JOIN feeds f ON f.id = e.feed_id;
    INSERT INTO feeds SELECT n, 'Feed ' || n FROM generate_series(0, {feeds}) AS n;
    INSERT INTO entries SELECT 2 * n + place, CASE place WHEN 0 THEN 1 + n % {feeds} ELSE 0 END,
        (SELECT string_agg(md5(word || ' ' || n), ' ') FROM generate_series(1, 60) AS word),
        date '2026-01-01' + place
    FROM generate_series(0, {rows} / 2 - 1) AS n, generate_series(0, 1) AS place
"""
FIELDS = {"text": "body", "published_at": "day"}
WATCH = ["id=entries.id", "entries.feed_id=feeds.id"]
ATTACHED: dict[str, dict[str, Any]] = {
    "entries": {"columns": {**FIELDS, "publication": "feed_id=feeds.title"}},
    "listed": {"columns": {**FIELDS, "publication": "outlet"}, "watch": WATCH},
}
WANTED = {"entries": "named", "listed": "listed"}  # table -> view of its expected articles and outlets
CHANGES = {
    "outlet renamed": "UPDATE feeds SET title = title || '.' WHERE id = %(feed)s",
    "row lost by a join": "UPDATE feeds SET open = false WHERE id = %(feed)s",
    "row gained by a join": "UPDATE feeds SET open = true WHERE id = %(feed)s",
    "feed deleted": "DELETE FROM feeds WHERE id = %(feed)s",
    "feed inserted": "INSERT INTO feeds (id, title) VALUES (%(feed)s, 'Again')",
}
# Count the entries of a feed that dedup has not followed yet: the article of the entry is not right, or the
# article of its copy in feed 0 (the entry with the next id) is not.
WRONG = """
    SELECT count(*) FROM entries e LEFT JOIN {1} w ON w.id = e.id
    LEFT JOIN dedup.marked_article a ON a.source_id = '{0}/' || e.id
    LEFT JOIN dedup.marked_article c ON c.source_id = '{0}/' || e.id + 1
    WHERE e.feed_id = %(feed)s AND (
        (w.id IS NULL) <> (a.id IS NULL) OR w.outlet IS DISTINCT FROM a.publication OR a.stale OR c.stale
        OR c.status IS DISTINCT FROM CASE WHEN w.id IS NULL THEN 'unique' ELSE 'duplicate' END)
"""


def run(url: str, command: str) -> subprocess.Popen[bytes]:
    given = {**os.environ, "DEDUP_DATABASE_URL": url}
    return subprocess.Popen([sys.executable, "-m", "dedup", command], env=given, stderr=subprocess.DEVNULL)


def seconds(owner: psycopg.Connection[Any], name: str, kind: str, feed: int) -> float:
    """Make a change, and return the seconds until outlets and marks are right."""
    time.sleep(random.random())  # a worker pauses for up to a second between two looks
    owner.execute(CHANGES[kind].encode(), {"feed": feed})
    start = time.perf_counter()
    while owner.execute(WRONG.format(name, WANTED[name]).encode(), {"feed": feed}).fetchone() != (0,):
        if time.perf_counter() > start + PATIENCE:
            raise SystemExit(f"{name}, {kind}: not followed within {PATIENCE:g} s")
        time.sleep(0.005)
    return time.perf_counter() - start


def measure(url: str, name: str, options: argparse.Namespace) -> None:
    Deduplicator.initialize(url)
    found: dict[str, list[float]] = {kind: [] for kind in CHANGES if name == "listed" or "join" not in kind}
    with Deduplicator(url) as dd, psycopg.connect(url, autocommit=True) as owner, ExitStack() as stack:
        owner.execute(TABLES.format(**vars(options)).encode())
        dd.attachments.attach(f"public.{name}", keys=["id"], **ATTACHED[name])
        run(url, "backfill").wait()
        worker = stack.enter_context(run(url, "worker"))
        stack.callback(worker.terminate)
        seconds(owner, name, "outlet renamed", 1)  # wait until the worker has started
        for turn, kind in product(range(options.rounds), found):
            found[kind].append(seconds(owner, name, kind, 1 + turn % options.feeds))
    for kind, times in {**found, "all": [*chain(*found.values())]}.items():
        p95 = statistics.quantiles(times, n=20, method="inclusive")[-1]
        spread = f"median {statistics.median(times):.2f} s, p95 {p95:.2f} s, maximum {max(times):.2f} s"
        print(f"{name:8} {kind:22} {spread}, load {os.getloadavg()[0]:.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for option, default in (("--rows", 20_000), ("--feeds", 500), ("--rounds", 50)):
        parser.add_argument(option, type=int, default=default)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, embedded_server(Path(folder) / "server") as server:
        for name in ATTACHED:
            with server.database(name) as url:
                measure(url, name, given)


if __name__ == "__main__":
    main()
