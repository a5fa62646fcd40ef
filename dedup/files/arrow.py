"""A column of Arrow becomes Python values, whatever it holds: files of Parquet and Spark share it.

pyarrow is optional and imported by the callers, who hand over columns.
"""

from __future__ import annotations

from typing import Any

from dedup.files.record import UNREADABLE


def values_of_column(column: Any) -> list[Any]:
    """The values of a pyarrow array; `UNREADABLE` where Python cannot hold one.

    Nanoseconds are cut off, times with a zone come in UTC. A list or struct becomes an empty one: it has no
    use here, and its size in Python no bound.
    """
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        placeholder: Any = {} if pa.types.is_struct(column.type) else []
        return [placeholder if scalar.is_valid else None for scalar in column]
    if pa.types.is_timestamp(column.type):
        # Python's times hold microseconds in a zone it knows: drop nanoseconds, say UTC.
        unit = "us" if column.type.unit == "ns" else column.type.unit
        column = column.cast(pa.timestamp(unit, "UTC" if column.type.tz else None), safe=False)
    try:
        values: list[Any] = column.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):
        values = [_value(scalar, pa.ArrowException) for scalar in column]
    return values


def _value(scalar: Any, arrow_error: type[Exception]) -> Any:
    try:
        return scalar.as_py()
    except (ValueError, OverflowError, arrow_error):  # not UTF-8, or past the year 9999
        return UNREADABLE
