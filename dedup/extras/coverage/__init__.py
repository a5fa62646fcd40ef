"""The extra `coverage`: outlets with their owners, independent origins, and exports for research."""

from __future__ import annotations

from dataclasses import dataclass, field

from dedup.base.answer import Answer


@dataclass(slots=True)
class ResearchExport(Answer):
    """Report of an export. `rows`: kind of row -> number of rows."""

    file: str
    rows: dict[str, int] = field(default_factory=dict)
