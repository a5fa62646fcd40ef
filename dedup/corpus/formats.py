"""A file becomes records: the lines of JSONL, the rows of CSV and Parquet, plain or gzipped.

A record is `(line, raw, found)`: the 1-based line (Parquet: row) it starts at, its bytes as read (None
for Parquet), and the values found, by article field; or, in place of the values, the reason why there
are none. A bad record never stops the reading. Nothing here knows what makes an article valid.
Read next: `readers.py`.
"""

from __future__ import annotations

import csv
import itertools
import json
import os
import stat
import sys
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dedup.errors import InputError

Record = tuple[int, bytes | None, dict[str, Any] | str]
Plan = Mapping[str, tuple[str, ...]]
"""Article field -> the input names that may hold it, in the order they are tried."""

DELIMITERS: dict[str, str] = {"csv": ",", "tsv": "\t"}
GZIP_ENDS_EARLY = "gzip stream ends early: the rest of the file is missing"
PARQUET_ENDS_EARLY = "Parquet data cannot be read: the rest of the file is missing"

PLAIN_CHUNK_BYTES = 65_536
GZIP_CHUNK_BYTES = 16_384
"""Compressed bytes per step. What precedes a corrupt byte within one step is lost, so steps are small;
larger ones measured no faster."""
INFLATED_CHUNK_BYTES = 1_048_576
"""At most this much comes out of one step, so that a bomb of zeros does not fill the memory."""
MAX_CSV_RECORD_BYTES = 256 * 1_048_576
"""A CSV record of many lines ends here: a stray quote must not read the whole file into memory."""
CSV_FIELD_CHARS = 2**31 - 1
"""The largest limit that fits a C long everywhere (sys.maxsize does not on Windows); Postgres holds 1 GB."""
PARQUET_BATCH_ROWS = 64
"""Rows held at once; few, since each may be a long article."""

_GZIP_MAGIC = b"\x1f\x8b"
_UTF8_BOM = b"\xef\xbb\xbf"
_FOREIGN_BOMS = (  # longest first: the mark of UTF-32 begins with that of UTF-16
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_LONGEST_BOM = 4
_MAX_SHOWN_NAME = 30
_MAX_SHOWN_NAMES = 20


class LineSource:
    """The lines of a file or of standard input ("-"), gunzipped when the first bytes say gzip.

    Attributes:
        bytes_read, bytes_total: position and size in the file as stored; no total for pipes.
        truncated: the gzip stream ended early or is corrupt; `partial` is the line it broke off in.

    Raises:
        InputError: the file cannot be opened or read, or is UTF-16 or UTF-32.
    """

    def __init__(self, path: str) -> None:
        self.file = "<stdin>" if path == "-" else path
        self.bytes_read = 0
        self.bytes_total: int | None = None
        self.truncated = False
        self.partial = b""
        self.line = 0
        self._read: Callable[[int], bytes]
        self.close: Callable[[], None]
        if path == "-":
            if sys.stdin is None:
                raise InputError("standard input is closed; name a file instead of -")
            stdin: Any = sys.stdin.buffer
            # read1 hands on what a slow producer has written so far, read would wait for a full buffer.
            self._read, self.close = stdin.read1, lambda: None
        else:
            raw, self.bytes_total = open_file(path)
            self._read, self.close = raw.read, raw.close
        try:
            self._chunks = self._from_bom()
        except BaseException:
            self.close()
            raise

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Every line with its number, without its newline; a line cut off by broken gzip is not one."""
        pending: list[bytes] = []
        for chunk in self._chunks:
            first, *others = chunk.split(b"\n")
            pending.append(first)
            if others:
                rest = others.pop()
                self.line += 1
                yield self.line, b"".join(pending)
                for line in others:
                    self.line += 1
                    yield self.line, line
                pending = [rest]
        last = b"".join(pending)
        if self.truncated:
            self.partial = last
        elif last:
            self.line += 1
            yield self.line, last

    def _from_bom(self) -> Iterator[bytes]:
        chunks = self._inflated()
        head = b""
        for chunk in chunks:
            head += chunk
            if len(head) >= _LONGEST_BOM:
                break
        for mark, encoding in _FOREIGN_BOMS:
            if head.startswith(mark):
                unpacked = " (unpacked)" if self.packed else ""
                raise InputError(
                    f"{self.file}: the text is {encoding}, not UTF-8; convert it first: "
                    f"iconv -f {encoding} -t UTF-8 < FILE{unpacked} > NEW"
                )
        head = head.removeprefix(_UTF8_BOM)
        self.starts_with = head.lstrip()[:1]
        return itertools.chain([head], chunks)

    def _inflated(self) -> Iterator[bytes]:
        head = self._take(GZIP_CHUNK_BYTES)
        while len(head) < len(_GZIP_MAGIC) and (more := self._take(GZIP_CHUNK_BYTES)):
            head += more
        # An interrupted download may have left nothing, not even the magic bytes, of what was gzip.
        emptied = len(head) < len(_GZIP_MAGIC) and self.file.lower().endswith(".gz")
        self.packed = head.startswith(_GZIP_MAGIC) or emptied
        if self.packed:
            yield from self._gunzipped(head)
        else:
            while head:
                yield head
                head = self._take(PLAIN_CHUNK_BYTES)

    def _gunzipped(self, chunk: bytes) -> Iterator[bytes]:
        member = zlib.decompressobj(wbits=31)  # 31: gzip framing, checksum verified by zlib
        try:
            while chunk:
                while chunk:
                    if member.eof:  # files joined with cat have several members, tapes pad with zeros
                        chunk = chunk.lstrip(b"\0")
                        if not chunk:
                            break
                        member = zlib.decompressobj(wbits=31)
                    if inflated := member.decompress(chunk, INFLATED_CHUNK_BYTES):
                        yield inflated
                    chunk = member.unused_data if member.eof else member.unconsumed_tail
                chunk = self._take(GZIP_CHUNK_BYTES)
            self.truncated = not member.eof
        except zlib.error:
            self.truncated = True

    def _take(self, size: int) -> bytes:
        try:
            chunk = self._read(size)
        except OSError as error:
            raise InputError(
                f"{self.file}: reading failed after {self.bytes_read} bytes: {error.strerror}"
            ) from None
        self.bytes_read += len(chunk)
        return chunk


def open_file(path: str) -> tuple[Any, int | None]:
    """The file, unbuffered, and its size in bytes (None for what is not a regular file).

    Raises:
        InputError: it is missing, a directory, or not readable.
    """
    try:
        raw = Path(path).open("rb", buffering=0)  # noqa: SIM115 (the source closes it)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the name, or give - to read standard input") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a directory; name the files in it, such as {path}/*.jsonl") from None
    except PermissionError:
        raise InputError(f"{path}: no permission to read it; try: chmod +r {path}") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        why = (error.strerror if isinstance(error, OSError) else None) or "not a file name"
        raise InputError(f"{path}: cannot be opened: {why}; check the name") from None
    status = os.fstat(raw.fileno())
    return raw, status.st_size if stat.S_ISREG(status.st_mode) else None


# JSONL


class _Repeated(dict[str, Any]):
    """A JSON object in which a key appears twice; json alone would silently keep the last."""

    names: frozenset[str]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    repeated = _Repeated(found)
    keys = [key for key, _ in pairs]
    repeated.names = frozenset(key for key in found if keys.count(key) > 1)
    return repeated


# Not strict: a raw tab, NUL or other control character within a string is text like any other.
_decode_json = json.JSONDecoder(strict=False, object_pairs_hook=_object).decode


def jsonl_records(source: LineSource, plan: Plan) -> Iterator[Record]:
    """One record per line that is not blank. Of several names for a field, the first not null counts.

    Raises:
        InputError: a .json file holds one array instead of lines.
    """
    if source.file.lower().removesuffix(".gz").endswith(".json") and source.starts_with == b"[":
        raise InputError(
            f"{source.file} holds one JSON array, not one object per line; convert it: "
            "jq -c '.[]' FILE.json > FILE.jsonl"
        )
    return _jsonl_records(source, tuple(plan.items()))


def _jsonl_records(source: LineSource, plan: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[Record]:
    for number, line in source.lines():
        if not line or line.isspace():
            continue
        content = _json_object(line)
        if isinstance(content, str):
            yield number, line, content
            continue
        if isinstance(content, _Repeated):
            twice = [name for _, names in plan for name in names if name in content.names]
            if twice:
                yield number, line, f"key '{twice[0]}' appears twice"
                continue
        found = {}
        for field, names in plan:
            for name in names:
                value = content.get(name)
                if value is not None:
                    found[field] = value
                    break
        yield number, line, found
    if source.truncated:
        yield source.line + 1, source.partial or None, GZIP_ENDS_EARLY


def _json_object(line: bytes) -> dict[str, Any] | str:
    try:
        content = _decode_json(line.decode())
    except UnicodeDecodeError:
        return "line is not UTF-8"
    except json.JSONDecodeError as error:
        return f"broken JSON: {error.msg} at column {error.colno}"
    except RecursionError:
        return "JSON is nested too deeply"
    except ValueError:  # CPython reads no integer of more than 4,300 digits
        return "a number in the JSON has too many digits"
    if isinstance(content, dict):
        return content
    return "line is not a JSON object"


# CSV


class _CsvLines:
    """Feeds csv.reader line by line and remembers the lines of the record in hand."""

    def __init__(self, lines: Iterator[tuple[int, bytes]]) -> None:
        self._lines = lines
        self.start_record()

    def start_record(self) -> None:
        self.first, self.utf8, self.size = 0, True, 0
        self.record: list[bytes] = []

    def __iter__(self) -> _CsvLines:
        return self

    def __next__(self) -> str:
        if self.size > MAX_CSV_RECORD_BYTES:
            raise _RecordTooLongError
        number, line = next(self._lines)
        if not self.record:
            self.first = number
        self.record.append(line)
        self.size += len(line)
        try:
            return line.decode() + "\n"
        except UnicodeDecodeError:
            self.utf8 = False
            return line.decode(errors="surrogateescape") + "\n"


class _RecordTooLongError(Exception):
    pass


_wide_lock = threading.RLock()
_wide_readers = 0
_narrow_limit = 0


@contextmanager
def _wide_csv_fields() -> Iterator[None]:
    """Lift csv's limit of 131,072 characters per value, which a long article passes.

    The limit belongs to the whole process: the first reader lifts it and the last one puts it back, so
    that neither a second reader in a thread nor the caller's own csv code meets a wrong one.
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


def csv_records(source: LineSource, plan: Plan, needed: set[str], delimiter: str) -> Iterator[Record]:
    """One record per row below the header, by the rules of RFC 4180 (a quote within quotes is doubled).

    Raises:
        InputError: no header, or it lacks a column for a needed field.
    """
    lines = _CsvLines(source.lines())
    # Not strict, csv would take an unclosed quote for a value that is the rest of the file.
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    header: list[str] = []
    with _wide_csv_fields():
        try:
            while not header or _is_blank(header, lines.record):
                lines.start_record()
                header = next(rows)
        except StopIteration:
            why = f": {GZIP_ENDS_EARLY}" if source.truncated else ""
            raise InputError(
                f"{source.file} has no header{why}; its first row must name the columns"
            ) from None
        except (csv.Error, _RecordTooLongError) as error:
            raise InputError(
                f"{source.file}: the header cannot be read: {_csv_reason(error, lines)}; "
                "its first row must name the columns, and lines must end in \\n or \\r\\n"
            ) from None
    if not lines.utf8:
        raise InputError(
            f"{source.file}: the header is not UTF-8; convert the file first, for instance: "
            "iconv -f WINDOWS-1252 -t UTF-8 < FILE > NEW"
        )
    columns = choose_columns(source.file, [name.strip() for name in header], plan, needed)
    return _csv_records(source, lines, rows, len(header), tuple(columns.items()))


def _csv_records(
    source: LineSource,
    lines: _CsvLines,
    rows: Iterator[list[str]],
    width: int,
    columns: Sequence[tuple[str, int]],
) -> Iterator[Record]:
    with _wide_csv_fields():
        while True:
            lines.start_record()
            outcome: dict[str, Any] | str
            try:
                row = next(rows)
            except StopIteration:
                break
            except (csv.Error, _RecordTooLongError) as error:
                if source.truncated and _is_unclosed(error):
                    break
                outcome = _csv_reason(error, lines)
            else:
                if _is_blank(row, lines.record):
                    continue
                if not lines.utf8:
                    outcome = "line is not UTF-8"
                elif len(row) != width:
                    outcome = f"the row has {len(row)} columns, the header {width}"
                else:
                    outcome = {field: row[index] for field, index in columns}
            yield lines.first, b"\n".join(lines.record), outcome
    if source.truncated:
        broken = b"\n".join([*lines.record, source.partial])
        yield lines.first or source.line + 1, broken or None, GZIP_ENDS_EARLY


def _is_blank(row: list[str], record: list[bytes]) -> bool:
    return len(row) < 2 and not b"".join(record).strip(b" \r")


def _is_unclosed(error: Exception) -> bool:
    return str(error) == "unexpected end of data"


def _csv_reason(error: Exception, lines: _CsvLines) -> str:
    if isinstance(error, _RecordTooLongError) or _is_unclosed(error):
        extent = f"{len(lines.record)} lines" if len(lines.record) > 1 else "the line"
        return f"a quote is opened and never closed: {extent} refused"
    message = str(error)
    if "expected after" in message:
        return "broken CSV: text follows a closing quote; a quote within quotes must be doubled"
    if "new-line character" in message:
        return "broken CSV: a carriage return outside quotes"
    return f"broken CSV: {message}"


def choose_columns(file: str, names: Sequence[str], plan: Plan, needed: set[str]) -> dict[str, int]:
    """The index of the column of every field that has one.

    Raises:
        InputError: a needed field has none, or the name of a column is taken twice.
    """
    chosen = {}
    for field, candidates in plan.items():
        present = [name for name in candidates if name in names]
        if present:
            if names.count(present[0]) > 1:
                raise InputError(f"{file}: column '{present[0]}' appears twice; rename one of the two")
            chosen[field] = names.index(present[0])
        elif field in needed:
            # Without a header the first row is an article: show what can be names, not what may be text.
            shown = [name if len(name) <= _MAX_SHOWN_NAME else "(long)" for name in names[:_MAX_SHOWN_NAMES]]
            more = ", …" if len(names) > _MAX_SHOWN_NAMES else ""
            raise InputError(
                f"{file} has no column for {field} (looked for: {', '.join(candidates)}); its columns are "
                f"{', '.join(shown)}{more}; say which one it is with {field}=COLUMN"
            )
    return chosen


# Parquet


class ParquetSource:
    """The rows of a Parquet file, a few at a time; its position is the share of rows read.

    Attributes:
        bytes_read, bytes_total: as of LineSource.
        truncated: the file broke off within the data.

    Raises:
        InputError: pyarrow is not installed, or the file is not Parquet.
    """

    def __init__(self, path: str) -> None:
        self.file = path
        self.bytes_read = 0
        self.truncated = False
        self.close: Callable[[], None]
        if path == "-":
            raise InputError("Parquet cannot be read from standard input; save it to a file and name that")
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise InputError(f"{path}: reading Parquet needs pyarrow; pip install 'dedup[parquet]'") from None
        raw, size = open_file(path)
        self.bytes_total = size
        self._pa = pyarrow
        try:
            if raw.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC:
                raise InputError(
                    f"{path} is gzipped; Parquet is compressed within, so unpack it: gunzip {path}"
                )
            self._parquet = pyarrow.parquet.ParquetFile(path)
        except (pyarrow.ArrowException, OSError) as error:
            raise InputError(
                f"{path} cannot be read as Parquet ({type(error).__name__}); check that it is complete"
            ) from None
        finally:
            raw.close()
        self.close = self._parquet.close

    def records(self, plan: Plan, needed: set[str]) -> Iterator[Record]:
        """One record per row.

        Raises:
            InputError: the schema lacks a column for a needed field.
        """
        names = self._parquet.schema_arrow.names
        columns = choose_columns(self.file, names, plan, needed)
        return self._records({field: names[index] for field, index in columns.items()})

    def _records(self, columns: dict[str, str]) -> Iterator[Record]:
        total = self._parquet.metadata.num_rows
        row = 0
        batches = self._parquet.iter_batches(PARQUET_BATCH_ROWS, columns=sorted(set(columns.values())))
        try:
            for batch in batches:
                values = [self._values(batch.column(name)) for name in columns.values()]
                for cells in zip(*values, strict=True):
                    row += 1
                    found = dict(zip(columns, cells, strict=True))
                    bad = [field for field, value in found.items() if value is _UNREADABLE]
                    if bad:
                        rest = {field: value for field, value in found.items() if field not in bad}
                        yield row, row_as_json(rest).encode(), f"{bad[0]} cannot be read"
                    else:
                        yield row, None, found
                self.bytes_read = (self.bytes_total or 0) * row // total
        except (self._pa.ArrowException, OSError):
            self.truncated = True
            yield row + 1, None, PARQUET_ENDS_EARLY

    def _values(self, column: Any) -> list[Any]:
        pa = self._pa
        if pa.types.is_timestamp(column.type):
            # Python's times hold microseconds in a zone it knows: drop nanoseconds, say UTC.
            unit = "us" if column.type.unit == "ns" else column.type.unit
            column = column.cast(pa.timestamp(unit, "UTC" if column.type.tz else None), safe=False)
        try:
            values: list[Any] = column.to_pylist()
        except (ValueError, OverflowError, pa.ArrowException):
            values = [self._value(scalar) for scalar in column]
        return values

    def _value(self, scalar: Any) -> Any:
        try:
            return scalar.as_py()
        except (ValueError, OverflowError, self._pa.ArrowException):  # not UTF-8, or past the year 9999
            return _UNREADABLE


_UNREADABLE = object()


def row_as_json(found: dict[str, Any]) -> str:
    """A row of Parquet, which has no text of its own, as a rejects file can show it."""
    return json.dumps(found, default=str)
