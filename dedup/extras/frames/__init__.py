"""A corpus as Arrow tables, and as one file; the extra `frames`."""

from __future__ import annotations

from dataclasses import dataclass, field

from dedup.base.answer import Answer


@dataclass(slots=True)
class StoryExport(Answer):
    """An export that was written.

    Attributes:
        file: where it is.
        rows: the tables of the file, and how many rows each has.
        stopped: it was asked to stop; there is no file.
    """

    file: str
    rows: dict[str, int] = field(default_factory=dict)
    stopped: bool = False
