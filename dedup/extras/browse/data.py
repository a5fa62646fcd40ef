"""Write the rows of a page's table as CSV or JSON. `tables.py` lists the tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from typing import Any

from dedup.api.deduplicator import Deduplicator
from dedup.base.answer import plain
from dedup.base.errors import InputError
from dedup.base.printable import as_json, guarded
from dedup.extras.browse.asking import Fields

MEDIA_TYPES: Mapping[str, str] = {
    "csv": "text/csv; charset=utf-8; header=present",
    "json": "application/json",
}

MOST_ROWS = 100_000  # Maximum number of rows per answer; the token `after` in JSON asks for the next rows
MOST_SECONDS = 60.0  # Maximum time per answer; less than REQUEST_SECONDS, after which connections are cut


@dataclass(frozen=True, slots=True)
class TablePart:
    """A part of the rows of a table."""

    rows: Sequence[Any]
    after: str | None = None  # token of the next part; None on the last part
    counted_from: datetime | None = None  # time of the earliest counted article; None if all were counted


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of a page that visitors can download as CSV or JSON."""

    name: str
    columns: Mapping[str, str]  # name of a column -> path from a row to the value
    ask: Callable[[Deduplicator, Fields], Any]
    rows: Callable[[Any], Sequence[Any]]  # gets the rows from an answer of `ask`
    goes_on: bool = False  # True if `ask` returns the rows part by part, with a token for the next part

    def read(self, dd: Deduplicator, given: Fields) -> TablePart:
        found = self.ask(dd, given)
        after = found.after if self.goes_on else None
        return TablePart(self.rows(found), after, getattr(found, "counted_from", None))

    def cells(self, row: Any) -> dict[str, Any]:
        return {name: _value(row, path) for name, path in self.columns.items()}


def _value(row: Any, path: str) -> Any:
    """Return the value at a dotted path in a row, or None. Times become ISO 8601, durations seconds."""

    def step(value: Any, name: str) -> Any:
        return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)

    value = reduce(step, path.split("."), row)
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.isoformat() if hasattr(value, "isoformat") else plain(value)


class AsCSV:
    """A table as CSV (RFC 4180) with a header; formulas are quoted, so that spreadsheets do not run them."""

    def __init__(self, table: PageTable) -> None:
        self._table = table

    def _lines(self, rows: Iterable[Iterable[Any]]) -> bytes:
        to = io.StringIO()
        csv.writer(to, lineterminator="\r\n").writerows(rows)
        return to.getvalue().encode("utf-8", "replace")

    def begin(self) -> bytes:
        # Spreadsheets recognise UTF-8 by the byte order mark.
        return "\ufeff".encode() + self._lines([self._table.columns])

    def rows(self, part: TablePart) -> bytes:
        return self._lines([_in_csv(cell) for cell in self._table.cells(row).values()] for row in part.rows)

    def end(self, last: TablePart) -> bytes:  # noqa: ARG002 - CSV cannot hold a token
        return b""


def _in_csv(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return guarded(value)
    return value if value is None or isinstance(value, (int, float)) else guarded(as_json(value))


class AsJSON:
    """A table as a JSON object with `table`, `rows` (a list of objects), `counted_from` and `after`."""

    def __init__(self, table: PageTable) -> None:
        self._table, self._comma = table, ""

    def begin(self) -> bytes:
        return f'{{"table": {as_json(self._table.name)}, "rows": ['.encode()

    def rows(self, part: TablePart) -> bytes:
        lines = []
        # The comma is written before a row, not after: it is unknown whether another row follows.
        for row in part.rows:
            lines.append(f"{self._comma}\n{as_json(self._table.cells(row))}")
            self._comma = ","
        return "".join(lines).encode()

    def end(self, last: TablePart) -> bytes:
        told = {"counted_from": plain(last.counted_from), "after": last.after}
        return f"\n], {as_json(told)[1:]}\n".encode()


FORMS: Mapping[str, type[AsCSV | AsJSON]] = {"csv": AsCSV, "json": AsJSON}


def form_of(given: str, table: PageTable) -> AsCSV | AsJSON:
    if given not in FORMS:
        raise InputError(f"there is no format {given[:20]!r}; there are {', '.join(FORMS)}")
    return FORMS[given](table)
