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

MAX_REPAIR_CHARACTERS = 100  # Characters kept of a bad value, to report it: a date fits, a text does not
FIRST_LINE_BYTES = 16 * 1_048_576  # Maximum bytes read of the first line; a line for a record has up to 6 MiB
_OWN_START = b'{"at": '  # First bytes of a rejects file; they identify a first line that was cut off


@dataclass(frozen=True, slots=True)
class Reject:
    """Record that cannot become an article."""

    file: str  # path as passed by the caller, or `<stdin>`
    line: int  # number of the first line or row of the record, from 1
    reason: str  # reason, without text of the article
    raw: str | bytes | None  # first MiB, at most, of the record as read; rows as JSON
    length: int | None = None  # size of the whole record in bytes, if `raw` is only its beginning
    source_id: str | None = None  # id of the record, if readable and valid


@dataclass(frozen=True, slots=True)
class Repair:
    """Field whose value was dropped or changed. A reader yields the Repair right before the article."""

    file: str  # `file` and `line` have the same meaning as in `Reject`
    line: int
    source_id: str
    field: str
    reason: str
    value: str  # beginning of the bad value, at most MAX_REPAIR_CHARACTERS


class RejectsFile:
    """JSONL file of refused records and repaired fields. New lines are appended.

        {"at", "file", "line", "id", "outcome": "refused", "reason", "raw"}
        {"at", "file", "line", "id", "outcome": "repaired", "reason", "field", "value"}

    The first line creates the file, so a load without faults leaves no file. All lines of a run have the same
    "at". Invalid UTF-8 becomes `\\xff`. Raises InputError if `path` equals `source` or is not a rejects file.
    """

    def __init__(self, path: str | Path, source: str | Path | None = None) -> None:
        self.path = Path(path)
        self.at = datetime.now(UTC).isoformat(timespec="seconds")
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
                    self._file.write("\n")  # the last line is incomplete: a run was killed
            self._file.write(as_json(row) + "\n")
            self._file.flush()
        except OSError as error:
            why = f"cannot be written: {error.strerror}; name a different file"
            raise InputError(f"{self.path}: a refused line {why}") from None

    def _refuse_others(self, source: str | Path | None) -> None:
        try:
            status = self.path.stat()
            if not stat.S_ISREG(status.st_mode):
                return  # not a regular file: /dev/stderr, or a pipe, which would wait for a writer
            if source is not None and _is_same(status, source):
                raise InputError(f"{self.path} is the file to read; name a different file with --rejects")
            with self.path.open("rb") as file:
                first = file.readline(FIRST_LINE_BYTES)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:  # ValueError: the name has a NUL
            why = (error.strerror if isinstance(error, OSError) else None) or "not a file name"
            raise InputError(
                f"{self.path}: cannot be written: {why}; name a different file with --rejects"
            ) from None
        if first and not _is_own(first):
            raise InputError(f"{self.path} is not a rejects file; name a different file with --rejects")

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
    except (OSError, ValueError):  # ignored here: opening the source reports it
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
