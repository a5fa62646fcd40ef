"""A table of a page as data: how its rows become CSV or JSON. Which tables there are: `tables.py`."""

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

MOST_ROWS = 100_000
"""Of one table. JSON says where to go on."""

MOST_SECONDS = 60.0
"""For all of a table: shorter than a request may take."""


@dataclass(frozen=True, slots=True)
class TablePart:
    """Some rows of a table. `after`: what to give for the next; None on the last. `counted_from`: where a
    range has more than is counted, from when on it is.
    """

    rows: Sequence[Any]
    after: str | None = None
    counted_from: datetime | None = None


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table of a page. `columns`: their names, and for each the path to its value from a row. `rows`: of an
    answer. `goes_on`: an answer holds a part of them, and says how to go on.
    """

    name: str
    columns: Mapping[str, str]
    ask: Callable[[Deduplicator, Fields], Any]
    rows: Callable[[Any], Sequence[Any]]
    goes_on: bool = False

    def read(self, dd: Deduplicator, given: Fields) -> TablePart:
        found = self.ask(dd, given)
        after = found.after if self.goes_on else None
        return TablePart(self.rows(found), after, getattr(found, "counted_from", None))

    def cells(self, row: Any) -> dict[str, Any]:
        return {name: _value(row, path) for name, path in self.columns.items()}


def _value(row: Any, path: str) -> Any:
    """A value as JSON has it: times in ISO 8601, spans in seconds; None where there is nothing on the way."""

    def step(value: Any, name: str) -> Any:
        return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)

    value = reduce(step, path.split("."), row)
    if isinstance(value, timedelta):
        return value.total_seconds()
    return value.isoformat() if hasattr(value, "isoformat") else plain(value)


# --- the forms


class AsCSV:
    """RFC 4180, with a header, and a byte order mark by which spreadsheets know that it is UTF-8. Texts are
    guarded against being run as formulas.
    """

    def __init__(self, table: PageTable) -> None:
        self._table = table

    def _lines(self, rows: Iterable[Iterable[Any]]) -> bytes:
        to = io.StringIO()
        csv.writer(to, lineterminator="\r\n").writerows(rows)
        return to.getvalue().encode("utf-8", "replace")

    def begin(self) -> bytes:
        return "\ufeff".encode() + self._lines([self._table.columns])

    def rows(self, part: TablePart) -> bytes:
        return self._lines([_in_csv(cell) for cell in self._table.cells(row).values()] for row in part.rows)

    def end(self, last: TablePart) -> bytes:  # noqa: ARG002 - CSV has no place for it
        return b""


def _in_csv(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return guarded(value)
    return value if value is None or isinstance(value, (int, float)) else guarded(as_json(value))


class AsJSON:
    """One object: `table`, `rows` as objects, then `counted_from` and `after` as of `TablePart`."""

    def __init__(self, table: PageTable) -> None:
        self._table, self._comma = table, ""

    def begin(self) -> bytes:
        return f'{{"table": {as_json(self._table.name)}, "rows": ['.encode()

    def rows(self, part: TablePart) -> bytes:
        lines = []
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
