"""What commands print: one import for tables, JSON, CSV, progress and words.

Everything passes through `dedup.base.printable`, so no stranger's text drives a terminal, unless `--raw`.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from dedup.base.answer import plain
from dedup.base.printable import as_json, guarded
from dedup.base.printable import printable as printable
from dedup.base.words import size as size
from dedup.cli.console import PrintableConsole as PrintableConsole
from dedup.cli.console import console as console
from dedup.cli.console import say as say
from dedup.cli.progress import progress_bar as progress_bar
from dedup.cli.tables import cell as cell
from dedup.cli.tables import table as table


def write_text(text: str) -> None:
    """Text on stdout as it is, for another program."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def write_json(value: Any, *, indent: int | None = 2) -> None:
    sys.stdout.write(as_json(value, indent=indent, default=_plain) + "\n")


def write_jsonl(rows: Iterable[Mapping[str, Any]], to: TextIO, *, raw: bool = False) -> int:
    """Rows as JSON, one a line; returns how many. `raw`: escape only what JSON needs escaped."""
    count = 0
    for row in rows:
        line = json.dumps(row, ensure_ascii=False, default=_plain) if raw else as_json(row, default=_plain)
        to.write(line + "\n")
        count += 1
    return count


def write_csv(
    rows: Iterable[Mapping[str, Any]], columns: Sequence[str], to: TextIO, *, raw: bool = False
) -> int:
    """Rows as CSV with a header; returns how many. `raw`: cells as they are, not guarded against
    spreadsheets.
    """
    writer = csv.DictWriter(to, columns, lineterminator="\n")
    writer.writeheader()
    count = 0
    for row in rows:
        cells = {name: guarded(cell) if isinstance(cell, str) else cell for name, cell in row.items()}
        writer.writerow(row if raw else cells)
        count += 1
    return count


def _plain(value: Any) -> Any:
    found = plain(value)
    if found is value:
        raise TypeError(f"{type(value).__name__} has no JSON form")
    return found
