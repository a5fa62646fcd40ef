"""What of a file is no article, or not as it was: refused records, repaired fields, and the file they go to.

It does not judge records: that is `record.py` and the readers of the formats.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TextIO

from dedup.base.errors import InputError
from dedup.base.printable import as_json
from dedup.files.whole import ends_a_line

MAX_REPAIR_CHARACTERS = 100
"""Of a bad value, what a Repair shows: enough to see a date, not enough to keep a copy of the file."""

FIRST_LINE_BYTES = 16 * 1_048_576
"""Of a file that is there, what is looked at to tell that it is one of refused lines. Ours have at most the
MiB of the refused line, and six times as much where all of it is escaped."""

_OWN_START = b'{"at": '  # A first line that a run was killed in is no JSON, but it begins like ours


@dataclass(frozen=True, slots=True)
class Reject:
    """A line that is not an article."""

    file: str  # the file's name as given, or `<stdin>`
    line: int  # 1-based line at which the record starts; for Parquet the 1-based row
    reason: str  # why it was refused; never holds text of the article
    # the refused line or lines as read, without the last newline; for Parquet the row as JSON; None where
    # there is nothing to show. At most its first MiB.
    raw: str | bytes | None
    length: int | None = None  # bytes of the whole where `raw` is only its beginning, else None
    source_id: str | None = None  # of the record, when it could be read and can be an id


@dataclass(frozen=True, slots=True)
class Repair:
    """A field that could not be taken as it is; its article follows."""

    file: str  # file, line: as of Reject
    line: int
    source_id: str  # the article's id
    field: str  # the field that lost its value, or got another one
    reason: str  # what was wrong with it
    value: str  # its beginning, at most MAX_REPAIR_CHARACTERS


class RejectsFile:
    """A JSONL file of what was refused or repaired, appended, never replaced.

        {"at", "file", "line", "id", "outcome": "refused", "reason", "raw"}
        {"at", "file", "line", "id", "outcome": "repaired", "reason", "field", "value"}

    It is created by the first of them, so a clean load leaves none. Every line is on disk when `write`
    returns, save for a crash of the machine. Bytes that are not UTF-8 are written as `\\xff`. "at" tells the
    lines of one run from those of another. `source`: the file that is read, or "-" for standard input, which
    is never written to.
    """

    def __init__(self, path: str | Path, source: str | Path | None = None) -> None:
        # a new file, an empty one, or one that this class began; no other is appended to.
        self.path = Path(path)  # the file
        # when this object was made, in UTC, to the second; in ISO 8601.
        self.at = datetime.now(UTC).isoformat(timespec="seconds")
        self.count = 0  # refused lines written so far through this object
        self.repaired = 0  # repairs written so far through this object
        self._file: TextIO | None = None
        if self.path.is_dir():
            raise InputError(f"{path} is a directory; name a file for the refused lines")
        if not self.path.parent.is_dir():
            raise InputError(
                f"{path}: no such directory for the refused lines; try: mkdir -p {self.path.parent}"
            )
        self._refuse_others(source)

    def write(self, item: Reject | Repair) -> None:
        row = {"at": self.at, **_row(item)}
        try:
            if self._file is None:
                self._file = self.path.open("a", encoding="utf-8", newline="\n")
                if self._file.tell() and not ends_a_line(self.path):
                    self._file.write("\n")  # an earlier run was killed within a line
            self._file.write(as_json(row) + "\n")
            self._file.flush()
        except OSError as error:
            raise InputError(
                f"{self.path}: a refused line cannot be written: {error.strerror}; name another file"
            ) from None
        if isinstance(item, Reject):
            self.count += 1
        else:
            self.repaired += 1

    def _refuse_others(self, source: str | Path | None) -> None:
        try:
            status = self.path.stat()
            if not stat.S_ISREG(status.st_mode):
                return  # /dev/stderr, say, or a pipe, which would not open before somebody writes to it
            if source is not None and _is_same(status, source):
                raise InputError(f"{self.path} is the file that is read; name another with --rejects")
            with self.path.open("rb") as file:
                first = file.readline(FIRST_LINE_BYTES)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:  # ValueError: a NUL in the name
            why = (error.strerror if isinstance(error, OSError) else None) or "not a file name"
            raise InputError(
                f"{self.path}: refused lines cannot be written to it: {why}; name another with --rejects"
            ) from None
        if first and not _is_own(first):
            raise InputError(f"{self.path} is no file of refused lines; name another with --rejects")

    def close(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            try:
                file.close()
            except OSError as error:
                raise InputError(
                    f"{self.path}: the refused lines may not all be written: {error.strerror}"
                ) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_same(status: os.stat_result, source: str | Path) -> bool:
    try:
        return os.path.samestat(status, os.fstat(0) if str(source) == "-" else Path(source).stat())
    except (OSError, ValueError):  # whoever opens the source says what is wrong with it
        return False


def _is_own(first: bytes) -> bool:
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return first.startswith(_OWN_START)
    return isinstance(row, dict) and "outcome" in row and "reason" in row


def _row(item: Reject | Repair) -> dict[str, Any]:
    row: dict[str, Any] = {"file": item.file, "line": item.line, "id": item.source_id}
    if isinstance(item, Repair):
        return row | {"outcome": "repaired", "reason": item.reason, "field": item.field, "value": item.value}
    raw = item.raw.decode(errors="backslashreplace") if isinstance(item.raw, bytes) else item.raw
    row |= {"outcome": "refused", "reason": item.reason, "raw": raw}
    return row if item.length is None else row | {"length": item.length}
