"""Measure `dedup sources` on texts that machines rewrote, and `dedup coverage` on events grouped by hand.

    scripts/benchmarks/sources.py sources [--corpus NAME ...] [--total N]
    scripts/benchmarks/sources.py coverage [--releases]

`sources` prints how often the original comes first, and among the first five: with the rewrites stored beside
the originals (asked by id), and with the originals alone (asked by text). Every second rewrite is counted
apart, too, so that a lucky choice of parameters shows. Other articles of the rewrite's family are neither
right nor wrong (README of the sets). `--total` adds invented articles made of runs of words from the sets, so
that each word is in more articles, as in a larger archive. `coverage` prints the recall of the first 20
articles for the events of
`events.json`, which were grouped by reading titles of whole days; with `--releases`, for press releases and
the reports on them, which people collected. No measurement touches a user's own database.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

from servers import embedded_server

from dedup import Article, Deduplicator
from dedup.db.database import Database
from dedup.files.readers import read_articles
from dedup.operation import Operation

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # finds `sandbox` in the parent folder
from sandbox import DATA, fresh_corpus, store

REWRITES, OTHERS = "ai_rewrites_a", "us_outlets_a"
RELEASES = "insciout_releases_a"
EVENTS = Path(__file__).with_name("events.json")
RUN_WORDS = 10  # Words per run: an invented article consists of runs of consecutive words from a set
READ = 20  # Maximum number of articles in an answer; only these articles count as found

Row = dict[str, Any]


def main() -> int:
    options = _options()
    if options.what == "sources":
        print(f"{'rewrites':<12} {'which':<12} {'number':>6} {'first':>7} {'in five':>7} {'ms':>7}")
        measure_sources(options.corpus, options.total)
    else:
        measure_coverage(releases=options.releases)
    return 0


def measure_sources(names: Sequence[str], total: int) -> None:
    rows = _rows(REWRITES)
    made_of = {
        ids[1]: ids[0]
        for line in _lines(f"{REWRITES}.truth")
        if line["label"] == "rewritten"
        for ids in [sorted((line["a"], line["b"]), key=lambda id: rows[id]["kind"] != "original")]
    }
    originals = {id for id, row in rows.items() if row["kind"] == "original"}
    for stored in (True, False):
        articles = (row for row in _articles(REWRITES) if stored or row.source_id in originals)
        with corpus([articles, *map(_articles, names), drawn(names, total)]) as dd:
            ranks: dict[str, int | None] = {}
            taken: list[float] = []
            for id, original in sorted(made_of.items()):
                started = time.perf_counter()
                if stored:
                    found = dd.sources(id, limit=40)
                else:
                    text = f"{rows[id].get('title') or ''}\n{rows[id]['text']}"
                    found = dd.sources(text=text, limit=40)
                taken.append(1000 * (time.perf_counter() - started))
                family = rows[id]["family"]
                counted = [
                    one.id
                    for one in found
                    if one.id == original or rows.get(one.id, {}).get("family") != family
                ]
                ranks[id] = counted.index(original) if original in counted else None
            for which, chosen in (
                ("all", [*ranks]),
                ("even", [*ranks][::2]),
                ("odd", [*ranks][1::2]),
            ):
                places = [ranks[id] for id in chosen]
                first = sum(place == 0 for place in places) / len(places)
                five = sum(place is not None and place < 5 for place in places) / len(places)
                kept = f"{'stored' if stored else 'not stored':<12} {which:<12} {len(places):>6}"
                print(f"{kept} {first:>7.3f} {five:>7.3f} {median(taken):>7.1f}", flush=True)


def drawn(names: Sequence[str], total: int) -> Iterator[Article]:
    """Yield invented articles of runs of words from the sets, as many as the sets lack for `total` articles.

    An article has about as many words as an article of the sets. No two articles share a sentence.
    """
    words = [article.text.split() for name in names for article in _articles(name)]
    random = Random(7)
    for number in range(total - len(words)):
        text = []
        for _ in range(max(len(random.choice(words)) // RUN_WORDS, 1)):
            other = random.choice(words)
            start = random.randrange(max(len(other) - RUN_WORDS, 1))
            text.append(" ".join(other[start : start + RUN_WORDS]))
        yield Article(f"drawn-{number}", "\n".join(text))


def measure_coverage(*, releases: bool) -> None:
    name, events = next(iter(json.loads(EVENTS.read_text("utf-8")).items()))
    if releases:
        name, events = RELEASES, _released()
    with corpus([_articles(name)]) as dd:
        recalls: list[float] = []
        right: Counter[str] = Counter()
        wrong: Counter[str] = Counter()
        taken: list[float] = []
        for event in events:
            of_event: list[float] = []
            for id in event:
                started = time.perf_counter()
                found = dd.coverage(id, limit=READ).articles
                taken.append(1000 * (time.perf_counter() - started))
                others = set(event) - {id}
                of_event.append(len(others & {one.id for one in found}) / len(others))
                # If n articles are to be found, precision counts only the first n articles of the answer.
                for one in found[: len(others)]:
                    (right if one.id in others else wrong)[one.relation] += 1
            recalls.append(sum(of_event) / len(of_event))
        print(f"{len(events)} events of {name}: recall at {READ} {sum(recalls) / len(recalls):.3f}")
        print(f"events found whole {sum(one == 1 for one in recalls)}; median {median(taken):.0f} ms")
        for relation in sorted(right | wrong):
            share = right[relation] / (right[relation] + wrong[relation])
            print(f"precision of {relation}: {share:.3f} of {right[relation] + wrong[relation]:,}")


def _released() -> list[list[str]]:
    """Return groups of press releases and reports, joined by the pairs of the truth."""
    groups: dict[str, set[str]] = {}
    for line in _lines(f"{RELEASES}.truth"):
        joined = groups.get(line["a"], {line["a"]}) | groups.get(line["b"], {line["b"]})
        groups |= dict.fromkeys(joined, joined)
    return [sorted(group) for group in {min(group): group for group in groups.values()}.values()]


@contextmanager
def corpus(parts: Iterable[Iterable[Article]]) -> Iterator[Deduplicator]:
    """Yield a corpus of these articles, settled and with the index of words, on a new server."""
    with tempfile.TemporaryDirectory(prefix="dedup-sources-") as folder:
        Path(folder).chmod(0o711)  # if root runs this, the server is another user, who needs the folder
        with embedded_server(Path(folder) / "home") as server:
            database = Database(server.url)
            fresh_corpus(database)
            for articles in parts:
                store(database, articles)
            database.close()
            with Deduplicator(server.url) as dd, Operation(server.url) as owner:
                dd.backfill()
                owner.make_searchable()
                yield dd


def _articles(name: str) -> Iterator[Article]:
    with read_articles(DATA / f"{name}.jsonl.gz") as reader:
        yield from (item for item in reader if isinstance(item, Article))


def _lines(name: str) -> Iterator[Row]:
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def _rows(name: str) -> dict[str, Row]:
    return {row["id"]: row for row in _lines(name)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("sources", "coverage"))
    parser.add_argument(
        "--corpus", nargs="+", default=[OTHERS], help="sets among which originals are searched"
    )
    parser.add_argument("--total", type=int, default=0, help="articles of the corpus (default: the sets)")
    parser.add_argument("--releases", action="store_true", help="measure coverage of press releases")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
