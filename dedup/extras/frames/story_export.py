"""`dedup export stories`: every article with its story and its mark as one file, whole or not there.

A Parquet file has one row per article, the columns of `dedup.frames.marks`. An SQLite file has the tables
story, article and match with keys between them, for Datasette and whoever has no Postgres. Neither holds the
text of an article.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from dedup.base.answer import Answer
from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.base.progress import Progress, SilentProgress
from dedup.db.database import Cursor, Database
from dedup.extras.frames import columns
from dedup.extras.frames.columns import TABLES, TableName
from dedup.files.whole import new_file

_TABLES: dict[str, TableName] = {"story": "stories", "article": "marks", "match": "matches"}
"""Of the SQLite file: what each is read from."""

_LEFT_OUT = {"copy_source_ids"}  # Of the SQLite file: `article.story_source_id` says it

_SQL = {"bool": "INTEGER", "int": "INTEGER", "float": "REAL", "share": "REAL"}
"""Types of columns; others are TEXT: times in UTC, lists as JSON."""

_KEYS = {
    "story": "PRIMARY KEY (source_id)",
    "article": "PRIMARY KEY (source_id), FOREIGN KEY (story_source_id) REFERENCES story (source_id)",
    "match": "PRIMARY KEY (source_id, other_source_id),"
    " FOREIGN KEY (source_id) REFERENCES article (source_id)",
}
_OTHER_KEY = ", FOREIGN KEY (other_source_id) REFERENCES article (source_id)"
"""Of a match: since some time the earlier article may be missing."""

_INDEXES = {
    "story": ("first_at", "copies", "publication"),
    "article": ("story_source_id", "published_at", "publication", "status"),
    "match": ("other_source_id",),
}


class _StoppedError(Exception):
    """It was asked to stop."""


@dataclass(slots=True)
class StoryExport(Answer):
    """What was exported.

    Attributes:
        file: where it is.
        rows: the tables of the file, and how many rows each has.
        stopped: it was asked to stop; there is no file.
    """

    file: str
    rows: dict[str, int] = field(default_factory=dict)
    stopped: bool = False


def export(
    database: Database,
    path: Path,
    *,
    since: datetime | None = None,
    progress: Progress | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> StoryExport:
    """Write the articles with their stories; see `Deduplicator.export_stories`."""
    if path.suffix not in _WRITERS:
        raise InputError(f"{path}: the name must end with {' or '.join(_WRITERS)}")
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise InputError(f"{path}: stories need pyarrow: run `{installing('frames')}`") from None
    report = StoryExport(str(path))
    try:
        with (
            new_file(path) as made,
            database.session() as session,
            session.transaction(snapshot=True) as cursor,
        ):
            write, names = _WRITERS[path.suffix]
            # At first: to read pages makes the session avoid what counts quickly.
            totals = {name: columns.count(cursor, name, since) for name in names}
            write(made, _Reading(cursor, since, totals, report, progress or SilentProgress(), stop))
    except _StoppedError:
        report.stopped = True
    except (OSError, sqlite3.OperationalError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path} cannot be written: {reason}") from None
    return report


@dataclass(slots=True)
class _Reading:
    """Reads tables in batches, tells how far it is, and counts."""

    cursor: Cursor
    since: datetime | None
    totals: Mapping[TableName, int]
    report: StoryExport
    progress: Progress
    stop: Callable[[], bool]

    def batches(self, name: TableName, called: str) -> Iterator[Any]:
        """The batches of a table, which the file has under another name."""
        from dedup.extras.frames import arrow

        self.report.rows[called] = 0
        self.progress.start(f"exporting {name}", self.totals[name])
        for batch in arrow.batches(self.cursor, name, self.since):
            if self.stop():
                raise _StoppedError
            yield batch
            self.report.rows[called] += batch.num_rows
            self.progress.advance(batch.num_rows)


def _write_parquet(path: Path, read: _Reading) -> None:
    import pyarrow.parquet

    from dedup.extras.frames import arrow

    with pyarrow.parquet.ParquetWriter(path, arrow.schema("marks"), compression="zstd") as writer:
        for batch in read.batches("marks", "article"):
            writer.write_batch(batch)


def _write_sqlite(path: Path, read: _Reading) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # Whoever is interrupted leaves no file, so there is nothing to keep whole on the way.
        connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        for table, name in _TABLES.items():
            kinds = {c: k for c, k in TABLES[name].columns.items() if c not in _LEFT_OUT}
            columns = [f"{column} {_SQL.get(kind, 'TEXT')}" for column, kind in kinds.items()]
            keys = _KEYS[table] + (_OTHER_KEY if table == "match" and read.since is None else "")
            connection.execute(f'CREATE TABLE "{table}" ({", ".join(columns)}, {keys})')
            insert = f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(kinds))})'
            connection.execute("BEGIN")
            for batch in read.batches(name, table):
                values = [_values(batch.column(column), kind) for column, kind in kinds.items()]
                connection.executemany(insert, zip(*values, strict=True))
            connection.execute("COMMIT")
        for table, indexed in _INDEXES.items():
            for column in indexed:
                connection.execute(f'CREATE INDEX {table}_{column} ON "{table}" ({column})')
        connection.execute("ANALYZE")


def _values(column: Any, kind: str) -> list[Any]:
    """A column as SQLite takes it: times as `2026-03-12 08:00:00.000000Z`, lists as JSON."""
    if kind == "time":
        return list(column.cast("string").to_pylist())
    values: list[Any] = column.to_pylist()
    return [json.dumps(value, ensure_ascii=False) for value in values] if kind == "texts" else values


_WRITERS: Mapping[str, tuple[Callable[[Path, _Reading], None], tuple[TableName, ...]]] = {
    ".parquet": (_write_parquet, ("marks",)),
    ".sqlite": (_write_sqlite, tuple(_TABLES.values())),
}
"""Ending of a file to what writes it, and what that reads."""
