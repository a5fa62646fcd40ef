"""The settle lock is held briefly, whatever the corpus is like, because a hook waits for it.

See docs/reliability.md, promise 8. By default Postgres counts the rows that each transaction with the lock
reads and writes: unlike times, these counts are the same on every machine. The `torture` tests measure times.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import psycopg
import pytest

from dedup.api.deduplicator import Deduplicator
from dedup.base.article import Article
from dedup.db.connection import next_batch
from dedup.db.database import Cursor, Database, Session

try:  # `lab` is an extra, and may be missing
    from dedup.extras.lab.hard_cases import CASES, repeated
except ModuleNotFoundError:
    CASES = {}
from dedup.settling.backfill import BackfillReport, backfill
from tests.conftest import Told
from tests.corpora import article, assert_right, change_settings, code, load, make_function, window
from tests.files.hostile import memory

pytestmark = pytest.mark.timeout(600)


@dataclass
class Hold:
    """A transaction that held the settle lock.

    Attributes:
        seconds: from getting the lock to the commit.
        written: number of rows of articles, fingerprints and pairs that were inserted, changed or deleted.
        read: number of rows of these tables that were fetched.
    """

    seconds: float
    written: int
    read: int


@pytest.fixture
def holds(monkeypatch: pytest.MonkeyPatch) -> list[Hold]:
    """Return a list of the transactions that hold the settle lock from now on."""
    found: list[Hold] = []
    transaction = Session.transaction

    @contextmanager
    def watched(self: Session, *, settling: bool = False, **how: bool) -> Iterator[Cursor]:
        with transaction(self, settling=settling, **how) as cursor:
            if not settling:
                yield cursor
                return
            before, started = rows_of(cursor), time.perf_counter()
            yield cursor
            seconds = time.perf_counter() - started
            written, read = (now - then for now, then in zip(rows_of(cursor), before, strict=True))
            found.append(Hold(seconds, written, read))

    monkeypatch.setattr(Session, "transaction", watched)
    return found


def rows_of(cursor: Cursor) -> tuple[int, int]:
    """Return the rows that a transaction wrote and read in the tables that grow with the corpus."""
    row = cursor.execute("""
        SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint,
               coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint
        FROM pg_stat_xact_user_tables
        WHERE schemaname = 'dedup'::regnamespace::text
          AND relname IN ('article', 'article_mark', 'fingerprint', 'match')
    """).fetchone()
    assert row is not None
    return row[0], row[1]


def family(count: int) -> list[Article]:
    """Make items of one template; with `ALIKE` a third of the pairs are similar, hardly any duplicates."""
    return list(repeated.make_templates(1, items=2 * count, twice=0).articles[::2])


ALIKE = {"similar_signature_alone": 0.3, "evidence_sentences": 1, "furniture_sentences": 1_000}


def run(database: Database, given: list[Article]) -> BackfillReport:
    change_settings(database, **ALIKE)
    for start in range(0, len(given), 1_000):
        load(database, *given[start : start + 1_000])
    return backfill(database, workers=0, factory=make_function)


@pytest.mark.long("dedup", "migrations")
@pytest.mark.extra("lab")
def test_a_template_family_keeps_few_pairs_and_holds_the_lock_briefly(
    database: Database, holds: list[Hold]
) -> None:
    report = run(database, family(700))
    with database.transaction() as cursor:
        row = cursor.execute("SELECT count(*) FROM dedup.match").fetchone()
    assert row is not None
    assert 20_000 < row[0] <= 700 * 51
    assert report.settled <= 750
    assert report.compared <= 700 * 699 / 2
    assert max(hold.written for hold in holds) < 12_000
    assert max(hold.read for hold in holds) < 60_000


@pytest.mark.long("dedup", "migrations")
@pytest.mark.extra("lab")
def test_a_small_template_family_is_settled_right(database: Database) -> None:
    run(database, family(150))
    assert_right(database)


def boilerplate(count: int) -> Callable[[psycopg.Connection[Any]], None]:
    def fill(connection: psycopg.Connection[Any]) -> None:
        connection.execute(
            "INSERT INTO dedup.article (source_id, text)"
            f" SELECT 'a' || i, 'A text.' FROM generate_series(1, {count}) i".encode()
        )
        connection.execute("""
            INSERT INTO dedup.fingerprint
                (article_id, version, revision, content_hash, sentence_hashes, signature, buckets,
                 word_count, shingle_count)
            SELECT id, 1, 0, hashint8extended(id, 1),
                   ARRAY[4711, 4712, 4713]
                   || ARRAY(SELECT hashint8extended(id, k) FROM generate_series(100, 104) k),
                   decode(repeat(lpad(to_hex(id), 8, '0'), 64), 'hex'),
                   ARRAY(SELECT hashint8extended(id, k) FROM generate_series(200, 215) k), 100, 30
            FROM dedup.article
        """)

    return fill


@pytest.mark.long("dedup", "migrations")
def test_sentences_of_10_000_settled_articles_become_common_step_by_step(
    database: Database, holds: list[Hold]
) -> None:
    with psycopg.connect(database.url) as connection:
        boilerplate(10_000)(connection)
        connection.execute("SET dedup.settling = 'on'")
        connection.execute("UPDATE dedup.article_mark SET status = 'unique', takes_part = true")
        connection.execute("UPDATE dedup.corpus_state SET settled_through = now()")
    report = backfill(database, workers=0, factory=make_function)
    assert (report.common_entered, report.settled) == (3, 10_000)
    # Marks that were withdrawn before settling are not written a second time.
    assert max(hold.written for hold in holds) <= 2_100
    assert sum(hold.written for hold in holds if hold.written > 1_900) >= 10_000


def test_batches_become_smaller_where_they_take_long_and_grow_again() -> None:
    assert next_batch(1_000, 4.0) == 100
    assert next_batch(100, 0.4) == 100
    assert next_batch(100, 0.001) == 200
    assert next_batch(1, 60.0) == 1
    assert next_batch(5, 0.0) == 10


def copies(count: int) -> list[Article]:
    return [article(f"copy {i:05}", window(0, 20, ring=100), i) for i in range(count)]


def chain(count: int) -> list[Article]:
    return [article(f"link {i:05}", window(i % 997, 6, ring=997), i) for i in range(count)]


def ties(count: int) -> list[Article]:
    shared = [code(9_000 + i) for i in range(4)]
    return [article(f"tie {i:05}", [*shared, *window(20 * i, 4, ring=1_000_000)], 0) for i in range(count)]


MEASURED: dict[str, Callable[[], list[Article]]] = {
    **{name: (lambda name=name: CASES[name].make(1).articles) for name in CASES},  # type: ignore[misc]
    "10,000 copies": lambda: copies(10_000),
    "a chain of 10,000": lambda: chain(10_000),
    "10,000 ties": lambda: ties(10_000),
    "a template family of 2,000": lambda: family(2_000),
}


@pytest.mark.torture
@pytest.mark.parametrize("name", MEASURED)
def test_the_lock_is_held_under_a_second(
    database: Database, holds: list[Hold], name: str, told: Told
) -> None:
    given = MEASURED[name]()
    started = time.perf_counter()
    report = run(database, given)
    seconds = time.perf_counter() - started
    longest = max(hold.seconds for hold in holds)
    most = max(hold.written for hold in holds)
    print(
        f"{name}: {len(given):,} articles, {seconds:.1f} s, {report.compared:,} pairs compared,"
        f" {len(holds)} holds, the longest {longest:.2f} s, at most {most:,} rows written"
    )
    told("8, 15", f"{len(given):,} articles", f"{len(holds)} holds of the lock, {longest:.2f} s at most")
    assert longest < 1.0


def backfilled(url: str) -> tuple[float, float]:
    """Run a backfill in a separate process; return its seconds, and its peak memory in MB."""
    database = Database(url)
    started = time.perf_counter()
    backfill(database, workers=0)
    seconds = time.perf_counter() - started
    database.close()
    return seconds, memory() / 1e6


@pytest.mark.extra("lab")
@pytest.mark.torture
def test_a_template_family_of_8_000_with_a_hook_beside_it(database: Database, told: Told) -> None:
    given = family(8_040)
    for start in range(0, 8_000, 1_000):
        load(database, *given[start : min(start + 1_000, 8_000)])
    before = size_of(database)
    waited: list[float] = []
    with ProcessPoolExecutor(1, get_context("spawn")) as pool, Deduplicator(database.url) as hook:
        hook.lookup(given[-1])  # the first call loads modules
        running = pool.submit(backfilled, database.url)
        for new in itertools.cycle(given[8_000:]):
            if running.done():
                break
            started = time.perf_counter()
            hook.submit(new)
            waited.append(time.perf_counter() - started)
            time.sleep(0.5)  # at the pace of a scraper, not as fast as possible
        seconds, peak = running.result()
    disk = (size_of(database) - before) / 1e6
    waited.sort()
    print(
        f"8,000 items of one template: {seconds:.1f} s, {peak:.0f} MB of memory, {disk:.0f} MB of disk;"
        f" {len(waited)} hooks beside it: median {waited[len(waited) // 2]:.2f} s,"
        f" the longest {', '.join(f'{s:.2f}' for s in waited[-5:])} s"
    )
    told("8, 15", "8,000 items of one template", f"{len(waited)} hooks beside it, {waited[-1]:.2f} s at most")
    assert (peak < 500, disk < 200) == (True, True)


def size_of(database: Database) -> int:
    with database.transaction() as cursor:
        row = cursor.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0])
