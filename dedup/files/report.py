"""What became of the records of a file: counts, reasons and ids."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dedup.base.answer import Answer
from dedup.files.dates import TIMES
from dedup.files.rejects import Reject, Repair
from dedup.files.understanding import Understanding

IDS_KEPT = 20  # Ids, or lines, that a report names per reason; the rejects file has all
REASONS_KEPT = 50  # Different reasons in a report; a file of nothing but strange lines may have more

OTHER_REASONS = "other reasons"

NUMBER = re.compile(r"\d[\d,]*")  # Numbers differ from record to record; the reason is the same


@dataclass(slots=True)
class Noted(Answer):
    """Records with one thing wrong.

    Attributes:
        reason: of the first of them, in full.
        count: how many.
        ids: the source_ids of the first, or `line 17` where the id could not be read.
    """

    reason: str
    count: int = 0
    ids: list[str] = field(default_factory=list)


@dataclass(slots=True)
class LoadReport(Answer):
    """What became of the records of a file; each is in one of the five heaps.

    Attributes:
        file: its name as given; None for articles of a program.
        lines: records read, that is lines of JSONL that are not blank, rows of CSV and Parquet.
        new, changed, same: compared with what was stored before.
        superseded: the source_id came again soon after, and the later record counts.
        refused: no article could be made of it.
        repaired: fields that were not taken as they were; their articles are in the other heaps.
        lost_dates: of these, dates that could not be read; see also `understood.dates`.
        reasons: why records were refused, with numbers left out.
        repairs: why fields were repaired, with the name of the field.
        rejects: the file that has both, or None.
        truncated: the file broke off.
        stopped: it was not read to its end, as asked.
        understood: which names were used, which were not, what has no date.
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

    def __str__(self) -> str:
        lines = f"{self.lines:,} {'line' if self.lines == 1 else 'lines'}"
        return (
            f"read {lines}: {self.new:,} new, {self.changed:,} changed, {self.same:,} same,"
            f" {self.superseded:,} superseded, {self.refused:,} refused"
            + (f", {self.lost_dates:,} dates lost" if self.lost_dates else "")
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
