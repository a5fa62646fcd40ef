"""Read the state of a corpus. Some figures are estimates (see `Vitals`), so reading is fast at any size."""

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
from dedup.store import overview, setting_rows, word_index

_sql = Statements("extras/browse/questions/questions")

RUNS = 20  # Maximum number of runs shown
LATE_SECONDS = 86_400.0  # Report a problem if an article waits longer, or if the last full settling is older


@dataclass(frozen=True, slots=True)
class SettingLine(Answer):
    """A setting; secrets are masked."""

    name: str
    meaning: str  # what the setting does
    value: Any  # value in force
    wanted: Any  # value that the next backfill puts in force
    default: Any


@dataclass(frozen=True, slots=True)
class Health(Answer):
    """The state of a corpus."""

    vitals: Vitals
    problems: tuple[str, ...]  # problems in words, one sentence each
    runs: tuple[PastRun, ...]  # the latest first
    sizes: dict[str, int]  # table -> bytes, with indexes and TOAST, the largest first
    database_bytes: int
    settings: tuple[SettingLine, ...]
    horizon: datetime | None  # articles before this time are archived
    searchable: bool  # the index that `dedup init --search` makes is there, so words can be searched
    attachments: tuple[str, ...]  # names of attached tables


def health(cursor: Cursor) -> Health:
    vitals = monitoring.load_vitals(cursor, LATE_SECONDS)
    horizon, database_bytes, attachments = one_row(cursor, _sql("health"))
    present, wanted = setting_rows.load_settings(cursor), setting_rows.load_wanted(cursor)
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
