"""A Parquet file becomes records, one per row, a few rows in memory at a time.

It needs pyarrow, which is optional and imported only here. A value that Python cannot hold makes its row
a record with a reason; a file that breaks off keeps what came before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dedup.errors import InputError
from dedup.files.record import Plan, Record, choose_columns, row_as_json
from dedup.files.source import GZIP_MAGIC, open_file

PARQUET_ENDS_EARLY = "Parquet data cannot be read: the rest of the file is missing"
PARQUET_BATCH_ROWS = 64
"""Rows held at once; few, since each may be a long article."""


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
            if raw.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
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
