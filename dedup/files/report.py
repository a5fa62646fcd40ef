"""Reports of a file: the names and dates found in it, and the counts, reasons and ids of its records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dedup.base.answer import Answer
from dedup.base.words import counted
from dedup.files.dates import TIMES, DateColumn
from dedup.files.rejects import Reject, Repair

MAX_NAMES = 1_000  # Distinct names that are counted; a hostile file may have a new one in every line
MAX_NAME_CHARACTERS = 100  # Shown of a name


@dataclass
class Understanding:
    """Facts about how a file is read, counted meanwhile; `dataclasses.asdict` makes it fit for JSON."""

    file: str  # the name used in messages
    format: str  # one of FORMATS; for XML rss, atom or wxr
    delimiter: str | None = None  # of CSV
    fields: dict[str, dict[str, int]] = field(default_factory=dict)  # article field -> name -> records
    ignored: dict[str, int] = field(default_factory=dict)  # unused name at the top level -> records
    records: int = 0  # articles and refused ones
    dates: dict[str, DateColumn] = field(default_factory=dict)  # `published_at` and `added_at`, if any
    without_date: int = 0  # articles without `published_at`
    empty: int = 0  # articles with a blank text; they are stored, and marked `failed`
    cut: int = 0  # articles whose text ends as if it had been cut off
    ids_from_url: int = 0  # articles whose url became their id, since the file has no ids
    encoding: str | None = None  # of the file, if not UTF-8
    likely_encoding: str | None = None  # to be tried, if records are not in this encoding
    sheet: str | None = None  # of Excel
    other_sheets: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)  # of an archive
    not_read: list[str] = field(default_factory=list)  # other files of the archive
    html: int = 0  # articles whose text looks like HTML and was not changed
    extracted: int = 0  # articles whose text was extracted from HTML
    left_out: dict[str, int] = field(default_factory=dict)  # type or status of WordPress -> entries

    def __post_init__(self) -> None:
        self.url_may_be_id = False
        self.seen: set[str] = set()  # fields whose name a record had, if only with null

    def find_unseen(self, fields: Mapping[str, str]) -> dict[str, str]:
        """Return the mapped fields (field -> name) whose name no record had so far, not even with null."""
        return {field: name for field, name in fields.items() if field not in self.seen}


def count_name(names: dict[str, int], name: str) -> None:
    """Count a name, unless there are `MAX_NAMES` others."""
    if name in names or len(names) < MAX_NAMES:
        names[name] = names.get(name, 0) + 1


def shorten(name: str) -> str:
    return name if len(name) <= MAX_NAME_CHARACTERS else f"{name[: MAX_NAME_CHARACTERS - 1]}…"


IDS_KEPT = 20  # Ids, or lines, that a report names for each reason; the rejects file has all
REASONS_KEPT = 50  # A file of bad lines may have more
OTHER_REASONS = "other reasons"
NUMBER = re.compile(r"\d[\d,]*")  # Left out of reasons, since numbers differ from record to record


@dataclass(slots=True)
class Noted(Answer):
    """Records with the same fault."""

    reason: str  # of the first record, in full
    count: int = 0
    ids: list[str] = field(default_factory=list)  # the first source_ids; `line 17` if one could not be read


@dataclass(slots=True)
class LoadReport(Answer):
    """Counts of the records of a file. A record is new, changed, same, superseded or refused."""

    file: str | None = None  # its name as given; None for articles of a program
    lines: int = 0  # records read: lines of JSONL that are not blank, rows, entries
    new: int = 0
    changed: int = 0
    same: int = 0  # stored before with the same content
    superseded: int = 0  # a later record soon after has the same source_id
    refused: int = 0
    repaired: int = 0  # fields; their articles are counted as the others
    lost_dates: int = 0  # repaired fields that were dates and could not be read
    reasons: dict[str, Noted] = field(default_factory=dict)  # of refused records, by reason without numbers
    repairs: dict[str, Noted] = field(default_factory=dict)  # of repaired fields, by reason without numbers
    rejects: str | None = None  # the file with both
    truncated: bool = False  # the file broke off
    stopped: bool = False  # the caller ended the reading early
    understood: Understanding | None = None

    def __str__(self) -> str:
        lines = f"{self.lines:,} {'line' if self.lines == 1 else 'lines'}"
        return (
            f"read {lines}: {self.new:,} new, {self.changed:,} changed, {self.same:,} same,"
            f" {self.superseded:,} superseded, {self.refused:,} refused"
            + (f", {counted(self.lost_dates, 'date')} lost" if self.lost_dates else "")
        )

    def note(self, item: Reject | Repair) -> None:
        if isinstance(item, Reject):
            self.lines += 1
            self.refused += 1
            _note(self.reasons, item.reason, item.source_id or f"line {item.line}")
        else:
            self.repaired += 1
            self.lost_dates += item.field in TIMES
            _note(self.repairs, item.reason, item.source_id)


def _note(noted: dict[str, Noted], reason: str, id: str) -> None:
    kind = NUMBER.sub("…", reason)
    if kind not in noted and len(noted) >= REASONS_KEPT:
        kind = reason = OTHER_REASONS
    entry = noted.setdefault(kind, Noted(reason))
    entry.count += 1
    if len(entry.ids) < IDS_KEPT:
        entry.ids.append(id)
