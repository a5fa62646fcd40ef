"""Writes and reads the Parquet files of the folders that a corpus and a cluster exchange, in pieces.

What is read is checked first: columns, types, missing values, texts that Postgres cannot hold. The tables are
described in `../files/exchange.py`. Needs pyarrow, imported here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from dedup.base.errors import InputError
from dedup.files.exchange import Column, Table

BATCH_ROWS = 5_000  # Rows in memory at a time: of fingerprints about 5 MB

FILE_ROWS = 200_000
"""Rows of a file that is written: of fingerprints about 150 MB, what one task of a cluster reads."""

GROUP_ROWS = 20_000  # Rows of a row group, which a reader may take for itself

AGAIN = "make the folder again"


def arrow() -> Any:
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        raise InputError("these folders need pyarrow: pip install 'newsdedup[parquet]'") from None
    return pyarrow


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file, or from a folder with one file of text, as Spark writes it."""
    try:
        parts = sorted(path.glob("part-*")) if path.is_dir() else [path]
        found = json.loads(b"".join(part.read_bytes() for part in parts))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}; is the folder whole?") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not JSON; {AGAIN}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path} is not a JSON object; {AGAIN}")
    return found


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", "utf-8")


_KINDS = {  # the type of a column, and the tests of types that may hold the same: widths differ
    "string": ("string", "is_string", "is_large_string"),
    "long": ("int64", "is_integer"),
    "int": ("int32", "is_integer"),
    "double": ("float64", "is_floating"),
    "boolean": ("bool_", "is_boolean"),
    "binary": ("binary", "is_binary", "is_large_binary", "is_fixed_size_binary"),
}


def _type(pa: Any, column: Column) -> Any:
    return pa.list_(pa.int64()) if column.kind == "longs" else getattr(pa, _KINDS[column.kind][0])()


def _alike(pa: Any, column: Column, found: Any) -> bool:
    if column.kind == "longs":
        nested = pa.types.is_list(found) or pa.types.is_large_list(found)
        return bool(nested and pa.types.is_integer(found.value_type))
    return any(getattr(pa.types, test)(found) for test in _KINDS[column.kind][1:])


def schema(table: Table) -> Any:
    pa = arrow()
    return pa.schema([pa.field(name, _type(pa, column), column.nullable) for name, column in table.items()])


class TableWriter:
    """Writes a table in a `with` block: to a file `NAME.parquet`, or to a folder in files of `FILE_ROWS`."""

    def __init__(self, path: Path, table: Table) -> None:
        self._pa, self._path, self._schema = arrow(), path, schema(table)
        self._file: Any = None
        self._files = self._rows = 0

    def __enter__(self) -> Self:
        if not self._path.suffix:
            self._path.mkdir()
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, columns: Mapping[str, Any]) -> None:
        batch = self._pa.record_batch([columns[name] for name in self._schema.names], schema=self._schema)
        if self._rows >= FILE_ROWS and not self._path.suffix:
            self._file.close()
            self._open()
        self._file.write_batch(batch, row_group_size=GROUP_ROWS)
        self._rows += batch.num_rows

    def _open(self) -> None:
        path = self._path if self._path.suffix else self._path / f"part-{self._files:05}.parquet"
        self._file = self._pa.parquet.ParquetWriter(path, self._schema)
        self._files, self._rows = self._files + 1, 0


class TableFiles:
    """A table that others have written: every `*.parquet` of its folder."""

    def __init__(self, folder: Path, name: str, table: Table) -> None:
        self._pa, self._table, self._schema = arrow(), table, schema(table)
        self._files = sorted(path for path in (folder / name).glob("*.parquet") if path.name[0] not in "._")
        if not self._files:
            raise InputError(f"{folder / name} holds no Parquet file; is the folder whole?")
        self.rows = sum(map(self._checked, self._files))  # how many there are

    def batches(self) -> Iterator[Any]:
        """The rows as Arrow record batches, with the columns of the table in its order and of its types."""
        for path in self._files:
            with _readable(self._pa, path), self._pa.parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(BATCH_ROWS, columns=self._schema.names):
                    yield self._as_described(path, batch)

    def _checked(self, path: Path) -> int:
        with _readable(self._pa, path), self._pa.parquet.ParquetFile(path) as file:
            found, rows = file.schema_arrow, file.metadata.num_rows
        for name, column in self._table.items():
            if found.names.count(name) != 1:
                raise InputError(f"{path} has no column {name}; {AGAIN}")
            kind = found.field(name).type
            if not _alike(self._pa, column, kind):
                raise InputError(f"{path}: the column {name} is of type {kind}, not {column.kind}; {AGAIN}")
        return int(rows)

    def _as_described(self, path: Path, batch: Any) -> Any:
        pa = self._pa
        arrays = []
        for name, column in self._table.items():
            array = batch.column(name).cast(_type(pa, column))  # raises where a number does not fit
            array.validate(full=True)  # texts are UTF-8
            values = array.flatten() if column.kind == "longs" else array
            if (array.null_count and not column.nullable) or (column.kind == "longs" and values.null_count):
                raise InputError(f"{path}: values are missing in the column {name}; {AGAIN}")
            if column.kind == "string" and pa.compute.any(pa.compute.match_substring(array, "\0")).as_py():
                raise InputError(
                    f"{path}: the column {name} holds a NUL, which Postgres cannot store; {AGAIN}"
                )
            arrays.append(array)
        return pa.record_batch(arrays, schema=self._schema)


@contextmanager
def _readable(pa: Any, path: Path) -> Iterator[None]:
    """Turn errors of pyarrow and of the file system into ours."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise InputError(
            f"{path} cannot be read as Parquet ({type(error).__name__}); check that it is complete"
        ) from None
