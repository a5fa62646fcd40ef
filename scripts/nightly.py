"""Measure the stages of a nightly run, and how much longer they take on a larger corpus.

    scripts/nightly.py [FILE] [--new N] [--base N ...] [--workers N] [--json]

For each base, the first articles of a file are loaded and settled. Then, on each of three nights, N new
articles are loaded, and a backfill settles them; medians are printed. `first` is the first backfill, of the
whole base. A nightly backfill updates the stored counts of frequent sentences, and does not count the
sentences of the base again. So the nightly columns should hardly grow with the base. Takes about 6 minutes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from sandbox import DATA, fresh_corpus, store, throwaway_server

from dedup.base.article import Article
from dedup.base.errors import DedupError
from dedup.db.database import Database
from dedup.files.readers import read_articles
from dedup.settling.backfill import backfill

FILE = "reuters_web_2006_2010.jsonl.gz"
NEW_ARTICLES = 2_000
NIGHTS = 3
BASES = (13_000, 26_000, 52_000)
STAGES = ("fingerprinting", "counting", "settling")


def main() -> int:
    options = _options()
    rows = []
    try:
        with throwaway_server() as url:
            database = Database(url)
            try:
                for base in options.base:
                    rows.append(measure(database, options.file, base, options.new, options.workers))
                    if not options.json:
                        print(_row(rows[-1]) if len(rows) > 1 else _head() + _row(rows[-1]), flush=True)
            finally:
                database.close()
    except DedupError as error:
        print(error, file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps(rows, indent=2))
    return 0


def measure(database: Database, file: Path, base: int, new: int, workers: int | None) -> dict[str, Any]:
    """Return the seconds of each stage of a night on a corpus of `base` articles."""
    articles = _read(file, base + NIGHTS * new)
    if len(articles) < base + NIGHTS * new:
        raise DedupError(f"{file} has {len(articles):,} articles; name a smaller --base")
    fresh_corpus(database)
    store(database, articles[:base])
    first = backfill(database, workers=workers)
    with database.transaction() as cursor:
        cursor.execute("ANALYZE dedup.match")
    nights = []
    for night in range(NIGHTS):
        start = base + night * new
        store(database, articles[start : start + new])
        nights.append(backfill(database, workers=workers).seconds)
    with database.transaction() as cursor:
        counted = cursor.execute("SELECT count(*), max(carriers) FROM dedup.sentence_count").fetchone()
    assert counted is not None
    return {
        "base": base,
        "new": new,
        "first": sum(first.seconds.values()),
        **{stage: statistics.median(night[stage] for night in nights) for stage in STAGES},
        "night": statistics.median(sum(night.values()) for night in nights),
        "kept counts": counted[0],
        "most carriers": counted[1],
    }


def _read(file: Path, count: int) -> list[Article]:
    with read_articles(file) as reader:
        return list(islice((found for found in reader if isinstance(found, Article)), count))


_COLUMNS = ("base", "new", "first", *STAGES, "night", "kept counts", "most carriers")


def _head() -> str:
    return "".join(f"{column:>15}" for column in _COLUMNS) + "\n"


def _row(found: dict[str, Any]) -> str:
    return "".join(
        f"{found[c]:>15,.2f}" if isinstance(found[c], float) else f"{found[c]:>15,}" for c in _COLUMNS
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", nargs="?", type=Path, default=DATA / FILE, help=f"default: {FILE}")
    parser.add_argument("--new", type=int, default=NEW_ARTICLES, help="new articles per night")
    parser.add_argument(
        "--base", type=int, nargs="+", default=BASES, help="sizes of the corpus before the new articles"
    )
    parser.add_argument("--workers", type=int, help="processes that fingerprint; default: one per core")
    parser.add_argument("--json", action="store_true", help="print JSON; seconds")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
