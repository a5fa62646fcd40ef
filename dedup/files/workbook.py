"""Write a sheet of a workbook to stdout as lines of JSON. `excel.py` runs this file as a process.

The process has limits of memory and time, since calamine holds all cells of a sheet, and a workbook may be a
decompression bomb. The first line is an error, or has the names of the sheets, the chosen sheet, its first
row and its number of rows. Each later line is a row, or the number of characters of a row that is too long.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from contextlib import suppress
from datetime import date, time
from typing import Any

_to_reader = os.fdopen(1, "wb", closefd=False)  # the pipe to `excel.py`


def main() -> None:
    most, wanted, memory, seconds = json.loads(sys.argv[1])
    _limit(resource.RLIMIT_AS, memory)
    _limit(resource.RLIMIT_CPU, seconds)
    _limit(resource.RLIMIT_CORE, 0)
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    try:
        book = CalamineWorkbook.from_filelike(sys.stdin.buffer)
        sheets = [one for one in book.sheets_metadata if one.typ == SheetTypeEnum.WorkSheet]
        names = [one.name for one in sheets]
        if wanted is None:
            wanted = next((one.name for one in sheets if one.visible == SheetVisibleEnum.Visible), None)
        if wanted not in names:
            _send({"sheets": names, "chosen": None})
            return
        sheet = book.get_sheet_by_name(wanted)
    except (CalamineError, MemoryError) as error:
        _send({"error": type(error).__name__})
        return
    first = sheet.start[0] if sheet.start else 0
    _send({"sheets": names, "chosen": wanted, "first": first, "rows": sheet.height})
    for row in sheet.iter_rows():
        size = sum(len(cell) for cell in row if isinstance(cell, str))
        _send(row if size <= most else size)


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    with suppress(ValueError, OSError):  # macOS cannot limit memory
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _send(value: Any) -> None:
    _to_reader.write(json.dumps(value, ensure_ascii=False, default=_tag_type).encode() + b"\n")


def _tag_type(cell: Any) -> Any:
    """Return a value that JSON lacks, such as a date, in the form in which `excel.py` expects it."""
    return {type(cell).__name__: cell.isoformat()} if isinstance(cell, date | time) else str(cell)


if __name__ == "__main__":
    main()
    _to_reader.flush()
