"""Read records from a sheet of a workbook, one per row: .xlsx, .xls, .xlsb and .ods.

`workbook.py` reads the sheet with calamine, an optional package, in a process with a memory limit. Cells of
a date type become dates; dates in text cells are read as in any other file.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from datetime import date, datetime, time
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any

from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.files.naming import extract_values, find_columns, make_shape
from dedup.files.packed import Address, open_regular
from dedup.files.record import MAX_RECORD_BYTES, Plan, Record, describe_size
from dedup.files.report import MAX_NAMES, Understanding, shorten

HEADER_ROWS = 20  # Number of first rows among which the header is searched

# Limits of the process that reads a workbook: 30,000 articles of 5 kB take 0.5 GB. macOS cannot limit memory.
MEMORY_BYTES, CPU_SECONDS = 1_073_741_824, 300
# The process parses hostile files, so it gets no password or token, only variables by which Python finds its
# packages.
PASSED_ON = (
    *("HOME", "PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
    *("PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE"),
)
FIRST_LINE_BYTES = 4 * 1_048_576  # Maximum size of the process's first line, which names all sheets

ENDS_EARLY = "the sheet cannot be read further: it took too much memory or time"

_TYPES: dict[str, Callable[[str], Any]] = {
    kind.__name__: kind.fromisoformat for kind in (date, datetime, time)
}


class ExcelSource:
    """Rows of a sheet, by default the first visible sheet. Raises InputError if the sheet is unreadable."""

    def __init__(self, path: str, max_row_bytes: int = MAX_RECORD_BYTES, sheet: str | None = None) -> None:
        self.file = path
        self.max_row_bytes = max_row_bytes
        self.bytes_read = 0  # estimated from the share of rows already read
        self.truncated = False
        if path == "-":
            raise InputError("Excel cannot be read from standard input; save it to a file and name it")
        if find_spec("python_calamine") is None:
            raise InputError(f"{path}: Excel needs python-calamine: run `{installing('xlsx')}`")
        raw, self.bytes_total = open_regular(path, "Excel")
        if isinstance(path, Address):
            raw = _copy(raw, path, self.bytes_total)
        program = [sys.executable, "-P", str(Path(__file__).with_name("workbook.py"))]
        with raw:
            self._process = subprocess.Popen(
                [*program, json.dumps([max_row_bytes, sheet, MEMORY_BYTES, CPU_SECONDS])],
                stdin=raw,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
            )
        assert self._process.stdout is not None
        self._lines = self._process.stdout
        try:
            self._about = self._open(sheet)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._process.kill()
        self._lines.close()
        self._process.wait()

    def _open(self, sheet: str | None) -> dict[str, Any]:
        line = self._lines.readline(FIRST_LINE_BYTES)
        about: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
        error = about.get("error")
        if error == "PasswordError":
            raise InputError(f"{self.file} has a password; save it without one")
        # A process that reaches a limit reports MemoryError, or is ended by a signal.
        if error == "MemoryError" or (not about and (line or self._process.wait() < 0)):
            raise InputError(f"{self.file} takes too much memory as Excel; save it as CSV in UTF-8")
        if error or not about:
            raise InputError(f"{self.file} cannot be read as Excel; check that it is complete")
        if about["chosen"] is None:
            names = ", ".join(about["sheets"]) or "none"
            wanted = "no visible sheet" if sheet is None else f"no sheet {sheet!r}"
            raise InputError(f"{self.file} has {wanted}; its sheets are {names}; name one with --sheet")
        return about

    def records(self, plan: Plan, needed: Collection[str], understood: Understanding) -> Iterator[Record]:
        """Yield a record for each row below the header. Raises InputError if there is no usable header."""
        chosen = self._about["chosen"]
        understood.sheet = shorten(chosen)
        others = [name for name in self._about["sheets"] if name != chosen]
        understood.other_sheets = [shorten(name) for name in others[:MAX_NAMES]]
        rows = self._read_rows()
        first = list(islice(rows, HEADER_ROWS))
        headers = {at: found for at, (_, row) in enumerate(first) if (found := _read_names(row))}
        if not headers:
            raise InputError(f"{self.file}: the sheet {chosen!r} has no header; a row must name the columns")
        wanted = {field for field in needed if field != "source_id"}
        # The header may follow a title. Take the first row with all needed fields, or else the longest row.
        header = max(headers, key=lambda at: len(headers[at]))
        for at, found in headers.items():
            if wanted <= {field for field, _ in make_shape(plan, [*found.values()], lambda *_: None).fields}:
                header = at
                break
        columns, names = [*headers[header]], [*headers[header].values()]
        shape = find_columns(self.file, names, plan, needed, lambda *_: None, understood)

        def records() -> Iterator[Record]:
            for number, row in chain(first[header + 1 :], rows):
                if isinstance(row, str):
                    self.truncated = True
                    yield number, None, row
                elif isinstance(row, int):
                    yield number, None, describe_size(row, self.max_row_bytes)
                elif any(cell is not None for cell in row):
                    yield number, None, extract_values([row[at] for at in columns], shape, understood)

        return records()

    def _read_rows(self) -> Iterator[tuple[int, Any]]:
        """Yield each row's number and cells. Instead of cells: the size of a long row, or an error."""
        first, total = self._about["first"] + 1, self._about["rows"]
        for at in range(total):
            line = self._lines.readline()
            if not line.endswith(b"\n"):
                yield first + at, ENDS_EARLY
                return
            self.bytes_read = self.bytes_total * (at + 1) // total
            row = json.loads(line, object_hook=_parse_cell)
            yield first + at, [_convert_cell(cell) for cell in row] if isinstance(row, list) else row


def _copy(raw: Any, path: str, size: int) -> Any:
    """Return a temporary file with the workbook at an address, since a process needs a file as its stdin."""
    copied = tempfile.TemporaryFile()  # noqa: SIM115 (the caller closes it)
    try:
        with raw:
            if size > MEMORY_BYTES:
                raise InputError(f"{path} takes too much memory as Excel; save it as CSV in UTF-8")
            shutil.copyfileobj(raw, copied)
        copied.seek(0)
    except BaseException as error:
        copied.close()
        if not isinstance(error, OSError):
            raise
        raise InputError(f"{path}: reading failed: {error.strerror}; try again") from None
    return copied


def _parse_cell(cell: dict[str, str]) -> Any:
    [(kind, written)] = cell.items()
    return _TYPES[kind](written)


def _read_names(row: Any) -> dict[int, str]:
    cells = enumerate(row) if isinstance(row, list) else ()
    return {at: name for at, cell in cells if cell is not None and (name := str(cell).strip())}


def _convert_cell(cell: Any) -> Any:
    if cell == "":
        return None
    # Excel stores every number as a float, but the id 17 must not become "17.0".
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell
