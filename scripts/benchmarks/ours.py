"""Run dedup through its public interface for the benchmarks: load, backfill, submit, and measure sizes.

    scripts/benchmarks/ours.py hook URL FILE ANSWER

A backfill is measured as the command `dedup backfill`, in the way that a newsroom runs it.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import meter
import numpy as np
import numpy.typing as npt
import psycopg
from servers import Server

from dedup import Article, Deduplicator

DEDUP = Path(sys.executable).with_name("dedup")
"""The command `dedup` of this environment."""

UNDATED = datetime(2000, 1, 1, tzinfo=UTC)
"""`added_at` of articles without a date. This time is fixed, so that their order is the same in every run."""

WARM_UP = 10
"""Number of articles submitted first that are not counted, because connections are still being opened."""

BARE = """
    DROP TABLE IF EXISTS bare;
    CREATE TABLE bare (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        source_id text NOT NULL UNIQUE, title text, url text, publication text, published_at timestamptz,
        added_at timestamptz NOT NULL DEFAULT now(), text text NOT NULL
    );
    INSERT INTO bare (source_id, title, url, publication, published_at, added_at, text)
        SELECT source_id, title, url, publication, published_at, added_at, text FROM dedup.article;
"""
"""Table of a newsroom without dedup. It gets all articles of the corpus before the clock starts."""

INSERT = """
    INSERT INTO bare (source_id, title, url, publication, published_at, text)
    VALUES (%(source_id)s, %(title)s, %(url)s, %(publication)s, %(published_at)s, %(text)s)
"""

RELATIONS = """
    SELECT c.relname, c.relkind::text,
        CASE WHEN c.relkind = 'r' THEN pg_table_size(c.oid) ELSE pg_relation_size(c.oid) END
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'dedup' AND c.relkind IN ('r', 'i')
"""


@dataclass(frozen=True, slots=True)
class Hook:
    """Milliseconds of `submit`, and of a bare INSERT with its commit, for one article; and their ratios."""

    articles: int
    submit_median: float
    submit_p99: float
    insert_median: float
    insert_p99: float

    @property
    def ratio_median(self) -> float:
        """Return the median time of `submit`, divided by the median time of the INSERT."""
        return self.submit_median / self.insert_median

    @property
    def ratio_p99(self) -> float:
        """Return the 99th percentile of `submit`, divided by the 99th percentile of the INSERT."""
        return self.submit_p99 / self.insert_p99

    def as_json(self) -> dict[str, float]:
        """Return the figures and both ratios."""
        return {**asdict(self), "ratio_median": self.ratio_median, "ratio_p99": self.ratio_p99}


def load(url: str, articles: Iterable[Article]) -> int:
    """Store articles with their dates as `added_at`, and return their number. Make the corpus if needed."""
    Deduplicator.initialize(url)
    with Deduplicator(url) as deduplicator:
        dated = (replace(a, added_at=a.added_at or a.published_at or UNDATED) for a in articles)
        report = deduplicator.load(dated)
    return report.new + report.changed


def backfill(server: Server, url: str, *options: str, **how: Any) -> meter.Cost:
    """Return the cost of `dedup backfill` with these options.

    Before the clock starts, a checkpoint is made, and tables are vacuumed, as autovacuum does within a minute
    after a load. Tables of other programs are prepared, too.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
    server.settle()
    return _measure(server, url, "backfill", *options, **how)


def verify(server: Server, url: str, sample: int, **how: Any) -> meter.Cost:
    """Return the cost of `dedup verify` of random articles. It has a failure if a difference is found."""
    return _measure(server, url, "verify", "--sample", str(sample), **how)


def _measure(server: Server, url: str, *command: str, **how: Any) -> meter.Cost:
    environment = {"DEDUP_DATABASE_URL": url}
    return meter.measure([DEDUP, *command], postmaster=server.postmaster, env=environment, **how)


def change(url: str, name: str, value: str) -> None:
    """Change a setting; the next backfill applies the new value to all marks."""
    with Deduplicator(url) as deduplicator:
        deduplicator.settings.change({name: value})


def groups(url: str, numbers: dict[str, int]) -> npt.NDArray[np.int32]:
    """Return an array that gives, for each article number, the number of the article's original.

    An article that is not a duplicate is its own original.
    """
    found = np.arange(len(numbers), dtype=np.int32)
    with Deduplicator(url) as deduplicator:
        for mark in deduplicator.marks():
            if mark["duplicate_of"]:
                found[numbers[mark["id"]]] = numbers[mark["duplicate_of"]]
    return found


def hook(
    server: Server, url: str, articles: Sequence[Article], folder: Path
) -> tuple[meter.Cost, Hook | None]:
    """Measure `submit` and a bare INSERT for each article, and the cost of the process that runs both."""
    with psycopg.connect(url) as connection:
        connection.execute(BARE)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE bare")
    server.settle()
    given, answer = folder / "hook.jsonl", folder / "hook.json"
    with given.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(as_row(article)) + "\n" for article in articles)
    command: list[str | Path] = [sys.executable, __file__, "hook", url, given, answer]
    cost = meter.measure(command, postmaster=server.postmaster)
    return cost, None if cost.failure else Hook(**json.loads(answer.read_text()))


def as_row(article: Article) -> dict[str, str | None]:
    """Return an article as a JSON object with the fields of `Article` that the bare table has, too."""
    time = article.published_at.isoformat() if article.published_at else None
    names = ("source_id", "title", "url", "publication", "language", "text")
    return {**{name: getattr(article, name) for name in names}, "published_at": time}


def in_turns(url: str, rows: Iterator[dict[str, Any]]) -> Hook:
    """Submit each article and insert it into the bare table, in alternating order. Return the times."""
    submitted: list[float] = []
    inserted: list[float] = []
    with Deduplicator(url) as deduplicator, psycopg.connect(url, autocommit=True) as connection:
        for turn, row in enumerate(rows):
            article = Article(**row)

            def submit(article: Article = article) -> None:
                deduplicator.submit(article)

            # Add a number to the key, because the bare INSERT cannot replace an earlier version of a row.
            row["source_id"] += f" {turn}"

            def insert(row: dict[str, Any] = row) -> None:
                connection.execute(INSERT, row)  # autocommit: includes the commit

            ways: list[tuple[Callable[[], None], list[float]]] = [(submit, submitted), (insert, inserted)]
            for way, took in ways if turn % 2 else reversed(ways):
                started = time.perf_counter()
                way()
                if turn >= WARM_UP:
                    took.append(1000 * (time.perf_counter() - started))
    return Hook(len(submitted), *_quantiles(submitted), *_quantiles(inserted))


def _quantiles(found: list[float]) -> tuple[float, float]:
    return statistics.median(found), statistics.quantiles(found, n=100)[98]


def sizes(url: str) -> dict[str, float]:
    """Return the megabytes of each table (with its long texts) and index of a corpus, the largest first."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(RELATIONS).fetchall()
    kinds = {"r": "table", "i": "index"}
    return {f"{kinds[kind]} {name}": size / 1e6 for name, kind, size in sorted(rows, key=lambda row: -row[2])}


if __name__ == "__main__":
    _, url, given, answer = sys.argv[1:]
    with Path(given).open(encoding="utf-8") as lines:
        found = in_turns(url, map(json.loads, lines))
    Path(answer).write_text(json.dumps(asdict(found)))
