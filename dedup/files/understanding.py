"""Counts what a reader made of a file: which names held which field, what was not used, what is odd."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dedup.files.dates import DateColumn

MAX_NAMES = 1_000
"""Distinct names that are counted, of each kind; a file of strangers may have a new one in every line."""
MAX_NAME_CHARACTERS = 100  # Of a name; a longer one is shown by its beginning


@dataclass
class Understanding:
    """How a file is read, counted while it is read; `dataclasses.asdict` makes it fit for JSON."""

    file: str  # the name used in messages; format: one of FORMATS
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
    html: int = 0  # articles whose text looks like HTML and was taken as it is
    extracted: int = 0  # articles whose text was extracted from HTML

    def __post_init__(self) -> None:
        self._seen: set[str] = set()

    def unseen(self, fields: Mapping[str, str]) -> dict[str, str]:
        """Those of the mapped fields (field -> name) whose name no record had so far, not even with null."""
        return {field: name for field, name in fields.items() if field not in self._seen}

    def saw(self, field: str) -> None:
        """A record had a name of this field."""
        self._seen.add(field)

    def found_in(self, field: str, name: str) -> None:
        """A record had the value of a field under a name."""
        names = self.fields.get(field)
        if names is None:
            names = self.fields[field] = {}
        if name in names:
            names[name] += 1
        elif len(names) < MAX_NAMES:
            names[name] = 1

    def passed_over(self, name: str) -> None:
        """A record had a name that is not used."""
        if name in self.ignored:
            self.ignored[name] += 1
        elif len(self.ignored) < MAX_NAMES:
            self.ignored[name] = 1


def shown(name: str) -> str:
    return name if len(name) <= MAX_NAME_CHARACTERS else f"{name[: MAX_NAME_CHARACTERS - 1]}…"
