"""Show the state of a corpus: cheap at any size, and partly an estimate (see `Vitals`)."""

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

RUNS = 20  # Runs shown
LATE_SECONDS = 86_400.0  # Articles that wait longer are a problem, and a last success longer ago


@dataclass(frozen=True, slots=True)
class SettingLine(Answer):
    """A setting; secrets are masked."""

    name: str
    meaning: str  # in words
    value: Any  # in force
    wanted: Any  # from the next backfill on
    default: Any


@dataclass(frozen=True, slots=True)
class Health(Answer):
    """The state of a corpus."""

    vitals: Vitals
    problems: tuple[str, ...]  # in words
    runs: tuple[PastRun, ...]  # the latest first
    sizes: dict[str, int]  # table -> bytes, with indexes and out-of-line texts, the largest first
    database_bytes: int
    settings: tuple[SettingLine, ...]
    horizon: datetime | None  # articles before it are archived
    searchable: bool  # words can be searched, after `dedup init --search`
    attachments: tuple[str, ...]  # names of attached tables


def health(cursor: Cursor) -> Health:
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
