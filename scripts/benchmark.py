"""Measure speed, memory, and the size of the database.

    scripts/benchmark.py [FILE] [--held N] [--workers N] [--settings NAME=VALUE]... [--json]

Loads a file into an embedded server, except its last articles, and does a backfill and a second backfill that
finds no work. Then submits the last articles one by one, like a scraper. Calls the functions behind the
commands. Memory is counted for this process and its workers, but not for Postgres. Takes about 5 minutes on
an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
from sandbox import DATA, fresh_corpus, read_settings, store, throwaway_server

from dedup import Deduplicator
from dedup.base.article import Article
from dedup.base.errors import DedupError
from dedup.db.database import Database
from dedup.files.readers import Reject, read_articles
from dedup.settling.backfill import backfill
from dedup.store import rulebooks

FILE = "reuters_web_2006_2010.jsonl.gz"
"""The default FILE, the largest of the sets beside the checkout: 58,051 articles in time order."""

HELD_ARTICLES = 2_000
"""Number of articles at the end of the file that are not loaded, but submitted one by one."""

SAMPLE_SECONDS = 0.05
"""Seconds between two samples of memory; about the time for which a worker keeps a chunk of texts."""

TABLES = ("article", "fingerprint", "match", "common_sentence")


@dataclass(slots=True)
class Report:
    """The measurements: seconds, megabytes (10^6 bytes), articles per second; latencies in ms."""

    file: str = ""
    cores: int = 0
    workers: int = 0
    postgres: str = ""
    python: str = platform.python_version()
    busy_before: float = 0.0
    loaded: int = 0
    refused: int = 0
    load_seconds: float = 0.0
    load_rate: float = 0.0
    backfill_seconds: float = 0.0
    backfill_rate: float = 0.0
    fingerprinted: int = 0
    failed: int = 0
    settled: int = 0
    compared: int = 0
    backfill_peak_mb: float = 0.0
    idle_backfill_seconds: float = 0.0
    checked: int = 0
    check_rate: float = 0.0
    check_median_ms: float = 0.0
    check_p95_ms: float = 0.0
    statuses: dict[str, int] = field(default_factory=dict)
    database_mb: float = 0.0
    tables_mb: dict[str, float] = field(default_factory=dict)


def main() -> int:
    options = _options()
    try:
        settings = read_settings(options.settings)
        report = Report(file=options.file.name, busy_before=round(os.getloadavg()[0], 2))
        held: deque[Article] = deque()
        with throwaway_server(options.home) as url:
            database = Database(url)
            try:
                prepare(database, report, settings, options.workers)
                measure_load(database, report, options.file, options.held, held)
                measure_backfill(database, report, options.workers)
                measure_idle_backfill(database, report, options.workers)
                measure_check(url, report, held)
                measure_sizes(database, report)
            finally:
                database.close()
    except DedupError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(asdict(report), indent=2) if options.json else _table(report))
    return 0


def prepare(database: Database, report: Report, settings: dict[str, str], workers: int | None) -> None:
    """Make an empty corpus, and note the conditions of the measurement."""
    fresh_corpus(database)
    with database.transaction(settling=True) as cursor:
        rulebooks.change_settings(cursor, settings)
        row = cursor.execute("SHOW server_version").fetchone()
    report.postgres = row[0] if row else ""
    report.cores = len(os.sched_getaffinity(0))
    report.workers = report.cores if workers is None else workers


def measure_load(database: Database, report: Report, file: Path, hold: int, held: deque[Article]) -> None:
    """Store the articles of a file in batches, but put the last `hold` articles into `held`."""
    started = time.perf_counter()
    report.loaded = store(database, _all_but_last(hold, _accepted(file, report), held))
    report.load_seconds = time.perf_counter() - started
    report.load_rate = report.loaded / report.load_seconds


def measure_backfill(database: Database, report: Report, workers: int | None) -> None:
    """Settle all pending articles."""
    with _peak_memory() as peak:
        started = time.perf_counter()
        done = backfill(database, workers=workers)
        report.backfill_seconds = time.perf_counter() - started
    report.fingerprinted, report.failed = done.fingerprinted, done.failed
    report.settled, report.compared = done.settled, done.compared
    report.backfill_rate = report.loaded / report.backfill_seconds
    report.backfill_peak_mb = sum(peak.values()) / 1e6


def measure_idle_backfill(database: Database, report: Report, workers: int | None) -> None:
    """Measure the time of a backfill that finds no work."""
    started = time.perf_counter()
    backfill(database, workers=workers)
    report.idle_backfill_seconds = time.perf_counter() - started


def measure_check(url: str, report: Report, held: Iterable[Article]) -> None:
    """Measure the time to submit each article in this process, one article after the other."""
    latencies = []
    with Deduplicator(url) as deduplicator:
        for article in held:
            started = time.perf_counter()
            verdict = deduplicator.submit(article)
            latencies.append(time.perf_counter() - started)
            status = str(verdict.status)
            report.statuses[status] = report.statuses.get(status, 0) + 1
    report.checked = len(latencies)
    if len(latencies) > 1:
        report.check_rate = len(latencies) / sum(latencies)
        report.check_median_ms = 1000 * statistics.median(latencies)
        report.check_p95_ms = 1000 * statistics.quantiles(latencies, n=20)[-1]


def measure_sizes(database: Database, report: Report) -> None:
    """Measure the size on disk. The size of a table includes its indexes and long texts."""
    with database.transaction() as cursor:
        row = cursor.execute("SELECT pg_database_size(current_database())").fetchone()
        report.database_mb = row[0] / 1e6 if row else 0.0
        for table in TABLES:
            row = cursor.execute("SELECT pg_total_relation_size(%s::regclass)", [f"dedup.{table}"]).fetchone()
            report.tables_mb[table] = row[0] / 1e6 if row else 0.0


@contextmanager
def _peak_memory() -> Iterator[dict[int, int]]:
    """Yield the peak memory in bytes, by process id, of this process and its children during the block."""
    peak: dict[int, int] = {}
    done = threading.Event()

    def sample() -> None:
        this = psutil.Process()
        while not done.wait(SAMPLE_SECONDS):
            for process in (this, *this.children(recursive=True)):
                with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                    if not process.name().startswith("postgres"):
                        used = process.memory_info().rss
                        peak[process.pid] = max(peak.get(process.pid, 0), used)

    sampler = threading.Thread(target=sample, daemon=True)
    sampler.start()
    try:
        yield peak
    finally:
        done.set()
        sampler.join()


def _accepted(file: Path, report: Report) -> Iterator[Article]:
    with read_articles(file) as reader:
        for found in reader:
            if isinstance(found, Article):
                yield found
            else:
                report.refused += isinstance(found, Reject)


def _all_but_last(count: int, found: Iterable[Article], held: deque[Article]) -> Iterator[Article]:
    """Yield all articles except the last `count`, which stay in `held`."""
    for article in found:
        held.append(article)
        if len(held) > count:
            yield held.popleft()


def _table(report: Report) -> str:
    share = f"{report.cores} cores, {report.workers} workers, load average {report.busy_before} before"
    verdicts = ", ".join(f"{count:,} {status}" for status, count in sorted(report.statuses.items()))
    sizes = ", ".join(f"{name} {size:,.0f}" for name, size in report.tables_mb.items())
    rows = [
        ("on", f"{share}; PostgreSQL {report.postgres}, Python {report.python}"),
        ("load", f"{report.loaded:,} articles of {report.file}, {report.refused} refused: "
                 f"{report.load_seconds:.1f} s, {report.load_rate:,.0f} articles/s"),
        ("backfill", f"{report.fingerprinted:,} read, {report.failed:,} failed, {report.settled:,} settled, "
                     f"{report.compared:,} pairs compared: "
                     f"{report.backfill_seconds:.1f} s, {report.backfill_rate:,.0f} articles/s"),
        ("memory", f"{report.backfill_peak_mb:,.0f} MB, the sum of the peaks of the backfill's processes"),
        ("backfill again", f"{report.idle_backfill_seconds:.2f} s, nothing to do"),
        ("check", f"{report.checked:,} articles ({verdicts}): {report.check_rate:,.0f} articles/s, "
                  f"median {report.check_median_ms:.1f} ms, 95th percentile {report.check_p95_ms:.1f} ms"),
        ("size", f"{report.database_mb:,.0f} MB; with indexes: {sizes}"),
    ]  # fmt: skip
    return "\n".join(f"{name:16}{text}" for name, text in rows)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, default=DATA / FILE, help=f"default: {FILE}")
    parser.add_argument("--held", type=int, default=HELD_ARTICLES, help="articles for the one-by-one stage")
    parser.add_argument("--workers", type=int, help="processes that read texts; default: one per core")
    parser.add_argument("--settings", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--home", type=Path, help="a new folder for the server, which is kept")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
