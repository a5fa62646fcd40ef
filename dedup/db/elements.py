"""The binary format of bigint[] and double precision[], read and written with NumPy.

Postgres' `array_send` writes a header of 32-bit integers: number of dimensions, null flag, element type, then
length and lower bound of each dimension. The size in bytes and the value of each element follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import psycopg
from psycopg.adapt import Buffer

from dedup.base.numbers import ranges

INT8 = 20
_FLOAT8 = 701
_HEADER = np.dtype(">i4")
ELEMENT = np.dtype([("size", ">i4"), ("value", ">i8")])
_FLOAT_ELEMENT = np.dtype([("size", ">i4"), ("value", ">f8")])
_ELEMENTS = {INT8: (ELEMENT, np.dtype(np.int64)), _FLOAT8: (_FLOAT_ELEMENT, np.dtype(np.float64))}
_KINDS = {values: kind for kind, (_, values) in _ELEMENTS.items()}


def dump(values: npt.NDArray[Any]) -> bytes:
    if values.dtype not in _KINDS or values.ndim != 1:
        raise psycopg.DataError(f"expected int64 values in one dimension, not {values.dtype}, {values.ndim}")
    kind = _KINDS[values.dtype]
    elements = np.empty(len(values), _ELEMENTS[kind][0])
    elements["size"] = 8
    elements["value"] = values
    header = [1, 0, kind, len(values), 1] if len(values) else [0, 0, kind]
    return np.array(header, _HEADER).tobytes() + elements.tobytes()


def load(data: Buffer) -> npt.NDArray[Any]:
    dimensions, has_null, kind = np.frombuffer(data, _HEADER, 3).tolist()
    element, values = _ELEMENTS[kind]
    if dimensions == 0:
        return np.empty(0, values)
    if dimensions != 1 or has_null:
        raise psycopg.DataError("expected an array of one dimension without nulls")
    return np.frombuffer(data, element, offset=20)["value"].astype(values)


def read_arrays(data: bytes, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Decode bigint arrays. `data`: results of `array_send`, joined. `counts`: number of elements of each."""
    words = np.frombuffer(data, _HEADER)
    # Sizes in words of 32 bits. An empty array has 3 words. Any other array has 5 words, and 3 words for each
    # element: 1 for its size and 2 for its value.
    sizes = np.where(counts > 0, 5 + 3 * counts, 3)
    starts = np.cumsum(sizes) - sizes
    places = np.repeat(starts, counts) + 6 + 3 * ranges(0, counts)
    high, low = words[places].astype(np.int64), words[places + 1].astype(np.uint32)
    return np.asarray(high << 32 | low)
