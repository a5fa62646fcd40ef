"""Write the panel, a row per outlet and month (view `outlet_month`), for `Deduplicator.export_panel`."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.base.printable import guarded
from dedup.db.database import Database
from dedup.db.statements import Statements
from dedup.extras.coverage import ResearchExport
from dedup.files.whole import new_file
from dedup.store import exports

_sql = Statements("extras/coverage/panel")

COUNTS = ("articles", "own", "copied", "agency", "first_unknown", "not_compared")
COLUMNS = ("month", "outlet", "family", *COUNTS, "diversity", "times_known")


def export(database: Database, path: Path, *, replace: bool = False) -> ResearchExport:
    """Write the panel; see `Deduplicator.export_panel`."""
    if path.suffix not in (".csv", ".parquet"):
        raise InputError(f"{path}: the name must end with .csv or .parquet")
    write = _write_csv if path.suffix == ".csv" else _write_parquet
    rows = exports.rows(database, _sql("panel"), {})
    with new_file(path, replace=replace) as made:
        count = write(made, rows)
    return ResearchExport(str(path), {"panel": count})


def _write_csv(path: Path, rows: Iterator[dict[str, Any]]) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for count, row in enumerate(rows, 1):  # noqa: B007 - the last number is the number of rows
            writer.writerow(guarded(cell) if isinstance(cell, str) else cell for cell in row.values())
    return count


def _write_parquet(path: Path, rows: Iterator[dict[str, Any]]) -> int:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ModuleNotFoundError:
        raise InputError(f"a Parquet file needs pyarrow: run `{installing('parquet')}`") from None
    types = {"month": pa.date32(), "diversity": pa.float64(), "times_known": pa.bool_()}
    types |= dict.fromkeys(COUNTS, pa.int64())
    schema = pa.schema([(name, types.get(name, pa.string())) for name in COLUMNS])
    count = 0
    with ParquetWriter(path, schema, compression="zstd") as writer:
        while page := list(islice(rows, exports.PAGE)):
            writer.write_table(pa.Table.from_pylist(page, schema))
            count += len(page)
    return count
