"""Read articles from a file: JSON, CSV, TSV, Parquet, Excel or feeds, packed or not; or JSONL from stdin.

    with read_articles("news.jsonl.gz", fields={"text": "body"}) as reader:
        for item in reader:                  # an Article, a Reject with line and reason, or a Repair
            ...

A bad record becomes a Reject; a repaired field becomes a Repair right before its article. A file that cannot
be used raises InputError before the first article. Memory holds one record of limited size.

Texts are not changed, unless the option `html` extracts them from HTML; texts of feeds are always extracted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, Self, Unpack

from dedup.base.article import Article
from dedup.base.errors import InputError
from dedup.base.progress import Progress
from dedup.files.dates import TIMES, DateColumn, Dates, refuse_many
from dedup.files.naming import DEFAULT_FIELDS as DEFAULT_FIELDS
from dedup.files.opening import OpenedFile
from dedup.files.packed import Address, find_address
from dedup.files.reading import Reading, ReadingOptions
from dedup.files.record import (
    KEPT,
    MAX_RAW_BYTES,
    MAX_RECORD_BYTES,
    NO_MEMORY,
    REQUIRED_FIELDS,
    Beginning,
    Flaw,
    Plan,
    Record,
    Refusal,
    describe_error,
    find_usable_id,
    format_row,
    keep,
    make_article,
)
from dedup.files.rejects import Reject as Reject
from dedup.files.rejects import RejectsFile as RejectsFile
from dedup.files.rejects import Repair as Repair
from dedup.files.report import MAX_NAMES, LoadReport, Understanding, shorten
from dedup.files.rows import ROWS, GivenRows
from dedup.files.source import UTF8, guess_encoding

Item = Article | Reject | Repair  # Results that a reader yields

# Maximum number and bytes of the records that are read before the first article is yielded. Each mapped name
# must be in one of these records. In a pipe, the dates of these records decide how all dates are read.
FIRST_RECORDS = 500
FIRST_BYTES = 4_000_000

PROGRESS_BYTES = 1_048_576  # Bytes of the file between two updates of the progress
NAME_BYTES = 200  # A rejects file's name begins with at most 200 bytes of the file's name; 255 is the maximum
NAMES_SHOWN = 12  # Maximum number of names listed in an error about a missing name
CUT_CHARACTERS = 32_767  # Length at which Excel cuts off the text of a cell


class ArticleReader(Iterator[Item]):
    """Iterator and context manager for the articles of one file, of standard input ("-"), or of a program.

    A record without an id gets its url as id, unless an earlier record had a field for ids. `every_line`:
    for callers that give one answer per line of JSONL. Then blank lines become Rejects, ids are required, and
    unreadable dates are accepted.

    Raises InputError before the first article: the file, its header or an argument cannot be used; too many
    dates of a column cannot be read (`dates.py`); or a mapped name is in none of the first records. Raises
    InputError later: reading fails, or too many dates late in a pipe cannot be read.
    """

    def __init__(
        self,
        path: str | Path | GivenRows,
        reading: Reading,
        max_record_bytes: int = MAX_RECORD_BYTES,
        *,
        every_line: bool = False,
    ) -> None:
        if reading.html:
            from dedup.base.html import need_extractor

            need_extractor()
        self._reading, self._every_line = reading, every_line
        self._fields = reading.fields or {}
        kept = {KEPT + name: name for name in reading.keep}
        self._named = {**self._fields, **kept}
        wanted = (path if callable(path) else find_address(str(path)), reading, max_record_bytes)
        self._opened = OpenedFile(*wanted)
        plan = dict(DEFAULT_FIELDS)
        if self._opened.format == "xml":
            from dedup.files.feeds import FIELDS

            plan = dict(FIELDS)
        plan |= {field: (name,) for field, name in self._named.items()}
        self.file, self.close = self._opened.file, self._opened.close
        self.understood = Understanding(self.file, self._opened.format)
        self.understood.files = [shorten(name) for name in self._opened.names[:MAX_NAMES]]
        self.understood.not_read = [shorten(name) for name in self._opened.skipped[:MAX_NAMES]]
        self.understood.url_may_be_id = "source_id" not in self._fields and not every_line
        needed = {*REQUIRED_FIELDS, *self._named}
        try:
            records = self._opened.records(plan, needed, self.understood, every_line=every_line)
        except BaseException:
            self.close()
            raise
        self.stop: Callable[[], bool] = lambda: False
        self._dates = Dates(reading.date_format, reading.day_first)
        self._ask, self._may_lose = False, reading.lose_dates or every_line
        if self.bytes_total is not None:
            records = self._scan_dates_first(records, lambda: OpenedFile(*wanted), plan, needed)
        if not every_line:
            records = self._check_first(records)
        self._items = self._make_items(records)

    def _scan_dates_first(
        self, records: Iterator[Record], again: Callable[[], OpenedFile], plan: Plan, needed: set[str]
    ) -> Iterator[Record]:
        """Read the dates of the whole file, then yield the records."""
        # The file is read twice, since the last date may decide how the first date is read.
        opened = again()
        understood = Understanding(self.file, opened.format)
        understood.url_may_be_id = self.understood.url_may_be_id
        if opened.format == "parquet":  # the first pass needs only the columns of dates
            plan, needed = {field: plan[field] for field in TIMES}, set()
        try:
            self._scan_dates(opened.records(plan, needed, understood))
        finally:
            opened.close()
        yield from records

    def _check_first(self, records: Iterator[Record]) -> Iterator[Record]:
        """Look for the given names in the first records; in a pipe, scan their dates. Yield all records."""
        first: list[Record] = []
        size = 0
        failed: Exception | None = None
        try:
            for record in records:
                first.append(record)
                size += _measure(record)
                if len(first) >= FIRST_RECORDS or size >= FIRST_BYTES:
                    break
        except Exception as error:  # the caller's rows may raise any exception
            failed = error  # the error is raised below, after the records before it
        if first and (missing := self.understood.find_unseen(self._named)):
            self._refuse_unseen(len(first), *next(iter(missing.items())))
        if self.bytes_total is None:
            self._scan_dates(first)
            self._ask = True
        yield from first
        first.clear()
        if failed is not None:
            raise failed
        yield from records

    def _refuse_unseen(self, count: int, field: str, name: str) -> None:
        understood = self.understood
        found = (name for names in understood.fields.values() for name in names)
        names = [*dict.fromkeys([*found, *understood.ignored])]
        listed = ", ".join(names[:NAMES_SHOWN]) + (", …" if len(names) > NAMES_SHOWN else "")
        why, option = f", to which {field} is mapped", f"--map {field}=NAME"
        if field not in self._fields:
            why, option = ", which is to be kept", "--keep"
        raise InputError(
            f"{self.file}: none of the first {count:,} records has {name!r}{why};"
            f" they have {listed}; correct {option}"
        )

    def _scan_dates(self, records: Iterable[Record]) -> None:
        def readable() -> Iterator[dict[str, Any]]:
            with suppress(InputError):  # ignored here: the second reading raises it again
                for _, _, found in takewhile(lambda _: not self.stop(), records):
                    if isinstance(found, dict):
                        yield found

        looked = self._dates.scan(readable())
        for field, column in looked.items():
            if not self._may_lose and not self.stop():
                refuse_many(self.file, field, column, "nothing was stored")
            self.understood.dates[field] = DateColumn(order=column.order)

    def _count_dates(self, article: Article, flaws: Sequence[Flaw]) -> None:
        dates = self.understood.dates
        for field in TIMES:
            if getattr(article, field) is not None:
                dates.setdefault(field, DateColumn()).given += 1
        for field, _, value in flaws:
            if field in TIMES:
                column = dates.setdefault(field, DateColumn())
                column.count_lost(value)
                if self._ask and not self._may_lose:
                    refuse_many(self.file, field, column, "earlier records are stored, without bad dates")

    @property
    def bytes_read(self) -> int:
        """Position in the stored file, before unpacking; an estimate for Parquet and Excel."""
        return self._opened.source.bytes_read

    @property
    def bytes_total(self) -> int | None:
        """Size of the stored file, before unpacking; None for standard input and pipes."""
        return self._opened.source.bytes_total

    @property
    def truncated(self) -> bool:
        """True if the end of the file is missing. Articles may be corrupt: no final checksum was read."""
        return self._opened.truncated

    def __iter__(self) -> Iterator[Item]:
        return self._items

    def __next__(self) -> Item:
        return next(self._items)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _make_items(self, records: Iterator[Record]) -> Iterator[Item]:
        understood = self.understood
        try:
            for line, raw, found in records:
                understood.records += 1
                if isinstance(found, str):
                    if raw and not understood.likely_encoding and found.endswith(f" is not {UTF8}"):
                        understood.likely_encoding = guess_encoding(raw)
                    known = found.source_id if isinstance(found, Refusal) else None
                    yield self._reject(line, str(found), raw, known)
                    continue
                if self._needs_url_as_id(found):
                    found["source_id"] = found["url"]
                    understood.ids_from_url += 1
                try:
                    text = found.get("text")
                    markup = False
                    if self._opened.format == "xml":
                        from dedup.files import feeds

                        understood.extracted += feeds.extract_text(found)
                    elif self._reading.html or (isinstance(text, str) and "<" in text):
                        from dedup.base.html import looks_like_html, take_out

                        markup = isinstance(text, str) and looks_like_html(text)
                        if self._reading.html:
                            take_out(found, text if markup else None)
                    if self._reading.keep:
                        keep(found, self._reading.keep)
                    self._dates.convert(found)
                    article, flaws = make_article(found)
                    article = self._reading.complete(article)
                except InputError as error:
                    shown = raw if raw is not None else format_row(found)
                    yield self._reject(line, str(error), shown, found.get("source_id"))
                    continue
                except MemoryError:
                    yield self._reject(line, NO_MEMORY, raw, found.get("source_id"))
                    continue
                except Exception as error:  # a parser may raise anything on bad input
                    yield self._reject(line, describe_error(error), raw, found.get("source_id"))
                    continue
                self._count_dates(article, flaws)
                if article.published_at is None:
                    understood.without_date += 1
                if not article.text or article.text.isspace():
                    understood.empty += 1
                if len(article.text) == CUT_CHARACTERS or article.text.endswith(" chars]"):
                    understood.cut += 1
                if markup and self._reading.html:
                    understood.extracted += 1
                elif markup:
                    understood.html += 1
                for field, reason, value in flaws:
                    yield Repair(self._opened.source.file, line, article.source_id, field, reason, value)
                yield article
        finally:
            self.close()

    def _needs_url_as_id(self, found: dict[str, Any]) -> bool:
        understood = self.understood
        return (
            understood.url_may_be_id
            and "source_id" not in found
            and "source_id" not in understood.seen
            and find_usable_id(found.get("url")) is not None
        )

    def _reject(self, line: int, reason: str, raw: bytes | str | None, source_id: Any) -> Reject:
        length: int | None = None
        if raw is not None:
            # A `raw` of type str is ASCII, so its length is its size in bytes.
            whole = raw.length if isinstance(raw, Beginning) else len(raw)
            if whole > len(raw) or whole > MAX_RAW_BYTES:
                raw, length = raw[:MAX_RAW_BYTES], whole
        return Reject(self._opened.source.file, line, reason, raw, length, find_usable_id(source_id))


def read_articles(
    path: str | Path,
    *,
    max_record_bytes: int = MAX_RECORD_BYTES,
    every_line: bool = False,
    **options: Unpack[ReadingOptions],
) -> ArticleReader:
    """Return a reader of the articles of a file; `options` are fields of `Reading`."""
    return ArticleReader(path, Reading(**options), max_record_bytes, every_line=every_line)


def try_out(path: str | Path, reading: Reading, *, every_line: bool = False) -> None:
    """Open and close a file, to raise errors before the actual reading."""
    # A pipe can be read only once, so it is left for the actual reading.
    whole = isinstance(find_address(str(path)), Address) or Path(path).is_file() or not Path(path).exists()
    if str(path) != "-" and whole:
        ArticleReader(path, reading, every_line=every_line).close()


def rejects_path(source: str | Path | GivenRows) -> Path:
    """Return the default path of the rejects file, in the current folder."""
    file = ROWS if callable(source) else find_address(str(source))
    name = {"-": "stdin", ROWS: "rows"}.get(file, Path(file).name)
    kept = os.fsdecode(os.fsencode(name)[:NAME_BYTES])
    return Path(f"{kept}.rejects.jsonl")


def read_file(
    path: str | Path | GivenRows,
    reading: Reading,
    report: LoadReport,
    *,
    max_record_bytes: int = MAX_RECORD_BYTES,
    rejects: str | Path | None,
    progress: Progress,
    stop: Callable[[], bool],
) -> Iterator[Article]:
    """Yield the articles. Count Rejects and Repairs in `report`, and write them to the file `rejects`."""
    with ArticleReader(path, reading, max_record_bytes) as reader, ExitStack() as stack:
        read = None if callable(path) else path
        refused = stack.enter_context(RejectsFile(rejects, source=read)) if rejects is not None else None
        stack.callback(lambda: setattr(report, "truncated", reader.truncated))
        report.file, report.understood = reader.file, reader.understood
        reader.stop = stop
        progress.start("loading", reader.bytes_total)
        seen = 0
        for item in reader:
            if stop():
                report.stopped = True
                break
            if isinstance(item, Article):
                yield item
            else:
                report.note(item)
                if refused is not None:
                    refused.write(item)
                    report.rejects = str(refused.path)
            if reader.bytes_read - seen >= PROGRESS_BYTES:
                progress.advance(reader.bytes_read - seen)
                seen = reader.bytes_read
        progress.advance(reader.bytes_read - seen)


def _measure(record: Record) -> int:
    _, raw, found = record
    # Rows of Parquet and Excel have no raw bytes, so the characters of their values are counted.
    if raw is not None or isinstance(found, str):
        return len(raw or b"")
    return sum(len(value) for value in found.values() if isinstance(value, str))
