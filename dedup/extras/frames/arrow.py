"""The tables of a corpus as batches of Arrow, from columns of `columns.py`. Needs pyarrow.

No value becomes a Python object on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dedup.db.database import Cursor
from dedup.extras.frames import columns
from dedup.extras.frames.columns import TABLES, Column, Kind, Lists, TableName, Texts, Values

_TYPES: dict[Kind, pa.DataType] = {
    "text": pa.string(),
    "word": pa.dictionary(pa.int32(), pa.string()),
    "bool": pa.bool_(),
    "int": pa.int64(),
    "float": pa.float64(),
    "share": pa.float64(),
    "time": pa.timestamp("us", "UTC"),
    "texts": pa.list_(pa.string()),
}


def schema(name: TableName) -> pa.Schema:
    return pa.schema([(column, _TYPES[kind]) for column, kind in TABLES[name].columns.items()])


def batches(cursor: Cursor, name: TableName, since: datetime | None = None) -> Iterator[pa.RecordBatch]:
    """The batches of a table, within a transaction that sees one moment."""
    described = schema(name)
    for _, found in columns.pages(cursor, name, since):
        arrays = [_array(found[field.name], field.type) for field in described]
        yield pa.record_batch(arrays, schema=described)


def _array(column: Column, kind: pa.DataType) -> pa.Array:
    """A column as Arrow has it; the bytes of texts are not copied."""
    match column:
        case Texts():
            texts = _texts(column)
            return texts.dictionary_encode() if pa.types.is_dictionary(kind) else texts
        case Lists():
            return pa.ListArray.from_arrays(pa.array(_ends(column.counts)), _texts(column.texts))
        case Values():
            mask = None if column.there is None else ~column.there
            return pa.array(column.values, mask=mask).cast(kind)


def _texts(column: Texts) -> pa.Array:
    there = column.lengths >= 0
    nulls = len(there) - int(there.sum())
    bitmap = pa.py_buffer(np.packbits(there, bitorder="little").tobytes()) if nulls else None
    ends = _ends(np.maximum(column.lengths, 0))
    return pa.StringArray.from_buffers(
        len(there), pa.py_buffer(ends), pa.py_buffer(column.data), bitmap, nulls
    )


def _ends(lengths: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
