#!/usr/bin/env python3
"""Measure each question of the pages: the median and the 95th percentile, in milliseconds.

    scripts/benchmarks/pages.py [FILE] [--articles N] [--asked N] [--invented]

The corpus on an embedded server has 3,000 articles per day, of 60 outlets: the articles of the file, and
copies with rotated words if more are wanted (`rotated.py`), loaded and settled. With `--invented` the corpus
has invented rows with marks and pairs but without fingerprints, so that a corpus of any size is made within
minutes; among the rows are a story of 5,000 copies and an article with 5,000 similar articles. Then the index
of words is made, and one caller asks every question of `Deduplicator.browsing` about random days, stories and
words. The first question on a connection is not counted, because the server plans its query first. At the end
the pages are requested over HTTP, and the time until the last byte of each answer is measured.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from http.client import HTTPConnection
from pathlib import Path

from rotated import grown
from servers import embedded_server

from dedup import Article, Deduplicator
from dedup.api.operation import Operation
from dedup.extras.browse.app import make_app
from dedup.extras.browse.asking import go
from dedup.extras.browse.visitors import Visitors
from dedup.extras.serve import server
from dedup.extras.serve.guard import LOOPBACK_NAMES
from dedup.extras.serve.limits import Limits
from dedup.extras.serve.sockets import bind
from dedup.files.readers import read_articles

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # finds `sandbox` in the parent folder
from sandbox import DATA

FILE = "reuters_web_2006_2010.jsonl.gz"
START = datetime(2026, 1, 1, tzinfo=UTC)
DAILY, OUTLETS, WORDS = 3_000, 60, 20_000
INVENTED = """
    INSERT INTO dedup.article (source_id, title, url, publication, published_at, added_at, text)
    SELECT 'article-' || n, 'The title of article ' || n, 'https://news.example/' || n || '.html',
           'Outlet ' || (power(random(), 2) * %(outlets)s)::integer, at, at,
           (SELECT string_agg('w' || (power(random(), 3) * %(words)s)::integer, ' ')
            FROM generate_series(1, 80) AS word WHERE n IS NOT NULL)
    FROM generate_series(1, %(articles)s) AS n,
         LATERAL (SELECT %(start)s::timestamptz + n * interval '1 day' / %(daily)s AS at) AS t
"""
MARKED = """
    UPDATE dedup.article_mark SET stale = false, takes_part = true, marked_at = now(),
        status = CASE WHEN id % 4 = 0 OR id BETWEEN 2 AND 5001 THEN 'duplicate'
                      WHEN id % 8 = 1 THEN 'similar' ELSE 'unique' END,
        duplicate_of = CASE WHEN id BETWEEN 2 AND 5001 THEN 1 WHEN id % 4 = 0 THEN id - 1 - id % 3 END,
        score = 0.7, reason = 'sentences'
"""
PAIRED = """
    INSERT INTO dedup.match
    SELECT id, CASE WHEN id BETWEEN 6001 AND 11000 THEN 6000 ELSE coalesce(duplicate_of, id - 2) END,
           CASE WHEN status = 'duplicate' THEN 'duplicate' ELSE 'similar' END, 'sentences', s, s, s - 0.1, s
    FROM (SELECT *, 0.4 + 0.6 * random() AS s FROM dedup.article_mark
          WHERE id > 2 AND (status <> 'unique' OR id BETWEEN 6001 AND 11000)) AS a
"""


def main() -> None:
    given = _options()
    with (
        tempfile.TemporaryDirectory(prefix="dedup-pages-", dir=given.folder) as folder,
        embedded_server(Path(folder) / "server") as postgres,
        postgres.database("pages") as url,
    ):
        Path(folder).chmod(0o711)  # if root runs this, the server is another user, who needs the folder
        Deduplicator.initialize(url)
        with Deduplicator(url) as corpus:
            if given.invented:
                _invent(corpus, given.articles)
            else:
                corpus.load(_news(given.file, given.articles))
                _tell("loaded")
                corpus.backfill()
            _tell("filled")
            with Operation(url) as owner:
                owner.make_searchable()
            with corpus._database.transaction() as cursor:
                cursor.execute("ANALYZE")
            postgres.settle()
            _tell("asking")
            _ask(corpus, given)
            _open(corpus, given)


def _news(file: Path, count: int) -> Iterator[Article]:
    """Yield articles of the file and copies, with invented outlets, 3,000 articles per day."""
    have = sum(1 for _ in _articles(file))
    for number, article in enumerate(grown(lambda: _articles(file), have, count)):
        at = START + number * timedelta(days=1) / DAILY
        drawn = int.from_bytes(blake2b(article.source_id.encode(), digest_size=4).digest()) / 2**32
        yield replace(article, publication=f"Outlet {int(drawn**2 * OUTLETS)}", published_at=at, added_at=at)


def _articles(file: Path) -> Iterator[Article]:
    with read_articles(file) as reader:
        yield from (item for item in reader if isinstance(item, Article))


def _invent(corpus: Deduplicator, count: int) -> None:
    values = {"articles": count, "start": START, "daily": DAILY, "outlets": OUTLETS, "words": WORDS}
    with corpus._database.transaction(settling=True) as cursor:
        cursor.execute("SELECT setseed(0.5)")
        cursor.execute(INVENTED, values)
        cursor.execute(MARKED)
        cursor.execute(PAIRED)
    with corpus._database.connect(patient=True) as connection:
        connection.execute("VACUUM (ANALYZE) dedup.article, dedup.article_mark")


def _ask(corpus: Deduplicator, given: argparse.Namespace) -> None:
    rng = random.Random(7)
    days = max(1, given.articles // DAILY)
    with corpus._database.transaction() as cursor:
        rows = cursor.execute(
            "SELECT source_id, title FROM dedup.article WHERE id = ANY (%s)",
            [[rng.randrange(1, given.articles + 1) for _ in range(5 * given.asked)]],
        ).fetchall()
        pairs = cursor.execute(
            "SELECT a.source_id, o.source_id FROM dedup.marked_article a"
            " JOIN dedup.article o ON o.id = a.duplicate_of ORDER BY hashint8(a.id) LIMIT %s",
            [given.asked],
        ).fetchall()
    pages = corpus.browsing

    def day(length: int = 1) -> tuple[date, date]:
        first = (START + timedelta(days=rng.randrange(max(1, days - length)))).date()
        return first, first + timedelta(days=length - 1)

    def rare() -> str:
        return max(rng.choice(rows)[1].split(), key=len) if not given.invented else f"w{rng.randrange(WORDS)}"

    common = "the" if not given.invented else "w1"
    questions: dict[str, Callable[[], object]] = {
        "day": lambda: pages.day(*day()),
        "week": lambda: pages.day(*day(7)),
        "two weeks": lambda: pages.day(*day(min(days, 14))),
        "the whole corpus": pages.day,
        "the whole corpus, an outlet": lambda: pages.day(publication="Outlet 40"),
        "the whole corpus, a language that none has": lambda: pages.day(language="xx"),
        "story": lambda: pages.story(rng.choice(pairs)[0]),
        "article": lambda: pages.article(rng.choice(rows)[0]),
        "compare": lambda: pages.compare(*rng.choice(pairs)),
        "search: a word": lambda: pages.search(rare()),
        "search: a word that nearly all have": lambda: pages.search(common),
        "search: that word, on a day": lambda: pages.search(common, first=(d := day()[0]), last=d),
        "search: that word, an outlet": lambda: pages.search(common, publication="Outlet 40"),
        "search: an outlet": lambda: pages.search(publication="Outlet 40"),
        "search: a source_id": lambda: pages.search(source_id=rng.choice(rows)[0]),
        "search: undated": lambda: pages.search(dated=False),
        "search: a status": lambda: pages.search(status="failed"),
        "who copies whom, a day": lambda: pages.outlets(*day()),
        "who copies whom, a week": lambda: pages.outlets(*day(7)),
        "who copies whom, the whole corpus": pages.outlets,
        "an outlet": lambda: pages.outlet("Outlet 40"),
        "the largest outlet": lambda: pages.outlet("Outlet 0"),
        "names of outlets": pages.outlet_names,
        "languages": pages.languages,
        "copies behind a cell": lambda: pages.copied("Outlet 1", "Outlet 2", *day(7)),
        "common sentences": pages.common_sentences,
        "doubtful pairs": pages.queue,
        "pins": pages.pins,
        "health": pages.health,
        "Deduplicator.story": lambda: corpus.story(rng.choice(pairs)[0]),
        "Deduplicator.stories": corpus.stories,
    }
    if given.invented:
        questions["story of 5,000 copies"] = lambda: pages.story("article-1")
        questions["article that 5,000 are like"] = lambda: pages.article("article-6000")
    print(
        f"{given.articles:,} {'invented ' if given.invented else ''}articles, each asked {given.asked} times"
    )
    print("\n| question | p50 ms | p95 ms |\n|---|---:|---:|")
    for name, ask in questions.items():
        ask()
        times = sorted(_timed(ask) for _ in range(given.asked))
        print(
            f"| {name} | {statistics.median(times):.1f} | {times[int(0.95 * len(times))]:.1f} |", flush=True
        )


def _open(corpus: Deduplicator, given: argparse.Namespace) -> None:
    """Measure whole pages over HTTP, requested one by one from a server that also accepts judgements."""
    rng = random.Random(11)
    with corpus._database.transaction() as cursor:
        pairs = cursor.execute(
            "SELECT a.source_id, o.source_id FROM dedup.marked_article a"
            " JOIN dedup.article o ON o.id = a.duplicate_of ORDER BY hashint8(a.id) LIMIT 500"
        ).fetchall()

    def days(length: int) -> dict[str, str]:
        first = START + timedelta(days=rng.randrange(max(1, given.articles // DAILY - length)))
        return {"first": f"{first:%Y-%m-%d}", "last": f"{first + timedelta(days=length - 1):%Y-%m-%d}"}

    def pair() -> dict[str, str]:
        return dict(zip("ab", rng.choice(pairs), strict=True))

    (largest,) = corpus.stories(1)
    pages: dict[str, Callable[[], str]] = {
        "today": lambda: "/",
        "a day": lambda: go("/", **days(1)),
        "a week": lambda: go("/", **days(7)),
        "the whole corpus": lambda: go("/", whole="yes"),
        "the whole corpus by month, an outlet": lambda: go(
            "/", whole="yes", by="month", publication="Outlet 40"
        ),
        "an outlet": lambda: go("/outlet", publication="Outlet 40"),
        "the largest outlet": lambda: go("/outlet", publication="Outlet 0"),
        "a story": lambda: go("/story", id=pair()["a"]),
        f"a story of {largest.copies:,} copies": lambda: go("/story", id=largest.id),
        "an article": lambda: go("/article", id=pair()["a"]),
        "two side by side": lambda: go("/compare", **pair()),
        "search: an outlet": lambda: go("/search", publication="Outlet 40"),
        "search: a word that nearly all have": lambda: go("/search", words="w1" if given.invented else "the"),
        "who copies whom, a week": lambda: go("/outlets", **days(7)),
        "who copies whom, the whole corpus": lambda: go("/outlets", whole="yes"),
        "outlets of the whole corpus as CSV": lambda: go("/", whole="yes", table="outlets", format="csv"),
        "an outlet's articles as CSV": lambda: go("/search", publication="Outlet 40", format="csv"),
        "all articles as CSV": lambda: go("/search", last="2100-01-01", format="csv"),
        "common sentences": lambda: "/sentences",
        "judge": lambda: "/judge",
        "health": lambda: "/health",
    }
    sockets, stop = bind("127.0.0.1", 0, loopback_only=True), threading.Event()
    app = make_app(corpus, Limits(rate=1e6), Visitors(None, LOOPBACK_NAMES), editing=True)
    thread = threading.Thread(target=server.serve, args=(app, sockets, stop.is_set))
    thread.start()
    client = HTTPConnection("127.0.0.1", sockets[0].getsockname()[1], timeout=60)

    def fetch(address: str) -> None:
        client.request("GET", address)
        answer = client.getresponse()
        assert (answer.status, bool(answer.read())) == (200, True), address

    print("\n| page | p50 ms | p95 ms |\n|---|---:|---:|")
    for name, address in pages.items():
        fetch(address())
        times = sorted(_timed(lambda: fetch(address())) for _ in range(given.asked))  # noqa: B023 - at once
        print(
            f"| {name} | {statistics.median(times):.1f} | {times[int(0.95 * len(times))]:.1f} |", flush=True
        )
    client.close()
    stop.set()
    thread.join()


def _timed(ask: Callable[[], object]) -> float:
    started = time.perf_counter()
    ask()
    return (time.perf_counter() - started) * 1_000


def _tell(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", nargs="?", type=Path, default=DATA / FILE, help=f"default: {FILE}")
    parser.add_argument("--articles", type=int, default=58_000)
    parser.add_argument("--asked", type=int, default=100, help="number of times that each question is asked")
    parser.add_argument("--invented", action="store_true", help="invented rows in place of a file")
    parser.add_argument("--folder", type=Path, help="where the server keeps its data; default: the system's")
    return parser.parse_args()


if __name__ == "__main__":
    main()
