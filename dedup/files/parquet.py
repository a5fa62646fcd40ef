"""Read records from a Parquet file, one per row, with few rows in memory.

`arrow.py` makes records of the rows. If the end of the file is missing, the rows before the end are read.

pyarrow unpacks a whole page in one step. Most writers make pages of 1 MB, but pages made by pyarrow hold at
least 1,024 values of any size. So all rows of a row group are refused if one page of the group is too large.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.files.arrow import BATCH_ROWS, ArrowRows, Cells
from dedup.files.packed import GZIP_MAGIC, open_regular
from dedup.files.parquet_pages import find_largest_page
from dedup.files.record import MAX_RECORD_BYTES, NO_MEMORY, Plan, Record, describe_size
from dedup.files.report import Understanding

_LARGE_PAGE = (
    "the row is in a page of {:,} bytes, the limit is {:,}: write the file again with smaller pages,"
    " in pyarrow with write_batch_size=16"
)
PARQUET_ENDS_EARLY = "Parquet data cannot be read: the rest of the file is missing"
# Maximum size of a batch, estimated as if each row were as large as the largest column chunk. A row can be so
# large, because Parquet may store equal values of many rows as one value.
PARQUET_BATCH_BYTES = 16 * 1_048_576
PARQUET_PAGE_BYTES = 256 * 1_048_576  # Maximum unpacked size: 1,024 texts of twice the longest known length
PARQUET_BUFFER_BYTES = 65_536  # Without a buffer, pyarrow would hold all columns of a row group in memory


class ParquetSource:
    """Rows of a Parquet file. Raises InputError if the file cannot be read."""

    def __init__(self, path: str, max_row_bytes: int = MAX_RECORD_BYTES) -> None:
        self.file = path
        self.max_row_bytes = max_row_bytes
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
        except BaseException as error:
            raw.close()
            if not isinstance(error, (pyarrow.ArrowException, OSError, MemoryError, ValueError)):
                raise
            why = f"({type(error).__name__}); check that it is complete"
            raise InputError(f"{path} cannot be read as Parquet {why}") from None
        self.close = raw.close

    def records(self, plan: Plan, needed: Collection[str], understood: Understanding) -> Iterator[Record]:
        """Yield a record for each row. Raises InputError if a needed field has no column."""
        rows = ArrowRows(self.file, self._schema, self.max_row_bytes, plan, needed, understood)
        return self._read_records(rows)

    def _read_records(self, rows: ArrowRows) -> Iterator[Record]:
        total = self._parquet.metadata.num_rows
        row = 0
        try:
            for group in range(self._parquet.num_row_groups):
                for cells in self._read_rows(group, rows):
                    row += 1
                    yield rows.record(row, cells)
                    self.bytes_read = self.bytes_total * row // max(total, row)
        except MemoryError:  # some errors of pyarrow are MemoryErrors, too
            self.truncated = True
            yield row + 1, None, NO_MEMORY
        except (self._pa.ArrowException, OSError, ValueError):
            self.truncated = True
            yield row + 1, None, PARQUET_ENDS_EARLY

    def _read_rows(self, group: int, rows: ArrowRows) -> Iterator[Cells]:
        """Yield the values of each row of a row group, or the reason to refuse the row."""
        names = sorted({".".join(path) for path in rows.columns})
        about = self._parquet.metadata.row_group(group)
        chunks = [about.column(i) for i in range(about.num_columns)]
        within = tuple(f"{name}." for name in names)
        read = [one for one in chunks if one.path_in_schema in names or one.path_in_schema.startswith(within)]
        unpacked = [chunk.total_uncompressed_size for chunk in read]
        average = sum(unpacked) // max(about.num_rows, 1)
        why = describe_size(average, self.max_row_bytes) if average > self.max_row_bytes else None
        if not why and max([0, *unpacked]) > PARQUET_PAGE_BYTES:
            largest = max(find_largest_page(self._raw, chunk) for chunk in read)
            if largest > PARQUET_PAGE_BYTES:
                why = _LARGE_PAGE.format(largest, PARQUET_PAGE_BYTES)
        if why:
            for _ in range(about.num_rows):
                yield why
            return
        size = min(BATCH_ROWS, max(1, PARQUET_BATCH_BYTES // max([1, *unpacked])))
        for batch in self._parquet.iter_batches(size, row_groups=[group], columns=names):
            yield from rows.cells(batch)
