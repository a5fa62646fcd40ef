"""Read records from CSV and TSV with a header, by the rules of RFC 4180.

A row may span several lines. A broken row becomes a record with the reason, and reading continues with the
next row. The delimiter of CSV is the character that gives the most known names in the header. If no name is
known, the delimiter is the character that gives the most columns, the same number in most rows below.
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
from dedup.files.naming import extract_values, find_columns, make_shape
from dedup.files.record import (
    MAX_RECORD_VALUES,
    NO_MEMORY,
    TOO_MANY_VALUES,
    Beginning,
    Plan,
    Record,
    describe_size,
    make_beginning,
)
from dedup.files.report import Understanding
from dedup.files.source import UTF8, LineSource, guess_encoding

CSV_DELIMITERS = (",", ";", "\t", "|")  # If several delimiters fit equally well, the first is used
ROWS_LOOKED_AT = 10  # Maximum number of rows used to find the delimiter if no name of the header is known
# Largest limit that csv accepts everywhere: a C long has 32 bits on Windows. `_CsvLines` has lower limits.
CSV_FIELD_CHARS = 2**31 - 1


class _CsvLines(Iterator[str]):
    """Iterator of lines for csv.reader that keeps the bytes of the current record."""

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
        """Bytes of the current record. If the record is too large, only its first bytes, as a `Beginning`."""
        raw = self.record[0] if len(self.record) == 1 else b"\n".join(self.record)
        return raw if len(raw) == self.size else make_beginning(raw, self.size, 0)

    def raw_with(self, partial: bytes) -> bytes:
        """Add the incomplete last line of a truncated file to the current record, and return its bytes."""
        if len(self.record) == self.count:
            self.record.append(partial)
        self.size += (self.count > 0) + (partial.length if isinstance(partial, Beginning) else len(partial))
        self.count += 1
        return self.raw

    def __next__(self) -> str:
        within = bool(self.record)  # csv asks for a further line of a record only while a quote is open
        line = self._read_line()
        self.record.append(line)
        broken = isinstance(line, Beginning)
        if broken or self.size > self._most or self.values > MAX_RECORD_VALUES:
            self._skip_record(within, line)
            why = NO_MEMORY if broken else TOO_MANY_VALUES
            raise _BoundError(describe_size(self.size, self._most) if self.size > self._most else why)
        try:
            return line.decode() + "\n"
        except UnicodeDecodeError:
            self.utf8 = False
            return line.decode(errors="surrogateescape") + "\n"

    def _read_line(self) -> bytes:
        number, line = next(self._lines)
        self.first = self.first or number
        self.size += (self.count > 0) + (line.length if isinstance(line, Beginning) else len(line))
        self.count += 1
        self.values += line.count(self._delimiter) + 1
        return line

    def _skip_record(self, within: bool, line: bytes) -> None:
        """Skip the remaining lines of the record."""
        # Lines within a quoted text are not rows. If they were read as rows, a text could forge articles.
        while within ^ ((line.quotes if isinstance(line, Beginning) else line.count(b'"')) % 2 == 1):
            within = True
            try:
                line = self._read_line()
            except StopIteration:
                raise _UnclosedError from None


class _BoundError(Exception):
    """Raised when the current record exceeds a limit, which the message names."""


class _UnclosedError(_BoundError):
    """Raised when a record exceeds a limit, and the file ends before a quote of the record is closed."""


_wide_lock = threading.RLock()
_wide_readers = 0
_narrow_limit = 0


@contextmanager
def _allow_wide_fields() -> Iterator[None]:
    """Increase csv's limit of 131,072 characters per value, which long articles exceed, in a `with` block."""
    # The limit belongs to the process: the first reader raises the limit, and the last reader restores it.
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


def read_csv(
    source: LineSource, plan: Plan, needed: Collection[str], understood: Understanding
) -> Iterator[Record]:
    """Yield a record for each row below the header. Raises InputError for a bad header or missing column."""
    understood.encoding = source.encoding if source.encoding != UTF8 else None
    read, delimiter = source.lines(), "\t"
    if understood.format == "csv":
        read, delimiter = _get_delimiter(read, plan)
        understood.delimiter = delimiter
    lines = _CsvLines(source, read, delimiter)
    # Without `strict`, csv would read everything from an unclosed quote to the end of the file as one value.
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] = []
    with _allow_wide_fields():
        try:
            while not header or _is_blank(header, lines.record):
                lines.start_record()
                header = next(rows)
        except StopIteration:
            why = f": {source.ends_early}" if source.truncated else ""
            raise InputError(f"{source.file} has no header{why}; the first row must name columns") from None
        except (csv.Error, _BoundError, MemoryError) as error:
            raise InputError(
                f"{source.file}: the header cannot be read: {_explain_error(error, lines)}; "
                "the first row must name the columns, and lines must end in \\n or \\r\\n"
            ) from None
    if not lines.utf8:
        way_out = f"; try --encoding {guess_encoding(source.start)}" if source.encoding == UTF8 else ""
        raise InputError(f"{source.file}: the header is not {source.encoding}{way_out}")
    names = [name.strip() for name in header]
    # CSV has no nested values, so a dot is part of a column's name.
    shape = find_columns(source.file, names, plan, needed, lambda *_: None, understood)

    def records() -> Iterator[Record]:
        with _allow_wide_fields():
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
                    outcome = _explain_error(error, lines)
                else:
                    if _is_blank(row, lines.record):
                        continue
                    if not lines.utf8:
                        outcome = f"line is not {source.encoding}"
                    elif len(row) != len(header):
                        outcome = f"the row has {counted(len(row), 'column')}, the header {len(header)}"
                    else:
                        outcome = extract_values(row, shape, understood)
                yield lines.first, lines.raw, outcome
        if source.truncated:
            yield lines.first or source.line + 1, lines.raw_with(source.partial) or None, source.ends_early

    return records()


def _get_delimiter(lines: Iterator[tuple[int, bytes]], plan: Plan) -> tuple[Iterator[tuple[int, bytes]], str]:
    """Return the lines unchanged, and the delimiter that fits the first lines."""
    read: list[tuple[int, bytes]] = []
    header = ""
    for number, line in lines:
        read.append((number, line))
        if header := line.decode(errors="replace").strip("\r"):
            break
    recognised = []
    for delimiter in CSV_DELIMITERS:
        names = next(iter(_parse_rows([header], delimiter)), [])
        fields = make_shape(plan, [name.strip() for name in names], lambda *_: None).fields
        recognised.append(len(fields))
    if not any(recognised):
        below = list(itertools.islice(lines, ROWS_LOOKED_AT))
        read += below
        texts = [header, *(line.decode(errors="replace") for _, line in below)]
        recognised = [_count_columns(_parse_rows(texts, delimiter)) for delimiter in CSV_DELIMITERS]
    best = recognised.index(max(recognised))
    return itertools.chain(read, lines), CSV_DELIMITERS[best]


def _parse_rows(lines: list[str], delimiter: str) -> list[list[str]]:
    """Return the rows before the first broken row, without blank rows."""
    rows: list[list[str]] = []
    with suppress(csv.Error), _allow_wide_fields():
        # Rows are added one by one, since `list(reader)` would lose the rows before a broken row.
        for row in csv.reader([f"{line}\n" for line in lines], delimiter=delimiter):
            rows.append(row)
    return [row for row in rows if row]


def _count_columns(rows: list[list[str]]) -> int:
    """Return the number of columns of a header, or 1 if most rows below have a different number."""
    header, *others = [len(row) for row in rows] or [1]
    # The last row is left out, since it may continue in a line that was not read.
    agreeing = sum(width == header for width in others[:-1])
    return header if agreeing * 2 >= len(others[:-1]) else 1


def _is_blank(row: list[str], record: list[bytes]) -> bool:
    return len(row) < 2 and not b"".join(record).strip(b" \r")


def _is_unclosed(error: Exception) -> bool:
    return isinstance(error, _UnclosedError) or str(error) == "unexpected end of data"


def _explain_error(error: Exception, lines: _CsvLines) -> str:
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
