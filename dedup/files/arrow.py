"""Read records from batches of Arrow rows: of a Parquet file, or of a table that a program gives.

A row that is too long, or has an id or text that Python cannot represent, becomes a record with a reason to
refuse it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from dedup.files.naming import extract_values, find_columns, flatten, fold
from dedup.files.record import (
    KEPT,
    REQUIRED_FIELDS,
    UNREADABLE,
    Plan,
    Record,
    describe_size,
    find_unreadable,
    format_row,
)
from dedup.files.report import Understanding

BATCH_ROWS = 64  # Rows per batch. A row takes 4 µs in such a batch, and 44 µs if read alone

Cells = tuple[Any, ...] | str  # Values of a row, or the reason to refuse the row


class ArrowRows:
    """Rows of batches with one schema. Raises InputError if a needed field has no column."""

    def __init__(
        self,
        file: str,
        schema: Any,
        max_row_bytes: int,
        plan: Plan,
        needed: Collection[str],
        understood: Understanding,
    ) -> None:
        self._schema, self._understood = schema, understood
        self.max_row_bytes = max_row_bytes  # maximum size of a row, in the columns that are read
        names: list[str] = schema.names
        shape = find_columns(file, names, plan, needed, self._find_path, understood)
        self.columns, self._shape = flatten(shape, names)  # paths of the columns that are read
        fields = self._shape.fields
        listed = (options for field, options in fields if field == "byline" or field.startswith(KEPT))
        self._listed = {self.columns[option.key] for options in listed for option in options}

    def _find_path(self, name: str, rest: str) -> tuple[str, ...] | None:
        """Return the path to the nested column `rest` within the column `name`, or None."""
        import pyarrow as pa

        kind, path = self._schema.field(name).type, []
        for wanted in rest.split("."):
            if not pa.types.is_struct(kind):
                return None
            inner = [kind.field(i).name for i in range(kind.num_fields)]
            found = [*(n for n in inner if n == wanted), *(n for n in inner if fold(n) == fold(wanted))]
            if not found:
                return None
            path.append(found[0])
            kind = kind.field(inner.index(found[0])).type
        return tuple(path)

    def cells(self, batch: Any) -> Iterator[Cells]:
        """Yield the values of each row in the order of `columns`, or the reason to refuse the row."""
        pieces = [batch]
        # Rows are read one by one here, so that only rows that are too long are refused.
        if batch.nbytes > self.max_row_bytes:
            pieces = [batch.slice(i, 1) for i in range(batch.num_rows)]
        for piece in pieces:
            if piece.nbytes > self.max_row_bytes:
                yield describe_size(piece.nbytes, self.max_row_bytes)
                continue
            yield from zip(*(self._read_values(piece, path) for path in self.columns), strict=True)

    def record(self, row: int, cells: Cells) -> Record:
        """Return the record of a row; `row` is its number, from 1."""
        if isinstance(cells, str):
            return row, None, cells
        found = extract_values(cells, self._shape, self._understood)
        if reason := find_unreadable(found):
            bad = [field for field in REQUIRED_FIELDS if found.get(field) is UNREADABLE]
            rest = {field: value for field, value in found.items() if field not in bad}
            return row, format_row(rest).encode(), reason
        return row, None, found

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

    if names and _is_list(column.type) and _is_text(column.type.value_type):
        import pyarrow.compute

        column = pyarrow.compute.binary_join(column.cast(pa.list_(pa.string())), ", ")
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


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_list(kind) or types.is_large_list(kind))


def _is_text(kind: Any) -> bool:
    # pandas uses the type large_string, Polars the type string_view.
    from pyarrow import types

    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _convert_value(scalar: Any, arrow_error: type[Exception]) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError, arrow_error):  # a text is not UTF-8, or a time is after the year 9999
        return UNREADABLE
