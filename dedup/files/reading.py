"""Reads a file as its user wants it, and accounts for every record in a report and a rejects file."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from dedup.base.article import Article, stored_size
from dedup.base.errors import InputError
from dedup.base.progress import Progress
from dedup.files.dates import DateRule
from dedup.files.readers import ArticleReader, RejectsFile, read_articles
from dedup.files.record import KEPT, MAX_RECORD_BYTES
from dedup.files.rejects import Reject, Repair
from dedup.files.report import LoadReport

FIRST_RECORDS = 500
FIRST_BYTES = 4_000_000
"""Records, and bytes of them, that are read before the first is handed on: by then a name that a field was
mapped to has to have come."""

PROGRESS_BYTES = 1_048_576  # Of the file, between two steps of the progress

NAME_BYTES = 200
"""Of the name of a file, in that of its rejects file: file systems take 255 bytes, and some is added."""

NAMES_SHOWN = 12  # Of a file, in an error about a name that it does not have


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file is read."""

    # article field to the name of the key or column that has it, in place of the usual names.
    fields: Mapping[str, str] = field(default_factory=dict)
    format: str | None = None  # one of `dedup.files.opening.FORMATS`; None goes by the name of the file
    publication: str | None = None  # publication, language: of articles that name none
    language: str | None = None
    html: bool = False  # extract the texts from those that are HTML
    date_format: str | None = None  # date_format, day_first, lose_dates: see `dedup.files.dates.DateRule`
    day_first: bool | None = None
    lose_dates: bool = False
    encoding: str | None = None  # where it is not UTF-8, and no byte order mark says so
    sheet: str | None = None  # of Excel; None is the first
    keep: Sequence[str] = ()  # names of keys or columns that articles keep

    def open(
        self, path: str | Path, max_record_bytes: int = MAX_RECORD_BYTES, *, every_line: bool = False
    ) -> ArticleReader:
        """Open a file; raises InputError as `read_articles` does."""
        return read_articles(
            path,
            fields=self.fields,
            format=self.format,
            max_record_bytes=max_record_bytes,
            html=self.html,
            every_line=every_line,
            dates=DateRule(self.date_format, self.day_first, self.lose_dates),
            encoding=self.encoding,
            sheet=self.sheet,
            keep=self.keep,
        )

    def try_out(self, path: str | Path, *, every_line: bool = False) -> None:
        """Open a file and close it again, so that errors show early; not a pipe, which is read but once."""
        if str(path) != "-" and (Path(path).is_file() or not Path(path).exists()):
            self.open(path, every_line=every_line).close()

    def completed(self, article: Article) -> Article:
        """An article with the publication and language of this reading where it has none."""
        if (self.publication and article.publication is None) or (self.language and article.language is None):
            return replace(
                article,
                publication=article.publication or self.publication,
                language=article.language or self.language,
            )
        return article


def rejects_path(source: str | Path) -> Path:
    """Where refused records of a file go by default: the current folder, under a name made of the file's."""
    name = "stdin" if str(source) == "-" else Path(source).name
    kept = os.fsdecode(os.fsencode(name)[:NAME_BYTES])
    return Path(f"{kept}.rejects.jsonl")


def read_file(
    path: str | Path,
    reading: Reading,
    report: LoadReport,
    *,
    max_record_bytes: int = MAX_RECORD_BYTES,
    rejects: str | Path | None,
    progress: Progress,
    stop: Callable[[], bool],
) -> Iterator[Article]:
    """The articles of a file; what is refused or repaired goes to the report and the rejects file (None: no
    file).

    The report is true whatever is raised; counts of what is stored are the caller's. Raises InputError if the
    file cannot be used or read to its end, if too many dates cannot be read, or if a field is mapped to a
    name that is not there.
    """
    with reading.open(path, max_record_bytes) as reader, ExitStack() as stack:
        refused = stack.enter_context(RejectsFile(rejects, source=path)) if rejects is not None else None
        stack.callback(lambda: setattr(report, "truncated", reader.truncated))
        report.file, report.understood = reader.file, reader.understood
        reader.stop = stop
        progress.start("loading", reader.bytes_total)
        seen = 0
        for item in _checked(reader, reading):
            if stop():
                report.stopped = True
                break
            if isinstance(item, Article):
                yield reading.completed(item)
            else:
                report.note(item)
                if refused is not None:
                    refused.write(item)
                    report.rejects = str(refused.path)
            if reader.bytes_read - seen >= PROGRESS_BYTES:
                progress.advance(reader.bytes_read - seen)
                seen = reader.bytes_read
        progress.advance(reader.bytes_read - seen)


def _checked(reader: ArticleReader, reading: Reading) -> Iterator[Article | Reject | Repair]:
    """The items of a reader, once every name that a field is mapped to has been seen."""
    first: deque[Article | Reject | Repair] = deque()
    size = 0
    failed: InputError | MemoryError | None = None
    try:
        for item in reader:
            first.append(item)
            if isinstance(item, Article):
                size += stored_size(item)
            if len(first) >= FIRST_RECORDS or size >= FIRST_BYTES:
                break
    except (InputError, MemoryError) as error:  # what was read before it counts
        failed = error
    understood = reader.understood
    named = {**reading.fields, **{KEPT + name: name for name in reading.keep}}
    missing = named and understood.records and understood.unseen(named)
    if missing:
        wanted, name = next(iter(missing.items()))
        names = [
            *dict.fromkeys(n for found in understood.fields.values() for n in found),
            *understood.ignored,
        ]
        listed = ", ".join(names[:NAMES_SHOWN]) + (", …" if len(names) > NAMES_SHOWN else "")
        why, option = f", to which {wanted} is mapped", f"--map {wanted}=NAME"
        if wanted not in reading.fields:
            why, option = ", which is to be kept", "--keep"
        raise InputError(
            f"{reader.file}: none of the first {understood.records:,} records has {name!r}{why};"
            f" they have {listed}; correct {option}"
        )
    while first:
        yield first.popleft()
    if failed is not None:
        raise failed
    yield from reader
