"""The state of a corpus as a page shows it: cheap at any size, and partly an estimate (see `Vitals`)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from dedup.base.answer import Answer
from dedup.base.settings import Settings, masked
from dedup.db.database import Cursor, one_row
from dedup.db.statements import Statements
from dedup.runs import monitoring, runs
from dedup.runs.monitoring import Vitals
from dedup.runs.runs import PastRun
from dedup.store import overview, rulebooks, word_index

_sql = Statements("extras/browse/questions/questions")

RUNS = 20
"""Runs that are shown."""

LATE_SECONDS = 86_400.0
"""What waits for longer is a problem, and a last success that is longer ago."""


@dataclass(frozen=True, slots=True)
class SettingLine(Answer):
    """A setting; secrets are masked. `meaning`: in words. `value`: in force; `wanted`: from the next backfill
    on, where that differs, else the same.
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


def health(cursor: Cursor) -> Health:
    """The state of a corpus as a page shows it."""
    vitals = monitoring.load_vitals(cursor, LATE_SECONDS)
    horizon, database_bytes, attachments = one_row(cursor, _sql("health"))
    present, wanted = rulebooks.load_settings(cursor), rulebooks.load_wanted(cursor)
    now, then, default = (asdict(settings) for settings in (present, wanted, Settings()))
    lines = []
    for item in fields(Settings):
        values = [found[item.name] for found in (now, then, default)]
        if item.metadata["secret"]:
            values = [masked(value) for value in values]
        lines.append(SettingLine(item.name, item.metadata["about"], *values))
    return Health(
        vitals=vitals,
        problems=tuple(vitals.problems(LATE_SECONDS)),
        runs=tuple(runs.load_history(cursor, RUNS)),
        sizes=overview.table_sizes(cursor),
        database_bytes=database_bytes,
        settings=tuple(lines),
        horizon=horizon,
        searchable=word_index.index_is_complete(cursor) is True,
        attachments=tuple(attachments),
    )
