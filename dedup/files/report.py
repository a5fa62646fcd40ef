"""What a reader made of a file: names and dates; and what became of its records: counts, reasons and ids."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dedup.base.answer import Answer
from dedup.base.words import counted
from dedup.files.dates import TIMES, DateColumn
from dedup.files.rejects import Reject, Repair

MAX_NAMES = 1_000
"""Distinct names that are counted, of each kind; a file of strangers may have a new one in every line."""
MAX_NAME_CHARACTERS = 100  # Of a name; a longer one is shown by its beginning


@dataclass
class Understanding:
    """How a file is read, counted while it is read; `dataclasses.asdict` makes it fit for JSON."""

    # the name used in messages; format: one of FORMATS, or for XML what it was: rss, atom or wxr.
    file: str
    format: str
    delimiter: str | None = None  # of CSV, as found in its header; None for other formats
    # article field -> name as written in the file -> records that had the field's value there.
    fields: dict[str, dict[str, int]] = field(default_factory=dict)
    # names at the top level that were not used -> records that had them; at most MAX_NAMES.
    ignored: dict[str, int] = field(default_factory=dict)
    records: int = 0  # read so far, articles and refused ones
    # `published_at` and `added_at`, where the file has any: how many, how many were lost, and how they were
    # read.
    dates: dict[str, DateColumn] = field(default_factory=dict)
    without_date: int = 0  # articles that have no `published_at`
    empty: int = 0  # articles whose text is blank; they are stored, and marked `failed`
    cut: int = 0  # articles whose text says, or looks as if, it was cut off
    ids_from_url: int = 0  # articles whose id is their url, since the file names none
    encoding: str | None = None  # what the file is written in, where that is not UTF-8
    likely_encoding: str | None = None  # to be tried, where records are not in that one
    sheet: str | None = None  # of Excel, the sheet that is read, and the others
    other_sheets: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)  # of an archive, the files in it that are read
    not_read: list[str] = field(default_factory=list)  # and those that are not
    html: int = 0  # articles whose text looks like HTML and was taken as it is
    extracted: int = 0  # articles whose text was extracted from HTML
    # entries of a WordPress export that are no published posts or pages, by type or status: how many.
    left_out: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.url_may_be_id = False  # where no name of an id is known
        self.seen: set[str] = set()  # the fields of which some record had a name, if only with null

    def unseen(self, fields: Mapping[str, str]) -> dict[str, str]:
        """Those of the mapped fields (field -> name) whose name no record had so far, not even with null."""
        return {field: name for field, name in fields.items() if field not in self.seen}

    def found_in(self, field: str, name: str) -> None:
        """A record had the value of a field under a name."""
        _count(self.fields.setdefault(field, {}), name)

    def leave_out(self, kind: str) -> None:
        """An entry is of a kind that is no article."""
        _count(self.left_out, shown(kind))

    def passed_over(self, name: str) -> None:
        """A record had a name that is not used."""
        _count(self.ignored, name)


def _count(names: dict[str, int], name: str) -> None:
    if name in names or len(names) < MAX_NAMES:
        names[name] = names.get(name, 0) + 1


def shown(name: str) -> str:
    return name if len(name) <= MAX_NAME_CHARACTERS else f"{name[: MAX_NAME_CHARACTERS - 1]}…"


IDS_KEPT = 20  # Ids, or lines, that a report names per reason; the rejects file has all
REASONS_KEPT = 50  # Different reasons in a report; a file of nothing but strange lines may have more

OTHER_REASONS = "other reasons"

NUMBER = re.compile(r"\d[\d,]*")  # Numbers differ from record to record; the reason is the same


@dataclass(slots=True)
class Noted(Answer):
    """Records with one thing wrong."""

    reason: str  # of the first of them, in full
    count: int = 0
    # the source_ids of the first, or `line 17` where the id could not be read
    ids: list[str] = field(default_factory=list)


@dataclass(slots=True)
class LoadReport(Answer):
    """Counts of the records of a file; each record is in one of the five."""

    file: str | None = None  # its name as given; None for articles of a program
    lines: int = 0  # records read, that is lines of JSONL that are not blank, rows of CSV and Parquet
    # new, changed, same: compared with what was stored before.
    new: int = 0
    changed: int = 0
    same: int = 0
    superseded: int = 0  # the source_id came again soon after, and the later record counts
    refused: int = 0  # no article could be made of it
    repaired: int = 0  # fields that were not taken as they were; their articles are in the other heaps
    lost_dates: int = 0  # of these, dates that could not be read; see also `understood.dates`
    reasons: dict[str, Noted] = field(default_factory=dict)  # why records were refused, numbers left out
    repairs: dict[str, Noted] = field(default_factory=dict)  # why fields were repaired, with their names
    rejects: str | None = None  # the file that has both, or None
    truncated: bool = False  # the file broke off
    stopped: bool = False  # it was not read to its end, as asked
    understood: Understanding | None = None  # which names were used, which were not, what has no date

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
