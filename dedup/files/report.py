"""Reports about a file: names and dates found in the file, and counts, reasons and ids of its records."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dedup.base.answer import Answer
from dedup.base.words import counted
from dedup.files.dates import TIMES, DateColumn
from dedup.files.rejects import Reject, Repair

MAX_NAMES = 1_000  # Maximum number of different names counted; a hostile file may have new ones in each line
MAX_NAME_CHARACTERS = 100  # Maximum number of characters shown of a name


@dataclass
class Understanding:
    """Facts and counts collected while a file is read; `dataclasses.asdict` gives a form for JSON.

    Attributes:
        file: name of the file in messages.
        format: one of FORMATS, but rss, atom or wxr for XML; rows for rows that a program gives.
        delimiter: delimiter of CSV.
        fields: number of records by field of the article, and by name in the file.
        ignored: number of records by unused top-level name.
        records: count of articles and refused records.
        dates: counts for the fields `published_at` and `added_at`.
        without_date: articles without `published_at`.
        empty: articles with a blank text; they are stored, and marked `failed`.
        cut: articles whose text was probably cut off.
        ids_from_url: articles whose url serves as id, since the file has no ids.
        encoding: encoding of the file, if not UTF-8.
        likely_encoding: guessed encoding, if records are not UTF-8.
        sheet: name of the Excel sheet that is read.
        files: files of an archive that are read.
        not_read: files of an archive that are not read.
        html: articles whose text looks like HTML but was left unchanged.
        extracted: articles whose text was extracted from HTML.
        left_out: number of excluded entries by type or status.
    """

    file: str
    format: str
    delimiter: str | None = None
    fields: dict[str, dict[str, int]] = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)
    records: int = 0
    dates: dict[str, DateColumn] = field(default_factory=dict)
    without_date: int = 0
    empty: int = 0
    cut: int = 0
    ids_from_url: int = 0
    encoding: str | None = None
    likely_encoding: str | None = None
    sheet: str | None = None
    other_sheets: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    not_read: list[str] = field(default_factory=list)
    html: int = 0
    extracted: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.url_may_be_id = False
        self.seen: set[str] = set()  # fields whose name was in a record, even with a null value

    def find_unseen(self, fields: Mapping[str, str]) -> dict[str, str]:
        """Return the items of `fields` (field -> name) whose name was not in any record so far."""
        return {field: name for field, name in fields.items() if field not in self.seen}


def count_name(names: dict[str, int], name: str) -> None:
    """Count a name; ignore a new name if `names` already has `MAX_NAMES` names."""
    if name in names or len(names) < MAX_NAMES:
        names[name] = names.get(name, 0) + 1


def shorten(name: str) -> str:
    return name if len(name) <= MAX_NAME_CHARACTERS else f"{name[: MAX_NAME_CHARACTERS - 1]}…"


IDS_KEPT = 20  # Maximum number of ids or line numbers listed for a reason; the rejects file has all
IDS_SHOWN = 3  # Maximum number of ids shown for a reason; the rejects file has all ids
REASONS_SHOWN = 5  # Maximum number of reasons that a printed report shows
REASONS_KEPT = 50  # Maximum number of different reasons in a report; a file may have more
OTHER_REASONS = "other reasons"
NUMBER = re.compile(r"\d[\d,]*")  # Numbers are left out of reasons, so that equal faults count together


@dataclass(slots=True)
class Noted(Answer):
    """Records with the same fault.

    Attributes:
        reason: full reason of the first record.
        ids: first source_ids, or `line 17` if the id is unreadable.
    """

    reason: str
    count: int = 0
    ids: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        shown = self.ids[:IDS_SHOWN] + (["…"] if self.count > IDS_SHOWN else [])
        return f"{self.count:,} for: {self.reason} ({', '.join(shown)})"


@dataclass(slots=True)
class LoadReport(Answer):
    """Counts of the records of a file: each is new, changed, same, superseded or refused.

    Attributes:
        file: path of the file; None for articles passed by a program.
        lines: records read: rows, entries, or JSONL lines that are not blank.
        same: records already stored with the same content.
        superseded: records not stored, because a later record of the same batch has the same source_id.
        repaired: repaired fields; their articles are also counted above.
        lost_dates: repaired fields with dates that could not be read.
        reasons: refused records, by reason without numbers.
        repairs: repaired fields, by reason without numbers.
        rejects: path of the file with refused records and repaired fields.
        truncated: true if the end of the file is missing.
        stopped: true if the caller stopped the reading early.
        load: number of the load in `dedup loads`; None if nothing was stored.
    """

    file: str | None = None
    lines: int = 0
    new: int = 0
    changed: int = 0
    same: int = 0
    superseded: int = 0
    refused: int = 0
    repaired: int = 0
    lost_dates: int = 0
    reasons: dict[str, Noted] = field(default_factory=dict)
    repairs: dict[str, Noted] = field(default_factory=dict)
    rejects: str | None = None
    truncated: bool = False
    stopped: bool = False
    understood: Understanding | None = None
    load: int | None = None

    def __str__(self) -> str:
        counts = (
            f"read {counted(self.lines, 'line')}: {self.new:,} new, {self.changed:,} changed,"
            f" {self.same:,} same, {self.superseded:,} superseded, {self.refused:,} refused"
            + (f", {counted(self.lost_dates, 'date')} lost" if self.lost_dates else "")
        )
        lines = [f"  refused: {noted}" for noted in self.reasons.values()]
        if len(lines) > REASONS_SHOWN:
            lines[REASONS_SHOWN:] = [f"  and {counted(len(lines) - REASONS_SHOWN, 'more reason')}"]
        if lines and self.rejects:
            lines.append(f"  each refused line: see {self.rejects}")
        return "\n".join([counts, *lines])

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
