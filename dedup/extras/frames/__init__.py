"""A corpus as Arrow tables, and as one file; the extra `frames`."""

from __future__ import annotations

from dataclasses import dataclass, field

from dedup.base.answer import Answer


@dataclass(slots=True)
class StoryExport(Answer):
    """A report of an export: the rows of each table of `file`. `stopped`: as asked, so there is no file."""

    file: str
    rows: dict[str, int] = field(default_factory=dict)
    stopped: bool = False
