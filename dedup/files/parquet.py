"""Read records from a Parquet file, one per row, with few rows in memory.

A row that is too long, or has an id or text that Python cannot represent, becomes a record with a reason to
refuse it. If the end of the file is missing, the rows before the end are read.

pyarrow unpacks a whole page in one step. Most writers make pages of 1 MB, but pages made by pyarrow hold at
least 1,024 values of any size. So all rows of a row group are refused if one page of the group is too large.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.files.naming import RecordShape, extract_values, find_columns, flatten, fold
from dedup.files.packed import GZIP_MAGIC, open_regular
from dedup.files.parquet_pages import find_largest_page
from dedup.files.record import (
    KEPT,
    MAX_RECORD_BYTES,
    NO_MEMORY,
    REQUIRED_FIELDS,
    UNREADABLE,
    Plan,
    Record,
    describe_size,
    find_unreadable,
    format_row,
)
from dedup.files.report import Understanding

_LARGE_PAGE = (
    "the row is in a page of {:,} bytes, the limit is {:,}: write the file again with smaller pages,"
    " in pyarrow with write_batch_size=16"
)
PARQUET_ENDS_EARLY = "Parquet data cannot be read: the rest of the file is missing"
PARQUET_BATCH_ROWS = 64  # Rows per batch. A row takes 4 µs in such a batch, and 44 µs if read alone
# Maximum size of a batch. In the worst case all rows have the largest value; a batch then has few rows.
PARQUET_BATCH_BYTES = 16 * 1_048_576
PARQUET_PAGE_BYTES = 256 * 1_048_576  # Limit when unpacked: 1,024 texts of twice the longest known length
PARQUET_BUFFER_BYTES = 65_536  # Without a buffer, pyarrow would hold all columns of a row group in memory


class ParquetSource:
    """Rows of a Parquet file. Raises InputError if the file cannot be read."""

    def __init__(self, path: str, max_row_bytes: int = MAX_RECORD_BYTES) -> None:
        self.file = path
        self.max_row_bytes = max_row_bytes  # maximum size of a row, in the columns that are read
        self.bytes_read = 0  # estimated from the share of rows already read
        self.truncated = False
        self.close: Callable[[], None]
        if path == "-":
            raise InputError("Parquet cannot be read from standard input; save it to a file and name it")
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise InputError(f"{path}: Parquet needs pyarrow: run `{installing('parquet')}`") from None
        raw, self.bytes_total = open_regular(path, "Parquet")
        self._pa, self._raw = pyarrow, raw
        try:
            if raw.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
                raise InputError(f"{path} is Parquet inside gzip; unpack it: gunzip {path}")
            # pyarrow gets the open file, not the path, since it accepts only paths in UTF-8.
            self._parquet = pyarrow.parquet.ParquetFile(
                raw, buffer_size=PARQUET_BUFFER_BYTES, pre_buffer=False
            )
            self._schema = self._parquet.schema_arrow
            self._names: list[str] = self._schema.names
        except BaseException as error:
            raw.close()
            if not isinstance(error, (pyarrow.ArrowException, OSError, MemoryError, ValueError)):
                raise
            why = f"({type(error).__name__}); check that it is complete"
            raise InputError(f"{path} cannot be read as Parquet {why}") from None
        self.close = raw.close

    def records(self, plan: Plan, needed: Collection[str], understood: Understanding) -> Iterator[Record]:
        """Yield a record for each row. Raises InputError if a needed field has no column."""
        names = self._names
        shape = find_columns(self.file, names, plan, needed, self._find_path, understood)
        columns, shape = flatten(shape, names)
        listed = (options for field, options in shape.fields if field == "byline" or field.startswith(KEPT))
        self._listed = {columns[option.key] for options in listed for option in options}
        return self._read_records(columns, shape, understood)

    def _find_path(self, name: str, rest: str) -> tuple[str, ...] | None:
        """Return the path to the nested column `rest` within the column `name`, or None."""
        kind, path = self._schema.field(name).type, []
        for wanted in rest.split("."):
            if not self._pa.types.is_struct(kind):
                return None
            inner = [kind.field(i).name for i in range(kind.num_fields)]
            found = [*(n for n in inner if n == wanted), *(n for n in inner if fold(n) == fold(wanted))]
            if not found:
                return None
            path.append(found[0])
            kind = kind.field(inner.index(found[0])).type
        return tuple(path)

    def _read_records(
        self, columns: tuple[tuple[str, ...], ...], shape: RecordShape, understood: Understanding
    ) -> Iterator[Record]:
        total = self._parquet.metadata.num_rows
        row = 0
        try:
            for group in range(self._parquet.num_row_groups):
                for cells in self._read_rows(group, columns):
                    row += 1
                    if isinstance(cells, str):
                        yield row, None, cells
                        continue
                    found = extract_values(cells, shape, understood)
                    if reason := find_unreadable(found):
                        bad = [field for field in REQUIRED_FIELDS if found.get(field) is UNREADABLE]
                        rest = {field: value for field, value in found.items() if field not in bad}
                        yield row, format_row(rest).encode(), reason
                    else:
                        yield row, None, found
                    self.bytes_read = self.bytes_total * row // max(total, row)
        except MemoryError:  # some errors of pyarrow are MemoryErrors, too
            self.truncated = True
            yield row + 1, None, NO_MEMORY
        except (self._pa.ArrowException, OSError, ValueError):
            self.truncated = True
            yield row + 1, None, PARQUET_ENDS_EARLY

    def _read_rows(self, group: int, columns: tuple[tuple[str, ...], ...]) -> Iterator[tuple[Any, ...] | str]:
        """Yield each row of a row group: its values in the order of `columns`, or the reason to refuse it."""
        names = sorted({".".join(path) for path in columns})
        about = self._parquet.metadata.row_group(group)
        chunks = [about.column(i) for i in range(about.num_columns)]
        within = tuple(f"{name}." for name in names)
        read = [one for one in chunks if one.path_in_schema in names or one.path_in_schema.startswith(within)]
        unpacked = [chunk.total_uncompressed_size for chunk in read]
        rows, average = about.num_rows, sum(unpacked) // max(about.num_rows, 1)
        why = describe_size(average, self.max_row_bytes) if average > self.max_row_bytes else None
        if not why and max([0, *unpacked]) > PARQUET_PAGE_BYTES:
            largest = max(find_largest_page(self._raw, chunk) for chunk in read)
            if largest > PARQUET_PAGE_BYTES:
                why = _LARGE_PAGE.format(largest, PARQUET_PAGE_BYTES)
        if why:
            for _ in range(rows):
                yield why
            return
        size = min(PARQUET_BATCH_ROWS, max(1, PARQUET_BATCH_BYTES // max([1, *unpacked])))
        for batch in self._parquet.iter_batches(size, row_groups=[group], columns=names):
            pieces = [batch]
            # Rows are read one by one here, so that only rows that are too long are refused.
            if batch.nbytes > self.max_row_bytes:
                pieces = [batch.slice(i, 1) for i in range(batch.num_rows)]
            for piece in pieces:
                if piece.nbytes > self.max_row_bytes:
                    yield describe_size(piece.nbytes, self.max_row_bytes)
                    continue
                yield from zip(*(self._read_values(piece, path) for path in columns), strict=True)

    def _read_values(self, batch: Any, path: tuple[str, ...]) -> list[Any]:
        column = batch.column(path[0])
        for name in path[1:]:
            column = column.flatten()[column.type.get_field_index(name)]
        return convert_column(column, names=path in self._listed)


def convert_column(column: Any, *, names: bool = False) -> list[Any]:
    """Return the values of a pyarrow array, with `UNREADABLE` for values that Python cannot represent.

    Nanoseconds are cut off, and times with a zone are converted to UTC. Lists and structs become empty. But
    if `names` is true, a list of texts becomes one text, joined by commas.
    """
    import pyarrow as pa

    if names and pa.types.is_list(column.type) and pa.types.is_string(column.type.value_type):
        import pyarrow.compute

        column = pyarrow.compute.binary_join(column, ", ")
    if pa.types.is_nested(column.type):
        # No field needs the contents of lists and structs, which could take any amount of memory.
        placeholder: Any = {} if pa.types.is_struct(column.type) else []
        return [placeholder if scalar.is_valid else None for scalar in column]
    if pa.types.is_timestamp(column.type):
        # Python's datetime has no nanoseconds, and may not support the time zone.
        unit = "us" if column.type.unit == "ns" else column.type.unit
        column = column.cast(pa.timestamp(unit, "UTC" if column.type.tz else None), safe=False)
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        values = [_convert_value(scalar, pa.ArrowException) for scalar in column]
    return values


def _convert_value(scalar: Any, arrow_error: type[Exception]) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError, arrow_error):  # text is not UTF-8, or a time is after the year 9999
        return UNREADABLE
