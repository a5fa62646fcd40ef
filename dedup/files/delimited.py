"""Rows of CSV and TSV become records, by the rules of RFC 4180, under a header.

A row may span lines; a broken one is a record with a reason, and reading goes on behind it. A CSV file has
the delimiter by which most fields of its header are recognised; where none is, that by which the header and
the rows below it have most columns.
"""

from __future__ import annotations

import csv
import itertools
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from dedup.base.errors import InputError
from dedup.base.words import counted
from dedup.files.naming import columns_of, make_shape, values_of
from dedup.files.record import (
    MAX_RECORD_VALUES,
    NO_MEMORY,
    TOO_MANY_VALUES,
    Beginning,
    Plan,
    Record,
    beginning,
    too_long,
)
from dedup.files.report import Understanding
from dedup.files.source import UTF8, LineSource, likely_encoding

CSV_DELIMITERS = (",", ";", "\t", "|")
"""What separates the values of a file that is called CSV; the first one where it makes no difference."""

ROWS_LOOKED_AT = 10  # Lines below a header that names no known field

CSV_FIELD_CHARS = 2**31 - 1
"""The largest limit that fits a C long everywhere (sys.maxsize does not on Windows); ours are of records."""


class _CsvLines(Iterator[str]):
    """Feeds csv.reader line by line and remembers the lines of the record in hand."""

    def __init__(self, source: LineSource, lines: Iterator[tuple[int, bytes]], delimiter: str) -> None:
        self._lines = lines
        self._delimiter = delimiter.encode()
        self._most = source.max_line_bytes
        self.start_record()

    def start_record(self) -> None:
        self.first, self.utf8, self.count, self.size, self.values = 0, True, 0, 0, 0
        self.record: list[bytes] = []

    @property
    def raw(self) -> bytes:
        """The lines of the record as read; of one that is too large the `Beginning`."""
        raw = self.record[0] if len(self.record) == 1 else b"\n".join(self.record)
        return raw if len(raw) == self.size else beginning(raw, self.size, 0)

    def raw_with(self, partial: bytes) -> bytes:
        """The same with the line that the file breaks off in."""
        if len(self.record) == self.count:
            self.record.append(partial)
        self.size += (self.count > 0) + (partial.length if isinstance(partial, Beginning) else len(partial))
        self.count += 1
        return self.raw

    def __next__(self) -> str:
        within = bool(self.record)  # csv asks for another line of a record only between quotes
        line = self._next()
        self.record.append(line)
        broken = isinstance(line, Beginning)
        if broken or self.size > self._most or self.values > MAX_RECORD_VALUES:
            self._pass_over(within, line)
            why = NO_MEMORY if broken else TOO_MANY_VALUES
            raise _BoundError(too_long(self.size, self._most) if self.size > self._most else why)
        try:
            return line.decode() + "\n"
        except UnicodeDecodeError:
            self.utf8 = False
            return line.decode(errors="surrogateescape") + "\n"

    def _next(self) -> bytes:
        number, line = next(self._lines)
        self.first = self.first or number
        self.size += (self.count > 0) + (line.length if isinstance(line, Beginning) else len(line))
        self.count += 1
        self.values += line.count(self._delimiter) + 1
        return line

    def _pass_over(self, within: bool, line: bytes) -> None:
        """Read on from a line to the end of the record; taken for rows, the rest could forge articles."""
        while within ^ ((line.quotes if isinstance(line, Beginning) else line.count(b'"')) % 2 == 1):
            within = True
            try:
                line = self._next()
            except StopIteration:
                raise _UnclosedError from None


class _BoundError(Exception):
    """The record in hand is too large; says why."""


class _UnclosedError(_BoundError):
    """And the file ends within it."""


_wide_lock = threading.RLock()
_wide_readers = 0
_narrow_limit = 0


@contextmanager
def _wide_csv_fields() -> Iterator[None]:
    """Lift csv's limit of 131,072 characters per value, which a long article passes.

    The limit is the whole process': the first reader lifts it, the last one puts it back.
    """
    global _wide_readers, _narrow_limit
    with _wide_lock:
        if _wide_readers == 0:
            _narrow_limit = csv.field_size_limit(CSV_FIELD_CHARS)
        _wide_readers += 1
    try:
        yield
    finally:
        with _wide_lock:
            _wide_readers -= 1
            if _wide_readers == 0:
                csv.field_size_limit(_narrow_limit)


def csv_records(
    source: LineSource, plan: Plan, needed: Collection[str], understood: Understanding
) -> Iterator[Record]:
    """One record per row below the header; a format "csv" gets its delimiter set in `understood`."""
    understood.encoding = source.encoding if source.encoding != UTF8 else None
    read, delimiter = source.lines(), "\t"
    if understood.format == "csv":
        read, delimiter = _delimiter(read, plan)
        understood.delimiter = delimiter
    lines = _CsvLines(source, read, delimiter)
    # Not strict, csv would take an unclosed quote for a value that is the rest of the file.
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] = []
    with _wide_csv_fields():
        try:
            while not header or _is_blank(header, lines.record):
                lines.start_record()
                header = next(rows)
        except StopIteration:
            why = f": {source.ends_early}" if source.truncated else ""
            raise InputError(
                f"{source.file} has no header{why}; its first row must name the columns"
            ) from None
        except (csv.Error, _BoundError, MemoryError) as error:
            raise InputError(
                f"{source.file}: the header cannot be read: {_csv_reason(error, lines)}; "
                "its first row must name the columns, and lines must end in \\n or \\r\\n"
            ) from None
    if not lines.utf8:
        way_out = f"; try --encoding {likely_encoding(source.start)}" if source.encoding == UTF8 else ""
        raise InputError(f"{source.file}: the header is not {source.encoding}{way_out}")
    names = [name.strip() for name in header]
    # A column of CSV has nothing within; a dot is a letter of its name.
    shape = columns_of(source.file, names, plan, needed, lambda *_: None, understood)

    def records() -> Iterator[Record]:
        with _wide_csv_fields():
            while True:
                lines.start_record()
                outcome: dict[str, Any] | str
                try:
                    row = next(rows)
                except StopIteration:
                    break
                except (csv.Error, _BoundError, MemoryError) as error:
                    if source.truncated and _is_unclosed(error):
                        break
                    outcome = _csv_reason(error, lines)
                else:
                    if _is_blank(row, lines.record):
                        continue
                    if not lines.utf8:
                        outcome = f"line is not {source.encoding}"
                    elif len(row) != len(header):
                        outcome = f"the row has {counted(len(row), 'column')}, the header {len(header)}"
                    else:
                        outcome = values_of(row, shape, understood)
                yield lines.first, lines.raw, outcome
        if source.truncated:
            yield lines.first or source.line + 1, lines.raw_with(source.partial) or None, source.ends_early

    return records()


def _delimiter(lines: Iterator[tuple[int, bytes]], plan: Plan) -> tuple[Iterator[tuple[int, bytes]], str]:
    """All the lines, and the delimiter by which the first that is not blank names most fields.

    Where it names none, a few rows are looked at too.
    """
    read: list[tuple[int, bytes]] = []
    header = ""
    for number, line in lines:
        read.append((number, line))
        if header := line.decode(errors="replace").strip("\r"):
            break
    recognised = []
    for delimiter in CSV_DELIMITERS:
        names = next(iter(_rows_of([header], delimiter)), [])
        fields = make_shape(plan, [name.strip() for name in names], lambda *_: None).fields
        recognised.append(len(fields))
    if not any(recognised):
        below = list(itertools.islice(lines, ROWS_LOOKED_AT))
        read += below
        texts = [header, *(line.decode(errors="replace") for _, line in below)]
        recognised = [_columns(_rows_of(texts, delimiter)) for delimiter in CSV_DELIMITERS]
    best = recognised.index(max(recognised))
    return itertools.chain(read, lines), CSV_DELIMITERS[best]


def _rows_of(lines: list[str], delimiter: str) -> list[list[str]]:
    """The rows of some lines, without those that are blank or broken."""
    rows: list[list[str]] = []
    with suppress(csv.Error), _wide_csv_fields():
        for row in csv.reader([f"{line}\n" for line in lines], delimiter=delimiter):
            rows.append(row)  # those before a broken one count
    return [row for row in rows if row]


def _columns(rows: list[list[str]]) -> int:
    """How many columns a delimiter makes of a header, or 1 where most rows below have another number."""
    header, *others = [len(row) for row in rows] or [1]
    agreeing = sum(width == header for width in others[:-1])  # the last one may go on in the next line
    return header if agreeing * 2 >= len(others[:-1]) else 1


def _is_blank(row: list[str], record: list[bytes]) -> bool:
    return len(row) < 2 and not b"".join(record).strip(b" \r")


def _is_unclosed(error: Exception) -> bool:
    return isinstance(error, _UnclosedError) or str(error) == "unexpected end of data"


def _csv_reason(error: Exception, lines: _CsvLines) -> str:
    if _is_unclosed(error):
        extent = f"{lines.count} lines" if lines.count > 1 else "the line"
        return f"a quote is opened and never closed: {extent} refused"
    if isinstance(error, MemoryError):
        return NO_MEMORY
    if isinstance(error, _BoundError):
        return str(error)
    message = str(error)
    if "expected after" in message:
        return "broken CSV: text follows a closing quote; a quote within quotes must be doubled"
    if "new-line character" in message:
        return "broken CSV: a carriage return outside quotes"
    return f"broken CSV: {message}"
