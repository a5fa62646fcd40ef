"""Send and receive bigint[] and double precision[] as numpy arrays."""

# psycopg converts lists element by element in Python. A settle transaction sends and receives several
# hundred thousand hashes; numpy arrays are converted 50 times faster. Every connection imports this module,
# but most statements have no arrays. So NumPy is imported inside functions: the import takes longer than a
# statement without arrays.

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeAlias

import psycopg
from psycopg import pq
from psycopg.abc import DumperKey
from psycopg.adapt import Buffer, Dumper, Loader, PyFormat

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Bigints: TypeAlias = "npt.NDArray[np.int64]"
"""Array of shape (n,): signed 64-bit hashes as Postgres stores them."""

_INT8_ARRAY = 1016
_FLOAT8_ARRAY = 1022


def bigints(values: Collection[int]) -> Bigints:
    """Return signed 64-bit integers as an array that this module can send."""
    import numpy as np

    return np.fromiter(values, np.int64, len(values))


class _ArrayDumper(Dumper):
    format = pq.Format.BINARY
    oid = _INT8_ARRAY

    def get_key(self, obj: npt.NDArray[Any], _format: PyFormat) -> DumperKey:
        return (self.cls, obj.dtype.type)

    def upgrade(self, obj: npt.NDArray[Any], _format: PyFormat) -> Dumper:
        return _FloatArrayDumper(self.cls) if obj.dtype.name == "float64" else self

    def dump(self, obj: npt.NDArray[Any]) -> Buffer:
        from dedup.db import elements

        return elements.dump(obj)


class _FloatArrayDumper(_ArrayDumper):
    oid = _FLOAT8_ARRAY


class _ArrayLoader(Loader):
    format = pq.Format.BINARY

    def load(self, data: Buffer) -> npt.NDArray[Any]:
        from dedup.db import elements

        return elements.load(data)


def register(connection: psycopg.Connection[Any]) -> None:
    """Let a connection send and receive bigint[] as numpy arrays (binary format only)."""
    connection.adapters.register_dumper("numpy.ndarray", _ArrayDumper)
    connection.adapters.register_loader(_INT8_ARRAY, _ArrayLoader)
    connection.adapters.register_loader(_FLOAT8_ARRAY, _ArrayLoader)
