"""The extra `frames`: a corpus as Arrow tables, or exported into a file."""

from __future__ import annotations

from dataclasses import dataclass, field

from dedup.base.answer import Answer


@dataclass(slots=True)
class StoryExport(Answer):
    """Report of an export. `rows`: table -> number of rows. `stopped`: true if stopped without a file."""

    file: str
    rows: dict[str, int] = field(default_factory=dict)
    stopped: bool = False
