"""Read articles from a table or stream of Arrow, for `Deduplicator.load`: pandas, Polars, pyarrow, DuckDB."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import pyarrow as pa

from dedup.base.errors import InputError
from dedup.files.arrow import BATCH_ROWS, ArrowRows
from dedup.files.record import Plan, Record
from dedup.files.report import Understanding
from dedup.files.rows import ROWS, ArrowStream


class ArrowSource:
    """Rows of anything with `__arrow_c_stream__`. Raises InputError if it cannot be read as Arrow."""

    suffixes: tuple[str, ...] = ()
    file = ROWS
    bytes_total: int | None = None
    truncated = False

    def __init__(self, given: ArrowStream, max_row_bytes: int) -> None:
        self.bytes_read = 0
        self._most = max_row_bytes
        try:
            self._reader = pa.RecordBatchReader.from_stream(given)
        except Exception as error:  # a table of another library may raise anything
            why = f"cannot be read as Arrow ({type(error).__name__}); give each column values of one type"
            raise InputError(f"{ROWS} {why}") from None
        self.close = self._reader.close

    def records(self, plan: Plan, needed: Collection[str], understood: Understanding) -> Iterator[Record]:
        """Yield a record for each row. Raises InputError if a needed field has no column."""
        rows = ArrowRows(ROWS, self._reader.schema, self._most, plan, needed, understood)
        return self._read_records(rows)

    def _read_records(self, rows: ArrowRows) -> Iterator[Record]:
        number = 0
        columns = [*dict.fromkeys(path[0] for path in rows.columns)]
        try:
            for batch in self._reader:
                for piece in _pieces(batch.select(columns), self._most):
                    self.bytes_read += piece.nbytes
                    for cells in rows.cells(piece):
                        number += 1
                        yield rows.record(number, cells)
        except Exception as error:  # a stream of another library may raise anything
            raise InputError(
                f"{ROWS}: reading failed after {number:,} rows ({type(error).__name__})"
            ) from None


def _pieces(batch: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """Yield parts of few rows. Each part holds only the texts of its rows, so its size can be measured."""
    columns = [_with_plain_words(column) for column in batch.columns]
    words = [one.dictionary.nbytes for one in columns if pa.types.is_dictionary(one.type)]
    step = BATCH_ROWS if max([0, *words]) <= most else 1
    for start in range(0, batch.num_rows, step):
        yield pa.record_batch([_own(one.slice(start, step)) for one in columns], names=batch.schema.names)


def _with_plain_words(column: pa.Array) -> pa.Array:
    # Polars stores the values of a dictionary as string views, which pyarrow cannot decode.
    if not pa.types.is_dictionary(column.type):
        return column
    plain = column.dictionary.cast(_without_views(column.dictionary.type))
    return pa.DictionaryArray.from_arrays(column.indices, plain)


def _own(column: pa.Array) -> pa.Array:
    # Copy the texts of these rows. Otherwise the measured size would include the whole dictionary, or all
    # texts to which string views point.
    if pa.types.is_dictionary(column.type):
        return column.dictionary_decode()
    plain = _without_views(column.type)
    return column if plain == column.type else column.cast(plain)


def _without_views(kind: pa.DataType) -> pa.DataType:
    """Replace string views by strings in a type, also within lists and structs."""
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_large_list(kind) or pa.types.is_list(kind):
        return pa.large_list(_without_views(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(one.name, _without_views(one.type)) for one in kind])
    return kind
