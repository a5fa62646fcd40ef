"""Measure how long a scraper waits for a verdict while others work.

    scripts/latency.py [FILE] [--articles N] [--family N] [--only CASE] [--json]

Submits articles to an embedded server, one after another at a steady pace, while each of these runs in turn:
nothing; a backfill of 30,000 articles; a backfill of 8,000 items of one template, with items of this template
submitted; a transaction that has edited an article and stays open; a backfill that puts changed settings in
force. Articles are submitted again as edits; items of the template are all new. Late verdicts are `pending`,
and are counted. Takes about 4 minutes; do not quote numbers of a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path

import psycopg
from sandbox import DATA, fresh_corpus, store, throwaway_server

from dedup import Deduplicator
from dedup.base.article import Article
from dedup.base.errors import DedupError
from dedup.db.database import Database
from dedup.extras.lab.hard_cases import CASES
from dedup.files.readers import read_articles
from dedup.settling.backfill import backfill
from dedup.store import rulebooks

FILE = "reuters_web_2006_2010.jsonl.gz"
ARTICLES = 30_000
FAMILY = 8_000
SUBMITTED = 200
"""Number of articles of the file that are submitted in each case."""

MORE_ITEMS = 2_000
"""Number of items of the template that are submitted."""

PACE_SECONDS = 0.05
OPEN_SECONDS = 60.0
"""Seconds that the open transaction stays open."""


@dataclass(slots=True)
class Latencies:
    """The measurements of one case, in milliseconds."""

    beside: str
    submitted: int = 0
    median_ms: float = 0.0
    p99_ms: float = 0.0
    longest_ms: float = 0.0
    statuses: dict[str, int] = field(default_factory=dict)
    beside_seconds: float = 0.0


def main() -> int:
    options = _options()
    found: list[Latencies] = []
    try:
        with throwaway_server(None) as url:
            database = Database(url)
            try:
                for row in measure(url, database, options):
                    print(f"measured beside {row.beside}", file=sys.stderr)
                    found.append(row)
            finally:
                database.close()
    except DedupError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps([asdict(row) for row in found], indent=2) if options.json else _table(found))
    return 0


def measure(url: str, database: Database, options: argparse.Namespace) -> Iterator[Latencies]:
    """Measure the cases with news on a corpus that grows, and the case with a template on a new corpus."""
    if options.only != "family":
        yield from measure_news(url, database, options)
    if options.only != "news":
        yield measure_family(url, database, options)


def measure_news(url: str, database: Database, options: argparse.Namespace) -> Iterator[Latencies]:
    """Measure submissions: alone, beside a backfill, an open edit, and a backfill with changed settings."""
    news = _accepted(options.file)
    given = list(islice(news, options.articles + 4 * SUBMITTED))
    pending, kept = given[: options.articles], iter(given[options.articles :])
    fresh_corpus(database)
    store(database, pending[:2_000])
    backfill(database)
    yield submit_beside("nothing", url, islice(kept, SUBMITTED), None)
    store(database, pending[2_000:])
    yield submit_beside("a backfill", url, islice(kept, SUBMITTED), lambda: command(url, "backfill"))
    backfill(database)
    yield submit_beside("an open edit", url, islice(kept, SUBMITTED), lambda: open_edit(url))
    with database.transaction(settling=True) as cursor:
        rulebooks.change_settings(cursor, {"duplicate_sentence_jaccard": 0.65})
    yield submit_beside("changed settings", url, islice(kept, SUBMITTED), lambda: command(url, "backfill"))


def measure_family(url: str, database: Database, options: argparse.Namespace) -> Latencies:
    """Measure submissions while a backfill settles the items of one template."""
    fresh_corpus(database)
    items = CASES["templates"].make(1, items=2 * (options.family + MORE_ITEMS), twice=0).articles
    family = [as_published(item) for item in items if item.source_id.startswith("quake")]
    store(database, family[: options.family])
    more = iter(family[options.family :])
    return submit_beside("a template family", url, more, lambda: command(url, "backfill"), again=False)


@contextmanager
def command(url: str, *words: str) -> Iterator[Callable[[], bool]]:
    """Run a command in its own process; yield a function that returns True while the command runs."""
    program = [sys.executable, "-m", "dedup.cli.main", *words]
    process = subprocess.Popen(program, env={**os.environ, "DEDUP_DATABASE_URL": url})
    try:
        yield lambda: process.poll() is None
    finally:
        if process.wait() != 0:
            raise DedupError(f"dedup {' '.join(words)} failed")


@contextmanager
def open_edit(url: str) -> Iterator[Callable[[], bool]]:
    """Edit an article in a transaction and keep it open.

    Yield a function that returns True until `OPEN_SECONDS` have passed.
    """
    end = time.monotonic() + OPEN_SECONDS
    with psycopg.connect(url) as connection:
        connection.execute(
            "UPDATE dedup.article SET title = 'New' WHERE id = (SELECT min(id) FROM dedup.article)"
        )
        yield lambda: time.monotonic() < end


Beside = Callable[[], AbstractContextManager[Callable[[], bool]]] | None


def submit_beside(
    beside: str, url: str, articles: Iterator[Article], start: Beside, *, again: bool = True
) -> Latencies:
    """Submit articles at a steady pace while something else runs.

    Args:
        again: after all articles are submitted, submit edits of these articles until the other work ends.
    """
    given = list(articles)
    seconds: list[float] = []
    statuses: Counter[str] = Counter()

    def submit_all(more: Callable[[], bool]) -> None:
        for number in range(1_000_000):
            if not more() or (number >= len(given) and (start is None or not again)):
                return
            article = given[number % len(given)]
            if number >= len(given):  # an edit of an article that was submitted before
                article = Article(article.source_id, f"{article.text}\n\nUpdate {number}.", article.title)
            began = time.perf_counter()
            statuses[corpus.submit(article).status] += 1
            seconds.append(time.perf_counter() - began)
            time.sleep(PACE_SECONDS)

    began = time.monotonic()
    with Deduplicator(url) as corpus:
        if start is None:
            submit_all(lambda: True)
        else:
            with start() as at_work:
                submit_all(at_work)
    quantiles = statistics.quantiles(seconds, n=100)
    return Latencies(
        beside,
        len(seconds),
        round(1000 * statistics.median(seconds), 1),
        round(1000 * quantiles[98], 1),
        round(1000 * max(seconds), 1),
        dict(statuses),
        round(time.monotonic() - began, 1),
    )


def _accepted(file: Path) -> Iterator[Article]:
    with read_articles(file) as reader:
        for item in reader:
            if isinstance(item, Article):
                yield as_published(item)


def as_published(article: Article) -> Article:
    """Return an article whose `added_at` is the time of publication, as in a corpus that grew by the day."""
    return replace(article, added_at=article.published_at)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, default=DATA / FILE)
    parser.add_argument("--articles", type=int, default=ARTICLES)
    parser.add_argument("--family", type=int, default=FAMILY)
    parser.add_argument("--only", choices=("news", "family"))
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _table(found: list[Latencies]) -> str:
    lines = [f"{'beside':<20}{'submitted':>10}{'median ms':>11}{'p99 ms':>9}{'longest':>9}{'s':>7}  verdicts"]
    for row in found:
        verdicts = ", ".join(f"{count} {status}" for status, count in sorted(row.statuses.items()))
        lines.append(
            f"{row.beside:<20}{row.submitted:>10}{row.median_ms:>11}{row.p99_ms:>9}{row.longest_ms:>9}"
            f"{row.beside_seconds:>7}  {verdicts}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
