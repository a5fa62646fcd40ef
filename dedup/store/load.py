"""Loads articles from a file or a program into the corpus, in batches. Backfills settle the articles.

If the file or the program fails, the articles before the error stay stored. The tables `load` and `load_part`
keep which articles each load had, so that a load can be removed (`dedup/extras/loads/`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dedup.base.answer import Answer
from dedup.base.article import Article, storable, stored_size
from dedup.base.errors import AttachedError, InputError
from dedup.base.progress import Progress, SilentProgress
from dedup.db.arrays import bigints
from dedup.db.database import Cursor, Database, one_row, retry
from dedup.db.statements import Statements
from dedup.files.packed import find_address
from dedup.files.readers import read_file
from dedup.files.reading import Reading
from dedup.files.record import MAX_RECORD_BYTES
from dedup.files.rejects import Reject
from dedup.files.report import LoadReport
from dedup.files.rows import GivenRows
from dedup.store import articles
from dedup.store.articles import LoadCounts

_sql = Statements("store/load")

BATCH_ARTICLES = 500  # Maximum articles per transaction
BATCH_BYTES = 4_000_000  # Maximum bytes per transaction, unless one article is larger. Postgres accepts 1 GB

PREVIEWED_ARTICLES = 3

SOURCE_CHARACTERS = 1_000  # Maximum length of the stored name of a file


@dataclass(frozen=True, slots=True)
class LoadPreview(Answer):
    """Result of reading a file without storing its articles.

    Attributes:
        report: report that counts only `lines`, `refused` and `repaired`, since nothing is stored.
        articles: the first articles of the file.
    """

    report: LoadReport
    articles: tuple[Article, ...]


def load_file(
    database: Database,
    path: str | Path | GivenRows,
    reading: Reading,
    report: LoadReport,
    *,
    max_record_bytes: int = MAX_RECORD_BYTES,
    rejects: str | Path,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Store the articles of a file, or of rows that a program gives; for the arguments see `read_file`.

    Raises InputError: the file cannot be read to its end; DatabaseError: the server failed.
    """
    # An address may hold a login, which is not kept.
    source = None if callable(path) else find_address(storable(str(path)))[:SOURCE_CHARACTERS]
    found = read_file(
        path,
        reading,
        report,
        max_record_bytes=max_record_bytes,
        rejects=rejects,
        progress=progress or SilentProgress(),
        stop=stop,
    )
    _store_each(database, found, report, source)


def preview_file(
    path: str | Path | GivenRows,
    reading: Reading,
    *,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> LoadPreview:
    """Read a file without storing its articles; for the arguments see `read_file`."""
    report = LoadReport()
    found = read_file(path, reading, report, rejects=None, progress=progress or SilentProgress(), stop=stop)
    first = tuple(islice(found, PREVIEWED_ARTICLES))
    others = sum(1 for _ in found)  # read all articles, so that the report is complete
    report.lines += len(first) + others
    return LoadPreview(report, first)


def load_articles(
    database: Database,
    given: Iterable[Article],
    report: LoadReport,
    *,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Store the articles that a program gives. After an error of `given`, earlier articles stay stored."""
    shown = progress or SilentProgress()
    shown.start("loading", len(given) if isinstance(given, Sequence) else None)

    def checked() -> Iterator[Article]:
        for number, article in enumerate(given, 1):
            if not isinstance(article, Article):
                kind = type(article).__name__
                raise InputError(
                    "load takes a path, articles, dicts or a table, all of one kind;"
                    f" item {number:,} is of the type {kind}"
                )
            if stop():
                report.stopped = True
                return
            yield article
            shown.advance(1)

    _store_each(database, checked(), report)


def _store_each(
    database: Database, found: Iterator[Article], report: LoadReport, source: str | None = None
) -> None:
    """Store articles in batches. If `found` raises an error, store the last, incomplete batch first."""
    batch = _Batch(database, report, source)
    while True:
        try:
            article = next(found, None)
        except Exception:  # `found` failed, not the database: store the last batch
            batch.store()
            raise
        if article is None:
            break
        batch.add(article)
    batch.store()


class _Batch:
    """Articles that wait to be stored in one transaction. `source`: the file, if they come from a file."""

    def __init__(self, database: Database, report: LoadReport, source: str | None = None) -> None:
        self._database, self._source = database, source
        self._report = report
        self._load: int | None = None
        self._articles: list[Article] = []
        self._bytes = 0

    def add(self, article: Article) -> None:
        size = stored_size(article)
        if self._bytes + size > BATCH_BYTES:
            self.store()
        self._articles.append(article)
        self._bytes += size
        if len(self._articles) >= BATCH_ARTICLES or self._bytes >= BATCH_BYTES:
            self.store()

    def store(self) -> None:
        if not self._articles:
            return

        def attempt() -> tuple[LoadCounts, int]:
            with self._database.transaction() as cursor:
                counts = articles.store(cursor, self._articles)
                return counts, _note(cursor, self._load, self._source, counts)

        report = self._report
        try:
            counts, self._load = retry(attempt, self._database.timeouts.lock)
        except AttachedError as error:
            self._refuse_attached(error)
            self.store()
            return
        report.load = self._load
        report.lines += len(self._articles)
        report.new += counts.new
        report.changed += counts.changed
        report.same += counts.same
        report.superseded += counts.superseded
        self._articles, self._bytes = [], 0

    def _refuse_attached(self, error: AttachedError) -> None:
        """Take rows of attached tables out of the batch, so that other articles are stored."""
        with self._database.transaction() as cursor:
            attached = articles.find_attached(cursor, [article.source_id for article in self._articles])
        if not attached:
            raise error
        others = []
        for article in self._articles:
            if (id := article.source_id) in attached:
                self._report.note(Reject(self._source or "", 0, str(error), None, source_id=id))
            else:
                others.append(article)
        self._articles, self._bytes = others, sum(map(stored_size, others))


def _note(cursor: Cursor, load: int | None, source: str | None, counts: LoadCounts) -> int:
    """Store which articles of a batch were new, known or edited; return the number of the load. `load`: this
    number; None for the first batch."""
    if load is None:
        load = int(one_row(cursor, _sql("begin"), {"source": source})[0])
    ids = {"new": counts.new_ids, "known": counts.known_ids, "edited": counts.edited_ids}
    cursor.execute(_sql("note"), {"load": load, **{kind: bigints(found) for kind, found in ids.items()}})
    return load
