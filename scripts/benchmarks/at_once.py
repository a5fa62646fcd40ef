"""Compare many processes that submit at the same instant with one process, in marks and latencies.

    scripts/benchmarks/at_once.py [FILE] [--articles N] [--processes N] [--beside N] [--json]

On an embedded server, one process submits articles of a file one after another. Then several processes submit
the same articles to an empty corpus, so that the copies of a story come from different processes at the same
instant. A backfill follows both runs, and all marks and pairs of both runs are compared. Late verdicts are
`pending`, and are counted. With `--beside`, both corpora begin with articles that wait for a backfill, and
the several processes submit while the backfill runs. `scripts/latency.py` measures one submitter beside other
work.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from sandbox import DATA, UNDATED, fresh_corpus, store, throwaway_server

from dedup import Article, DedupError, Deduplicator
from dedup.db.database import Database
from dedup.files.readers import read_articles

FILE = "reuters21578.jsonl.gz"
ARTICLES = 4_000
PROCESSES = 8
SECONDS = 600.0
"""Maximum number of seconds that a process may take; after this time the measurement fails."""

Rows = list[dict[str, Any]]


@dataclass(slots=True)
class Submitted:
    """The times of a run with `processes` processes; `*_ms` are latencies in milliseconds."""

    processes: int
    articles: int
    seconds: float = 0.0
    per_second: float = 0.0
    median_ms: float = 0.0
    p99_ms: float = 0.0
    longest_ms: float = 0.0
    backfill_seconds: float = 0.0
    statuses: dict[str, int] = field(default_factory=dict)


def main() -> int:
    options = _options()
    read = many_alike(options.file, options.articles + options.beside)
    given, waiting = read[: options.articles], read[options.articles :]
    try:
        with throwaway_server() as url:
            found, differences = compare(url, given, options.processes, waiting)
    except DedupError as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps({"runs": [asdict(one) for one in found], "differences": differences}, indent=2))
    else:
        for one in found:
            print(_line(one))
        print(f"{differences} of the marks and pairs differ")
    return 3 if differences else 0


def compare(
    url: str, given: Sequence[Article], processes: int, waiting: Sequence[Article]
) -> tuple[list[Submitted], int]:
    """Submit articles by one process, then by several; return both times and the number of different rows."""
    alone = submit_all(url, [given], waiting)
    wanted = marks_and_pairs(url)
    stories = {row["id"]: row["duplicate_of"] or row["id"] for row in wanted[0]}
    ordered = sorted(given, key=lambda article: (stories[article.source_id], article.source_id))
    shares = [ordered[place::processes] for place in range(processes)]
    together = submit_all(url, shares, waiting, beside_backfill=bool(waiting))
    found = marks_and_pairs(url)
    return [alone, together], sum(_differences(a, b) for a, b in zip(wanted, found, strict=True))


def submit_all(
    url: str,
    shares: Sequence[Sequence[Article]],
    waiting: Sequence[Article],
    *,
    beside_backfill: bool = False,
) -> Submitted:
    """Store the waiting articles in a fresh corpus; then submit each share in a separate process. A backfill
    may run beside them. All processes start at the same instant."""
    database = Database(url)
    try:
        fresh_corpus(database)
        store(database, waiting)
    finally:
        database.close()
    context = multiprocessing.get_context("forkserver")
    results: Any = context.Queue()
    barrier = context.Barrier(len(shares) + 1 + beside_backfill)
    workers = [context.Process(target=_submit, args=(url, share, barrier, results)) for share in shares]
    settled: Any = context.Queue()
    if beside_backfill:
        workers.append(context.Process(target=_backfill, args=(url, barrier, settled)))
    for worker in workers:
        worker.start()
    barrier.wait(SECONDS)
    started = time.perf_counter()
    answers = [results.get(timeout=SECONDS) for _ in shares]
    seconds = time.perf_counter() - started
    backfill_seconds = settled.get(timeout=SECONDS) if beside_backfill else 0.0
    for worker in workers:
        worker.join(SECONDS)
    latencies = [latency for found, _ in answers for latency in found]
    statuses = sum((Counter(counted) for _, counted in answers), Counter[str]())
    quantiles = statistics.quantiles(latencies, n=100)
    return Submitted(
        len(shares),
        len(latencies),
        round(seconds, 1),
        round(len(latencies) / seconds, 1),
        round(1000 * quantiles[49], 1),
        round(1000 * quantiles[98], 1),
        round(1000 * max(latencies), 1),
        round(backfill_seconds, 1),
        dict(sorted(statuses.items())),
    )


def marks_and_pairs(url: str) -> tuple[Rows, Rows]:
    """Return all marks and all pairs after a backfill."""
    with Deduplicator(url) as corpus:
        corpus.backfill(workers=0)  # needs no workers: nearly all articles are settled already
        return [dict(row) for row in corpus.marks()], [dict(row) for row in corpus.matches()]


def _submit(url: str, given: Sequence[Article], barrier: Any, results: Any) -> None:
    latencies, statuses = [], Counter[str]()
    with Deduplicator(url) as corpus:
        barrier.wait(SECONDS)
        for article in given:
            began = time.perf_counter()
            statuses[corpus.submit(article).status] += 1
            latencies.append(time.perf_counter() - began)
    results.put((latencies, dict(statuses)))


def _backfill(url: str, barrier: Any, settled: Any) -> None:
    with Deduplicator(url) as corpus:
        barrier.wait(SECONDS)
        began = time.perf_counter()
        corpus.backfill()
        settled.put(time.perf_counter() - began)


def _differences(wanted: Rows, found: Rows) -> int:
    a, b = (Counter(json.dumps(row, sort_keys=True, default=str) for row in rows) for rows in (wanted, found))
    return sum(((a - b) | (b - a)).values())


def many_alike(file: Path, count: int) -> list[Article]:
    """Return `count` articles of a file, first the articles that have a near-duplicate in the silver truth.

    `added_at` is the time of publication, so that the order does not depend on the time of the measurement.
    """
    truth = file.with_name(file.name.replace(".jsonl", ".truth_silver.jsonl"))
    paired: set[str] = set()
    if truth.exists():
        with gzip.open(truth, "rt", encoding="utf-8") as lines:
            for pair in map(json.loads, lines):
                paired |= {pair["a"], pair["b"]}
    with read_articles(file) as reader:
        found = [item for item in reader if isinstance(item, Article)]
    found.sort(key=lambda article: article.source_id not in paired)
    return [replace(article, added_at=article.published_at or UNDATED) for article in found[:count]]


def _line(one: Submitted) -> str:
    verdicts = ", ".join(f"{count:,} {status}" for status, count in one.statuses.items())
    beside = f", beside a backfill of {one.backfill_seconds:,} s" if one.backfill_seconds else ""
    return (
        f"{one.processes} processes: {one.articles:,} articles in {one.seconds:,} s, {one.per_second:,}/s;"
        f" median {one.median_ms:,} ms, p99 {one.p99_ms:,} ms, longest {one.longest_ms:,} ms"
        f" ({verdicts}){beside}"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=DATA / FILE)
    parser.add_argument("--articles", type=int, default=ARTICLES)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--beside", type=int, default=0, metavar="N", help="waiting articles of a backfill")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
