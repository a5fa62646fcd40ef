"""Files become articles: JSONL, CSV, TSV or Parquet, plain or gzipped, or JSONL on standard input.

    with read_articles("news.jsonl.gz", fields={"text": "body"}) as reader:
        for item in reader:                  # an Article, or a Reject with line and reason
            ...

What cannot be an article becomes a Reject and the reading goes on; what makes the whole file unusable
is an InputError before the first article. Memory holds one record, however large the file, and a record that
is too large is refused without being held. This file knows fields and types, `source.py`, `jsonl.py`,
`delimited.py` and `parquet.py` know lines and rows; none knows the database, and an article's text is not
looked into: an empty one, or one with NUL bytes, is an article like any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from dedup.article import ARTICLE_FIELDS, Article, parse_time
from dedup.errors import InputError
from dedup.files.delimited import DELIMITERS, csv_records
from dedup.files.jsonl import jsonl_records
from dedup.files.parquet import ParquetSource
from dedup.files.record import MAX_RAW_BYTES, MAX_RECORD_BYTES, NO_MEMORY, Beginning, Record, row_as_json
from dedup.files.source import LineSource, open_file
from dedup.printable import as_json

DEFAULT_FIELDS: dict[str, tuple[str, ...]] = {
    "source_id": ("source_id", "id"),
    "text": ("text", "body", "content"),
    "title": ("title",),
    "url": ("url", "link"),
    "publication": ("publication", "source", "publisher"),
    "published_at": ("published_at", "date", "published"),
    "added_at": ("added_at",),
    "language": ("language", "lang"),
}
"""Article field -> the names it goes by in files, in the order they are tried."""

REQUIRED_FIELDS = ("source_id", "text")
FORMATS = ("jsonl", "csv", "tsv", "parquet")
SUFFIXES: dict[str, str] = {
    **dict.fromkeys((".jsonl", ".jsonlines", ".ndjson", ".json"), "jsonl"),
    **{".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"},
}

_TIMES = ("published_at", "added_at")


@dataclass(frozen=True, slots=True)
class Reject:
    """A line that is not an article.

    Attributes:
        file: the file's name as given, or `<stdin>`.
        line: 1-based line at which the record starts; for Parquet the 1-based row.
        reason: why it was refused; never holds text of the article.
        raw: the refused line or lines as read, without the last newline; for Parquet the row as JSON;
            None where there is nothing to show. At most its first MiB.
        length: bytes of the whole where `raw` is only its beginning, else None.
    """

    file: str
    line: int
    reason: str
    raw: str | bytes | None
    length: int | None = None


def parse_field_map(pairs: Iterable[str]) -> dict[str, str]:
    """Read `["text=body", "publication=source"]` as `{"text": "body", "publication": "source"}`.

    Raises:
        InputError: a pair lacks its field, `=` or name, or names an unknown field or the same one twice.
    """
    fields: dict[str, str] = {}
    for pair in pairs:
        field, _, name = (part.strip() for part in pair.partition("="))
        if not field or not name:
            raise InputError(f"'{pair}' does not map a field; write FIELD=NAME, such as text=body")
        _check_field(field)
        if field in fields:
            raise InputError(f"field {field} is mapped twice, to '{fields[field]}' and to '{name}'; give one")
        fields[field] = name
    return fields


def read_articles(
    path: str | Path,
    *,
    fields: Mapping[str, str] | None = None,
    format: str | None = None,
    max_record_bytes: int = MAX_RECORD_BYTES,
) -> ArticleReader:
    """Open a file, or standard input for "-", and read its articles one by one.

    Args:
        path: its suffix says the format (see SUFFIXES; `.gz` may follow); "-" is JSONL unless told.
        fields: article field -> name of the key or column, in place of the names in DEFAULT_FIELDS.
        format: one of FORMATS, whatever the suffix.
        max_record_bytes: a longer line or row is refused; reading takes up to 13 times as much memory.

    Raises:
        InputError: the file is missing, unreadable or of unknown format, its header or schema lacks a
            required or mapped column, it is UTF-16, or `fields` names an unknown field. All of this is
            raised here, before any article is read; later only a failing disk raises it.
    """
    return ArticleReader(path, fields=fields, format=format, max_record_bytes=max_record_bytes)


class ArticleReader(Iterator["Article | Reject"]):
    """The articles of one file, in order, once. Closes the file at the end, or as a context manager.

    Attributes:
        file: the name used in messages.
        format: one of FORMATS.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        fields: Mapping[str, str] | None = None,
        format: str | None = None,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        name = str(path)
        fields = fields or {}
        for field in fields:
            _check_field(field)
        self.format = _format_of(name, format)
        plan = {
            field: (fields[field],) if field in fields else names for field, names in DEFAULT_FIELDS.items()
        }
        needed = {*REQUIRED_FIELDS, *fields}
        kind = ParquetSource if self.format == "parquet" else LineSource
        self._source = kind(name, max_record_bytes)
        self.file = self._source.file
        records: Iterator[Record]
        try:
            if isinstance(self._source, ParquetSource):
                records = self._source.records(plan, needed)
            elif self.format == "jsonl":
                records = jsonl_records(self._source, plan)
            else:
                records = csv_records(self._source, plan, needed, DELIMITERS[self.format])
        except BaseException:
            self.close()
            raise
        self._items = self._articles(records)

    @property
    def bytes_read(self) -> int:
        """Position in the file as stored, that is before unpacking; for Parquet an estimate from rows."""
        return self._source.bytes_read

    @property
    def bytes_total(self) -> int | None:
        """Size of the file as stored; None for standard input and pipes."""
        return self._source.bytes_total

    @property
    def truncated(self) -> bool:
        """The file broke off (see the last Reject). Its checksum comes at the end, so where gzip is corrupt
        rather than cut, the last articles before that may be nonsense; `gzip -t` tells beforehand."""
        return self._source.truncated

    def __iter__(self) -> Iterator[Article | Reject]:
        return self._items

    def __next__(self) -> Article | Reject:
        return next(self._items)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; standard input stays open."""
        self._source.close()

    def _articles(self, records: Iterator[Record]) -> Iterator[Article | Reject]:
        try:
            for line, raw, found in records:
                if isinstance(found, str):
                    yield self._reject(line, found, raw)
                    continue
                try:
                    yield _article(found)
                except InputError as error:
                    yield self._reject(line, str(error), raw if raw is not None else row_as_json(found))
                except MemoryError:
                    yield self._reject(line, NO_MEMORY, raw)
        finally:
            self.close()

    def _reject(self, line: int, reason: str, raw: bytes | str | None) -> Reject:
        if raw is None:
            return Reject(self.file, line, reason, None)
        length = raw.length if isinstance(raw, Beginning) else len(raw)  # the JSON of a row is ASCII
        if length > len(raw) or length > MAX_RAW_BYTES:
            return Reject(self.file, line, reason, raw[:MAX_RAW_BYTES], length)
        return Reject(self.file, line, reason, raw)


class RejectsFile:
    """A JSONL file of refused lines: `{"file", "line", "reason", "raw"}` each, appended, never replaced.

    It is created by the first refused line, so a clean load leaves none. Every line is on disk when
    `write` returns, save for a crash of the machine. Bytes that are not UTF-8 are written as `\\xff`.

    Attributes:
        path: the file.
        count: refused lines written so far through this object.

    Raises:
        InputError: the file cannot be written; found out at once where possible, not at the first line.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.count = 0
        self._file: TextIO | None = None
        if self.path.is_dir():
            raise InputError(f"{path} is a directory; name a file for the refused lines")
        if not self.path.parent.is_dir():
            raise InputError(
                f"{path}: no such directory for the refused lines; try: mkdir -p {self.path.parent}"
            )

    def write(self, reject: Reject) -> None:
        """Append one line."""
        raw = reject.raw
        row = {
            "file": reject.file,
            "line": reject.line,
            "reason": reject.reason,
            "raw": raw.decode(errors="backslashreplace") if isinstance(raw, bytes) else raw,
        }
        if reject.length is not None:
            row["length"] = reject.length
        try:
            if self._file is None:
                self._file = self._open()
            self._file.write(as_json(row) + "\n")
            self._file.flush()
        except OSError as error:
            raise InputError(
                f"{self.path}: a refused line cannot be written: {error.strerror}; name another file"
            ) from None
        self.count += 1

    def _open(self) -> TextIO:
        file = self.path.open("a", encoding="utf-8", newline="\n")
        if file.tell() and not self._ends_in_newline():
            file.write("\n")  # an earlier run was killed within a line
        return file

    def _ends_in_newline(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, 2)
            return file.read(1) == b"\n"

    def close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            try:
                file.close()
            except OSError as error:
                raise InputError(
                    f"{self.path}: the refused lines may not all be written: {error.strerror}"
                ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _article(found: dict[str, Any]) -> Article:
    for field in REQUIRED_FIELDS:
        if found.get(field) is None:
            raise InputError(f"{field} is missing")
    if type(found["source_id"]) is int:  # not isinstance: True is an int too
        found["source_id"] = str(found["source_id"])
    fields: dict[str, Any] = {}
    for field, value in found.items():
        if value != "" or field in REQUIRED_FIELDS:  # an empty cell of CSV is a missing value
            fields[field] = parse_time(_from_date(value), field) if field in _TIMES else value
    return Article(**fields)


def _from_date(value: Any) -> Any:
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    return value


def _check_field(field: str) -> None:
    if field not in ARTICLE_FIELDS:
        raise InputError(f"unknown field '{field}'; the fields are {', '.join(ARTICLE_FIELDS)}")


def _format_of(path: str, format: str | None) -> str:
    if format is not None:
        if format not in FORMATS:
            raise InputError(f"unknown format '{format}'; the formats are {', '.join(FORMATS)}")
        return format
    if path == "-":
        return "jsonl"
    suffix = Path(path.lower().removesuffix(".gz")).suffix
    if suffix not in SUFFIXES:
        open_file(path)[0].close()  # says so if it is missing, or a directory
        raise InputError(
            f"{path}: unknown format '{suffix}'; name the format ({', '.join(FORMATS)}) or rename the file "
            f"to one of {' '.join(SUFFIXES)}, each with or without .gz"
        )
    return SUFFIXES[suffix]
