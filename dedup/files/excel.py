"""A sheet of an Excel workbook becomes records, one per row, under a header: .xlsx, with openpyxl, an extra.

The header is the first row that names what is needed, since exports put a title above. Dates of cells are
dates; those that are text are read as everywhere. openpyxl holds the texts of a workbook, and its XML row by
row; what would take too much memory is refused before it is asked.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any
from zipfile import ZipFile

from dedup.base.errors import InputError
from dedup.base.extras import installing
from dedup.files.naming import RecordShape, columns_of, make_shape, values_of
from dedup.files.packed import CountingFile, open_regular
from dedup.files.record import MAX_RECORD_BYTES, NO_MEMORY, Plan, Record, too_long
from dedup.files.report import MAX_NAMES, Understanding, shown

MAX_ROWS = 1_048_576  # Of a sheet of Excel; a row may be numbered higher, and openpyxl makes all before it

HEADER_ROWS = 20  # Among so many the header is looked for
BATCH_ROWS = 64

MAX_TEXTS_BYTES = 256 * 1_048_576
MAX_PART_BYTES = 16 * 1_048_576
MAX_TAGS = 4_000_000
"""Of the texts of a workbook, of any other part but its sheets; and tags in a part, or in a row of a sheet.
A tag may take 100 bytes in memory. 30,000 articles of 5 kB have 150 MB and 500,000 tags."""

ENDS_EARLY = "the sheet cannot be read on: the rest of the file is missing or broken"

_SHEETS, _TEXTS = "worksheets/", "sharedstrings.xml"  # In the names of parts, which have no case
_STEP_BYTES = 1_048_576
_OLE = b"\xd0\xcf\x11\xe0"  # How old workbooks begin, and those with a password


class ExcelSource:
    """The rows of a sheet, by default the first that is not hidden."""

    def __init__(self, path: str, max_row_bytes: int = MAX_RECORD_BYTES, sheet: str | None = None) -> None:
        self.file = path
        self.max_row_bytes = max_row_bytes
        self.truncated = False
        self.close: Callable[[], None]
        if path == "-":
            raise InputError("Excel cannot be read from standard input; save it to a file and name that")
        try:
            import defusedxml.ElementTree  # noqa: F401  # openpyxl takes it where it is there
            from openpyxl import load_workbook
        except ImportError:
            raise InputError(f"{path}: Excel needs openpyxl: run `{installing('xlsx')}`") from None
        raw, self.bytes_total = open_regular(path, "Excel")
        self.close = raw.close
        try:
            if raw.read(len(_OLE)) == _OLE:
                raise InputError(
                    f"{path} is of an Excel before 2007, or has a password; save it as .xlsx without one"
                )
            self._counted = CountingFile(raw, path, self.bytes_total)
            with _plainly(path):
                with ZipFile(self._counted) as parts:
                    _refuse_bombs(path, parts)
                self._counted.bytes_read = 0
                book = load_workbook(self._counted, read_only=True, data_only=True, keep_links=False)
            self._sheet = self._chosen(book, sheet)
        except BaseException:
            raw.close()
            raise
        self._others = [found.title for found in book.worksheets if found is not self._sheet]

    @property
    def bytes_read(self) -> int:
        """Position in the file, more or less: its parts are not in the order in which they are read."""
        return min(self._counted.bytes_read, self.bytes_total)

    def records(self, plan: Plan, needed: Collection[str], understood: Understanding) -> Iterator[Record]:
        """One record per row below the header."""
        understood.sheet = shown(self._sheet.title)
        understood.other_sheets = [shown(name) for name in self._others[:MAX_NAMES]]
        rows = self._rows()
        first: list[tuple[Any, ...]] = []
        for row in islice(rows, HEADER_ROWS):
            if isinstance(row, str):
                raise InputError(f"{self.file}: {row}")
            first.append(row)
        filled = [number for number, row in enumerate(first) if any(row)]
        if not filled:
            raise InputError(
                f"{self.file}: the sheet {self._sheet.title!r} has no header; a row must name the columns"
            )
        headers = {number: _names(first[number]) for number in filled}
        found = {
            number: {field for field, _ in make_shape(plan, [*names.values()], lambda *_: None).fields}
            for number, names in headers.items()
        }
        wanted = {field for field in needed if field != "source_id"}
        most = max(filled, key=lambda number: len(headers[number]))
        at = next((number for number in filled if wanted <= found[number]), most)
        columns, names = [*headers[at]], [*headers[at].values()]
        shape = columns_of(self.file, names, plan, needed, lambda *_: None, understood)
        return self._records(first[at + 1 :], rows, at + 1, columns, shape, understood)

    def _records(
        self,
        first: list[tuple[Any, ...]],
        rows: Iterator[tuple[Any, ...] | str],
        number: int,
        columns: list[int],
        shape: RecordShape,
        understood: Understanding,
    ) -> Iterator[Record]:
        for source in (first, rows):
            for row in source:
                number += 1
                if isinstance(row, str):
                    self.truncated = True
                    yield number, None, row
                    return
                if not any(value is not None and value != "" for value in row):
                    continue
                size = sum(len(value) for value in row if isinstance(value, str))
                if size > self.max_row_bytes:
                    yield number, None, too_long(size, self.max_row_bytes)
                    continue
                cells = [_value(row[column]) if column < len(row) else None for column in columns]
                yield number, None, values_of(cells, shape, understood)

    def _rows(self) -> Iterator[tuple[Any, ...] | str]:
        """The values of each row; at the end of a broken sheet why it ends."""
        self._sheet.reset_dimensions()  # many programs write wrong ones
        rows = self._sheet.iter_rows(values_only=True)
        for _ in range(MAX_ROWS // BATCH_ROWS + 1):
            batch, why = [], ""
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of a date that is none; what it is in place of is read
                    for row in islice(rows, BATCH_ROWS):
                        batch.append(row)  # what comes before an error counts
            except MemoryError:
                why = NO_MEMORY
            except Exception:  # openpyxl raises whatever its parts raise
                why = ENDS_EARLY
            yield from batch
            if why:
                yield why
            if why or len(batch) < BATCH_ROWS:
                return
        yield ENDS_EARLY

    def _chosen(self, book: Any, sheet: str | None) -> Any:
        sheets = book.worksheets
        if sheet is None:
            found = next((one for one in sheets if one.sheet_state == "visible"), None)
        else:
            found = next((one for one in sheets if one.title == sheet), None)
        if found is None:
            names = ", ".join(one.title for one in sheets) or "none"
            wanted = "no sheet that is not hidden" if sheet is None else f"no sheet {sheet!r}"
            raise InputError(f"{self.file} has {wanted}; its sheets are {names}; name one with --sheet")
        return found


def _names(row: tuple[Any, ...]) -> dict[int, str]:
    """The names of the columns that have one, by their position."""
    return {
        at: str(value).strip() for at, value in enumerate(row) if value is not None and str(value).strip()
    }


def _value(value: Any) -> Any:
    """The value of a cell: a whole number is an integer, and `_x000D_` what XML could not hold."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and "_x" in value:
        return re.sub("_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), value)
    return value


def _refuse_bombs(path: str, parts: ZipFile) -> None:
    """Look through what openpyxl will read, which is unpacked in steps here."""
    for info in parts.infolist():
        name = info.filename.lower()
        if not name.endswith((".xml", ".rels")):
            continue
        rowed = _SHEETS in name and name.endswith(".xml")
        most = MAX_TEXTS_BYTES if name.endswith(_TEXTS) else MAX_PART_BYTES
        size = tags = 0  # of the part, or of the row of a sheet
        with parts.open(info) as part:
            while chunk := part.read(_STEP_BYTES):
                size, tags = size + len(chunk), tags + chunk.count(b"<")
                if size > most or tags > MAX_TAGS:
                    raise InputError(
                        f"{path} takes too much memory to be read as Excel; save it as CSV in UTF-8"
                    )
                if rowed and (last := max(chunk.rfind(b"<row"), chunk.rfind(b":row"))) >= 0:
                    size, tags = len(chunk) - last, chunk.count(b"<", last)


@contextmanager
def _plainly(path: str) -> Iterator[None]:
    """Turn errors of openpyxl, which are those of everything that it uses, into ours."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and extensions, which are not looked at
            yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        raise InputError(
            f"{path} cannot be read as Excel ({type(error).__name__}); check that it is complete"
        ) from None
