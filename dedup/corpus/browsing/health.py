"""The state of a corpus as a page shows it: cheap at any size, and partly an estimate (see `Vitals`)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dedup.answer import Answer
from dedup.corpus.monitoring import Vitals
from dedup.corpus.runs import PastRun


@dataclass(frozen=True, slots=True)
class SettingLine(Answer):
    """A setting; secrets are masked.

    Attributes:
        meaning: in words.
        value: in force; wanted: from the next backfill on, where that differs, else the same.
    """

    name: str
    meaning: str
    value: Any
    wanted: Any
    default: Any


@dataclass(frozen=True, slots=True)
class Health(Answer):
    """The state of a corpus.

    Attributes:
        problems: what is wrong, in words; empty where all is well.
        runs: the last ones, the latest first.
        sizes: table to bytes, indexes and out-of-line texts included, the largest first.
        horizon: articles before it are archived; None: none is.
        searchable: whether words can be searched (`dedup init --search`).
        attachments: names of the attached tables.
    """

    vitals: Vitals
    problems: tuple[str, ...]
    runs: tuple[PastRun, ...]
    sizes: dict[str, int]
    database_bytes: int
    settings: tuple[SettingLine, ...]
    horizon: datetime | None
    searchable: bool
    attachments: tuple[str, ...]
