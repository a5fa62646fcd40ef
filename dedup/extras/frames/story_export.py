"""Write a corpus into a file for `dedup export stories`. If an export fails, no file remains.

A Parquet file has one row per article, with the columns of `dedup.frames.marks`. An SQLite file has the
tables story, article and match with keys between them. Texts are left out.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from dedup.base.errors import InputError
from dedup.base.progress import Progress, SilentProgress
from dedup.base.verdict import Representative
from dedup.db.database import Database
from dedup.extras.frames import StoryExport, columns
from dedup.extras.frames.columns import SCHEMAS, TableName
from dedup.files.whole import new_file

# Tables of an SQLite file. A Parquet file has the rows of `article` only.
_TABLES: dict[str, TableName] = {"story": "stories", "article": "marks", "match": "matches"}
_LEFT_OUT = {"copy_source_ids"}  # Not needed in SQLite, where `article.story_source_id` says the same

_KEYS = {
    "story": "PRIMARY KEY (source_id)",
    "article": "PRIMARY KEY (source_id), FOREIGN KEY (story_source_id) REFERENCES story (source_id)",
    "match": "PRIMARY KEY (source_id, other_source_id),"
    " FOREIGN KEY (source_id) REFERENCES article (source_id)",
}
# Left out with `since`: the earlier article of a pair may be missing, so this foreign key could fail.
_OTHER_KEY = ", FOREIGN KEY (other_source_id) REFERENCES article (source_id)"

_INDEXES = {
    "story": ("first_at", "copies", "publication"),
    "article": ("story_source_id", "published_at", "publication", "status"),
    "match": ("other_source_id",),
}


class _StoppedError(Exception):
    """Raised when the function `stop` returns True, to end the export."""


def export(
    database: Database,
    path: Path,
    *,
    since: datetime | None = None,
    representative: Representative = "first",
    replace: bool = False,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> StoryExport:
    """Write articles and stories into a file; see `Deduplicator.export_stories`."""
    if path.suffix not in (".parquet", ".sqlite"):
        raise InputError(f"{path}: the name must end with .parquet or .sqlite")
    if path.suffix == ".parquet" and representative != "first":
        raise InputError(f"{path}: a Parquet file has every article; choose a representative for NAME.sqlite")
    report, shown = StoryExport(str(path)), progress or SilentProgress()
    try:
        with (
            new_file(path, replace=replace) as made,
            database.session() as session,
            session.transaction(snapshot=True) as cursor,
        ):
            called = ("article",) if path.suffix == ".parquet" else tuple(_TABLES)
            # Count first: for the rest of the transaction, `batches` switches off plans that counting needs.
            totals = {table: columns.count(cursor, _TABLES[table], since) for table in called}

            def read(table: str) -> Iterator[pa.RecordBatch]:
                report.rows[table] = 0
                shown.start(f"exporting {_TABLES[table]}", totals[table])
                for batch in columns.batches(cursor, _TABLES[table], since, representative=representative):
                    if stop():
                        raise _StoppedError
                    yield batch
                    report.rows[table] += batch.num_rows
                    shown.advance(batch.num_rows)

            if path.suffix == ".parquet":
                with pyarrow.parquet.ParquetWriter(made, SCHEMAS["marks"], compression="zstd") as writer:
                    for batch in read("article"):
                        writer.write_batch(batch)
            else:
                _write_sqlite(made, read, whole=since is None)
    except _StoppedError:
        report.stopped = True
    except sqlite3.OperationalError as error:
        raise InputError(f"{path} cannot be written: {error}") from None
    return report


def _write_sqlite(path: Path, read: Callable[[str], Iterator[pa.RecordBatch]], *, whole: bool) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # `new_file` removes the file of a failed export, so SQLite need not protect the file against crashes.
        connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        for table, name in _TABLES.items():
            kept = [one for one in SCHEMAS[name] if one.name not in _LEFT_OUT]
            columns = [f"{one.name} {_type(one.type)}" for one in kept]
            keys = _KEYS[table] + (_OTHER_KEY if table == "match" and whole else "")
            connection.execute(f'CREATE TABLE "{table}" ({", ".join(columns)}, {keys})')
            insert = f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(kept))})'
            connection.execute("BEGIN")
            for batch in read(table):
                values = [_values(batch.column(one.name)) for one in kept]
                connection.executemany(insert, zip(*values, strict=True))
            connection.execute("COMMIT")
        for table, indexed in _INDEXES.items():
            for column in indexed:
                connection.execute(f'CREATE INDEX {table}_{column} ON "{table}" ({column})')
        connection.execute("ANALYZE")


def _type(kind: pa.DataType) -> str:
    """Return the SQLite type for a type of Arrow; times and lists become TEXT."""
    if pa.types.is_floating(kind):
        return "REAL"
    return "INTEGER" if pa.types.is_boolean(kind) or pa.types.is_integer(kind) else "TEXT"


def _values(column: pa.Array) -> list[Any]:
    """Return the values of a column for SQLite: times as `2026-03-12 08:00:00.000000Z`, lists as JSON."""
    if pa.types.is_timestamp(column.type):
        column = column.cast("string")
    values: list[Any] = column.to_pylist()
    is_list = pa.types.is_list(column.type)
    return [json.dumps(value, ensure_ascii=False) for value in values] if is_list else values
