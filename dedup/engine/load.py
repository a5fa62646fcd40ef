"""Files, or articles of a program, become articles of the corpus: batch by batch, every record accounted for.

What was read before trouble is stored. Nothing is settled here: that is the backfill's matter.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dedup.answer import Answer
from dedup.article import Article, stored_size
from dedup.corpus import articles
from dedup.corpus.database import Database, retried
from dedup.errors import InputError
from dedup.files.readers import Reject, RejectsFile, Repair
from dedup.files.reading import Reading
from dedup.files.record import MAX_RECORD_BYTES
from dedup.progress import Progress, SilentProgress

if TYPE_CHECKING:
    from dedup.corpus.articles import LoadCounts

BATCH_ARTICLES = 500
BATCH_BYTES = 4_000_000
"""Articles, and bytes of all their fields, per transaction of a load; a larger article goes alone. Postgres
takes messages of up to 1 GB."""

PROGRESS_BYTES = 1_048_576
"""Of the file, between two steps of the progress."""

IDS_KEPT = 20
"""Ids, or lines, that a report names per reason; the rejects file has all."""

REASONS_KEPT = 50
"""Different reasons in a report; a file of nothing but strange lines may have more."""

NAME_BYTES = 200
"""Of the name of a file, in that of its rejects file: file systems take 255 bytes, and some is added."""

OTHER_REASONS = "other reasons"


@dataclass(slots=True)
class Noted(Answer):
    """Records with one thing wrong.

    Attributes:
        count: how many.
        ids: the source_ids of the first, or `line 17` where the id could not be read.
    """

    count: int = 0
    ids: list[str] = field(default_factory=list)


@dataclass(slots=True)
class LoadReport(Answer):
    """What became of the records of a file; each is in one of the five heaps.

    Attributes:
        file: its name as given; None for articles of a program.
        lines: records read, that is lines of JSONL that are not blank, rows of CSV and Parquet.
        new, changed, same: compared with what was stored before.
        superseded: the source_id came again soon after, and the later record counts.
        refused: no article could be made of it.
        reasons: why they were refused, with numbers left out.
        rejects: the file that has the refused records, or None.
        truncated: the file broke off.
    """

    file: str | None = None
    lines: int = 0
    new: int = 0
    changed: int = 0
    same: int = 0
    superseded: int = 0
    refused: int = 0
    reasons: dict[str, Noted] = field(default_factory=dict)
    rejects: str | None = None
    truncated: bool = False

    def __str__(self) -> str:
        return (
            f"read {self.lines:,} lines: {self.new:,} new, {self.changed:,} changed, {self.same:,} same,"
            f" {self.superseded:,} superseded, {self.refused:,} refused"
        )


def rejects_path(source: str | Path) -> Path:
    """Where the refused records of a file go if nothing is said: the current folder, named after the file."""
    name = "stdin" if str(source) == "-" else Path(source).name
    kept = os.fsdecode(os.fsencode(name)[:NAME_BYTES])
    return Path(f"{kept}.rejects.jsonl")


def load_file(
    database: Database,
    path: str | Path,
    reading: Reading,
    report: LoadReport,
    *,
    max_record_bytes: int = MAX_RECORD_BYTES,
    rejects: str | Path,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Store the articles of a file.

    Args:
        report: filled while it goes, so that it is true whatever is raised.
        rejects: where refused records go.
        stop: asked between records; when it says so, what was read is stored and the work ends.

    Raises:
        InputError: the file cannot be used, or read on; what was read before is stored.
        DatabaseError: the server refused or went away; the batches before are stored.
    """
    shown = progress or SilentProgress()
    batch = _Batch(database, report)
    with reading.open(path, max_record_bytes) as reader, RejectsFile(rejects) as refused:
        report.file = reader.file
        shown.start("loading", reader.bytes_total)
        seen = 0
        try:
            for item in reader:
                if isinstance(item, Reject):
                    refused.write(item)
                    report.rejects = str(refused.path)
                    note_reject(report, item)
                elif isinstance(item, Repair):
                    refused.write(item)
                else:
                    batch.add(reading.completed(item))
                if reader.bytes_read - seen >= PROGRESS_BYTES:
                    shown.advance(reader.bytes_read - seen)
                    seen = reader.bytes_read
                if stop():
                    break
            shown.advance(reader.bytes_read - seen)
            batch.store()
        except (InputError, MemoryError):  # of reading: what was read before is stored
            batch.store()
            raise
        finally:
            report.truncated = reader.truncated


def load_articles(
    database: Database,
    given: Iterable[Article],
    report: LoadReport,
    *,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Store articles of a program; see `load_file`."""
    shown = progress or SilentProgress()
    shown.start("loading", len(given) if isinstance(given, Sequence) else None)
    batch = _Batch(database, report)
    for article in given:
        batch.add(article)
        shown.advance(1)
        if stop():
            break
    batch.store()


def note_reject(report: LoadReport, reject: Reject) -> None:
    """Count a refused record, by its reason."""
    report.lines += 1
    report.refused += 1
    _note(report.reasons, reject.reason, f"line {reject.line}")


def _note(noted: dict[str, Noted], reason: str, id: str) -> None:
    plain = _NUMBER.sub("…", reason)
    if plain not in noted and len(noted) >= REASONS_KEPT:
        plain = OTHER_REASONS
    entry = noted.setdefault(plain, Noted())
    entry.count += 1
    if len(entry.ids) < IDS_KEPT:
        entry.ids.append(id)


_NUMBER = re.compile(r"\d[\d,]*")


class _Batch:
    """Articles on their way to the database, within the bounds of one transaction."""

    def __init__(self, database: Database, report: LoadReport) -> None:
        self._database = database
        self._report = report
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

        def attempt() -> LoadCounts:
            with self._database.transaction() as cursor:
                return articles.store(cursor, self._articles)

        counts = retried(attempt, self._database.timeouts.lock)
        report = self._report
        report.lines += len(self._articles)
        report.new += counts.new
        report.changed += counts.changed
        report.same += counts.same
        report.superseded += counts.superseded
        self._articles, self._bytes = [], 0
