#!/usr/bin/env python3
"""Measure reading the marks into a notebook, as Arrow tables and row by row.

    scripts/benchmarks/frames.py [--articles N]

The corpus on an embedded server has invented articles, of which every fourth is a duplicate and every eighth
is similar to its predecessor, with marks and pairs as a backfill writes them. Each table is read in three
ways, each in its own process: by `dedup.frames` as a whole, by `dedup.frames` in batches that are dropped,
and by pandas from the view, row by row. Prints the seconds of the reading, the processor seconds of the
program and of Postgres, rows per second, and the peak memory of the program; the first line is the memory
before any reading.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import meter
from servers import embedded_server

from dedup import Deduplicator
from dedup.db.database import Database
from dedup.extras.frames.columns import TABLE_NAMES

ARTICLES = """
    INSERT INTO dedup.article (source_id, title, url, publication, language, published_at, text)
    SELECT 'article-' || n, 'The title of article ' || n || ', with as many words as titles have',
           'https://news.example/2026/03/article-' || n || '.html', 'Outlet ' || n %% 50, 'en',
           timestamptz '2026-01-01Z' + n * interval '1 minute', 'x'
    FROM generate_series(1, %s) AS n
"""
MARKS = """
    UPDATE dedup.article_mark SET stale = false, takes_part = true, marked_at = now(),
        status = CASE WHEN id % 4 = 0 THEN 'duplicate' WHEN id % 8 = 1 THEN 'similar' ELSE 'unique' END,
        duplicate_of = CASE WHEN id % 4 = 0 THEN id - 1 END,
        score = CASE WHEN id % 4 = 0 OR id % 8 = 1 THEN 0.7 END,
        reason = CASE WHEN id % 4 = 0 OR id % 8 = 1 THEN 'sentences' END
"""
PAIRS = """
    INSERT INTO dedup.match SELECT id, id - 1, CASE id % 4 WHEN 0 THEN 'duplicate' ELSE 'similar' END,
        'sentences', 0.7, 0.7, 0.65, 0.8 FROM dedup.article WHERE id > 1 AND (id % 4 = 0 OR id % 8 = 1)
"""
VIEWS = {
    "stories": "dedup.story",
    "duplicates": "dedup.duplicate",
    "matches": "dedup.scored_pair",
    "marks": "dedup.mark",
}
PROGRAM = """
import sys, time
from dedup import Deduplicator, frames
import pandas
dd = Deduplicator(sys.argv[1])
dd.ping()
wall, processor = time.perf_counter(), time.process_time()
{}
print(time.perf_counter() - wall, time.process_time() - processor)
"""
WAYS = {
    "Arrow table": "found = frames.{name}(dd)",
    "Arrow batches": "for batch in frames.reader({name!r}, dd): pass",
    "row by row": "pandas.read_sql('SELECT * FROM {view}', dd.engine())",
}


def measure(url: str, postmaster: int, articles: int) -> None:
    """Make a corpus, read it in every way, and print the costs."""
    Deduplicator.initialize(url)
    database = Database(url)
    with database.transaction(settling=True) as cursor:
        cursor.execute(ARTICLES, [articles])
        cursor.execute(MARKS)
        cursor.execute(PAIRS)
        cursor.execute("ANALYZE dedup.article, dedup.article_mark, dedup.match")
    with database.transaction() as cursor:
        rows = {
            name: cursor.execute(f"SELECT count(*) FROM {VIEWS[name]}".encode()).fetchall()[0][0]
            for name in TABLE_NAMES
        }
    database.close()
    *_, nothing = read(url, postmaster, "pass")
    print(f"nothing: {nothing.peak_program_mb:.0f} MB")
    for name, count in rows.items():
        for way, code in WAYS.items():
            wall, processor, cost = read(url, postmaster, code.format(name=name, view=VIEWS[name]))
            print(
                f"{name}, {count:,} rows, {way}: {wall:.2f} s ({processor:.2f} + {cost.cpu_postgres:.2f} s of"
                f" processors), {count / wall:,.0f} rows/s, {cost.peak_program_mb:.0f} MB"
            )


def read(url: str, postmaster: int, code: str) -> tuple[float, float, meter.Cost]:
    """Measure the seconds and processor seconds of a reading, and the cost of the whole program."""
    with tempfile.TemporaryDirectory(prefix="dedup-frames-") as folder:
        log = Path(folder) / "log"
        command = [sys.executable, "-c", PROGRAM.format(code), url]
        cost = meter.measure(command, postmaster=postmaster, log=log)
        if cost.failure:
            raise SystemExit(cost.failure)
        wall, processor = map(float, log.read_text().split())
        return wall, processor, cost


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--articles", type=int, default=200_000)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="dedup-frames-") as folder,
        embedded_server(Path(folder) / "server") as server,
        server.database("frames") as url,
    ):
        measure(url, server.postmaster, given.articles)


if __name__ == "__main__":
    main()
