"""Fingerprint every text that waits, page by page, as the first step of a backfill.

The database returns pages of ids; each page is cut into chunks for the threads of a pool (`pool.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import xor

from dedup.base.errors import StuckError
from dedup.base.machine import threads
from dedup.base.progress import Progress
from dedup.base.words import counted
from dedup.db.database import Database
from dedup.db.statements import Statements
from dedup.settling.memory.snapshot import Cache
from dedup.settling.pool import Factory, FingerprintPool, StoredPart, make_function
from dedup.store import credits, fingerprints
from dedup.store.fingerprints import Chunk, Target, WaitingTexts
from dedup.store.rulebooks import Rulebook

_sql = Statements("store/articles")

PAGE_ARTICLES = 5_000  # Ids per page, without texts: reading a page takes about 20 ms

# A chunk has at most this number of articles and of characters, but at least one article. One thread
# fingerprints a chunk and stores it in one transaction. 500 articles are about 60 ms of work.
CHUNK_ARTICLES = 500
PAGE_CHARACTERS = 4_000_000

FEW_ARTICLES = 50  # Minimum articles per chunk when few articles are divided among all threads
SAME_PAGES = 3  # A run counts as stuck if the same text waits again in this number of rounds in a row

# The planner's statistics are updated after at least this number of new fingerprints or marks, because plans
# for the former size of a table may be slow.
ANALYZE_ARTICLES = 5_000


@dataclass(frozen=True, slots=True)
class PoolOptions:
    workers: int | None = None
    factory: Factory = make_function


@dataclass(slots=True)
class Counts:
    fingerprinted: int = 0  # texts that got a fingerprint
    failed: int = 0  # texts that cannot have a fingerprint
    articles: int = 0  # number of articles read
    which: int = 0  # a hash of the articles read and their revisions


class Fingerprinting:
    """First step of each round of a backfill. `target`: the table for new fingerprints, which may change
    between rounds."""

    def __init__(
        self,
        database: Database,
        progress: Progress,
        options: PoolOptions,
        stop: Callable[[], bool],
    ) -> None:
        self.target: Target = "fingerprint"
        self._database, self._progress = database, progress
        self._options, self._stop = options, stop
        self._first_page: frozenset[tuple[int, int]] = frozenset()
        self._same_pages = 0
        self._unreadable: set[tuple[int, int]] = set()

    def begin_again(self) -> None:
        """Forget which texts the last round read: after a change of settings all texts are read again."""
        self._first_page = frozenset()

    def run(self, rulebook: Rulebook, total: int, kept: Cache | None = None) -> Counts:
        """Fingerprint every text that waits; add the stored fingerprints to `kept`. `total`: the approximate
        number of these texts. Raises MachineError: see `FingerprintPool.run`. StuckError: the same texts
        wait again in several rounds. StaleRulesError: the settings changed."""
        read = Counts()
        if not total:
            return read
        self._progress.start("fingerprinting", total)
        options = self._options
        with self._database.transaction() as cursor:
            reader = credits.make_reader(cursor)
        pool = FingerprintPool(
            self._database, rulebook, options.workers, options.factory, self._stop, self.target, reader
        )
        share = -(-total // max(threads() if options.workers is None else options.workers, 1))
        size = min(CHUNK_ARTICLES, max(FEW_ARTICLES, share))
        for part in pool.run(self._read_chunks(size)):
            self._count(part, read)
            if kept and part.stored:
                kept.add(part.stored)
            self._progress.advance(len(part.articles))
        # The table "fingerprint_bulk" is only read as a whole, so no query plan depends on its statistics.
        if self.target == "fingerprint":
            analyze(self._database, read.articles, "article", "article_mark", "fingerprint")
        return read

    def _count(self, part: StoredPart, read: Counts) -> None:
        read.failed += len(part.failed)
        read.fingerprinted += part.made
        counted = part.articles
        if part.gone:
            gone = set(part.gone)
            known = self._unreadable
            counted = [article for article in counted if article[0] not in gone or article not in known]
            known.update(article for article in counted if article[0] in gone)
        read.articles += len(counted)
        read.which ^= reduce(xor, map(hash, counted), 0)

    def _read_chunks(self, size: int) -> Iterator[Chunk]:
        after, first = None, True
        while not self._stop():
            with self._database.transaction() as cursor:
                page = fingerprints.waiting_page(cursor, after, PAGE_ARTICLES)
            if first:
                self._check_progress(page.articles)
                first = False
            if not page.articles:
                return
            yield from cut_page(page, size)
            after = page.last

    def _check_progress(self, page: Chunk) -> None:
        # A text that was read waits no longer, unless the text or its attached table was changed since. So if
        # the same texts wait in several rounds, the corpus is probably inconsistent.
        found = frozenset(page) - self._unreadable
        again = found & self._first_page
        self._same_pages = self._same_pages + 1 if again else 0
        if self._same_pages >= SAME_PAGES:
            raise make_stuck_error(len(again))
        self._first_page = found


def cut_page(page: WaitingTexts, size: int) -> Iterator[Chunk]:
    """Cut a page into chunks. A chunk has at most `size` articles and `PAGE_CHARACTERS` characters of text,
    but at least one article."""
    start = held = 0
    for i, characters in enumerate(page.sizes):
        if i > start and (i - start >= size or held + characters > PAGE_CHARACTERS):
            yield page.articles[start:i]
            start, held = i, 0
        held += characters
    if start < len(page.articles):
        yield page.articles[start:]


def analyze(database: Database, done: int, *tables: str) -> None:
    """Update the planner's statistics of tables if at least `ANALYZE_ARTICLES` articles changed."""
    if done >= ANALYZE_ARTICLES:
        with database.transaction() as cursor:
            cursor.execute(_sql("analyze", tables=", ".join(f"dedup.{table}" for table in tables)))


def make_stuck_error(articles: int) -> StuckError:
    return StuckError(
        f"{counted(articles, 'article was', 'articles were')} processed again and again without an end:"
        " something in the corpus is inconsistent; `dedup verify` says what"
    )
