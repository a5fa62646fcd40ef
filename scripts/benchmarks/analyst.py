#!/usr/bin/env python3
"""Measure the time of each query of docs/analyst.md.

    scripts/benchmarks/analyst.py [FILE] [--outlets N] [--asked N]
    scripts/benchmarks/analyst.py --url URL

Loads the articles of the file into an embedded server, spread over 60 invented outlets, settles the articles
and calls `keep_sentences`. `--url` names a corpus in which this is done already. Each query has a separate
connection. Prints the median seconds and the number of rows of each query, and the processor's seconds in the
server, which matter on a busy machine. Queries about one story get the story with the most copies; queries
about a week or a year get the last week or year of the corpus.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from hashlib import blake2b
from pathlib import Path

from servers import embedded_server

from dedup import Article, Deduplicator, frames
from dedup.db.database import Database
from dedup.files.readers import read_articles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # finds `sandbox` in the parent folder
from sandbox import DATA

FILE = "reuters_web_2006_2010.jsonl.gz"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "analyst.md"


def queries() -> Iterator[tuple[str, str]]:
    """Yield each question of docs/analyst.md with its query."""
    for block in re.findall(r"^```sql\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        for query in filter(str.strip, block.split(";")):
            title, _, statement = query.strip().partition("\n")
            yield title.removeprefix("-- "), statement


def news(file: Path, outlets: int) -> Iterator[Article]:
    with read_articles(file) as reader:
        for article in reader:
            if isinstance(article, Article):
                drawn = int.from_bytes(blake2b(article.source_id.encode(), digest_size=4).digest()) / 2**32
                yield replace(article, publication=f"Outlet {int(drawn**2 * outlets)}")


def measure(database: Database, asked: int) -> None:
    with Deduplicator(database.url) as dd:
        story = dd.stories(1)[0].id
        copy = dd.story(story).copies[0].id
        last = max(row["published_at"] for row in frames.marks(dd).to_pylist() if row["published_at"])
    named = {"vantage-0312-storm": story, "vantage-0312-storm-update": copy}
    named |= {"2026-03-09": str(last - timedelta(7)), "2026-03-16": str(last)}
    named |= {"2026-01-01": str(last - timedelta(365)), "2027-01-01": str(last)}
    for title, query in queries():
        statement = re.sub(
            r"'(vantage-[\w-]+|20\d\d-\d\d-\d\d)'", lambda found: f"'{named[found[1]]}'", query
        )
        seconds, busy, rows = [], [], 0
        for _ in range(asked):
            with database.connect() as connection:
                pid = connection.info.backend_pid
                began, used = time.perf_counter(), cpu_seconds(pid)
                rows = len(connection.execute(statement.encode()).fetchall())
                seconds.append(time.perf_counter() - began)
                busy.append(cpu_seconds(pid) - used)
        spent = f"{statistics.median(seconds):6.3f} s  {statistics.median(busy):6.2f} s CPU"
        print(f"{spent}  {rows:>4} rows  {title}", flush=True)


def cpu_seconds(pid: int) -> float:
    """Return the processor's seconds that a process used; 0 where the system has no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", nargs="?", type=Path, default=DATA / FILE)
    parser.add_argument("--outlets", type=int, default=60)
    parser.add_argument("--asked", type=int, default=5)
    parser.add_argument("--url", help="an existing corpus, settled, with kept sentences")
    given = parser.parse_args()
    if given.url:
        measure(Database(given.url), given.asked)
        return
    with (
        tempfile.TemporaryDirectory(prefix="dedup-analyst-") as folder,
        embedded_server(Path(folder) / "server") as postgres,
        postgres.database("analyst") as url,
    ):
        Path(folder).chmod(0o711)  # if root runs this, the server is another user, who needs the folder
        Deduplicator.initialize(url)
        with Deduplicator(url) as dd:
            dd.load(news(given.file, given.outlets))
            dd.backfill()
            for what in ("first", "again"):
                began = time.perf_counter()
                print(f"sentences, {what}: {dd.keep_sentences()} in {time.perf_counter() - began:.1f} s")
        postgres.settle()
        measure(Database(url), given.asked)


if __name__ == "__main__":
    main()
