#!/usr/bin/env python3
"""Count what one article costs: round trips, buffers, WAL and memory, which are the same on every machine.

    scripts/benchmarks/counts.py [FILE] [--articles N] [--pending N ...] [--scopes N] [--check | --write]

Settles a corpus on an embedded server, loads and settles a night's articles after a checkpoint, and then
submits new articles, duplicates, similar articles and edits, and looks articles up. `--pending N` also
measures a corpus in which N loaded articles wait for the next backfill. With `--scopes N`, articles belong to
N scopes in turn. Prints the mean per call.

`--check` and `--write` use invented articles, and switch off copies of whole pages in the WAL. `--write`
records the counts in `counts.json`; `--check` fails if a count exceeds the recorded count by more than
`TOLERANCE` allows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # finds `sandbox` in the parent folder
from sandbox import store, throwaway_server

from dedup import Article, Deduplicator
from dedup.db.connection import Connection
from dedup.db.database import Database
from dedup.files.readers import read_articles
from dedup.settling.backfill import backfill
from dedup.store.settling import count_unsettled

RECORDED = Path(__file__).with_name("counts.json")
ARTICLES, NIGHT, CALLS, WARM = 2_000, 200, 100, 20
"""Numbers: articles of the corpus, articles of the night, measured calls of each kind, calls to warm up."""

PENDING = (1, 1_000)
"""Numbers of waiting articles for which counts.json records counts."""

TOLERANCE = {"round trips": 1.1, "buffers": 1.1, "peak kB": 1.1, "WAL bytes": 1.2}
"""Factor by which each count may exceed the recorded count; the WAL differs by a tenth from run to run."""

SENTENCES, WORDS = 14, 18
"""Sentences of an invented article, and words of a sentence."""

Counts = dict[str, dict[str, float]]
"""Kind of call, such as "new" -> name of a count -> mean per call."""


def main() -> int:
    options = _options()
    if options.check or options.write:
        options.file, options.articles, options.pending, options.scopes = None, ARTICLES, PENDING, 0
    with throwaway_server() as url, psycopg.connect(url, autocommit=True) as owner:
        # The buffers that autovacuum uses would be counted as buffers of the calls.
        owner.execute("ALTER SYSTEM SET autovacuum = off")
        if options.check or options.write:
            # Keep copies of pages out of the WAL: their number depends on the times of checkpoints.
            owner.execute("ALTER SYSTEM SET full_page_writes = off")
        owner.execute("SELECT pg_reload_conf()")
        source = _articles(options.file)
        if options.scopes:
            source = (replace(one, scope=str(n % options.scopes)) for n, one in enumerate(source))
        found = measure(url, owner, source, options.articles, options.pending)
    print(_table(found))
    if options.write:
        RECORDED.write_text(json.dumps(found, indent=1) + "\n")
    if options.check:
        faults = exceeding(found, json.loads(RECORDED.read_text()))
        print("\n".join(faults) or "no count has grown", file=sys.stderr)
        return 1 if faults else 0
    return 0


def measure(
    url: str, owner: psycopg.Connection[Any], source: Iterator[Article], articles: int, pending: Sequence[int]
) -> Counts:
    """Return the counts on a fresh corpus of the first `articles` articles of `source`. The following
    articles are for a nightly run, and for the measured calls."""
    Deduplicator.initialize(url)
    database = Database(url)
    first = list(islice(source, articles))
    store(database, first)
    backfill(database)
    night = islice(source, NIGHT * max(1, articles // 20 // NIGHT))
    store(database, night)
    backfill(database)
    with database.session() as session:  # otherwise Postgres may report the backfill's counts 10 s later
        session.connection.execute("SELECT pg_stat_force_next_flush()")
    counts: Counts = {}
    random = Random(0)
    shuffled = random.sample(first, len(first))
    with Deduplicator(url) as dd:
        calls: dict[str, tuple[Callable[[Article], object], Iterator[Article]]] = {
            "new": (dd.submit, source),
            "duplicate": (dd.submit, changed(shuffled[::3], "copy", 1, random)),
            "similar": (dd.submit, changed(shuffled[1::3], "like", 2, random)),
            "edit": (dd.submit, edits(shuffled[2::3], random)),
            "edit of an original": (dd.submit, edits(shuffled[::3], random)),
            "look-up": (dd.lookup, source),
        }
        for kind, (call, given) in calls.items():
            owner.execute("CHECKPOINT")
            counts[kind] = count(owner, dd, call, given)
        for number in pending:
            with database.transaction() as cursor:
                waiting = count_unsettled(cursor)
            store(database, islice(source, number - waiting))
            for kind in ("new", "similar"):
                counts[f"{kind}, {number:,} pending"] = count(owner, dd, *calls[kind])
    database.close()
    return counts


def count(
    owner: psycopg.Connection[Any],
    dd: Deduplicator,
    call: Callable[[Article], object],
    given: Iterator[Article],
) -> dict[str, float]:
    """Return the mean counts of a call, and its median time."""
    for article in islice(given, WARM):
        call(article)
    trips, seconds, memory = 0, [], []
    wait = Connection.wait

    def counted(self: Connection, *some: Any, **more: Any) -> Any:
        nonlocal trips
        trips += 1
        return wait(self, *some, **more)

    pid, client = _backend(dd), time.process_time()
    buffers, wal = _used(owner, dd)
    server = _cpu_seconds(pid)
    Connection.wait = counted  # type: ignore[method-assign]
    try:
        for article in islice(given, CALLS):
            started = time.perf_counter()
            call(article)
            seconds.append(time.perf_counter() - started)
    finally:
        Connection.wait = wait  # type: ignore[method-assign]
    client_now, server_now = time.process_time(), _cpu_seconds(pid)
    buffers_now, wal_now = _used(owner, dd)
    tracemalloc.start()
    for article in islice(given, 10):
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        call(article)
        memory.append(tracemalloc.get_traced_memory()[1] - before)
    tracemalloc.stop()
    return {
        "round trips": trips / CALLS,
        "buffers": (buffers_now - buffers) / CALLS,
        "WAL bytes": (wal_now - wal) / CALLS,
        "peak kB": statistics.median(memory) / 1000,
        "client CPU ms": 1000 * (client_now - client) / CALLS,
        "server CPU ms": 1000 * (server_now - server) / CALLS,
        "ms": 1000 * statistics.median(seconds),
    }


def _backend(dd: Deduplicator) -> int:
    """Return the process id of the server process that serves the only connection of `dd`."""
    with dd._database.session() as session:
        return session.connection.info.backend_pid


def _cpu_seconds(pid: int) -> float:
    """Return the processor time of a process so far; 0 where the system has no `/proc`."""
    file = Path(f"/proc/{pid}/schedstat")
    return int(file.read_text().split()[0]) / 1e9 if file.exists() else 0.0


def _used(owner: psycopg.Connection[Any], dd: Deduplicator) -> tuple[int, int]:
    """Return the buffers and the bytes of WAL that the server has used so far."""
    # A session reports its counts with a delay, unless it is told to report at once.
    with dd._database.session() as session:
        session.connection.execute("SELECT pg_stat_force_next_flush()")
    row = owner.execute(
        "SELECT (SELECT sum(hits + reads) FROM pg_stat_io WHERE backend_type = 'client backend'),"
        " pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
    ).fetchone()
    assert row
    return int(row[0]), int(row[1])


def exceeding(found: Counts, recorded: Counts) -> list[str]:
    """Return a line for each count that exceeds the recorded count by more than `TOLERANCE` allows."""
    return [
        f"{kind}: {name} {found[kind][name]:,.1f}, recorded {counts[name]:,.1f}"
        for kind, counts in recorded.items()
        for name, factor in TOLERANCE.items()
        if found[kind][name] > factor * counts[name]
    ]


def changed(some: Sequence[Article], suffix: str, part: int, random: Random) -> Iterator[Article]:
    """Yield a copy of each article with new sentences: every `part`-th sentence, or, if `part` is 1, every
    `SENTENCES`-th, which is one sentence of an invented article."""
    for article in some:
        sentences = article.text.split(". ")
        for place in range(0, len(sentences), part if part > 1 else SENTENCES):
            sentences[place] = invented_sentence(random)
        text = ". ".join(sentences)
        yield replace(article, source_id=f"{article.source_id}-{suffix}", text=text, published_at=None)


def edits(some: Sequence[Article], random: Random) -> Iterator[Article]:
    """Yield each article with one more sentence."""
    for article in some:
        yield replace(article, text=f"{article.text} {invented_sentence(random)}.")


def mixed(stored: Sequence[Article], new: Sequence[Article], random: Random) -> list[Article]:
    """Return a stream in random order: 60 % `new` articles, 20 % copies of `stored` articles, 10 % articles
    similar to stored articles, and 10 % edits of stored articles."""
    part = len(new) // 6
    some = random.sample(stored, 3 * part)
    stream = [*new, *changed(some[: 2 * part], "copy", 1, random)]
    stream += changed(some[2 * part :], "like", 2, random)
    stream += edits(random.sample(stored, part), random)
    random.shuffle(stream)
    return stream


def invented(random: Random) -> Iterator[Article]:
    """Yield articles without end. Each tenth article is similar to the article before it."""
    began = datetime(2026, 1, 1, tzinfo=UTC)
    sentences: list[str] = []
    for number in range(sys.maxsize):
        kept = sentences[: SENTENCES // 2] if number % 10 == 9 else []
        sentences = kept + [invented_sentence(random) for _ in range(SENTENCES - len(kept))]
        published = began + timedelta(minutes=number)
        text = ". ".join(sentences) + "."
        yield Article(f"invented-{number}", text, title=sentences[-1], published_at=published, language="en")


def invented_sentence(random: Random) -> str:
    # As in real texts, every second word is one of a hundred frequent words, and the other words are rare.
    words = [_word(random.randrange(1, 100 if n % 2 else 50_000)) for n in range(WORDS)]
    return " ".join(words).capitalize()


def _word(number: int) -> str:
    letters = "etaoinshrdlu"
    word = ""
    while number:
        number, rest = divmod(number, len(letters))
        word += letters[rest]
    return word + "en"


def _articles(file: Path | None) -> Iterator[Article]:
    if file is None:
        return invented(Random(1))
    return (item for item in read_articles(file) if isinstance(item, Article))


def _table(found: Counts) -> str:
    names = list(next(iter(found.values())))
    lines = [f"{'':26}" + "".join(f"{name:>15}" for name in names)]
    lines += [f"{kind:26}" + "".join(f"{row[name]:15,.1f}" for name in names) for kind, row in found.items()]
    return "\n".join(lines)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("file", nargs="?", type=Path, help="articles of any format; default: invented")
    parser.add_argument("--articles", type=int, default=ARTICLES, help="articles of the corpus")
    parser.add_argument("--pending", type=int, nargs="*", default=[], help="numbers of waiting articles")
    parser.add_argument("--scopes", type=int, default=0, help="number of scopes; default: no scope")
    parser.add_argument("--check", action="store_true", help="compare with counts.json")
    parser.add_argument("--write", action="store_true", help="record the counts in counts.json")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
