"""Refused records, repaired fields, and the file to which they are written."""

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

MAX_REPAIR_CHARACTERS = 100  # Of a bad value: enough to see a date, too few for a copy of the file
FIRST_LINE_BYTES = 16 * 1_048_576  # To recognise our files. A line has 1 MiB of a record, 6 if all is escaped
_OWN_START = b'{"at": '  # Recognises a first line that is no JSON, since a run was killed while writing it


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that is not an article."""

    file: str  # name as given, or `<stdin>`
    line: int  # first line of the record, or its row, counted from 1
    reason: str  # never holds text of the article
    raw: str | bytes | None  # at most the first MiB of the record as read; rows as JSON
    length: int | None = None  # bytes of the whole record if `raw` is only its beginning
    source_id: str | None = None  # if it could be read and is valid


@dataclass(frozen=True, slots=True)
class Repair:
    """A field whose value was dropped or changed; its article follows."""

    file: str  # file, line: as of Reject
    line: int
    source_id: str
    field: str
    reason: str
    value: str  # the first MAX_REPAIR_CHARACTERS of the bad value


class RejectsFile:
    """A JSONL file of refused records and repaired fields. It is appended, never replaced.

        {"at", "file", "line", "id", "outcome": "refused", "reason", "raw"}
        {"at", "file", "line", "id", "outcome": "repaired", "reason", "field", "value"}

    The first line creates it, so a clean load leaves no file. All lines of a run have the same "at"; bytes
    that are not UTF-8 are written as `\\xff`. Raises InputError for `source`, and for another kind of file.
    """

    def __init__(self, path: str | Path, source: str | Path | None = None) -> None:
        self.path = Path(path)
        self.at = datetime.now(UTC).isoformat(timespec="seconds")
        self.count = 0  # refused records written by this object
        self.repaired = 0  # repairs written by this object
        self._file: TextIO | None = None
        if self.path.is_dir():
            raise InputError(f"{path} is a directory; name a file for the refused lines")
        if not self.path.parent.is_dir():
            raise InputError(f"{path}: no such directory; try: mkdir -p {self.path.parent}")
        self._refuse_others(source)

    def write(self, item: Reject | Repair) -> None:
        row = {"at": self.at, **_make_row(item)}
        try:
            if self._file is None:
                self._file = self.path.open("a", encoding="utf-8", newline="\n")
                if self._file.tell() and not ends_a_line(self.path):
                    self._file.write("\n")  # an earlier run was killed within a line
            self._file.write(as_json(row) + "\n")
            self._file.flush()
        except OSError as error:
            why = f"cannot be written: {error.strerror}; name another file"
            raise InputError(f"{self.path}: a refused line {why}") from None
        if isinstance(item, Reject):
            self.count += 1
        else:
            self.repaired += 1

    def _refuse_others(self, source: str | Path | None) -> None:
        try:
            status = self.path.stat()
            if not stat.S_ISREG(status.st_mode):
                return  # such as /dev/stderr, or a pipe, which cannot be opened before somebody writes to it
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
                raise InputError(f"{self.path}: refused lines may be lost: {error.strerror}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is_same(status: os.stat_result, source: str | Path) -> bool:
    try:
        return os.path.samestat(status, os.fstat(0) if str(source) == "-" else Path(source).stat())
    except (OSError, ValueError):  # reported when the source is opened
        return False


def _is_own(first: bytes) -> bool:
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return first.startswith(_OWN_START)
    return isinstance(row, dict) and "outcome" in row and "reason" in row


def _make_row(item: Reject | Repair) -> dict[str, Any]:
    row: dict[str, Any] = {"file": item.file, "line": item.line, "id": item.source_id}
    if isinstance(item, Repair):
        return row | {"outcome": "repaired", "reason": item.reason, "field": item.field, "value": item.value}
    raw = item.raw.decode(errors="backslashreplace") if isinstance(item.raw, bytes) else item.raw
    row |= {"outcome": "refused", "reason": item.reason, "raw": raw}
    return row if item.length is None else row | {"length": item.length}
